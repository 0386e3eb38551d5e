"""A curve → a dotted one above it: what a device must have, where that is more than is held."""

from __future__ import annotations

from typing import Any

from calculator.capacity import Capacity
from calculator.charts.palette import Palette
from calculator.search import NOT_RUN
from calculator.units import GIB
from calculator.verdict import gib2


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


def word(found: Capacity) -> str:
    return "needed to start" if found.footprint.engine.reserves else "memory behind"
