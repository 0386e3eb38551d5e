"""Passes over a growing text → positions projected with and without a cache, as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import Any

from calculator.charts import frame
from calculator.charts.palette import Palette
from calculator.lesson import Work, growing_apart, projections
from calculator.units import format_tokens

MARKED = 4096
SHORT = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def short(count: int) -> str:
    """A count in full below a million, above in three digits and a decimal prefix.

    >>> short(8_390_656), short(163_712), short(53_100_000)
    ('8.39 M', '163,712', '53.1 M')
    """
    for size, letter in SHORT:
        if count >= size:
            decimals = 2 if count < 10 * size else 1 if count < 100 * size else 0
            return f"{count / size:,.{decimals}f} {letter}"
    return f"{count:,}"


@dataclass(frozen=True, slots=True)
class WorkChart:
    """Positions for 2, 4, 8 … tokens from a prompt of one, and one length marked."""

    points: tuple[Work, ...]
    marked: Work

    @property
    def alt(self) -> str:
        at = self.marked
        return (
            f"Positions projected against tokens generated: at {at.new_tokens:,} tokens "
            f"{at.without:,} without a cache, {at.cached:,} with one; without a cache they grow "
            "four times at each doubling, with one twice."
        )

    def table(self) -> list[dict[str, int]]:
        return [
            {"tokens": p.new_tokens, "positions without": p.without, "positions with": p.cached}
            for p in self.points
        ]

    def spec(self, palette: Palette) -> dict[str, Any]:
        xs = [p.new_tokens for p in self.points]
        without, cached = [p.without for p in self.points], [p.cached for p in self.points]
        x_axis = frame.x_axis(
            palette, "Tokens generated", xs[1::2], [format_tokens(x) for x in xs[1::2]]
        )
        ticks = [10**n for n in range(0, 10, 2)]
        y_axis = frame.y_axis(palette, "Positions projected")
        y_axis |= {"tickvals": ticks, "ticktext": ["1", "100", "10,000", "1 M", "100 M"]}
        layout = frame.layout(palette, left=62, right=64) | {
            "xaxis": x_axis | {"type": "log", "range": [log10(xs[0]), log10(xs[-1])]},
            "yaxis": y_axis | {"type": "log", "range": [0, log10(without[-1]) + 0.3]},
            "annotations": self._names(palette),
        }
        lines = [
            _line(xs, without, "without a cache", {"color": palette.muted, "width": 2,
                  "dash": "dash"}),
            _line(xs, cached, "with one", {"color": palette.accent, "width": 2.5}),
        ]  # fmt: skip
        return {"data": [*lines, *self._markers(palette)], "layout": layout}

    def _names(self, palette: Palette) -> list[dict[str, Any]]:
        at = self.marked
        named = (
            (at.without, f"<b>{short(at.without)}</b> without", palette.muted, "right", "bottom"),
            (at.cached, f"<b>{at.cached:,}</b> with a cache", palette.accent, "left", "top"),
        )
        return [
            frame.note(text, colour, xanchor=x, yanchor=y, xshift=-8 if x == "right" else 4,
                       yshift=4 if y == "bottom" else -8)
            | {"x": log10(at.new_tokens), "y": log10(count)}
            for count, text, colour, x, y in named
        ]  # fmt: skip

    def _markers(self, palette: Palette) -> list[dict[str, Any]]:
        at = self.marked
        return [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [at.new_tokens],
                "y": [count],
                "marker": {
                    "size": 11,
                    "color": colour,
                    "line": {"color": palette.page, "width": 2.5},
                },
                "hovertemplate": f"{at.new_tokens:,} tokens<br><b>{count:,}</b> positions"
                "<extra></extra>",
            }
            for count, colour in ((at.without, palette.muted), (at.cached, palette.accent))
        ]


def _line(xs: list[int], ys: list[int], name: str, line: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": line,
        "customdata": [
            f"{x:,} tokens<br><b>{y:,}</b> positions {name}" for x, y in zip(xs, ys, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def work_chart() -> WorkChart:
    """From a prompt of one token, with 4,096 marked."""
    return WorkChart(tuple(work for work, _ in growing_apart()), projections(1, MARKED))
