"""Whether predicted bytes are what real tensors, or transformers' own model code, really take."""

from __future__ import annotations

import argparse
import os
from typing import Any

from calculator.cli import CHECK_FAILED, OK
from calculator.cli.options import add_estimate_options, option_texts, scenario_of
from calculator.cli.text import bullets, print_json, table
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.explain import sizes
from calculator.scenario import Scenario
from calculator.units import exact_bytes, parse_bytes, parse_count
from calculator.verify.jobs import METHODS, Job, job_of

ONLY_FOR = {
    "slice": "allocate", "prompt_tokens": "generate", "new_tokens": "generate", "seed": "generate",
    "temperature": "generate",
}  # fmt: skip
"""Options that one method takes and the others have no use for."""
EPILOG = """\
allocate    every tensor on the device, its storage counted
real-model  transformers' class in full size on the meta device: no weights, no GPU
generate    a small decoder with and without a cache: same tokens, how much faster
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_estimate_options(parser)
    parser.add_argument("--method", choices=METHODS, default="allocate", help="(default allocate)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto")
    parser.add_argument("--slice", choices=("layers", "tokens"), help="the part, if all is too big")
    for flag, metavar, text in (
        ("--memory", "SIZE", "memory it may take (default: a share of what is free)"),
        ("--time-limit", "SECONDS", "end it after so long (default 600)"),
        ("--threads", "N", "processor threads (default: torch's choice; generate: 1)"),
        ("--prompt-tokens", "N", "generate: tokens of the prompt (default 512)"),
        ("--new-tokens", "N", "generate: tokens to generate (default 256)"),
        ("--seed", "N", "generate: seed of weights, prompt and sampling (default 0)"),
        ("--temperature", "T", "generate: sample at this temperature (default: greedy)"),
    ):
        parser.add_argument(flag, metavar=metavar, help=text)
    parser.set_defaults(time_limit=600)


def run(arguments: argparse.Namespace) -> int:
    from calculator.verify.child import start

    job, notes = _job(arguments)
    limit = parse_count("time_limit", arguments.time_limit, at_most=10**6)
    child = start(job, time_limit_s=limit)
    try:
        found = child.wait()
    except KeyboardInterrupt:
        child.cancel()
        raise
    if arguments.json:
        print_json(found)
    else:
        print(report(found, notes))
    return exit_status(found)


def exit_status(found: dict[str, Any]) -> int:
    """1 on a difference; where no rule predicts anything there is none."""
    return CHECK_FAILED if found["equal"] is False else OK


def _job(arguments: argparse.Namespace) -> tuple[Job, tuple[str, ...]]:
    """The job, and what was assumed of the scenario; a refused configuration is still measured."""
    _check_use(arguments)
    options = option_texts(arguments)
    options.pop("device", None)
    memory, threads = arguments.memory, arguments.threads
    more: dict[str, Any] = {
        "device": arguments.device,
        "slice": arguments.slice,
        "budget_bytes": None if memory is None else parse_bytes("memory", memory),
        "threads": None if threads is None else parse_count("threads", threads, at_most=4096),
        "generation": _generation(arguments),
    }
    config = _published_config(arguments.model) if arguments.method == "real-model" else None
    try:
        asked: Scenario = scenario_of(options)
    except UnsupportedModel:
        if config is None:
            raise
        return Job(method="real-model", options=options, config=config, **more), ()
    return job_of(asked, arguments.method, config=config, **more), asked.notes


def _check_use(arguments: argparse.Namespace) -> None:
    for name, method in ONLY_FOR.items():
        if getattr(arguments, name) is not None and method != arguments.method:
            raise InvalidInput(
                f"{name} is given, but method {arguments.method} has no use for it, only {method}.",
                field=name,
            )


def _published_config(model: str) -> dict[str, Any] | None:
    """The configuration behind a path, to be used as it is; None for a preset or a GGUF file."""
    from calculator.catalog import find_preset, is_gguf
    from calculator.importers.schema import read_json

    path = os.path.expanduser(model)
    if find_preset(model) or not os.path.exists(path):
        return None
    if os.path.isdir(path):
        path = os.path.join(path, "config.json")
    return None if is_gguf(path) else read_json(path)


def _generation(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("prompt_tokens", "new_tokens"):
        if getattr(arguments, name) is not None:
            found[name] = parse_count(name, getattr(arguments, name), at_most=2**16)
    if arguments.seed is not None:
        if not (arguments.seed.isascii() and arguments.seed.isdigit() and len(arguments.seed) < 19):
            raise InvalidInput(
                f"seed is {arguments.seed[:40]!r}; expected a whole number.", field="seed"
            )
        found["seed"] = int(arguments.seed)
    if arguments.temperature is not None:
        try:
            found["temperature"] = float(arguments.temperature)
        except ValueError:
            raise InvalidInput(
                f"temperature is {arguments.temperature[:40]!r}; expected a number.",
                field="temperature",
            ) from None
    return found


def report(found: dict[str, Any], notes: tuple[str, ...]) -> str:
    """Predicted and measured side by side, the tensors, what the device says, what was assumed."""
    parts = [_verdict(found), ""]
    if found["method"] == "allocate":
        parts += [_tensors(found), "", *_reported(found["reported"])]
    elif found["method"] == "real-model":
        held = found["storage_bytes"]
        parts += [
            f"{found['num_tensors']:,} tensors in the cache, such as {found['tensors'][0]}",
            f"Storage they are views of: {exact_bytes(held, sizes(held)[0])}.",
        ]
    versions = ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    parts.append(f"Device {found['device']}; {versions}.")
    sentences = [*notes, *found.get("notes", ()), *found.get("assumptions", ())]
    return "\n".join([*parts, "", "Assumed:", bullets(sentences)] if sentences else parts)


def _verdict(found: dict[str, Any]) -> str:
    measured = found["measured_bytes"]
    if found["equal"] is None:
        size = exact_bytes(measured, sizes(measured)[0])
        return f"Measured {size}; no rule to hold it against."
    word = {"allocate": "allocated", "real-model": "transformers' own code"}.get(
        found["method"], "measured"
    )
    sign = "equal" if found["equal"] else "NOT EQUAL"
    part = found.get("slice")
    text = f"predicted {found['predicted_bytes']:,} B · {word} {measured:,} B: {sign}"
    return text + (f" ({part['count']:,} of {part['of']:,} {part['kind']})" if part else "")


def _tensors(found: dict[str, Any]) -> str:
    head = ["layer type", "layers", "tensor", "shape", "type", "predicted", "allocated"]
    rows = [
        [
            row["layer_type"],
            row["layers"] * row["copies"],
            row["tensor"],
            _shapes(row["shapes"]),
            row["dtype"],
            row["predicted_bytes"],
            row["measured_bytes"],
        ]
        for row in found["tensors"]
    ]
    return table(head, rows)


def _shapes(shapes: list[list[int]], limit: int = 3) -> str:
    shown = [f"({', '.join(map(str, shape))})" for shape in shapes[:limit]]
    return " ".join(shown) + (f" and {len(shapes) - limit} more" if len(shapes) > limit else "")


def _reported(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{name.removesuffix('_bytes').replace('_', ' ')}: {value:,} B"
        for name, value in found.items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    return [f"The device reports: {', '.join(lines)}. {found.get('note', '')}".strip()]
