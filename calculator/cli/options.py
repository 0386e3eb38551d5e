"""The options that commands share → the option texts of a scenario."""

from __future__ import annotations

import argparse
from typing import Any

from calculator.scenario import CAPACITY_OPTIONS, ESTIMATE_OPTIONS


def add_estimate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a preset, alias, config.json or its folder")
    _add(parser, "--context", "TOKENS", "tokens of each sequence: 8192, 8k, 128k, max")
    _add(parser, "--sequences", "N", "sequences at once (default 1)")
    _add(parser, "--kv-dtype", "TYPE", "element type of keys and values (default auto)")
    _add(parser, "--k-dtype", "TYPE", "element type of keys")
    _add(parser, "--v-dtype", "TYPE", "element type of values")
    _add(parser, "--engine", "NAME", "whose allocation rules (default ideal)")
    parser.add_argument(
        "--set", action="append", metavar="FLAG=VALUE", help="a flag of the engine; may be repeated"
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
    _add(parser, "--weights-dtype", "TYPE", "element type of the weights (default: checkpoint's)")
    _add(parser, "--weights-bytes", "SIZE", "bytes of the weights, all devices together")
    _add(parser, "--overhead", "LOW..HIGH", "other needs of a device, a range: 1GiB..6GiB")
    _add(parser, "--share", "FRACTION", "share of the memory an engine may use (default 0.92)")
    _add(parser, "--typical-context", "TOKENS", "also: how many sequences of this length")
    parser.add_argument("--check", action="store_true", help="exit 1 unless it certainly fits")


def option_texts(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given, under the names a scenario knows."""
    given = vars(arguments)
    return {k: given[k] for k in ESTIMATE_OPTIONS + CAPACITY_OPTIONS if given.get(k) is not None}


def _add(parser: argparse.ArgumentParser, flag: str, metavar: str, text: str) -> None:
    parser.add_argument(flag, metavar=metavar, help=text)
