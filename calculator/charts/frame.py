"""What all figures share: margins, type, axes, hover labels, as plain layout dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from math import ceil, log2
from typing import Any, Literal

from calculator.charts.palette import Palette
from calculator.units import format_tokens

Scale = Literal["log", "linear"]
LOG10_2 = 0.30102999566398120
FONT = '"Source Sans", sans-serif'
HEIGHT = 330
WIDTH = 360
"""Of the narrowest, on a phone; where there is more room, labels only lie farther apart."""
TOP, BOTTOM, RIGHT = 22, 40, 12
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
CONFIG = {"displayModeBar": False, "displaylogo": False, "responsive": True}


def layout(
    palette: Palette, *, left: int = 44, right: int = RIGHT, top: int = TOP, height: int = HEIGHT
) -> dict[str, Any]:
    """No legend, no dragging (a page scrolls on phones), labels drawn where they belong."""
    return {
        "template": None,
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": BOTTOM},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13, "color": palette.text},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": palette.panel,
            "bordercolor": palette.hairline,
            "font": {"family": FONT, "size": 13, "color": palette.text},
            "align": "left",
        },
    }


def _axis(palette: Palette, title: str) -> dict[str, Any]:
    small = {"family": FONT, "size": 12, "color": palette.muted}
    return {
        "title": {"text": title, "font": small, "standoff": 8},
        "tickfont": small,
        "gridcolor": palette.grid,
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
    }


def x_axis(palette: Palette, title: str, values: list[int], text: list[str]) -> dict[str, Any]:
    return _axis(palette, title) | {"tickvals": values, "ticktext": text, "tickangle": 0}


def y_axis(palette: Palette, title: str) -> dict[str, Any]:
    return _axis(palette, title)


def count(number: int) -> str:
    """A count below or beside an axis, from ten thousand on as short as the tokens' are.

    >>> count(4096), count(65_536), count(1_000_000)
    ('4,096', '64K', '1,000,000')
    """
    return format_tokens(number) if number >= 10_000 else f"{number:,}"


def left_margin(labels: Iterable[str]) -> int:
    """Room for the labels of the y axis and its title [pixels]."""
    return max(44, 20 + 7 * max(map(len, labels), default=0))


def on_axis(value: float, scale: Scale) -> float:
    """What a label or the end of a log axis is placed by: the logarithm."""
    return log2(value) * LOG10_2 if scale == "log" else value


@lru_cache(maxsize=1024)
def text_width(text: str) -> float:
    """Of a label, a little more than most letters need [pixels]."""
    return 6.5 * len(re.sub("<.*?>", "", text))


def ticks_apart(values: list[int], labels: list[str], width: float) -> tuple[list[int], list[str]]:
    """Every one of evenly spaced ticks, or every second and so on, so that no labels touch.

    >>> ticks_apart([1, 2, 4, 8], ["256K", "512K", "1M", "2M"], width=80)
    ([1, 4], ['256K', '1M'])
    """
    widest, gap = text_width(max(labels, key=len)), width / max(1, len(labels) - 1)
    every = ceil((widest + 4) / gap)
    return values[::every], labels[::every]


def labels_apart(labels: list[str], own: int, width: float) -> list[str]:
    """Labels of columns without those that would touch our own, or one before them.

    >>> labels_apart(["64K", "100,000", "128K", "256K"], own=1, width=120)
    ['', '100,000', '', '256K']
    """
    kept, column = [own], width / len(labels)
    for i, label in enumerate(labels):
        if all(
            text_width(label + labels[k]) / 2 + 2 <= abs(i - k) * column for k in kept if k != i
        ):
            kept.append(i)
    return [label if i in kept else "" for i, label in enumerate(labels)]


def note(text: str, colour: str, **anchors: Any) -> dict[str, Any]:
    """A label in the picture, without an arrow."""
    font = {"family": FONT, "size": 12, "color": colour}
    return {"text": text, "showarrow": False, "font": font, "align": "left", **anchors}
