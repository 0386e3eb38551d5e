"""Models that a user describes as a table of layer groups."""

import pytest

import calculator as kv
from calculator.importers.description import (
    BESIDE,
    DESCRIBED,
    SHARED,
    fields_of,
    first_row,
    grouped_rows,
    model_from_rows,
    rows_of,
)
from calculator.layers import KINDS

FULL = {"kind": "full_attention", "num_key_value_heads": 8, "head_dim": 128}
WINDOW = FULL | {"kind": "sliding_attention", "sliding_window": 1024}


def size(model: kv.ModelSpec, seq_len: int = 5_000) -> int:
    encoder = 7 if model.has_encoder else None
    request = kv.Request(seq_len, encoder_seq_len=encoder, key_dtype="bf16", value_dtype="bf16")
    return kv.footprint(model, request).num_bytes


def test_a_described_model_is_a_model_like_any_other():
    model = model_from_rows([{"layers": 32, **FULL}])
    assert size(model, 8_192) == 1_073_741_824
    assert DESCRIBED in kv.footprint(model, kv.Request(1)).assumptions


@pytest.mark.parametrize("preset", [m.id for m in kv.presets()])
def test_every_preset_described_again_takes_the_same(preset):
    model = kv.load_model(preset)
    for rows in (rows_of(model), grouped_rows(model)):
        assert size(model_from_rows(rows, dtype=model.dtype)) == size(model)


def test_a_hybrid_layer_is_two_rows_of_the_same_layers():
    state = {"kind": "lightning_attention", "num_attention_heads": 2, "head_dim": 4}
    model = model_from_rows([{"layers": 3, **FULL}, {"layers": BESIDE, **state}])
    assert model.num_hidden_layers == 3
    assert size(model) == 3 * (2 * 5_000 * 8 * 128 * 2 + 2 * 4 * 4 * 4)


def test_the_order_of_layers_is_kept():
    model = model_from_rows([{"layers": 2, **WINDOW}, {"layers": 1, **FULL}] * 2)
    assert [layers for layers, *_ in (list(r.values()) for r in rows_of(model))] == [2, 1, 2, 1]


def test_a_shared_row_keeps_nothing():
    rows = [{"layers": 2, **FULL}, {"layers": 5, "kind": SHARED}]
    assert size(model_from_rows(rows)) == size(model_from_rows(rows[:1]))


def test_fields_of_other_kinds_may_stand_empty():
    assert size(model_from_rows([{"layers": 1, **FULL, "sliding_window": None}]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_its_fields(kind):
    assert "kind" not in fields_of(kind)
    assert fields_of(kind)


def test_a_refused_configuration_gives_the_first_row():
    read = (("num_hidden_layers", 48), ("text_config.head_dim", 128), ("num_key_value_heads", "x"))
    assert first_row(read) == {
        "layers": 48, "kind": "full_attention", "num_key_value_heads": None, "head_dim": 128,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "add a row"),
        ([{"layers": BESIDE, **FULL}], "Row 1 stands beside no other row"),
        ([{"layers": 0, **FULL}], "layers of row 1 is 0"),
        ([{"layers": 1.5, **FULL}], "layers of row 1 is 1.5"),
        ([{"layers": 65_536, **FULL}] * 2, "num_hidden_layers is 131072"),
        ([{"layers": 1, "kind": "magic"}], "kind of row 1 is 'magic'"),
        ([{"layers": 1, **FULL, "head_dim": None}], "Row 1: full_attention has missing field"),
        ([{"layers": 1, **FULL, "head_dim": -1}], "Row 1: head_dim is -1"),
        ([{"layers": 1, **FULL, "sliding_window": 4}], "Row 1 gives sliding_window"),
    ],
)
def test_a_wrong_row_is_named(rows, named):
    with pytest.raises(kv.InvalidInput, match=named):
        model_from_rows(rows)
