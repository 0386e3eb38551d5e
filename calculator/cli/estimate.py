"""Bytes of a model's key-value cache, and how they come about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from calculator.cli.options import add_estimate_options, option_texts, scenario_of
from calculator.cli.text import bullets, print_json, table
from calculator.footprint import Footprint
from calculator.units import exact_bytes

if TYPE_CHECKING:
    from calculator.explain import FormulaRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_estimate_options(parser)


def run(arguments: argparse.Namespace) -> int:
    asked = scenario_of(option_texts(arguments))
    found = asked.footprint()
    if arguments.json:
        print_json(asked.to_dict(found))
    else:
        print(report(found, asked.notes))
    return 0


def report(found: Footprint, notes: tuple[str, ...]) -> str:
    """The answer, a line a layer type that multiplies to it, and what was assumed."""
    from calculator.explain import answer, explain, sizes
    from calculator.verdict import gib2

    steps = explain(found)
    head = ["layer kind", "layers", "×", "tensors", "×", "slots", "×", "heads", "×", "width", "×",
            "B a value", "×", "sequences", "=", "bytes", "GiB"]  # fmt: skip
    rows = [
        [_kind(row), row.layers, "×", _tensors(row), "×", row.slots_text, "×", row.heads, "×",
         row.width, "×", row.value_bytes, "×", row.sequences, "=", row.num_bytes,
         gib2(row.num_bytes)]
        for row in steps.rows
    ]  # fmt: skip
    parts = [answer(found), "", table(head, rows), "", steps.marginal]
    if fixed := found.fixed_bytes:
        parts.append(f"Fixed, whatever comes: {exact_bytes(fixed, sizes(fixed)[0])}.")
    if len(found.bytes_per_device) > 1:
        parts.append(_devices(found.bytes_per_device))
    if found.engine.engine != "ideal":
        parts += ["", _against_ideal(found)]
    return "\n".join([*parts, "", "Assumed:", bullets([*notes, *found.assumptions])])


def _kind(row: FormulaRow) -> str:
    return row.label + (f" × {row.copies} copies" if row.copies > 1 else "")


def _tensors(row: FormulaRow) -> str:
    return f"{len(row.tensors)} {', '.join(row.tensors)}"


def _devices(on_device: tuple[int, ...]) -> str:
    from calculator.explain import sizes

    least, most = min(on_device), max(on_device)
    if least == most:
        return f"On each of {len(on_device)} devices: {exact_bytes(most, sizes(most)[0])}."
    fullest = sizes(most)[0]
    return f"On {len(on_device)} devices: {least:,} to {most:,} B each ({fullest} on the fullest)."


def _against_ideal(found: Footprint) -> str:
    """The steps from the ideal size to the engine's."""
    from calculator.differences import differences, ideal_of, storage_differences

    ideal = ideal_of(found).num_bytes
    rows = [
        [step.label, step.ideal_bytes, step.engine_bytes, step.engine_bytes - step.ideal_bytes,
         step.why]
        for step in differences(found)
    ]  # fmt: skip
    rows.append(["Total", ideal, found.num_bytes, found.num_bytes - ideal, ""])
    behind = [step for step in storage_differences(found) if step.ideal_bytes != step.engine_bytes]
    for step in behind:
        more = step.engine_bytes - step.ideal_bytes
        rows.append(
            [f"Memory behind {step.label}", step.ideal_bytes, step.engine_bytes, more, step.why]
        )
    return table(["against ideal", "ideal, B", "held, B", "difference", "why"], rows)
