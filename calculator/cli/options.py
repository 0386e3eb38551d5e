"""The options that commands share → a scenario; a field's name → the option that sets it."""

from __future__ import annotations

import argparse
import re
from typing import Any

from calculator.errors import InvalidInput
from calculator.scenario import CAPACITY_OPTIONS, ESTIMATE_OPTIONS, Scenario, scenario

OPTIONS_OF = {
    "seq_len": ("--context",),
    "batch_size": ("--sequences",),
    "encoder_seq_len": ("--encoder-context",),
    "key_dtype": ("--kv-dtype", "--k-dtype"),
    "value_dtype": ("--kv-dtype", "--v-dtype"),
    "shared_prefix_len": ("--shared-prefix",),
    "tensor_parallel_size": ("--tp", "--devices"),
    "pipeline_parallel_size": ("--pp",),
    "data_parallel_size": ("--dp",),
    "decode_context_parallel_size": ("--dcp",),
    "num_devices": ("--devices",),
}
"""Fields whose option has another name → the options that set them, the usual one first."""


MODEL = (
    "a preset or alias (kvcalc presets), a config.json or its folder, a GGUF file, a preset file "
    "(.toml), or org/name or an address on the Hugging Face Hub"
)


def add_estimate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    _add(parser, "--context", "TOKENS", "tokens of each sequence: 8192, 8k, 128k, max")
    _add(parser, "--sequences", "N", "sequences at once (default 1)")
    _add(parser, "--kv-dtype", "TYPE", "element type of keys and values (default auto)")
    _add(parser, "--k-dtype", "TYPE", "element type of keys")
    _add(parser, "--v-dtype", "TYPE", "element type of values")
    _add(parser, "--engine", "NAME", "whose allocation rules (default ideal)")
    parser.add_argument(
        "--set",
        action="append",
        metavar="FLAG=VALUE",
        help="a flag of the engine; several with commas, or repeated",
    )
    _add(parser, "--tp", "N", "tensor_parallel_size")
    _add(parser, "--pp", "N", "pipeline_parallel_size")
    _add(parser, "--dp", "N", "data_parallel_size")
    _add(parser, "--dcp", "N", "decode_context_parallel_size: tensor ranks that share tokens")
    _add(parser, "--shared-prefix", "TOKENS", "tokens at the start that all sequences share")
    _add(parser, "--encoder-context", "TOKENS", "tokens of the encoder, for encoder-decoder models")
    parser.add_argument("--json", action="store_true", help="one JSON document, nothing else")


def add_capacity_options(parser: argparse.ArgumentParser) -> None:
    _add(parser, "--device", "ID", "an accelerator (kvcalc devices lists them)")
    _add(parser, "--device-memory", "SIZE", "memory of a device: 80GiB, 64GB")
    _add(parser, "--devices", "N", "how many; one tensor-parallel group unless --tp/--pp/--dp say")
    _add(parser, "--kv-bytes-per-device", "SIZE", "what an engine says it has for its cache")
    weights = parser.add_mutually_exclusive_group()
    _add(weights, "--weights-dtype", "TYPE", "element type of the weights (default: checkpoint's)")
    _add(weights, "--weights-bytes", "SIZE", "bytes of the weights, all devices together")
    _add(parser, "--overhead", "LOW..HIGH", "other needs of a device, a range: 1GiB..6GiB")
    share = "share of the memory an engine may use (default 0.92, or what the device lends)"
    _add(parser, "--share", "FRACTION", share)
    _add(parser, "--typical-context", "TOKENS", "also: how many sequences of this length")
    parser.add_argument("--check", action="store_true", help="exit 1 unless it certainly fits")


def scenario_of(options: dict[str, Any]) -> Scenario:
    """The scenario, unless an option was typed that the model has no use for."""
    found = scenario(options)
    if "encoder_context" in options and not found.model.has_encoder:
        raise InvalidInput(
            f"encoder_context is {options['encoder_context']}, but {found.model.name} has no "
            "encoder; leave it out.",
            field="encoder_context",
        )
    return found


def naming_options(message: str, words: list[str]) -> str:
    """A message about fields, with the option after each: as it was typed, else the usual one.

    >>> naming_options("tensor_parallel_size is 3.", ["capacity", "llama-3-8b", "--devices", "3"])
    'tensor_parallel_size (--devices) is 3.'
    """
    typed = [word.split("=")[0] for word in words]
    for field, options in OPTIONS_OF.items():
        option = next((o for o in options if o in typed), options[0])
        if option not in message.replace(",", " ").split():
            message = re.sub(rf"\b{field}\b", f"{field} ({option})", message, count=1)
    return message


def option_texts(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given, under the names a scenario knows."""
    given = vars(arguments)
    return {k: given[k] for k in ESTIMATE_OPTIONS + CAPACITY_OPTIONS if given.get(k) is not None}


def _add(parser: argparse._ActionsContainer, flag: str, metavar: str, text: str) -> None:
    parser.add_argument(flag, metavar=metavar, help=text)
