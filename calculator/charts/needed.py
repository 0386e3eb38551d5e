"""A curve → a dotted one above it: what a device must have, where that is more than is held."""

from __future__ import annotations

from math import log2
from typing import Any

from calculator.capacity import Capacity
from calculator.charts import frame
from calculator.charts.palette import Palette
from calculator.search import NOT_RUN
from calculator.units import GIB
from calculator.verdict import gib2

LOG10_2 = 0.30102999566398120


def needed_trace(
    found: Capacity | None, xs: list[int], needs: tuple[int, ...], palette: Palette
) -> list[dict[str, Any]]:
    """Nothing where the scenario needs no more than it holds."""
    if found is None or not found.needs_more:
        return []
    kept = [(x, need) for x, need in zip(xs, needs, strict=True) if need < NOT_RUN]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in kept],
            "y": [need / GIB for _, need in kept],
            "line": {"color": palette.accent, "width": 1.5, "dash": "dot"},
            "customdata": [f"{word(found)}: {gib2(need)} GiB" for _, need in kept],
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    ]


def needed_note(
    found: Capacity | None, here: int, last: int, palette: Palette, scale: str
) -> list[dict[str, Any]]:
    """Its name, above this scenario's place on it."""
    if found is None or not found.needs_more:
        return []
    y, at_start = found.needed_bytes_per_device / GIB, here * 8 < last
    note = frame.note(
        word(found), palette.accent, yanchor="bottom", yshift=3,
        xanchor="left" if at_start else "right", xshift=4 if at_start else -4,
    )  # fmt: skip
    return [note | {"x": log2(here) * LOG10_2, "y": log2(y) * LOG10_2 if scale == "log" else y}]


def word(found: Capacity) -> str:
    return "needed to start" if found.footprint.engine.reserves else "memory behind"
