"""A line chart → its labels, each where it touches no other and, if there is room, no line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from calculator.charts.frame import LOG10_2, Scale
from calculator.charts.needed import word
from calculator.charts.palette import Palette
from calculator.charts.placing import (
    MARKER,
    Box,
    Label,
    Note,
    Picture,
    along_level,
    along_limit,
    around,
    beside,
)
from calculator.search import NOT_RUN
from calculator.units import GIB
from calculator.verdict import gib2

if TYPE_CHECKING:
    from calculator.charts.lines import LineChart

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Area:
    """The ends of a chart's axes as plotly has them, and how many pixels lie between them."""

    xs: Sequence[float]
    ys: Sequence[float]
    scale: Scale
    width: float
    height: float

    def x(self, value: float) -> float:
        return self.columns([value])[0]

    def columns(self, values: Iterable[float]) -> list[float]:
        low, per_unit = self.xs[0], self.width / (self.xs[1] - self.xs[0])
        return [(log2(value) * LOG10_2 - low) * per_unit for value in values]

    def y(self, num_bytes: int) -> float:
        return self.heights([num_bytes])[0]

    def heights(self, sizes: Sequence[int]) -> list[float]:
        low, per_unit = self.ys[0], self.height / (self.ys[1] - self.ys[0])
        if self.scale == "log":
            return [(log2(max(n, 1) / GIB) * LOG10_2 - low) * per_unit for n in sizes]
        return [(n / GIB - low) * per_unit for n in sizes]

    def inside(self, points: Points) -> Points:
        return [point for point in points if 0 < point[1] < self.height]


def labels(chart: LineChart, palette: Palette, area: Area) -> list[Note]:
    """What has the fewest places comes first: the value, the levels, then the curves' names."""
    own, (here, size), found = chart.own, chart.here, chart.found
    columns = area.columns(x for x, _ in own.points)
    heights = [area.heights([n for _, n in line.points]) for line in chart.lines]
    x, y = area.x(here), area.y(size)
    bands: list[Box] = []
    wanted = [Label(f"<b>{gib2(size)}</b>", palette.accent, around(x, y))]
    if chart.room and chart.room[1] > 0:
        low, high = (max(0, area.y(n)) for n in chart.room)
        bands.append((0, low, area.width, high))
    if chart.limit and chart.limit_is_shown:
        limit = area.x(chart.limit)
        bands.append((limit, 0, limit, area.height))
        places = along_limit(limit, area.height)
        wanted.append(Label("model maximum", palette.muted, places))
    if chart.weights and 0 < (level := area.y(chart.weights)) < area.height:
        bands.append((0, level, area.width, level))
        places = along_level(level, area.width)
        wanted.append(Label(f"weights {gib2(chart.weights)}", palette.muted, places))
    # rather a label on two other curves than on the scenario's own
    curves = [
        (columns, ys, 3 if line.own else 1) for line, ys in zip(chart.lines, heights, strict=True)
    ]
    if found and found.needs_more:
        there = [i for i, n in enumerate(own.needs) if n < NOT_RUN]
        at = [columns[i] for i in there], area.heights([own.needs[i] for i in there])
        curves.append((*at, 1))
        needs = area.inside(list(zip(*at, strict=True)))
        near = min(range(len(needs)), key=lambda i: abs(needs[i][0] - x), default=0)
        wanted.append(Label(word(found), palette.accent, beside(needs, near)))
    for line, ys in zip(chart.lines, heights, strict=True):
        points = area.inside(list(zip(columns, ys, strict=True)))
        start = len(points) * 7 // 10
        if area.scale == "log" and chart.variable == "context":
            # a name ends at its place, so a long one needs more room before it
            start = len(points) * max(4, len(line.name)) // 32
        colour = palette.accent if line.own else palette.muted
        wanted.append(Label(line.name, colour, beside(points, start)))
    marker = (x - MARKER, y - MARKER, x + MARKER, y + MARKER)
    picture = Picture(area.width, area.height, [marker], bands, curves)
    return picture.labelled(wanted, palette)
