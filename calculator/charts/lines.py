"""A scenario → its size against context, and against the number of sequences, as figures."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any, Literal

from calculator.budget import ByteRange
from calculator.capacity import Capacity
from calculator.charts import frame
from calculator.charts.needed import LOG10_2, needed_note, needed_trace
from calculator.charts.palette import Palette
from calculator.footprint import Footprint
from calculator.units import GIB, counted, format_tokens
from calculator.verdict import gib, gib2, gib_range

if TYPE_CHECKING:
    import plotly.graph_objects as go

Scale = Literal["log", "linear"]
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
    def _own(self) -> Line:
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
        own = self._own
        traces += needed_trace(self.found, [x for x, _ in own.points], own.needs, palette)
        traces.append(self._marker(palette))
        shapes, notes = self._room(palette, scale, low, high)
        x_axis = frame.x_axis(palette, *self._x_ticks())
        y_axis = self._y_axis(palette, scale, low, high)
        left = frame.left_margin(y_axis.get("ticktext", ()))
        layout = frame.layout(palette, left=left, right=62 if self.room else 24) | {
            "xaxis": x_axis | {"type": "log", "range": self._x_range()},
            "yaxis": y_axis,
            "shapes": shapes + self._limit_line(palette) + self._weights_line(palette, low, high),
            "annotations": notes + self._names(palette, scale, low, high)
            + self._value(palette, scale)
            + needed_note(self.found, self.here[0], self.lines[0].points[-1][0], palette, scale)
            + self._limit_note(palette) + self._weights_note(palette, scale, low, high),
        }  # fmt: skip
        return {"data": traces, "layout": layout}

    def _x_range(self) -> list[float]:
        xs = [x for x, _ in self.lines[0].points]
        # a marker at an end is drawn only if rounding leaves it inside
        return [log2(xs[0]) * LOG10_2 - 1e-6, log2(xs[-1]) * LOG10_2 + 1e-6]

    def _x_ticks(self) -> tuple[str, list[int], list[str]]:
        xs = [x for x, _ in self.lines[0].points if x & (x - 1) == 0]
        xs = xs[:: -(-len(xs) // 11)]
        if self.variable == "context":
            return "Context, tokens", xs, [format_tokens(x) for x in xs]
        return "Sequences at once", xs, [frame.count(x) for x in xs]

    def _y_range(self, scale: Scale) -> tuple[float, float]:
        """From the smallest point to a little above the scenario's own curve and the room [GiB]."""
        tops = [self._own.points[-1][1], *(self.room or ())]
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
        bounds = [log2(low) * LOG10_2, log2(high) * LOG10_2]
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
        ring, own = {"color": palette.page, "width": 2.5}, self._own
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

    def _room(
        self, palette: Palette, scale: Scale, low: float, high: float
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """A band from the least to the most room, its label in the right margin."""
        if not self.room or self.room[1] <= 0:
            return [], []
        bottom, top = (max(n / GIB, low) for n in self.room)
        across = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
        band = {"type": "rect", "y0": bottom, "y1": top, "line": {"width": 0}}
        edge = {"type": "line", "line": {"color": palette.estimate, "width": 1}}
        shapes = [
            across | band | {"fillcolor": palette.estimate, "opacity": 0.28},
            *(across | edge | {"y0": y, "y1": y} for y in {bottom, top}),
        ]
        text = f"room<br>{gib_range(ByteRange(max(0, self.room[0]), self.room[1]))}"
        middle = (bottom + top) / 2
        note = frame.note(text, palette.marginal, xanchor="left", yanchor="middle", xshift=6) | {
            "xref": "paper", "x": 1, "y": _on_axis(middle, scale),
        }  # fmt: skip
        return shapes, [note] if middle < high else []

    def _limit_line(self, palette: Palette) -> list[dict[str, Any]]:
        if not self._limit_is_shown:
            return []
        line = {"color": palette.muted, "width": 1, "dash": "dot"}
        return [
            {"type": "line", "x0": self.limit, "x1": self.limit, "yref": "paper", "y0": 0, "y1": 1,
             "line": line, "layer": "below"}
        ]  # fmt: skip

    def _limit_note(self, palette: Palette) -> list[dict[str, Any]]:
        if not self.limit or not self._limit_is_shown:
            return []
        left = log2(self.limit) < (self._x_range()[0] + self._x_range()[1]) / 2 / LOG10_2
        anchor, shift = ("left", 4) if left else ("right", -4)
        note = frame.note(
            "model maximum", palette.muted, xanchor=anchor, yanchor="bottom", xshift=shift
        )
        return [note | {"x": log2(self.limit) * LOG10_2, "yref": "paper", "y": 0}]

    def _weights_line(self, palette: Palette, low: float, high: float) -> list[dict[str, Any]]:
        if not self.weights or not low < self.weights / GIB < high:
            return []
        y, line = self.weights / GIB, {"color": palette.weights, "width": 2}
        return [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
             "line": line, "layer": "below"}
        ]  # fmt: skip

    def _weights_note(
        self, palette: Palette, scale: Scale, low: float, high: float
    ) -> list[dict[str, Any]]:
        if not self._weights_line(palette, low, high):
            return []
        text = f"weights {gib2(self.weights or 0)}"
        note = frame.note(text, palette.muted, xanchor="left", yanchor="bottom", xshift=4)
        y = _on_axis((self.weights or 0) / GIB, scale)
        # beside this scenario's value, which on a linear axis stands above its point
        return [note | {"xref": "paper", "x": 0.3 if scale == "linear" else 0, "y": y}]

    @property
    def _limit_is_shown(self) -> bool:
        xs = [x for x, _ in self.lines[0].points]
        return self.limit is not None and xs[0] <= self.limit <= xs[-1]

    def _names(
        self, palette: Palette, scale: Scale, low: float, high: float
    ) -> list[dict[str, Any]]:
        """Each curve's name above it, near its left end; on a linear axis near its right end."""
        notes = []
        for line in self.lines:
            inside = [p for p in line.points if low < p[1] / GIB < high]
            if not inside:
                continue
            near_start = scale == "log" and self.variable == "context"
            # a name ends at its place, so a long one needs more room before it
            start = len(inside) * max(4, len(line.name)) // 32
            at = start if near_start else len(inside) * 7 // 10
            x, size = inside[min(at, len(inside) - 1)]
            colour = palette.accent if line.own else palette.muted
            notes.append(
                frame.note(line.name, colour, xanchor="right", yanchor="bottom", yshift=2)
                | {"bgcolor": palette.page, "borderpad": 0}
                | {"x": log2(x) * LOG10_2, "y": _on_axis(size / GIB, scale)}
            )
        return notes

    def _value(self, palette: Palette, scale: Scale) -> list[dict[str, Any]]:
        x, size = self.here
        near_end = log2(x) * LOG10_2 > self._x_range()[1] - 0.25
        anchors = {"xanchor": "left", "xshift": 8, "yanchor": "top", "yshift": -7}
        if scale == "linear" and size * 8 < self._own.points[-1][1]:
            anchors |= {"yanchor": "bottom", "yshift": 7}
        if near_end:
            anchors = {"xanchor": "right", "xshift": -6, "yanchor": "bottom", "yshift": 5}
        note = frame.note(f"<b>{gib2(size)}</b>", palette.accent, **anchors)
        return [note | {"x": log2(x) * LOG10_2, "y": _on_axis(size / GIB, scale)}]


def _on_axis(value: float, scale: Scale) -> float:
    """Annotations on a log axis are placed by the logarithm."""
    return log2(value) * LOG10_2 if scale == "log" else value
