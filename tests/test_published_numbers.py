"""Published sizes of real models, each with where it was read."""

import pytest

import calculator as kv
from calculator.units import GB, GIB


def size(model: str, seq_len: int, batch_size: int = 1) -> int:
    return kv.footprint(kv.load_model(model), kv.Request(seq_len, batch_size)).num_bytes


@pytest.mark.parametrize(
    ("model", "seq_len", "num_bytes"),
    [
        ("llama-3-8b", 8_192, 1_073_741_824),
        ("llama-3-70b", 8_192, 2_684_354_560),
        ("llama-3.1-405b", 1, 516_096),
        ("deepseek-v3", 8_192, 575_668_224),
        ("gemma-3-27b", 131_072, 11_173_625_856),
        ("qwen3-4b", 8_192, 1_207_959_552),
        ("mistral-7b-v0.1", 32_768, 536_870_912),
        ("gpt-oss-20b", 131_072, 3_224_371_200),
        ("qwen3-next-80b", 32_768, 882_573_312),
    ],
)
def test_reference_models(model, seq_len, num_bytes):
    assert size(model, seq_len) == num_bytes


@pytest.mark.parametrize(
    ("model", "num_bytes", "source"),
    [
        ("deepseek-v3", 70_272, "arXiv:2505.09343 table 1: 70.272 KB"),
        ("qwen2.5-72b", 327_680, "arXiv:2505.09343 table 1: 327.680 KB"),
        ("llama-3.1-405b", 516_096, "arXiv:2505.09343 table 1: 516.096 KB"),
        ("opt-13b", 800 * 1024, "arXiv:2309.06180: 800 KB (KiB) a token"),
    ],
)
def test_bytes_per_token_in_papers(model, num_bytes, source):
    assert size(model, 1) == num_bytes, source


@pytest.mark.parametrize(
    ("model", "tokens", "printed", "source"),
    [
        ("llama-2-7b", 4_096, 2.0, "NVIDIA, Mastering LLM techniques: ~2 GB, GiB meant"),
        ("llama-2-7b", 4_196, 2.05, "KIVI issue 17: 4,096 + 100 tokens, GiB meant"),
        ("opt-13b", 2_048, 1.6, "arXiv:2309.06180: up to 1.6 GB a request; 1.5625 GiB"),
    ],
)
def test_sizes_in_print(model, tokens, printed, source):
    decimals = len(str(printed).split(".")[1])
    assert round(size(model, tokens) / GIB, decimals) == printed, source


def test_70b_against_8b_and_405b_are_their_layers():
    assert size("llama-3.1-405b", 4_096) * 32 == size("llama-3.1-8b", 4_096) * 126


def test_cache_of_70b_at_128k_is_less_than_its_weights_until_batch_4():
    one, weights = size("llama-3-70b", 131_072), kv.load_model("llama-3-70b").num_parameters * 2
    assert (round(one / GB, 1), round(weights / GB, 1)) == (42.9, 141.1)
    assert 3 * one < weights < 4 * one


def test_cache_of_70b_at_128k_is_more_than_4_bit_weights_at_batch_1():
    weights = kv.load_model("llama-3-70b").num_parameters // 2
    assert round(weights / GB, 1) == 35.3
    assert size("llama-3-70b", 131_072) > weights
