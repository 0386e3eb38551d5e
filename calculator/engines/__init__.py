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


def engine(name: str = "ideal", **options: Any) -> Engine:
    """The engine called `name`, its options under the engine's own flag names.

    >>> engine("ideal").engine
    'ideal'
    """
    if name not in ENGINES:
        raise InvalidInput(
            f"engine is {shown(name)}; known engines: {', '.join(ENGINES)}.", field="engine"
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
