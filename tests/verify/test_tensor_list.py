"""The tensors of a footprint: shapes people expect, bytes that are the footprint's; no torch."""

from math import prod

import pytest
from hypothesis import given

import calculator as kv
from calculator.verify.tensor_list import ITEM_BYTES, tensor_list
from tests.models import full, model, sliding
from tests.test_laws import models, requests


def shapes(asked: kv.Request, described=None, engine="ideal") -> list:
    described = described or model(layers=2, full=full(8, 128))
    found = kv.footprint(described, asked, engine=kv.engine(engine))
    return [row.shapes for row in tensor_list(found)]


def test_a_tensor_is_batch_heads_slots_width():
    assert shapes(kv.Request(100, 3)) == [((3, 8, 100, 128),)] * 2


def test_sequences_of_one_length_are_one_tensor():
    ragged = kv.Request(seq_lens=(7, 100, 7))
    assert shapes(ragged)[0] == ((2, 8, 7, 128), (1, 8, 100, 128))


def test_a_window_keeps_its_tokens_alone():
    assert shapes(kv.Request(100), model(sliding=sliding(16)))[0] == ((1, 8, 16, 128),)


def test_transformers_pads_to_the_longest():
    ragged = kv.Request(seq_lens=(7, 100, 7))
    assert shapes(ragged, engine="transformers")[0] == ((3, 8, 100, 128),)


def test_a_shared_prefix_is_one_pool():
    shared = kv.Request(seq_lens=(100, 100), shared_prefix_len=40)
    assert shapes(shared)[0] == ((1, 8, 160, 128),)


@pytest.mark.parametrize(
    ("dtype", "torch_dtype", "row"),
    [("q8_0", "uint8", 136), ("q4_0", "uint8", 72), ("nvfp4", "uint8", 72), ("int4", "uint8", 64),
     ("fp8", "float8_e4m3fn", 128), ("bf16", "bfloat16", 128)],
)  # fmt: skip
def test_blocks_are_bytes_and_other_types_torchs_own(dtype, torch_dtype, row):
    found = kv.footprint(
        model(layers=1, full=full(8, 128)), kv.Request(5, key_dtype=dtype, value_dtype=dtype)
    )
    key = tensor_list(found)[0]
    assert (key.torch_dtype, key.shapes) == (torch_dtype, ((1, 8, 5, row),))


@given(models(), requests())
def test_shapes_multiply_out_to_the_footprint(described, asked):
    found = kv.footprint(described, asked)
    rows = tensor_list(found)
    sizes = [
        row.layers * row.copies * sum(map(prod, row.shapes)) * ITEM_BYTES[row.torch_dtype]
        for row in rows
    ]
    assert sizes == [row.predicted_bytes for row in rows]
    assert sum(sizes) == found.num_bytes


@pytest.mark.parametrize("engine", ["ideal", "llama.cpp", "vllm"])
def test_shapes_multiply_out_for_every_engine(engine):
    from calculator.engines import ENGINES

    if engine not in ENGINES:
        pytest.skip(f"there is no engine {engine} yet")
    found = kv.footprint(kv.load_model("llama-3-8b"), kv.Request(1000, 3), kv.engine(engine))
    total = sum(
        row.layers * row.copies * sum(map(prod, row.shapes)) * ITEM_BYTES[row.torch_dtype]
        for row in tensor_list(found)
    )
    assert total == found.num_bytes
