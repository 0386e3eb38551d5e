"""Learn shows the chosen model's own numbers, and works its answers out."""

import json

import plotly.graph_objects as go
import pytest

from calculator.catalog import load_model, preset_paths
from calculator.charts.work import work_chart
from calculator.claims import claims
from calculator.footprint import footprint
from calculator.lesson import attention_pairs, projections
from calculator.request import Request
from tests.ui.pages import markup, opened, plain, sentence, typed
from ui.answer import taught
from ui.scenario import DEFAULTS
from ui.theme import palette


def learn(**query):
    page = opened(**query)
    page.switch_page("views/learn.py").run()
    assert not page.exception
    assert not page.error
    return page


def test_the_sentence_says_what_a_token_leaves_and_what_that_saves():
    assert sentence(learn()) == (
        "Llama-3.1-8B: each token leaves 131,072 B behind, so that no later pass computes it "
        "again. 4,096 tokens are then 4,096 positions of work instead of 8,390,656."
    )


def test_passes_are_the_footprints_of_the_scenario():
    text = plain(markup(learn(model="gemma-3-27b", context="2000", engine="ideal")))
    model = load_model("gemma-3-27b")
    for tokens in (2000, 2001, 2002, 2003):
        assert f"{footprint(model, Request(seq_len=tokens)).num_bytes:,}" in text


@pytest.mark.parametrize("model", sorted(preset_paths())[::6])
def test_models_of_every_kind_have_a_lesson(model):
    page = learn(model=model)
    assert load_model(model).name in sentence(page)
    assert "What is kept" in markup(page)


def test_work_is_worked_out_for_the_lengths_typed():
    page = learn()
    page.number_input(key="lesson_prompt").set_value(700)
    page.number_input(key="lesson_new").set_value(30).run()
    text = plain(markup(page))
    assert f"{projections(700, 30).without:,}" in text
    assert f"{attention_pairs(700, 30).ratio:,.0f} ×" in text


def test_examples_of_the_lesson_stand_below():
    text = plain(markup(learn()))
    for prompt_new, ratio in (("1,000 + 1,000", "750 ×"), ("4,000 + 1,000", "900 ×")):
        assert ratio in text.partition(prompt_new)[2][:80]


def test_answers_are_folded_away():
    body = markup(learn())
    summary = "how large is the cache?</summary>"
    assert summary in body
    assert "102,400" not in body.partition("<summary>")[0]
    assert "102,400" in plain(body.partition(summary)[2].partition("</details>")[0])


def test_every_claim_stands_beside_our_figure():
    text = plain(markup(learn()))
    for claim in claims():
        assert claim.said in text
        assert claim.ours in text


def test_beyond_the_trained_maximum_is_said():
    text = plain(markup(learn(model="llama-3-8b", context="16k")))
    assert "trained up to 8,192; 16,384 lie beyond that" in text


def test_the_lesson_is_the_ideal_one_whatever_engine_is_chosen():
    page = learn(model="gemma-3-27b", context="131072", sequences="2", kv_dtype="fp8")
    text = plain(markup(page))
    assert "The lesson counts the ideal size, whatever engine is chosen; Plan counts vllm." in text
    assert "phantom" not in text
    model = load_model("gemma-3-27b")
    for tokens in (131_072, 131_073):
        asked = Request(seq_len=tokens, batch_size=2, key_dtype="fp8", value_dtype="fp8")
        assert f"{footprint(model, asked).num_bytes:,}" in text


def test_what_only_an_engine_refuses_is_still_taught():
    assert "What is kept" in markup(learn(model="llama-3-70b", devices="3"))
    found, remark = taught(DEFAULTS | {"kv_dtype": "mxfp4"}, "")
    assert found.fp.dtypes == ("bf16", "bf16")
    assert remark.endswith("There is none in cache type mxfp4, so it takes auto, bf16.")


def test_a_block_type_keeps_the_width_of_a_head():
    text = plain(markup(learn(kv_dtype="q8_0", engine="ideal")))
    assert "(1, 8, 8,192, 128)" in text
    assert "34/32 q8_0" in text
    assert "136" not in text.partition("What is kept")[2].partition("What the figure")[0]


def test_a_refused_scenario_leaves_the_lesson_that_needs_no_model():
    page = typed(learn(), context="0.5")
    assert "context is" in plain(markup(page))
    assert "Claims that circulate" in markup(page)
    assert "What is kept" not in markup(page)


def test_the_picture_is_valid_and_says_what_it_shows():
    page = learn()
    (chart,) = page.get("plotly_chart")
    assert "8,390,656 without a cache, 4,096 with one" in chart.proto.alt
    go.Figure(json.loads(chart.proto.spec))
    for dark in (False, True):
        figure = go.Figure(work_chart().spec(palette(dark)))
        assert [list(trace.y) for trace in figure.data[:2]] == [
            [work.without for work in work_chart().points],
            [work.cached for work in work_chart().points],
        ]
