"""The steps from ideal to an engine, on the page."""

from html import escape

import pytest

from tests.ui.pages import markup, opened, plain
from ui.answer import answer
from ui.blocks import engine

BASE = {"model": "gemma-3-27b", "context": "20005", "sequences": "2", "device": "h100-sxm-80gb"}


def shown(name: str):
    return answer(tuple({**BASE, "engine": name}.items()), "")


@pytest.mark.parametrize("name", ["vllm", "llama.cpp", "transformers"])
def test_steps_and_totals_are_shown(name):
    text = engine.steps_html(shown(name))
    assert f"From ideal to {name}" in text
    assert "Sliding window" in text
    assert "of the ideal size" in text or "less than ideal by under 0.1%" in plain(text)


def test_kinds_of_one_label_are_told_apart():
    options = {**BASE, "model": "deepseek-v4-flash", "engine": "vllm", "devices": "8"}
    text = plain(engine.steps_html(answer(tuple(options.items()), "")))
    for own in ("sliding", "compressed sparse", "heavily compressed"):
        assert f"Compressed attention ({own})" in text


def test_less_than_ideal_has_a_real_minus():
    assert engine._change(1000, 393) == "\N{MINUS SIGN}60.7% of the ideal size"


def test_printed_lines_keep_the_spaces_of_the_engine():
    text = engine._printed_html(shown("llama.cpp"))
    assert "\N{NO-BREAK SPACE}" not in text
    assert all(escape(line) in text for line in engine.log_lines(shown("llama.cpp")))


def test_vllm_says_its_pool_and_its_log():
    found = shown("vllm")
    assert "Reserved at the start" in engine.steps_html(found)
    assert "maximum concurrency" in engine.steps_html(found)
    assert engine.log_lines(found)[1].startswith("GPU KV cache size: ")


def test_an_engine_that_makes_no_pool_says_none():
    assert "Reserved" not in engine.steps_html(shown("llama.cpp"))
    assert engine.log_lines(shown("transformers")) == ()


def test_llama_cpp_says_the_lines_of_its_two_caches():
    lines = engine.log_lines(shown("llama.cpp"))
    assert [line.split(":")[0] for line in lines] == [
        "llama_kv_cache_iswa", "llama_kv_cache", "llama_kv_cache",
        "llama_kv_cache_iswa", "llama_kv_cache", "llama_kv_cache",
    ]  # fmt: skip


def test_the_memory_behind_views_stands_below_the_total():
    text = engine.steps_html(shown("transformers"))
    assert "Sliding window, memory behind" in text


def test_a_pool_that_may_not_start_says_up_to():
    options = {**BASE, "engine": "vllm", "context": "131072", "sequences": "1"}
    text = engine.steps_html(answer(tuple(options.items()), ""))
    assert "up to 16,915 blocks" in text
    options |= {"context": "200000", "device": "a100-40gb"}
    assert "it does not start" in engine.steps_html(answer(tuple(options.items()), ""))


def test_ranks_that_share_tokens_are_a_flag_of_the_page():
    page = opened(model="deepseek-v3", devices="8", dcp="8", device="h200-sxm-141gb")
    assert not page.exception
    assert page.number_input(key="dcp").value == 8
    assert "--decode-context-parallel-size 8" in markup(page)
