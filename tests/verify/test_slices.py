"""The largest part of a cache that a budget holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calculator as kv
from calculator.verify.slices import KINDS, largest_slice
from tests.test_laws import models

MIB = 2**20
LLAMA = kv.load_model("llama-3-8b")  # 4,096 B a token and layer


def sliced(kind: str, budget: int, **lengths):
    return largest_slice(kv.footprint(LLAMA, kv.Request(**lengths)), kind, budget)


@pytest.mark.parametrize(
    ("kind", "budget", "text"),
    [
        ("layers", 32 * MIB, "1 of 32 layers"),
        ("layers", 1023 * MIB, "31 of 32 layers"),
        ("tokens", 32 * MIB, "256 of 8,192 tokens"),
        ("tokens", 131_072, "1 of 8,192 tokens"),
    ],
)
def test_the_largest_part(kind, budget, text):
    assert sliced(kind, budget, seq_len=8192).text == text


@pytest.mark.parametrize("kind", KINDS)
def test_not_even_one(kind):
    assert sliced(kind, 131_071 if kind == "tokens" else 1, seq_len=8192) is None


def test_ragged_sequences_are_cut_at_one_length():
    found = sliced("tokens", 131_072 * 30, seq_lens=(10, 50))
    assert found.footprint.request.seq_lens == (10, 20)


def test_the_first_layers_keep_their_own_types():
    gemma = kv.footprint(kv.load_model("gemma-3-27b"), kv.Request(131_072))
    found = largest_slice(gemma, "layers", 2**31)
    assert found.footprint.model.every_layer_type() == gemma.model.every_layer_type()[: found.count]


@given(models(), st.integers(1, 300), st.integers(1, 100_000), st.sampled_from(KINDS))
def test_a_slice_fits_and_one_more_does_not(model, seq_len, budget, kind):
    whole = kv.footprint(model, kv.Request(seq_len))
    found = largest_slice(whole, kind, budget)
    if found is None:
        assert whole.num_bytes > budget
        return
    assert found.footprint.num_bytes <= budget
    larger = largest_slice(whole, kind, whole.num_bytes)
    assert found.count == found.of or larger.count > found.count
