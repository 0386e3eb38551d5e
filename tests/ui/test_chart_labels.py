"""Labels of figures: none lies on another, at the width of a phone and so at any other."""

import math
import re
from itertools import combinations, pairwise

import pytest

from calculator.charts.curves import against_context, against_sequences
from calculator.charts.frame import text_width
from calculator.charts.placing import Place
from tests.ui.test_charts import MAKERS, MODES, SCENARIOS, worked_out
from ui.theme import palette

CROWDED = [
    {"model": "gpt-oss-20b", "context": "1M", "device": "64 GB", "engine": "vllm"},
    {"model": "qwen3-4b", "context": "max", "sequences": "8", "device": "rtx-4090-24gb"},
    {"model": "gemma-3-27b", "context": "128k", "device": "h100", "engine": "transformers"},
    {"model": "deepseek-v4-flash", "context": "8192", "device": "h100"},
    {"model": "llama-3-8b", "context": "100000", "device": "h100", "engine": "vllm"},
]


def size_of(layout):
    """Pixels of the picture on a phone."""
    margin = layout["margin"]
    width = 360 - margin["l"] - margin["r"]
    return width, layout["height"] - margin["t"] - margin["b"]


def box(note, width, height):
    """Where an annotation stands."""
    anchors = note["xanchor"], note["yanchor"], note["xshift"], note["yshift"]
    return Place(note["x"] * width, note["y"] * height, *anchors).box(text_width(note["text"]))


def touch(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("options", SCENARIOS + CROWDED)
@pytest.mark.parametrize("maker", [against_context, against_sequences])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_labels_do_not_lie_on_each_other(options, maker, scale):
    layout = maker(*worked_out(**options)).spec(palette(False), scale)["layout"]
    width, height = size_of(layout)
    inside = [note for note in layout["annotations"] if "room" not in note["text"]]
    assert len(inside) >= 3
    boxes = [box(note, width, height) for note in inside]
    assert [pair for pair in combinations(boxes, 2) if touch(*pair)] == []
    for left, bottom, right, top in boxes:
        assert left >= 0 <= bottom
        assert right <= width
        assert top <= height + 8


@pytest.mark.parametrize("options", SCENARIOS + CROWDED)
@pytest.mark.parametrize("maker", MAKERS)
def test_labels_below_a_chart_are_apart(options, maker):
    spec = maker(*worked_out(**options)).spec(palette(False), MODES.get(maker, ("cache",))[0])
    axis, (width, _) = spec["layout"]["xaxis"], size_of(spec["layout"])
    low, high = axis["range"]
    places = map(math.log10, axis["tickvals"]) if "type" in axis else axis["tickvals"]
    ends = [
        ((at - low) / (high - low) * width, 6.2 * len(re.sub("<.*?>", "", text)) / 2)
        for at, text in zip(places, axis["ticktext"], strict=True)
        if text
    ]
    assert all(b - half_b > a + half_a for (a, half_a), (b, half_b) in pairwise(ends))
