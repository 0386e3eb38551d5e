"""Engines by name → the class that holds an engine's allocation rules, imported on first use."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from calculator.engines.base import Engine
from calculator.errors import InvalidInput, shown
from calculator.parallel import Parallelism

ENGINES = {
    "ideal": "calculator.engines.ideal:Ideal",
    "transformers": "calculator.engines.transformers:Transformers",
    "llama.cpp": "calculator.engines.llamacpp:LlamaCpp",
    "vllm": "calculator.engines.vllm.engine:Vllm",
}


FRONT_ENDS = {
    "ollama": "llama.cpp with profile=ollama",
    "lmstudio": "llama.cpp with profile=lm-studio",
    "llamaserver": "llama.cpp with profile=server-auto",
    "llamacpppython": "llama.cpp with profile=library",
    "gguf": "llama.cpp",
    "ggml": "llama.cpp",
    "huggingface": "transformers",
    "hf": "transformers",
    "torch": "transformers",
    "pytorch": "transformers",
    "textbook": "ideal",
}
"""What people type for an engine, squashed → the engine, and its profile where it has one."""


def engine(name: str = "ideal", **options: Any) -> Engine:
    """The engine called `name`, its options under the engine's own flag names.

    >>> engine("ideal").engine
    'ideal'
    """
    if not isinstance(name, str) or name not in ENGINES:
        raise InvalidInput(
            f"engine is {shown(name)}; {_meant(name)} engines: {', '.join(ENGINES)}.",
            field="engine",
        )
    module, class_name = ENGINES[name].split(":")
    cls = getattr(import_module(module), class_name)
    flags = [field.name for field in fields(cls)]
    for option in options:
        if option in (field.name for field in fields(Parallelism)):
            raise InvalidInput(
                f"{option} is no option of an engine but a size of the parallelism: "
                f"Parallelism({option}={options[option]!r}), on the command line --tp, --pp, --dp "
                "or --dcp.",
                field=option,
            )
        if option not in flags:
            known = f"its options are {', '.join(flags)}" if flags else "it has no options"
            raise InvalidInput(
                f"{shown(option)} is no option of engine {name}; {known}.", field=str(option)
            )
    result: Engine = cls(**options)
    return result


def _meant(name: object) -> str:
    """The question whether another engine is meant, where one is near, and the word "known".

    >>> _meant("LM Studio"), _meant("vlm"), _meant("nope")
    ('did you mean llama.cpp with profile=lm-studio? Known', 'did you mean vllm? Known', 'known')
    """
    from difflib import get_close_matches

    known = FRONT_ENDS | {_squashed(engine): engine for engine in ENGINES}
    near = get_close_matches(_squashed(str(name)), known, n=1, cutoff=0.7)
    return f"did you mean {known[near[0]]}? Known" if near else "known"


def _squashed(name: str) -> str:
    """
    >>> _squashed("LM-Studio"), _squashed("llama.cpp")
    ('lmstudio', 'llamacpp')
    """
    return "".join(c for c in name[:80].lower() if c.isalnum())
