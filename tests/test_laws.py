"""What must hold for every model and request."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import calculator as kv
from calculator.explain import explain
from calculator.layers import layer_cache
from calculator.model import ModelSpec

DTYPES = st.sampled_from(["fp32", "bf16", "fp8", "q8_0", "q4_0", "nvfp4", "int4"])
small = st.integers(1, 40)


@st.composite
def caches(draw) -> dict:
    heads, head_dim = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([16, 64, 80]))
    attention = {"num_key_value_heads": heads, "head_dim": head_dim}
    return draw(
        st.sampled_from(
            [
                {"kind": "full_attention", **attention},
                {"kind": "sliding_attention", **attention, "sliding_window": draw(small)},
                {"kind": "chunked_attention", **attention, "attention_chunk_size": draw(small)},
                {"kind": "latent_attention", "kv_lora_rank": 64, "qk_rope_head_dim": 16},
                {"kind": "mamba1", "intermediate_size": 32, "state_size": 8, "conv_kernel": 4},
                {"kind": "compressed_attention", **attention, "sliding_window": draw(small),
                 "compress_ratio": draw(small)},
            ]
        )
    )  # fmt: skip


@st.composite
def models(draw) -> ModelSpec:
    kinds = draw(st.lists(caches(), min_size=1, max_size=4))
    described = tuple((f"type{i}", (layer_cache(**c),)) for i, c in enumerate(kinds))
    return ModelSpec(
        id="m", name="M", model_type="m", num_hidden_layers=draw(st.integers(len(kinds), 12)),
        layer_types=tuple(name for name, _ in described), caches=described,
    )  # fmt: skip


@st.composite
def requests(draw) -> kv.Request:
    lengths = tuple(draw(st.lists(st.integers(1, 200), min_size=1, max_size=6)))
    prefix = draw(st.integers(0, min(lengths)))
    key, value = draw(DTYPES), draw(DTYPES)
    return kv.Request(seq_lens=lengths, key_dtype=key, value_dtype=value, shared_prefix_len=prefix)


@given(models(), requests())
def test_items_and_formula_rows_add_up_exactly(model, request):
    found = kv.footprint(model, request)
    assert sum(item.num_bytes for item in found.items) == found.num_bytes
    assert sum(row.num_bytes for row in explain(found).rows) == found.num_bytes


@given(models(), requests())
def test_every_formula_row_multiplies_out(model, request):
    from fractions import Fraction

    for row in explain(kv.footprint(model, request)).rows:
        product = row.layers * len(row.tensors) * row.slots * row.heads * row.width * row.sequences
        assert product * Fraction(row.value_bytes) * row.copies == row.num_bytes


@given(models(), st.integers(1, 300))
def test_one_more_token_never_takes_less(model, seq_len):
    sizes = [kv.footprint(model, kv.Request(n)).num_bytes for n in (seq_len, seq_len + 1)]
    assert sizes[0] <= sizes[1]


@given(models(), st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_ragged_sequences_are_the_sum_of_each_alone(model, lengths):
    alone = sum(kv.footprint(model, kv.Request(n)).num_bytes for n in lengths)
    assert kv.footprint(model, kv.Request(seq_lens=tuple(lengths))).num_bytes == alone


@given(models(), requests())
def test_a_shared_prefix_never_takes_more_than_none_nor_less_than_the_longest(model, request):
    from dataclasses import replace

    shared = kv.footprint(model, request).num_bytes
    none = kv.footprint(model, replace(request, shared_prefix_len=0)).num_bytes
    longest = kv.footprint(
        model, replace(request, seq_lens=(request.longest,), shared_prefix_len=0)
    ).num_bytes
    assert longest <= shared <= none


@given(models(), st.integers(1, 100), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_devices_add_up_to_the_whole(model, seq_len, batch, pipeline, data):
    stages = min(pipeline, model.num_hidden_layers)
    spread = kv.Parallelism(pipeline_parallel_size=stages, data_parallel_size=data)
    found = kv.footprint(model, kv.Request(seq_len, batch), parallelism=spread)
    assert len(found.bytes_per_device) == spread.num_devices
    assert sum(found.bytes_per_device) == found.num_bytes
    assert found.num_bytes == kv.footprint(model, kv.Request(seq_len, batch)).num_bytes


@given(models(), st.sampled_from([2, 4, 8, 16, 32]))
def test_tensor_ranks_hold_equal_parts_and_copies_are_counted(model, ranks):
    spread = kv.Parallelism(tensor_parallel_size=ranks)
    found = kv.footprint(model, kv.Request(50, 2), parallelism=spread)
    assert len(set(found.bytes_per_device)) == 1
    assert sum(found.bytes_per_device) == found.num_bytes
    assert found.num_bytes >= kv.footprint(model, kv.Request(50, 2)).num_bytes


@settings(max_examples=25)
@given(models(), DTYPES, st.lists(st.integers(1, 500), min_size=1, max_size=4))
def test_sweep_equals_footprint_at_every_point(model, dtype, lengths):
    base = kv.Request(1, key_dtype=dtype, value_dtype=dtype)
    batches = [1, 2, 7]
    table = kv.sweep(model, np.array(lengths), np.array(batches), request=base)
    for i, n in enumerate(lengths):
        for j, b in enumerate(batches):
            asked = kv.Request(n, b, key_dtype=dtype, value_dtype=dtype)
            assert int(table[i, j]) == kv.footprint(model, asked).num_bytes


@given(models(), st.integers(1, 300))
def test_fixed_part_and_slope_are_parts_of_the_total(model, seq_len):
    found = kv.footprint(model, kv.Request(seq_len))
    assert 0 <= found.fixed_bytes <= found.num_bytes
    assert found.bytes_per_token >= 0
