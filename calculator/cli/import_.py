"""Read a config.json, and show the model it describes or write it as a preset.

SOURCE is a preset, the path of a config.json or of a folder with one, or - for standard input.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from calculator.catalog import load_model
from calculator.cli.text import bullets, print_json, table
from calculator.importers.to_preset import preset_text
from calculator.model import ModelSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--toml", action="store_true", help="as a preset file")
    form.add_argument("--json", action="store_true", help="one JSON document, nothing else")


def run(arguments: argparse.Namespace) -> int:
    model = _model(arguments.source)
    if arguments.toml:
        print(preset_text(model), end="")
    elif arguments.json:
        print_json(document(model))
    else:
        print(_summary(model))
    return 0


def _model(source: str) -> ModelSpec:
    if source != "-":
        return load_model(source)
    from calculator.importers.hf_config import model_from_config
    from calculator.importers.schema import MAX_JSON_BYTES, parse_json

    text = sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
    return model_from_config(parse_json(text, name="Standard input"), source="standard input")


def document(model: ModelSpec) -> dict[str, Any]:
    """The JSON of `kvcalc import --json`: the preset's record, its layers counted."""
    keys = (
        "id", "name", "model_type", "source", "read_from", "num_hidden_layers",
        "max_position_embeddings", "dtype", "weights_dtype", "kv_cache_dtype", "num_parameters",
        "num_active_parameters",
    )  # fmt: skip
    return {
        "schema_version": 1,
        "model": {key: getattr(model, key) for key in keys},
        "layer_types": list(model.layer_types),
        "layers": [
            {"layer_type": t, "layers": n, "caches": [_record(c) for c in caches]}
            for t, n, caches in model.layer_groups
        ],
        "provenance": dict(model.provenance),
        "assumptions": list(model.assumptions),
    }


def _record(cache: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(cache).items() if value is not None}


def _summary(model: ModelSpec) -> str:
    lines = [
        f"{model.name}: {model.model_type}, {model.num_hidden_layers} layers, {model.dtype}",
        "",
    ]
    rows = [
        [group.layer_type, group.layers, _described(cache)]
        for group in model.layer_groups
        for cache in group.caches or (None,)
    ]
    lines.append(table(["layer type", "layers", "what each keeps"], rows))
    if model.read_from:
        lines += ["", f"Read from {model.read_from}."]
    if model.provenance:
        lines += ["", table(["figure", "comes from"], [list(pair) for pair in model.provenance])]
    if model.assumptions:
        lines += ["", "Assumed:", bullets(model.assumptions)]
    return "\n".join(lines)


def _described(cache: Any) -> str:
    if cache is None:
        return "nothing"
    return ", ".join(f"{k} {v}" if k != "kind" else str(v) for k, v in _record(cache).items())
