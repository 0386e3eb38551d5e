"""The bytes a cache held after each step of a real run → a figure beside the formula's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from calculator.charts import frame
from calculator.charts.palette import Palette
from calculator.units import MIB, format_bytes

HEIGHT = 240


@dataclass(frozen=True, slots=True)
class StepChart:
    """Measured bytes after the prompt and after every further step."""

    prompt_tokens: int
    bytes_after_step: tuple[int, ...]

    @property
    def added_bytes(self) -> tuple[int, ...]:
        """What each step after the first added, each size once."""
        sizes = self.bytes_after_step
        return tuple(sorted({b - a for a, b in pairwise(sizes)}))

    @property
    def alt(self) -> str:
        first, last = self.bytes_after_step[0], self.bytes_after_step[-1]
        return (
            f"The cache after each step: {first:,} B after the prompt of {self.prompt_tokens:,} "
            f"tokens, {last:,} B at the end, a straight line."
        )

    def table(self) -> list[dict[str, int]]:
        """Every step of a short run; of a long one 32 of them, the first and the last included."""
        count = len(self.bytes_after_step)
        every = max(1, count // 32)
        kept = sorted({*range(0, count, every), count - 1})
        return [
            {
                "step": i,
                "tokens in the cache": self.prompt_tokens + i,
                "cache, B": self.bytes_after_step[i],
            }
            for i in kept
        ]

    def spec(self, palette: Palette) -> dict[str, Any]:
        tokens = [self.prompt_tokens + i for i in range(len(self.bytes_after_step))]
        sizes = [size / MIB for size in self.bytes_after_step]
        trace = {
            "type": "scatter",
            "mode": "lines",
            "x": tokens,
            "y": sizes,
            "line": {"color": palette.accent, "width": 2.5, "shape": "hv"},
            "customdata": [
                f"{n:,} tokens<br><b>{size:,} B</b>"
                for n, size in zip(tokens, self.bytes_after_step, strict=True)
            ],
            "hovertemplate": "%{customdata}<extra></extra>",
        }
        ends = (
            (tokens[0], sizes[0], "left", self.bytes_after_step[0]),
            (tokens[-1], sizes[-1], "right", self.bytes_after_step[-1]),
        )
        notes = [
            frame.note(
                f"<b>{format_bytes(size)}</b>",
                palette.accent,
                xanchor=anchor,
                yanchor="bottom",
                yshift=8,
            )
            | {"x": x, "y": y}
            for x, y, anchor, size in ends
        ]
        layout = frame.layout(palette, right=16, height=HEIGHT) | {
            "xaxis": frame.y_axis(palette, "Tokens in the cache") | {"nticks": 6},
            "yaxis": frame.y_axis(palette, "Cache, MiB")
            | {"range": [0, sizes[-1] * 1.15], "nticks": 5},
            "annotations": notes,
        }
        return {"data": [trace], "layout": layout}


def step_chart(found: dict[str, Any]) -> StepChart:
    """The chart of a generation's result: `cached` is the prompt and every new token but one."""
    sizes = tuple(found["bytes_after_step"])
    return StepChart(found["projections"]["cached"] - len(sizes) + 1, sizes)
