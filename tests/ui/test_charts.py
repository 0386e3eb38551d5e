"""Figures: valid for plotly, drawn from the core's numbers, each with words and a table."""

import csv
import json
import math
import re
from io import StringIO

import plotly.graph_objects as go
import pytest

from calculator.charts.bar import gib_span, memory_bar
from calculator.charts.crossing import outgrows_weights
from calculator.charts.curves import against_context, against_sequences
from calculator.charts.grid import grid, short
from calculator.charts.ladder import ladder
from calculator.charts.strip import layer_kinds
from calculator.scenario import scenario
from calculator.units import GIB
from tests.ui.pages import opened
from ui.blocks.charts import csv_text
from ui.theme import COLOURS, KIND_ROLES, palette, style_sheet

MAKERS = (against_context, against_sequences, grid)
MODES = {against_context: ("log", "linear"), against_sequences: ("log", "linear")}
SCENARIOS = [
    {"model": "gemma-3-27b", "context": "131072", "device": "h100"},
    {"model": "gemma-3-27b", "context": "32768", "sequences": "6", "device": "h100"},
    {"model": "llama-3.1-405b", "context": "8192", "device": "h100"},
    {
        "model": "deepseek-v3",
        "context": "1000000",
        "sequences": "100",
        "device": "h200",
        "devices": "8",
    },
    {"model": "qwen3-next-80b", "context": "300", "device": "h100", "devices": "4", "pp": "2"},
    {"model": "llama-3-8b", "context": "1", "device": "t4", "weights_dtype": "int4"},
]


def worked_out(**options):
    asked = scenario({"weights_dtype": "bf16"} | options)
    return asked.footprint(), asked.capacity() if asked.device else None


@pytest.mark.parametrize("options", SCENARIOS)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_specification_is_what_plotly_would_have_made_of_it(options, maker):
    chart = maker(*worked_out(**options))
    for dark in (False, True):
        for mode in MODES.get(maker, ("cache", "to spare")):
            spec = json.loads(json.dumps(chart.spec(palette(dark), mode)))
            figure = go.Figure(spec).to_dict()
            del spec["layout"]["template"]  # null, so that plotly.js adds no template of its own
            figure["layout"].pop("template", None)
            spec["layout"] = {k: v for k, v in spec["layout"].items() if v != []}
            assert json.loads(json.dumps(figure)) == spec


@pytest.mark.parametrize("options", SCENARIOS)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_chart_has_words_and_a_table_with_whole_bytes(options, maker):
    fp, found = worked_out(**options)
    chart = maker(fp, found)
    assert chart.alt.endswith(".")
    rows = list(csv.DictReader(StringIO(csv_text(chart.table()))))
    assert all(value.isdigit() for row in rows for value in row.values())
    own = [v for row in rows for v in row.values() if int(v) == max(fp.bytes_per_device)]
    assert own


@pytest.mark.parametrize("maker", MAKERS)
def test_charts_need_no_device(maker):
    fp, _ = worked_out(model="llama-3-8b")
    go.Figure(maker(fp, None).spec(palette(False), MODES.get(maker, ("cache",))[0]))


def test_points_are_the_footprints_bytes():
    chart = against_context(*worked_out(**SCENARIOS[0]))
    own = dict(next(line for line in chart.lines if line.own).points)
    assert own[131_072] == 11_173_625_856
    assert own[1024] == 2 * 62 * 1024 * 16 * 128 * 2


def test_the_map_holds_the_scenario_and_its_verdict():
    fp, found = worked_out(**SCENARIOS[1])
    shown = grid(fp, found)
    row, column = shown.batches.index(6), shown.contexts.index(32_768)
    assert shown.sizes[row][column] == 18_723_373_056
    assert shown.verdict(row, column) == found.verdict == "marginal"


@pytest.mark.parametrize("options", SCENARIOS)
def test_the_bar_adds_up_to_its_scale(options):
    _, found = worked_out(**options)
    bar = memory_bar(found)
    assert sum(segment.num_bytes for segment in bar.segments) == bar.scale_bytes
    assert all(segment.num_bytes >= 0 for segment in bar.segments)
    assert bar.scale_bytes >= bar.usable_bytes


def test_the_bar_shows_what_passes_the_limit():
    _, found = worked_out(**SCENARIOS[1])
    segments = {segment.role: segment for segment in memory_bar(found).segments}
    assert segments["over"].high == -found.spare.low


# of an H100's 85,018,877,624 B, 92 % are 78,217,367,414, which leaves 6,801,510,210 outside
@pytest.mark.parametrize(
    ("options", "outside"),
    [
        (SCENARIOS[0], 6_801_510_210),  # fits
        (SCENARIOS[1], 6_801_510_210),  # over the limit, not over all there is
        (SCENARIOS[2], None),  # all of what is outside would be taken
    ],
)
def test_the_key_names_what_lies_outside_the_share_where_it_is_drawn(options, outside):
    _, found = worked_out(**options)
    bar = memory_bar(found)
    assert next((s.high for s in bar.key if s.role == "outside"), None) == outside
    assert len(bar.key) <= 6
    assert bar.key[-1].role == ("over" if found.spare.low < 0 else "outside")
    drawn = {s.role for s in bar.segments if s.num_bytes} - {"range"}  # one entry with estimate
    assert drawn <= {s.role for s in bar.key}


def test_one_rung_is_current_and_equal_sizes_share_one():
    rungs = ladder(*worked_out(**SCENARIOS[0]))
    assert [rung.dtypes for rung in rungs if rung.current] == [("bf16", "fp16")]
    sizes = [rung.cache_bytes_per_device for rung in rungs]
    assert sizes == sorted(sizes, reverse=True)
    assert ("q4_0", "iq4_nl", "nvfp4") in [rung.dtypes for rung in rungs]


@pytest.mark.parametrize("options", SCENARIOS)
def test_layers_add_up_to_the_cache(options):
    fp, _ = worked_out(**options)
    kinds = layer_kinds(fp).values()
    assert sum(kind.layers * kind.bytes_each for kind in kinds) == fp.num_bytes
    assert sum(kind.layers * kind.added_each for kind in kinds) == fp.bytes_per_token


@pytest.mark.parametrize(("weights", "batch"), [("bf16", 4), ("int4", 1)])
def test_the_cache_of_a_70b_outgrows_its_weights_from(weights, batch):
    options = {"model": "llama-3-70b", "context": "131072", "device": "h100"}
    _, found = worked_out(**options, weights_dtype=weights)
    assert outgrows_weights(found).sequences == batch


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0.0"), (99 * GIB, "99.0"), (100 * GIB, "100"), (-GIB // 100, "0.0")]
)
def test_cells_show_one_decimal_below_a_hundred(size, text):
    assert short(size) == text


@pytest.mark.parametrize(
    ("gib", "text"), [(9_999, "9,999"), (10_000, "10.0k"), (129_024, "129k"), (999_600, "1.0M")]
)
def test_cells_of_a_large_cache_are_no_wider(gib, text):
    assert short(gib * GIB) == text


@pytest.mark.parametrize("maker", [against_context, against_sequences])
@pytest.mark.parametrize("context", ["16", "512"])
def test_a_point_at_the_corner_is_inside_with_its_value_below_it(maker, context):
    fp, found = worked_out(model="smollm2-135m", context=context, device="h100")
    layout = maker(fp, found).spec(palette(False), "log")["layout"]
    x, size = maker(fp, found).here
    assert layout["xaxis"]["range"][0] < math.log10(x) < layout["xaxis"]["range"][1]
    low, high = layout["yaxis"]["range"]
    assert math.log10(size / GIB) - low > 0.08 * (high - low)  # of 268 pixels, its value needs 20


def test_labels_of_a_large_cache_have_room():
    options = {"model": "llama-3.1-405b", "context": "max", "sequences": "1000000"}
    fp, found = worked_out(**options, device="h100", devices="8", engine="vllm")
    for maker in MAKERS:
        layout = maker(fp, found).spec(palette(False), MODES.get(maker, ("cache",))[0])["layout"]
        longest = max(len(re.sub("<.*?>", "", text)) for text in layout["yaxis"]["ticktext"])
        assert layout["margin"]["l"] >= 7 * longest + 20  # 12 pixels high, and the axis' title


def test_more_bytes_than_any_memory_are_drawn_as_well():
    # DeepSeek-V3: 61 layers × 163,840 tokens × 576 × 2 B × 2³¹ sequences, over 2⁶⁴ B
    fp, found = worked_out(model="deepseek-v3", context="max", sequences=str(2**31), device="h100")
    size = 61 * 163_840 * 576 * 2 * 2**31
    assert size > 2**64
    for maker in MAKERS:
        chart = maker(fp, found)
        assert str(size) in csv_text(chart.table())
        chart.spec(palette(False), MODES.get(maker, ("cache",))[0])


@pytest.mark.parametrize("more", [{"pp": "2", "devices": "2"}, {"set": ["max_model_len=4096"]}])
def test_charts_ask_for_no_more_sequences_than_there_may_be(more):
    options = {"model": "llama-3-8b", "device": "h100", "engine": "vllm", "context": "16"}
    fp, found = worked_out(**options, sequences=str(2**31), **more)
    for maker in MAKERS:
        assert str(2**31) in csv_text(maker(fp, found).table())


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0, 20 * 2**20, "0–20 MiB"),
        (3 * 2**20, 5 * GIB, "3 MiB–5.0 GiB"),
        (0, 5 * GIB, "0–5.0 GiB"),
        (12_288, 12_288, "12 KiB"),
        (0, 0, "0 GiB"),
    ],
)
def test_an_entry_of_the_key_is_never_zero_where_something_is(low, high, text):
    assert gib_span(low, high) == text


def test_the_page_draws_them_with_their_words():
    charts = opened().get("plotly_chart")
    assert len(charts) == 3
    assert all(chart.proto.alt.endswith(".") for chart in charts)


def test_every_colour_has_a_light_and_a_dark_form():
    for light, dark in COLOURS.values():
        assert light.startswith("#")
        assert dark.startswith("#")
    assert palette(False) != palette(True)


def luminance(colour):
    """WCAG 2.2, relative luminance of sRGB."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("role", sorted(set(KIND_ROLES.values())))
def test_a_letter_stands_out_from_its_kinds_colour(role):
    rule = rf"\.k-{role} {{ background: var\(--kv-(.+?)\); color: var\(--kv-(.+?)\); }}"
    behind, letter = re.search(rule, style_sheet()).groups()
    for pair in zip(COLOURS[behind], COLOURS[letter], strict=True):
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, 1.4.3
