"""Wrong formulas in circulation, each with what it gets wrong; our number is the right one.

Numbered as in a survey of 103 public questions on cache sizes.
"""

import calculator as kv
from calculator.units import GIB


def size(model: str, seq_len: int) -> int:
    return kv.footprint(kv.load_model(model), kv.Request(seq_len)).num_bytes


def test_1_hidden_size_instead_of_cached_heads():
    wrong = 2 * 32 * 8_192 * 4_096 * 2
    assert wrong == 4 * size("llama-3-8b", 8_192)
    assert 8 * size("llama-3-70b", 8_192) == 2 * 80 * 8_192 * 8_192 * 2


def test_2_head_dim_from_hidden_size_although_the_config_says_otherwise():
    assert 5 * size("qwen3-4b", 1) == 2 * 36 * 8 * (2_560 // 32) * 2 * 8  # 0.625 of the truth
    by_type = {g.layer_type: g.caches[0] for g in kv.load_model("gpt-oss-20b").layer_groups}
    assert {cache.head_dim for cache in by_type.values()} == {64}  # not 2880 ÷ 64 = 45


def test_3_all_layers_full_on_a_hybrid():
    all_full = 62 * 2 * 16 * 128 * 2 * 131_072
    assert round(all_full / GIB, 1) == 62.0
    assert round(size("gemma-3-27b", 131_072) / GIB, 2) == 10.41


def test_5_latent_attention_counted_as_heads_doubled_or_one_layer():
    right = size("deepseek-v3", 1)
    assert right == 61 * (512 + 64) * 2
    assert round(2 * 61 * 128 * 128 * 2 * 1.25 / right) == 71  # keys of 192, values of 128
    assert round(2 * 61 * 512 * 2 / right, 2) == 1.78
    assert right == (512 + 64) * 2 * 61


def test_6_cache_from_parameters_or_from_the_type_of_the_weights():
    from dataclasses import replace

    model = kv.load_model("llama-3-8b")
    for parameters, weights in ((1, "int4"), (10**12, "fp8")):
        other = replace(model, num_parameters=parameters, weights_dtype=weights)
        assert kv.footprint(other, kv.Request(8_192)).num_bytes == size("llama-3-8b", 8_192)


def test_7_block_types_without_their_scales():
    def in_type(dtype: str) -> int:
        request = kv.Request(8_192, key_dtype=dtype, value_dtype=dtype)
        return kv.footprint(kv.load_model("llama-3-8b"), request).num_bytes

    elements = 2 * 32 * 8 * 128 * 8_192
    assert in_type("q8_0") * 32 == elements * 34  # one byte an element is 5.9 % low
    assert in_type("q4_0") * 32 == elements * 18  # half a byte is 11.1 % low


def test_10_gb_for_gib():
    from calculator.units import format_gb, format_gib

    assert (format_gib(size("llama-3-8b", 8_192)), format_gb(size("llama-3-8b", 8_192))) == (
        "1.00 GiB",
        "1.07 GB",
    )


def test_13_heads_of_one_layer_type_with_the_width_of_another():
    # Gemma-4-26B-A4B: 25 sliding layers of 8 heads × 256, 5 full ones of 2 × 512
    assert size("gemma-4-26b-a4b", 1) == 25 * 2 * 8 * 256 * 2 + 5 * 2 * 2 * 512 * 2
