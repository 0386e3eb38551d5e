"""Rows of a description ↔ records of an editable table, and the edits made there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calculator.dtypes import dtype
from calculator.errors import CalculatorError, UnsupportedModel, shown
from calculator.importers.description import (
    BESIDE,
    SHARED,
    fields_of,
    first_row,
    grouped_rows,
    rows_of,
)
from calculator.layers import KINDS
from calculator.model import ModelSpec
from calculator.units import counted

Record = dict[str, Any]
MODEL_DTYPES = ("bf16", "fp16", "fp32")

KNOWN = [*KINDS, SHARED]  # a list: what it is asked about may not be hashable
NEW = {"layers": 1, "kind": "full_attention", "beside": False}
MOST_IN_ORDER = 8
"""Rows beyond which layers of a type share one row: sixty rows are no table anybody edits."""


def records_of(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Rows as the table shows them: numbers alone under `layers`, a tick for `beside`."""
    return [
        {
            **{key: value for key, value in row.items() if value is not None},
            "layers": _whole(row.get("layers")),
            "beside": row.get("layers") == BESIDE,
        }
        for row in rows
    ]


def rows_from(records: Iterable[Record]) -> list[Record]:
    """Records as rows of a description; empty cells are left out."""
    return [
        {
            "layers": BESIDE if record.get("beside") else record.get("layers"),
            **{k: v for k, v in record.items() if k not in ("layers", "beside") and v is not None},
        }
        for record in records
    ]


def applied(records: Sequence[Record], edits: Mapping[str, Any]) -> list[Record]:
    """The records after the edits that st.data_editor keeps in the session's state.

    A row that becomes of another kind loses the figures which that kind does not have.
    """
    changed = {int(row): cells for row, cells in edits.get("edited_rows", {}).items()}
    deleted = {int(row) for row in edits.get("deleted_rows", ())}
    found = [
        _edited(record, changed.get(number, {}))
        for number, record in enumerate(records)
        if number not in deleted
    ]
    return [*found, *(_edited(NEW, cells) for cells in edits.get("added_rows", ()))]


def _edited(record: Record, cells: Mapping[str, Any]) -> Record:
    after = {**record, **{k: _whole(v) for k, v in cells.items() if k != "_index"}}
    kind = after.get("kind")
    if kind != record.get("kind") and kind in KNOWN:
        kept = ("layers", "kind", "beside", *fields_of(str(kind)), *cells)
        after = {key: value for key, value in after.items() if key in kept}
    return after


def _whole(value: object) -> object:
    """A browser writes 8.0 for 8; what is no number stays as it is, for the error to name."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def columns_of(records: Iterable[Record]) -> list[str]:
    """The fields that the kinds in the table have, in the order in which they appear."""
    found = dict.fromkeys(
        name
        for record in records
        for kind in [record.get("kind")]
        if kind in KNOWN
        for name in fields_of(str(kind))
    )
    return ["layers", "kind", *found, "beside"]


def start_of(model: ModelSpec) -> tuple[list[Record], str]:
    """(records of a model that is known, a remark where they are not in the order of its layers)"""
    rows = rows_of(model)
    if len(rows) <= MOST_IN_ORDER:
        return records_of(rows), ""
    return records_of(grouped_rows(model)), (
        "Layers of one type share a row: the sizes are those of the model, the order is not."
    )


def start_of_refused(error: UnsupportedModel) -> list[Record]:
    """Where to start from what a refused configuration said."""
    row = first_row(error.keys_read)
    layers = row["layers"]
    sound = isinstance(layers, int) and not isinstance(layers, bool) and layers > 0
    return records_of([row if sound else row | {"layers": 1}])


def start_text(error: UnsupportedModel) -> str:
    """48 full-attention layers"""
    layers = start_of_refused(error)[0]["layers"]
    return counted(layers, "full-attention layer")


def stated(config: Mapping[str, Any]) -> tuple[str, str]:
    """(element type, trained maximum) as a configuration says them; bf16 and "" where not."""
    try:
        name = dtype(str(config.get("torch_dtype", config.get("dtype")))).name
    except CalculatorError:
        name = ""
    longest = config.get("max_position_embeddings")
    is_count = isinstance(longest, int) and not isinstance(longest, bool) and longest > 0
    return name if name in MODEL_DTYPES else "bf16", str(longest) if is_count else ""


def keys_text(keys: Sequence[str]) -> str:
    """Keys in a sentence, of which a configuration may have many."""
    named = ", ".join(shown(key).strip("'\"") for key in keys[:6])
    return named + (f" and {len(keys) - 6} more" if len(keys) > 6 else "")
