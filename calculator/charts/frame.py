"""What all figures share: margins, type, axes, hover labels, as plain layout dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calculator.charts.palette import Palette
from calculator.units import format_tokens

FONT = '"Source Sans", sans-serif'
HEIGHT = 330
CONFIG = {"displayModeBar": False, "displaylogo": False, "responsive": True}


def layout(
    palette: Palette, *, left: int = 44, right: int = 12, top: int = 22, height: int = HEIGHT
) -> dict[str, Any]:
    """No legend, no dragging (a page scrolls on phones), labels drawn where they belong."""
    return {
        "template": None,
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": 40},
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


def note(text: str, colour: str, **anchors: Any) -> dict[str, Any]:
    """A label in the picture, without an arrow."""
    font = {"family": FONT, "size": 12, "color": colour}
    return {"text": text, "showarrow": False, "font": font, "align": "left", **anchors}
