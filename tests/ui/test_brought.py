"""Models that somebody brings: what a text is taken for, and what a table of layers becomes."""

import base64
import json

import pytest

from calculator.catalog import load_model
from calculator.errors import CalculatorError, InvalidInput, UnsupportedModel
from calculator.importers.description import BESIDE, DESCRIBED
from tests.importers.gguf_bytes import Bytes, llama
from tests.importers.test_gguf_dump import LOG
from tests.ui.test_plan import TINY_LLAMA, UNKNOWN
from ui import brought, gguf_file, pasted
from ui.blocks import layer_table
from ui.brought import compact, description, kind_of, model_of_text
from ui.layer_rows import (
    applied,
    columns_of,
    records_of,
    rows_from,
    start_of,
    start_of_refused,
    start_text,
    stated,
)
from ui.report import report_text

FULL = {"layers": 4, "kind": "full_attention", "num_key_value_heads": 2, "head_dim": 16}


def described(**more):
    given = {"described_layers": 1, "name": "nova", "rows": [FULL], **more}
    return json.dumps({k: v for k, v in given.items() if v is not None})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (json.dumps(TINY_LLAMA), brought.NAME),
        (json.dumps(TINY_LLAMA).encode(), brought.NAME),
        (json.dumps(UNKNOWN), brought.NAME),
        (LOG, brought.GGUF),
        (Bytes().file(llama()), brought.GGUF),
        (described(), brought.DESCRIBED),
    ],
)
def test_a_text_is_taken_for_what_it_is_and_stays_so(given, kind):
    text = compact(given)
    assert kind_of(json.loads(text)) == kind
    assert compact(text) == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (" \n", "empty"),
        ("three layers", "not JSON"),
        (LOG.replace("gemma3", "abacus"), "no rule for GGUF architecture"),
        (LOG.replace("with 9 key", "with 99 key"), "paste all of its lines"),
        (b"GGUF", "more of the file is needed"),
        (described(described_layers=2), "reads version 1"),
        (described(rows=None), "expected a list"),
        (described(rows=[FULL] * 513), "expected a list"),
        (described(rows=["x"]), "Row 1 is 'x'"),
        (described(rows=[FULL | {"head_dim": [1]}]), "expected a number"),
        (described(rows=[FULL | {"head_dim": True}]), "expected a number"),
        (described(rows=[FULL | {"kind": "abacus"}]), "kind of row 1 is 'abacus'"),
        (described(rows=[FULL | {"layers": BESIDE}]), "stands beside no other row"),
        (described(name="x" * 97), "at most 96 characters"),
        (described(name="a\nb"), "one line"),
        (described(dtype=8), "expected a name"),
        (described(colour=1), "no 'colour'"),
    ],
)
def test_what_makes_no_model_is_refused_in_a_sentence(given, said):
    with pytest.raises(CalculatorError, match=said):
        compact(given)


def test_a_header_without_a_name_is_called_by_its_file():
    assert model_of_text(compact(Bytes().file(llama()), name="tiny-q4.gguf")).name == "tiny-q4"


def test_a_description_says_that_it_is_one():
    model = model_of_text(description([FULL], name="nova as described", dtype="fp16"))
    assert DESCRIBED in model.assumptions
    assert (model.name, model.dtype, model.num_hidden_layers) == ("nova as described", "fp16", 4)


def test_a_description_travels_in_a_link():
    text = description([FULL], name="nova as described", dtype="bf16")
    code = pasted.link_code(text)
    assert len(code) < 300
    assert json.loads(text) == json.loads(unpacked(code))


def unpacked(code):
    import zlib

    return zlib.decompress(base64.urlsafe_b64decode(code))


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b"])
def test_the_table_of_a_known_model_is_that_model(name):
    model = load_model(name)
    records, remark = start_of(model)
    again = model_of_text(description(rows_from(records), name=model.name, dtype=model.dtype))
    assert groups(again) == groups(model)
    assert bool(remark) == (name in ("gemma-3-27b", "qwen3-next-80b"))


def groups(model):
    return {(group.layers, group.caches) for group in model.layer_groups}


def test_edits_add_up_to_the_rows_they_show():
    records = records_of([FULL, FULL | {"layers": 2}])
    edits = {
        "edited_rows": {0: {"layers": 6.0}},
        "added_rows": [{"num_key_value_heads": 1, "head_dim": 8}],
        "deleted_rows": [1],
    }
    assert rows_from(applied(records, edits)) == [
        FULL | {"layers": 6},
        {"layers": 1, "kind": "full_attention", "num_key_value_heads": 1, "head_dim": 8},
    ]
    assert records == records_of([FULL, FULL | {"layers": 2}])


def test_a_row_of_another_kind_keeps_the_figures_it_shares():
    edits = {"edited_rows": {"0": {"kind": "mamba2", "state_size": 64}}}
    found = applied(records_of([FULL]), edits)
    assert rows_from(found) == [{"layers": 4, "kind": "mamba2", "head_dim": 16, "state_size": 64}]
    assert "num_key_value_heads" not in columns_of(found)


def test_a_tick_puts_a_second_cache_into_the_layers_above():
    edits = {"added_rows": [{"beside": True, "kind": "sparse_indexer", "index_head_dim": 8}]}
    rows = rows_from(applied(records_of([FULL]), edits))
    model = model_of_text(description(rows, name="nova", dtype="bf16"))
    assert model.num_hidden_layers == 4
    assert [cache.kind for cache in model.layer_groups[0].caches] == [
        "full_attention", "sparse_indexer",
    ]  # fmt: skip


def test_a_cell_that_was_emptied_is_missing_and_named():
    rows = rows_from(applied(records_of([FULL]), {"edited_rows": {0: {"head_dim": None}}}))
    with pytest.raises(InvalidInput, match="Row 1: full_attention has missing field head_dim"):
        description(rows, name="nova", dtype="bf16")


@pytest.mark.parametrize("kind", [["x"], {}, 3, None])
def test_a_kind_that_is_no_word_is_left_for_the_description_to_refuse(kind):
    rows = rows_from(applied(records_of([FULL]), {"edited_rows": {0: {"kind": kind}}}))
    with pytest.raises(InvalidInput, match=r"kind of row 1|expected a number"):
        description(rows, name="nova", dtype="bf16")


def test_the_grid_shows_no_number_that_it_cannot_hold():
    records = records_of([FULL | {"head_dim": 10**300, "num_key_value_heads": 8}])
    columns = columns_of(records)
    frame = layer_table._frame(
        records, columns, [c for c in columns if c not in ("kind", "beside")]
    )
    assert frame["head_dim"].isna().all()
    assert list(frame["num_key_value_heads"]) == [8]
    assert list(frame["beside"]) == [False]


REFUSED = UnsupportedModel(
    "There is no rule.", model_type="nova", unknown_keys=("memory.slots",),
    keys_read=(("num_hidden_layers", 48), ("text_config.num_key_value_heads", 8)),
)  # fmt: skip


def test_a_refused_model_starts_from_what_was_read():
    assert start_of_refused(REFUSED) == [
        {"layers": 48, "kind": "full_attention", "num_key_value_heads": 8, "beside": False}
    ]
    assert start_text(REFUSED) == "48 full-attention layers"
    assert start_text(UnsupportedModel("No.", keys_read=(("num_hidden_layers", "x"),))) == (
        "1 full-attention layer"
    )


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"torch_dtype": "float16", "max_position_embeddings": 4096}, ("fp16", "4096")),
        ({"dtype": "float8_e4m3fn", "max_position_embeddings": -1}, ("bf16", "")),
        ({"dtype": ["x"], "max_position_embeddings": True}, ("bf16", "")),
        ({}, ("bf16", "")),
    ],
)
def test_type_and_maximum_are_taken_where_they_make_sense(config, found):
    assert stated(config) == found


def test_a_report_holds_the_keys_that_matter_and_no_others():
    text = report_text(REFUSED, {"memory": {"slots": 4096}, "private_note": "secret"})
    assert "- memory.slots: 4096" in text
    assert "- text_config.num_key_value_heads: 8" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    "sent", [None, 3, "x", {}, {"data": 1, "name": "x"}, {"data": "x"}, {"name": "x"}]
)
def test_what_no_browser_sends_is_left_alone(sent, monkeypatch):
    monkeypatch.setattr(pasted, "take", lambda *a, **k: pytest.fail("taken"))
    gguf_file.take_head(sent)


def test_a_head_that_is_no_base64_is_an_empty_one(monkeypatch):
    taken = []
    monkeypatch.setattr(pasted, "take", lambda data, name: taken.append((data, name)))
    gguf_file.take_head({"data": "!", "name": "a.gguf"})
    gguf_file.take_head({"data": base64.b64encode(b"GGUF").decode(), "name": ""})
    assert taken == [(b"", "a.gguf"), (b"GGUF", "the file")]
