"""What each kind of layer keeps under the ideal engine, checked by hand at small numbers."""

import pytest

import calculator as kv
from calculator.layers import KINDS, kind_class, layer_cache
from tests.models import full, model, sliding

HEADS = {"num_key_value_heads": 2, "head_dim": 4}
KDA = {"kind": "kimi_delta_attention", "num_heads": 2, "head_dim": 4, "short_conv_kernel_size": 4}
GDN = {
    "kind": "gated_delta_net",
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 3,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 5,
    "linear_conv_kernel_dim": 4,
}
COMPRESSED = {"kind": "compressed_attention", "num_key_value_heads": 1, "head_dim": 8}


def size(cache: dict, seq_len: int, encoder_seq_len: int | None = None, **request) -> int:
    asked = kv.Request(seq_len, encoder_seq_len=encoder_seq_len, **request)
    return kv.footprint(model(layer=cache), asked).num_bytes


@pytest.mark.parametrize(
    ("cache", "seq_len", "num_bytes"),
    [
        ({"kind": "full_attention", **HEADS}, 10, 2 * 10 * 2 * 4 * 2),
        ({"kind": "full_attention", **HEADS, "v_head_dim": 3}, 10, 10 * 2 * (4 + 3) * 2),
        ({"kind": "sliding_attention", **HEADS, "sliding_window": 6}, 5, 2 * 5 * 2 * 4 * 2),
        ({"kind": "sliding_attention", **HEADS, "sliding_window": 6}, 6, 2 * 6 * 2 * 4 * 2),
        ({"kind": "sliding_attention", **HEADS, "sliding_window": 6}, 10, 2 * 6 * 2 * 4 * 2),
        ({"kind": "chunked_attention", **HEADS, "attention_chunk_size": 6}, 5, 2 * 5 * 2 * 4 * 2),
        ({"kind": "chunked_attention", **HEADS, "attention_chunk_size": 6}, 7, 2 * 6 * 2 * 4 * 2),
        ({"kind": "latent_attention", "kv_lora_rank": 8, "qk_rope_head_dim": 2}, 10, 10 * 10 * 2),
        ({"kind": "latent_attention", "kv_lora_rank": 8, "qk_rope_head_dim": 0}, 10, 10 * 8 * 2),
        ({"kind": "sparse_indexer", "index_head_dim": 128}, 10, 10 * 128 * 2),
        (
            {"kind": "mamba1", "intermediate_size": 6, "state_size": 4, "conv_kernel": 4},
            10,
            6 * 3 * 2 + 6 * 4 * 4,
        ),
        (
            {"kind": "mamba2", "num_heads": 3, "head_dim": 4, "state_size": 5, "n_groups": 1,
             "conv_kernel": 4},
            10,
            (12 + 2 * 5) * 3 * 2 + 3 * 4 * 5 * 4,
        ),
        (GDN, 10, (2 * 6 + 20) * 3 * 2 + 4 * 3 * 5 * 4),
        (KDA, 10, 3 * 8 * 3 * 2 + 2 * 4 * 4 * 4),
        ({"kind": "lightning_attention", "num_attention_heads": 2, "head_dim": 4}, 10, 2 * 16 * 4),
        ({"kind": "short_convolution", "hidden_size": 8, "conv_L_cache": 3}, 10, 8 * 2 * 2),
        (COMPRESSED | {"sliding_window": 4}, 10, 4 * 8 * 2),
        (COMPRESSED | {"sliding_window": 4, "compress_ratio": 4}, 11, (4 + 2) * 8 * 2),
        (
            COMPRESSED | {"sliding_window": 4, "compress_ratio": 4, "index_head_dim": 3},
            11,
            (4 + 2) * 8 * 2 + 2 * 3 * 2,
        ),
    ],
)  # fmt: skip
def test_bytes_of_one_layer(cache, seq_len, num_bytes):
    assert size(cache, seq_len) == num_bytes


def test_cross_attention_keeps_encoder_tokens_whatever_the_decoder_length():
    cache = {"kind": "cross_attention", **HEADS}
    assert size(cache, 1, encoder_seq_len=7) == 2 * 7 * 2 * 4 * 2
    assert size(cache, 1_000, encoder_seq_len=7) == 2 * 7 * 2 * 4 * 2


def test_cross_attention_without_an_encoder_length_is_refused():
    with pytest.raises(kv.InvalidInput, match="encoder_seq_len is missing"):
        size({"kind": "cross_attention", **HEADS}, 10)


def test_a_shared_layer_keeps_nothing():
    found = kv.footprint(model("own", "shared", own=full(), shared=[]), kv.Request(10))
    assert found.num_bytes == kv.textbook(1, 10, 8, 128, 2)


def test_a_hybrid_layer_keeps_both():
    both = model(hybrid=[full(), KDA])
    parts = [kv.footprint(model(x=c), kv.Request(10)).num_bytes for c in (full(), KDA)]
    assert kv.footprint(both, kv.Request(10)).num_bytes == sum(parts)


@pytest.mark.parametrize(
    ("dtype", "num_bytes"),
    [("fp32", 512), ("bf16", 256), ("q8_0", 136), ("fp8", 128), ("q4_0", 72), ("nvfp4", 72),
     ("int4", 64)],
)  # fmt: skip
def test_key_row_of_128_elements(dtype, num_bytes):
    one_key = {"kind": "sparse_indexer", "index_head_dim": 128}
    assert size(one_key, 1, key_dtype=dtype, value_dtype=dtype) == num_bytes


def test_a_started_block_counts_whole_for_each_head():
    one = size(full(heads=3, head_dim=80), 1, key_dtype="q8_0", value_dtype="q8_0")
    assert one == 2 * 3 * (3 * 34)


def test_recurrent_states_are_fp32_whatever_the_cache_type():
    cache = {"kind": "lightning_attention", "num_attention_heads": 2, "head_dim": 4}
    assert size(cache, 1, key_dtype="fp8", value_dtype="fp8") == size(cache, 1)


def test_key_and_value_types_are_apart():
    assert size(full(1, 32), 1, key_dtype="q8_0", value_dtype="q4_0") == 34 + 18


def test_a_window_is_fixed_once_full_and_grows_before():
    found = [kv.footprint(model(w=sliding(100)), kv.Request(n)) for n in (99, 100)]
    assert [fp.bytes_per_token > 0 for fp in found] == [True, False]
    assert [fp.fixed_bytes for fp in found] == [0, found[1].num_bytes]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_label_and_a_letter(kind):
    assert kind_class(kind).label
    assert kind_class(kind).letter in "FSMRXIC"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_key_value_heads": 8, "head_dim": 128}, "known kinds"),
        ({"kind": "magic"}, "known kinds"),
        ({"kind": "full_attention", "head_dim": 128}, "missing field num_key_value_heads"),
        ({"kind": "full_attention", **HEADS, "window": 3}, "unknown field window"),
        ({"kind": "full_attention", **HEADS | {"head_dim": 0}}, "head_dim is 0"),
        ({"kind": "full_attention", **HEADS | {"head_dim": True}}, "head_dim is True"),
        ({"kind": "sliding_attention", **HEADS, "sliding_window": -1}, "sliding_window is -1"),
        ({"kind": "sliding_attention", **HEADS, "sliding_window": 10**30}, "sliding_window is"),
    ],
)
def test_a_wrong_description_is_refused_by_name(fields, message):
    with pytest.raises(kv.CalculatorError, match=message):
        layer_cache(**fields)
