"""Labels with several places each → for each the first place where it covers nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from calculator.charts import frame
from calculator.charts.palette import Palette

Note = dict[str, Any]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top, from the picture's lower left corner [pixels]."""
Curve = tuple[Sequence[float], Sequence[float], int]
"""The xs and the ys of a line that nowhere falls [pixels], and what a label on it costs."""

LINE_HEIGHT = 14
MARKER = 8
"""Half of it, its ring included [pixels]."""
ABOVE = 8
"""How far a label may stand in the margin above the picture [pixels]."""
OVERLAP = 8
"""What a label on another costs; a band below it costs 1."""
PATIENCE = 8
"""After how many places each a label puts up with one more line through it."""
SHARE = {"left": 0.0, "bottom": 0.0, "center": 0.5, "middle": 0.5, "right": 1.0, "top": 1.0}


class Place(NamedTuple):
    """A point, which side of the label is there, and how far it is moved from it [pixels]."""

    x: float
    y: float
    x_anchor: str
    y_anchor: str
    x_shift: int = 0
    y_shift: int = 0

    def box(self, width: float) -> Box:
        left = self.x + self.x_shift - SHARE[self.x_anchor] * width
        bottom = self.y + self.y_shift - SHARE[self.y_anchor] * LINE_HEIGHT
        return left, bottom, left + width, bottom + LINE_HEIGHT


class Label(NamedTuple):
    """A text and where it may stand, the best place first."""

    text: str
    colour: str
    places: Iterable[Place]


@dataclass(frozen=True, slots=True)
class Picture:
    """What lies in a picture of so many pixels before it has labels."""

    width: float
    height: float
    boxes: Sequence[Box]
    bands: Sequence[Box]
    curves: Sequence[Curve]

    def labelled(self, labels: Iterable[Label], palette: Palette) -> list[Note]:
        """Each label at the place where it covers least, on no earlier one if that can be."""
        there, notes = list(self.boxes), []
        for text, colour, places in labels:
            best, least = None, 1000
            width = frame.text_width(text)
            for tried, place in enumerate(places):
                box = place.box(width)
                cost = self._cost(box, there, least)
                if cost < least:
                    best, least = (place, box), cost
                if least <= tried // PATIENCE:
                    break
            if best:
                there.append(best[1])
                notes.append(self._note(text, colour, palette, best[0]))
        return notes

    def _cost(self, box: Box, there: Iterable[Box], least: int) -> int:
        """Counted no further than to `least`."""
        left, bottom, right, top = box
        inside = left >= 0 <= bottom and right <= self.width and top <= self.height + ABOVE
        cost = 0 if inside else 2 * OVERLAP
        for a, b, c, d in there:
            if left < c and a < right and bottom < d and b < top:
                cost += OVERLAP
        if cost >= least:
            return cost
        for a, b, c, d in self.bands:
            if left < c and a < right and bottom < d and b < top:
                cost += 1
        for xs, ys, price in self.curves:
            if left <= xs[-1] and right >= xs[0]:
                low = ys[max(0, bisect_right(xs, left) - 1)]
                high = ys[min(bisect_left(xs, right), len(xs) - 1)]
                if low < top and bottom < high:
                    cost += price
        return cost

    def _note(self, text: str, colour: str, palette: Palette, place: Place) -> Note:
        """On the page's colour, so that what passes below does not strike it out."""
        return frame.note(text, colour, xanchor=place.x_anchor, yanchor=place.y_anchor) | {
            "xref": "paper", "x": place.x / self.width, "xshift": place.x_shift,
            "yref": "paper", "y": place.y / self.height, "yshift": place.y_shift,
            "bgcolor": palette.page, "borderpad": 0,
        }  # fmt: skip


def around(x: float, y: float) -> Iterator[Place]:
    """Places beside a point."""
    for place in (
        ("left", "top", 8, -7), ("right", "bottom", -6, 5), ("left", "bottom", 8, 5),
        ("right", "top", -8, -7), ("left", "middle", 12, 0), ("right", "middle", -12, 0),
        ("center", "bottom", 0, 12), ("center", "top", 0, -12),
    ):  # fmt: skip
        yield Place(x, y, *place)


def beside(points: Sequence[tuple[float, float]], start: int) -> Iterator[Place]:
    """Places left above a curve that rises and right below it, at one point and ever farther."""
    step = max(1, len(points) // 12)
    order = sorted(range(start % step, len(points), step), key=lambda i: abs(i - start))
    for i in order:
        yield Place(*points[i], "right", "bottom", 0, 2)
        yield Place(*points[i], "left", "top", 8, -7)
    for rows in (1, 2):  # above the labels of other lines that run where this one does
        for i in order:
            yield Place(*points[i], "right", "bottom", 0, 2 + rows * LINE_HEIGHT)


def along_level(y: float, width: float) -> Iterator[Place]:
    """Places above and below a horizontal line, from its left end on."""
    for share, anchor, shift in (
        (0.0, "left", 4), (1.0, "right", -4), (0.2, "left", 0), (0.4, "left", 0),
        (0.8, "right", 0),
    ):  # fmt: skip
        yield Place(share * width, y, anchor, "bottom", shift, 2)
        yield Place(share * width, y, anchor, "top", shift, -2)


def along_limit(x: float, height: float) -> Iterator[Place]:
    """Places beside a vertical line: at its lower end, at its upper one, between them."""
    for share, anchor in ((0.0, "bottom"), (1.0, "top"), (0.25, "bottom"), (0.75, "top")):
        yield Place(x, share * height, "right", anchor, -4)
        yield Place(x, share * height, "left", anchor, 4)
