"""A scenario → its size against context, and against the number of sequences, as figures."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any, Literal

from calculator.budget import ByteRange
from calculator.capacity import Capacity
from calculator.charts import frame
from calculator.charts.frame import Scale, on_axis
from calculator.charts.labels import Area, labels
from calculator.charts.needed import needed_trace
from calculator.charts.palette import Palette
from calculator.charts.placing import LINE_HEIGHT, Note
from calculator.footprint import Footprint
from calculator.units import GIB, counted, format_tokens
from calculator.verdict import gib, gib2, gib_range

if TYPE_CHECKING:
    import plotly.graph_objects as go

WORDS = {"fits": "fits", "marginal": "≈ marginal", "does-not-fit": "does not fit", None: ""}


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: bytes on a device at each x, what each needs there, and whether it is our own."""

    name: str
    points: tuple[tuple[int, int], ...]
    needs: tuple[int, ...]
    own: bool


@dataclass(frozen=True, slots=True)
class LineChart:
    """Curves over one variable, with the room on a device, a limit and this scenario's point."""

    variable: Literal["context", "sequences"]
    lines: tuple[Line, ...]
    here: tuple[int, int]
    limit: int | None
    weights: int | None
    fp: Footprint
    found: Capacity | None

    @property
    def room(self) -> ByteRange | None:
        """Least and most bytes a device has for the cache."""
        return self.found.budget.available if self.found else None

    @property
    def alt(self) -> str:
        """What the picture shows, in a sentence."""
        x, size = self.here
        unit = "token" if self.variable == "context" else "sequence"
        text = f"{self._title}: {gib2(size)} GiB at {counted(x, unit)}"
        if self.room:
            low, high = (gib(max(0, n)) for n in self.room)
            text += f"; there is room for {low} to {high} GiB" if self.room[1] > 0 else "; no room"
        return f"{text}."

    @property
    def own(self) -> Line:
        return next(line for line in self.lines if line.own)

    @property
    def _title(self) -> str:
        what = "context" if self.variable == "context" else "sequences at once"
        return f"Size of the cache against {what}"

    def table(self) -> list[dict[str, Any]]:
        """The curves at the powers of two and at this scenario's point."""
        x_name = "tokens" if self.variable == "context" else "sequences"
        columns = [(line.name, dict(line.points)) for line in self.lines]
        kept = [x for x, _ in self.lines[0].points if x & (x - 1) == 0 or x == self.here[0]]
        return [{x_name: x, **{f"{name}, B": by_x[x] for name, by_x in columns}} for x in kept]

    def figure(self, palette: Palette, scale: Scale = "log") -> go.Figure:
        """The specification as a figure, every property checked by plotly."""
        import plotly.graph_objects as go

        return go.Figure(self.spec(palette, scale))

    def spec(self, palette: Palette, scale: Scale = "log") -> dict[str, Any]:
        """The curves on a log or a linear axis of GiB."""
        low, high = self._y_range(scale)
        traces = [self._curve(line, i, palette) for i, line in enumerate(self.lines)]
        own = self.own
        traces += needed_trace(self.found, [x for x, _ in own.points], own.needs, palette)
        traces.append(self._marker(palette))
        y_axis, right = self._y_axis(palette, scale, low, high), self._right_margin
        # a marker at the left end would cover the labels beside it
        off = 8 if self.here[0] == own.points[0][0] else 4
        left = frame.left_margin(y_axis.get("ticktext", ())) + off
        xs = self._x_range()
        width = frame.WIDTH - left - right
        area = Area(xs, y_axis["range"], scale, width, frame.PLOT_HEIGHT)
        x_axis = frame.x_axis(palette, *self._x_ticks(width))
        layout = frame.layout(palette, left=left, right=right) | {
            "xaxis": x_axis | {"type": "log", "range": xs},
            "yaxis": y_axis | {"ticklabelstandoff": off},
            "shapes": self._room_band(palette, low) + self._limit_line(palette)
            + self._weights_line(palette, low, high),
            "annotations": self._room_note(palette, area)
            + labels(self, palette, area),
        }  # fmt: skip
        return {"data": traces, "layout": layout}

    def _x_range(self) -> list[float]:
        xs = [x for x, _ in self.lines[0].points]
        # a marker at an end is drawn only if rounding leaves it inside
        return [on_axis(xs[0], "log") - 1e-6, on_axis(xs[-1], "log") + 1e-6]

    def _x_ticks(self, width: float) -> tuple[str, list[int], list[str]]:
        xs = [x for x, _ in self.lines[0].points if x & (x - 1) == 0]
        if self.variable == "context":
            text = [format_tokens(x) for x in xs]
            return "Context, tokens", *frame.ticks_apart(xs, text, width)
        text = [frame.count(x) for x in xs]
        return "Sequences at once", *frame.ticks_apart(xs, text, width)

    def _y_range(self, scale: Scale) -> tuple[float, float]:
        """From the smallest point to a little above the scenario's own curve and the room [GiB]."""
        tops = [self.own.points[-1][1], *(self.room or ())]
        if scale == "linear":
            return 0.0, max(tops) / GIB * 1.08
        sizes = [size for line in self.lines for _, size in line.points]
        tops += [min(max(sizes), max(tops) * 32)]
        low, high = max(min(sizes), 1) / GIB / 1.15, max(tops) / GIB * 1.25
        here = max(self.here[1], 1) / GIB
        return min(low, here * (here / high) ** 0.1), high  # its value is written below it

    def _y_axis(self, palette: Palette, scale: Scale, low: float, high: float) -> dict[str, Any]:
        several = self.fp.parallelism.num_devices > 1
        axis = frame.y_axis(palette, "Cache per device, GiB" if several else "Cache, GiB")
        if scale == "linear":
            return axis | {"range": [low, high], "nticks": 6}
        span = log2(high) - log2(low)
        step = 1 if span < 5 else 2 if span < 16 else 4
        exponents = range(ceil(log2(low) / step) * step, floor(log2(high)) + 1, step)
        ticks = [2.0**n for n in exponents if 2.0**n > low * 1.2]
        text = [frame.count(int(t)) if t >= 1 else f"1/{frame.count(int(1 / t))}" for t in ticks]
        bounds = [on_axis(low, "log"), on_axis(high, "log")]
        return axis | {"type": "log", "range": bounds, "tickvals": ticks, "ticktext": text}

    def _curve(self, line: Line, index: int, palette: Palette) -> dict[str, Any]:
        own = {"color": palette.accent, "width": 2.5}
        other = {"color": palette.muted, "width": 1.5, "dash": ("dash", "dot")[index % 2]}
        return {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in line.points],
            "y": [size / GIB for _, size in line.points],
            "line": own if line.own else other,
            "customdata": [
                self._hover(size, needed)
                for (_, size), needed in zip(line.points, line.needs, strict=True)
            ],
            "hovertemplate": self._hover_template(line),
        }

    def _hover_template(self, line: Line) -> str:
        context = self.variable == "context"
        at = f"%{{x:,}} tokens {line.name}" if context else f"{line.name} × %{{x:,}}"
        return f"{at}<br>%{{customdata}}<extra></extra>"

    def _hover(self, size: int, needed: int) -> str:
        if self.found is None:
            return f"<b>{gib2(size)} GiB</b>"
        return f"<b>{gib2(size)} GiB</b>: {WORDS[self.found.verdict_of(needed)]}"

    def _marker(self, palette: Palette) -> dict[str, Any]:
        x, size = self.here
        needed = self.found.needed_bytes_per_device if self.found else size
        ring, own = {"color": palette.page, "width": 2.5}, self.own
        return {
            "type": "scatter",
            "mode": "markers",
            "x": [x],
            "y": [size / GIB],
            "marker": {"size": 13, "color": palette.accent, "line": ring},
            "cliponaxis": False,
            "customdata": [self._hover(size, needed)],
            "hovertemplate": self._hover_template(own),
        }

    @property
    def _room_text(self) -> str:
        if not self.room or self.room[1] <= 0:
            return ""
        return gib_range(ByteRange(max(0, self.room[0]), self.room[1]))

    @property
    def _right_margin(self) -> int:
        """Room for the band's label beside a marker at the right end [pixels]."""
        return max(66, 12 + 6 * len(self._room_text)) if self.room else 24

    def _room_edges(self, low: float) -> tuple[float, float] | None:
        """Least and most room in the picture [GiB]."""
        if not self.room or self.room[1] <= 0:
            return None
        bottom, top = (max(n / GIB, low) for n in self.room)
        return bottom, top

    def _room_band(self, palette: Palette, low: float) -> list[dict[str, Any]]:
        """A band from the least to the most room."""
        edges = self._room_edges(low)
        if not edges:
            return []
        across = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
        band = {"type": "rect", "y0": edges[0], "y1": edges[1], "line": {"width": 0}}
        edge = {"type": "line", "line": {"color": palette.estimate, "width": 1}}
        return [
            across | band | {"fillcolor": palette.estimate, "opacity": 0.28},
            *(across | edge | {"y0": y, "y1": y} for y in set(edges)),
        ]

    def _room_note(self, palette: Palette, area: Area) -> list[Note]:
        """The band's label, in the right margin and not beside the labels of the x axis."""
        edges = self._room_edges(self._y_range(area.scale)[0])
        if not edges:
            return []
        middle = area.y(int(sum(edges) / 2 * GIB))
        if middle >= area.height:
            return []
        low = middle < LINE_HEIGHT
        at = {"y": 0 if low else middle / area.height, "yanchor": "bottom" if low else "middle"}
        text = f"room<br>{self._room_text}"
        note = frame.note(text, palette.marginal, xanchor="left", xshift=10)
        return [note | {"xref": "paper", "x": 1, "yref": "paper"} | at]

    def _limit_line(self, palette: Palette) -> list[dict[str, Any]]:
        if not self.limit_is_shown:
            return []
        line = {"color": palette.muted, "width": 1, "dash": "dot"}
        return [
            {"type": "line", "x0": self.limit, "x1": self.limit, "yref": "paper", "y0": 0, "y1": 1,
             "line": line, "layer": "below"}
        ]  # fmt: skip

    def _weights_line(self, palette: Palette, low: float, high: float) -> list[dict[str, Any]]:
        if not self.weights or not low < self.weights / GIB < high:
            return []
        y, line = self.weights / GIB, {"color": palette.weights, "width": 2}
        return [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
             "line": line, "layer": "below"}
        ]  # fmt: skip

    @property
    def limit_is_shown(self) -> bool:
        xs = [x for x, _ in self.lines[0].points]
        return self.limit is not None and xs[0] <= self.limit <= xs[-1]
