"""The models that are known by name, each with its source."""

from __future__ import annotations

import argparse

from calculator.catalog import presets
from calculator.cli.text import print_json, table
from calculator.model import ModelSpec
from calculator.rates import first_bytes_per_token, lasting_bytes_per_token


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document, nothing else")


def run(arguments: argparse.Namespace) -> int:
    found = presets()
    if arguments.json:
        print_json(document(found))
        return 0
    head = ["id", "name", "layers", "bytes a token at first", "once windows are full", "context",
            "parameters", "checked"]  # fmt: skip
    rows = [
        [
            m.id, m.name, m.num_hidden_layers, *_rates(m),
            m.max_position_embeddings or "–", m.num_parameters or "–", m.checked,
        ]
        for m in found
    ]  # fmt: skip
    print(table(head, rows))
    print(
        "\nBytes a token: what each further token adds, ideal engine; at first, and once every "
        "window and chunk\nthat the model's context can fill is full, where that is another number."
    )
    return 0


def _rates(model: ModelSpec) -> tuple[int, int | str]:
    first, lasting = first_bytes_per_token(model), lasting_bytes_per_token(model)
    return first, "–" if first == lasting else lasting


def document(found: tuple[ModelSpec, ...]) -> dict[str, object]:
    """The JSON of `kvcalc presets --json` and of the API."""
    keys = (
        "id", "name", "model_type", "source", "read_from", "revision", "checked",
        "num_hidden_layers", "max_position_embeddings", "dtype", "num_parameters",
        "num_active_parameters",
    )  # fmt: skip
    return {
        "schema_version": 1,
        "presets": [
            {
                **{k: getattr(m, k) for k in keys},
                "bytes_per_token": lasting_bytes_per_token(m),
                "first_bytes_per_token": first_bytes_per_token(m),
            }
            for m in found
        ],
    }
