"""Rules that changed with a release: the page is the record, and every number is computed again."""

import importlib.util
import re
from pathlib import Path

import pytest

import calculator as kv
from calculator.engines.changes import changes
from calculator.engines.vllm.groups import group_size
from calculator.units import GIB, ceil_div
from tests.engines.vllm_models import named
from tests.models import model

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("changes", ROOT / "tools/changes.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
ALL = {(name, change.since): change for name, of in changes().items() for change in of}


def tokens(name, length=32_768, gib=40, **flags):
    return kv.engine("vllm", **flags).plan(named(name), gib * 2**30, length).num_tokens


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", text.replace("3 27B", "").replace("80B", "")))


def bytes_of(name, version):
    engine = kv.engine("transformers", version=version)
    return kv.footprint(kv.load_model(name), kv.Request(8_192), engine=engine).num_bytes


def groups():
    """Layers of the group before and since, and how many groups."""
    before, since = min(12, 16), group_size([12, 16])
    return since, *(sum(ceil_div(n, size) for n in (12, 16)) for size in (since, before))


def logged_before_and_since(blocks=32_768):
    gemma = {"max_num_batched_tokens": 8_192, "async_scheduling": False}
    return tokens("gemma-3-27b", **gemma), blocks // 7 * 16


def fits(blocks):
    return kv.engine("vllm").plan(named("llama-3-8b"), blocks * 2_097_152, 8_192).num_blocks


def block_and_tokens(version):
    plan = kv.engine("vllm", version=version).plan(named("qwen3-next-80b"), 40 * GIB, 32_768)
    return plan.block_size, plan.num_tokens


def latents_of_v2_lite():
    """As a latent, and as 16 heads of key 192 and value 128."""
    lite = kv.load_model("deepseek-v2-lite")
    heads = {"kind": "full_attention", "num_key_value_heads": 16, "head_dim": 192,
             "v_head_dim": 128}  # fmt: skip
    expanded = model(layers=lite.num_hidden_layers, full=heads)
    llama_cpp = kv.engine("llama.cpp")
    latent = kv.footprint(lite, kv.Request(8_192), engine=llama_cpp).num_bytes
    return latent, kv.footprint(expanded, kv.Request(8_192, key_dtype="fp16")).num_bytes


GEMMA = {"max_num_batched_tokens": 8_192}
COMPUTED = {
    ("vllm", "0.18.0"): groups,
    ("vllm", "0.20.0"): lambda: (round((0.92 - 0.9) * 80, 1),),
    ("vllm", "0.21.0"): logged_before_and_since,
    ("vllm", "0.26.0"): lambda: (
        tokens("gemma-3-27b", **GEMMA),
        tokens("gemma-3-27b", **GEMMA, async_scheduling=False),
    ),
    ("vllm", "0.29.0"): lambda: (fits(513),),
    ("vllm", "0.32.0"): lambda: (
        tokens("nemotron-h-8b", version="0.32.0"),
        tokens("nemotron-h-8b", version="0.31.0"),
    ),
    ("vllm", "0.33.0"): lambda: (*block_and_tokens("0.33.0"), *block_and_tokens("0.32.0")),
    ("transformers", "5.15.0"): lambda: (
        bytes_of("deepseek-v3", "5.15.0"),
        bytes_of("deepseek-v3", "5.14.0"),
    ),
    ("llama.cpp", "April 2025"): latents_of_v2_lite,
}


def test_the_page_is_the_record():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page()


def test_every_change_has_its_numbers_computed():
    assert set(COMPUTED) == set(ALL)
    assert len(ALL) >= 6


@pytest.mark.parametrize("which", COMPUTED, ids=str)
def test_what_it_did_to_a_number(which):
    found = {f"{number:,}" for number in COMPUTED[which]()}
    assert found <= numbers(ALL[which].effect)


def test_less_than_the_null_block_more_does_not_start():
    with pytest.raises(kv.DoesNotFit):
        fits(512)
