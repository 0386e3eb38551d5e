"""The models that are known by name, each with its source."""

from __future__ import annotations

import argparse

from calculator.catalog import presets
from calculator.cli.text import print_json, table
from calculator.footprint import footprint
from calculator.model import ModelSpec
from calculator.request import Request
from calculator.units import MAX_TOKENS


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
        "id", "name", "model_type", "source", "revision", "checked", "num_hidden_layers",
        "max_position_embeddings", "dtype", "num_parameters", "num_active_parameters",
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


def first_bytes_per_token(model: ModelSpec) -> int:
    """What a further token adds while every window and chunk still fills [bytes]."""
    return _bytes_per_token(model, 1)


def lasting_bytes_per_token(model: ModelSpec) -> int:
    """What a further token adds once windows and chunks are full [bytes].

    Of a known maximum: a window that is never reached within it grows to the end.
    """
    return _bytes_per_token(model, model.max_position_embeddings or MAX_TOKENS // 2)


def _bytes_per_token(model: ModelSpec, seq_len: int) -> int:
    request = Request(seq_len, encoder_seq_len=1 if model.has_encoder else None)
    return footprint(model, request).bytes_per_token
