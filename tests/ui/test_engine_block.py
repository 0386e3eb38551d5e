"""The steps from ideal to an engine, on the page."""

import pytest

from ui.answer import answer
from ui.blocks import engine

BASE = {"model": "gemma-3-27b", "context": "20005", "sequences": "2", "device": "h100-sxm-80gb"}


def shown(name: str):
    return answer(tuple({**BASE, "engine": name}.items()), "")


@pytest.mark.parametrize("name", ["vllm", "llama.cpp", "transformers"])
def test_steps_and_totals_are_shown(name):
    text = engine.html(shown(name))
    assert f"From ideal to {name}" in text
    assert "Sliding window" in text
    assert "of the ideal size" in text


def test_vllm_says_its_pool_and_its_log():
    found = shown("vllm")
    assert "Reserved on each device" in engine.html(found)
    assert engine.log_lines(found)[1].startswith("GPU KV cache size: ")


def test_an_engine_that_makes_no_pool_says_none():
    assert "Reserved" not in engine.html(shown("llama.cpp"))
    assert engine.log_lines(shown("transformers")) == ()


def test_llama_cpp_says_the_lines_of_its_two_caches():
    lines = engine.log_lines(shown("llama.cpp"))
    assert [line.split(":")[0] for line in lines] == [
        "llama_kv_cache_iswa", "llama_kv_cache", "llama_kv_cache",
        "llama_kv_cache_iswa", "llama_kv_cache", "llama_kv_cache",
    ]  # fmt: skip
