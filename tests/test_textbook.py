"""The page-one formula, and that `footprint` of plain models agrees with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calculator as kv
from tests.models import plain


@pytest.mark.parametrize(
    ("layers", "tokens", "heads", "head_dim", "batch", "num_bytes"),
    [
        (2, 100, 4, 8, 1, 25_600),
        (4, 200, 2, 16, 1, 102_400),
        (4, 200, 2, 16, 8, 819_200),
        (2, 200, 2, 8, 1, 25_600),  # twice the positions, half the heads: unchanged
        (2, 200, 4, 8, 1, 51_200),  # twice the positions: twice
    ],
)
def test_worked_examples(layers, tokens, heads, head_dim, batch, num_bytes):
    assert kv.textbook(layers, tokens, heads, head_dim, 2) * batch == num_bytes
    found = kv.footprint(plain(layers, heads, head_dim), kv.Request(tokens, batch))
    assert found.num_bytes == num_bytes


@pytest.mark.parametrize("name", ["num_hidden_layers", "seq_len", "num_key_value_heads",
                                  "head_dim", "bytes_per_element"])  # fmt: skip
@pytest.mark.parametrize("value", [-1, 0, float("nan"), 1e3, True, "8", None, 2**60])
def test_what_is_no_count_is_refused_by_name(name, value):
    given = {"num_hidden_layers": 32, "seq_len": 8_192, "num_key_value_heads": 8, "head_dim": 128,
             "bytes_per_element": 2, name: value}  # fmt: skip
    with pytest.raises(kv.InvalidInput, match=f"^{name} is ") as refused:
        kv.textbook(**given)
    assert refused.value.field == name


def test_32_layers_are_32_times_one():
    assert kv.textbook(32, 8_192, 8, 128, 2) == 32 * kv.textbook(1, 8_192, 8, 128, 2)


@given(
    layers=st.integers(1, 200),
    tokens=st.integers(1, 2**24),
    heads=st.integers(1, 256),
    head_dim=st.integers(1, 1024),
)
def test_footprint_of_a_plain_model_is_the_textbook_product(layers, tokens, heads, head_dim):
    found = kv.footprint(plain(layers, heads, head_dim), kv.Request(tokens))
    assert found.num_bytes == kv.textbook(layers, tokens, heads, head_dim, 2)
    assert found.bytes_per_token == kv.textbook(layers, 1, heads, head_dim, 2)
    assert found.fixed_bytes == 0
