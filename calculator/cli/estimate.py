"""Bytes of a model's key-value cache, and how they come about."""

from __future__ import annotations

import argparse

from calculator.cli.options import add_estimate_options, option_texts
from calculator.cli.text import bullets, print_json, table
from calculator.footprint import Footprint
from calculator.scenario import scenario


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_estimate_options(parser)


def run(arguments: argparse.Namespace) -> int:
    asked = scenario(option_texts(arguments))
    found = asked.footprint()
    if arguments.json:
        print_json(asked.to_dict(found))
    else:
        print(report(found, asked.notes))
    return 0


def report(found: Footprint, notes: tuple[str, ...]) -> str:
    """The answer, a line a layer type that multiplies to it, and what was assumed."""
    from calculator.explain import answer, explain
    from calculator.units import format_gib

    steps = explain(found)
    head = ["layer kind", "layers", "×", "tensors", "×", "slots", "×", "heads", "×", "width", "×",
            "B a value", "×", "sequences", "=", "bytes", "GiB"]  # fmt: skip
    rows = [
        [
            row.label + (f" × {row.copies} copies" if row.copies > 1 else ""),
            row.layers, "×", f"{len(row.tensors)} {', '.join(row.tensors)}", "×", row.slots_text, "×",
            row.heads, "×", row.width, "×", row.value_bytes, "×", row.sequences, "=", row.num_bytes,
            format_gib(row.num_bytes).removesuffix(" GiB"),
        ]
        for row in steps.rows
    ]  # fmt: skip
    parts = [answer(found), "", table(head, rows), "", steps.marginal]
    if found.fixed_bytes:
        parts.append(
            f"Fixed, whatever comes: {found.fixed_bytes:,} B ({format_gib(found.fixed_bytes)})."
        )
    devices = found.bytes_per_device
    if len(devices) > 1:
        parts.append(
            f"On {len(devices)} devices: {min(devices):,} to {max(devices):,} B each "
            f"({format_gib(max(devices))} on the fullest)."
        )
    return "\n".join([*parts, "", "Assumed:", bullets([*notes, *found.assumptions])])
