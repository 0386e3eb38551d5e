"""Layers as a user describes them: a table to edit → a model like any other, marked as theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from calculator.errors import CalculatorError, UnsupportedModel
from calculator.importers.to_preset import preset_text
from calculator.model import MAX_LAYERS, ModelSpec
from calculator.units import parse_tokens
from ui import markup, pasted
from ui.brought import DESCRIBED, description, model_of_text
from ui.layer_rows import (
    KNOWN,
    MODEL_DTYPES,
    Record,
    applied,
    columns_of,
    keys_text,
    rows_from,
    start_of,
    start_of_refused,
    start_text,
    stated,
)
from ui.markup import STRONG, esc, marked

STATE = "layer_table"
MOST = 2**53 - 1  # a browser's whole numbers end here


@dataclass
class Editing:
    """A table that is open: what it started from, what it shows, for which chosen model."""

    chosen: str
    name: str
    start: list[Record]
    remark: str
    dtype: str = "bf16"
    longest: str = ""
    num_parameters: int | None = None
    version: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def key(self) -> str:
        """A grid keeps its edits by its key; another key is a grid without any."""
        return f"layer_grid_{self.version}"

    def now(self) -> list[Record]:
        """The records with what was edited since they were drawn."""
        return applied(self.records, st.session_state.get(self.key, {}))

    def redraw(self, records: list[Record]) -> None:
        self.records, self.version = records, self.version + 1


def open_button() -> None:
    """For the model that is chosen, whatever it is."""
    st.button(
        "Edit the layers of this model", on_click=open_chosen, width="stretch",
        icon=":material/edit_note:",
        help="Start from the layers of the model chosen above; the result is marked as yours.",
    )  # fmt: skip


def open_chosen() -> None:
    """Whatever is chosen: what could be read of it, be it refused."""
    from ui.answer import model_of

    name = str(st.session_state.get("model"))
    try:
        model = model_of(name, pasted.text())
    except UnsupportedModel as error:
        open_refused(error, name)
    except CalculatorError as error:
        if not pasted.text():
            st.session_state["config_problem"] = str(error)
            return
        config = json.loads(pasted.text())
        open_refused(_with_keys(error, config), name, config)
    else:
        open_known(model)


def _with_keys(error: CalculatorError, config: Mapping[str, Any]) -> UnsupportedModel:
    """A configuration that lacks something, as one whose other keys were read."""
    named = str(config.get("model_type", ""))
    return UnsupportedModel(str(error), model_type=named, keys_read=tuple(config.items()))


def open_known(model: ModelSpec) -> None:
    """The table of a model that could be read."""
    records, remark = start_of(model)
    own = model.model_type == "described"
    longest = model.max_position_embeddings
    _open(Editing(
        str(st.session_state.get("model")), model.name if own else f"{model.name} as described",
        records, " ".join((f"Started from the layers of {model.name}.", remark)).strip(),
        model.dtype if model.dtype in MODEL_DTYPES else "bf16",
        str(longest) if longest else "", model.num_parameters,
    ))  # fmt: skip


def open_refused(
    error: UnsupportedModel, name: str, config: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """The table of a model without a rule: what its configuration did say."""
    named = error.model_type or name
    remark = f"Started from {start_text(error)}, which is what could be read of its configuration."
    if error.unknown_keys:
        remark += f" What could change the size: {keys_text(error.unknown_keys)}."
    dtype, longest = stated(config)
    title = f"{named[:60]} as described"
    _open(Editing(name, title, start_of_refused(error), remark, dtype, longest))


def _open(editing: Editing) -> None:
    editing.redraw(editing.start)
    st.session_state[STATE] = editing
    st.session_state["config_problem"] = ""
    for name, value in (
        ("name", editing.name), ("dtype", editing.dtype), ("longest", editing.longest)
    ):  # fmt: skip
        st.session_state[f"layers_{name}"] = value


def is_open() -> bool:
    """Whether the table is open for the model that is chosen; another choice hides it."""
    editing = st.session_state.get(STATE)
    return isinstance(editing, Editing) and editing.chosen == st.session_state.get("model")


def show() -> None:
    """The table, what is wrong with it, and the buttons; no size before it is taken."""
    editing: Editing = st.session_state[STATE]
    markup.show(
        '<span class="tag plain" role="status">Your description</span>',
        '<h1 class="sentence refused">Describe the layers of '
        f"{marked(STRONG.format(editing.name.removesuffix(' as described')))}.</h1>"
        f'<p class="under">{esc(editing.remark)} The size will be marked as described by you.</p>',
    )
    _inputs()
    _grid(editing)
    problem = _said(editing)
    with st.container(horizontal=True):
        st.button("Use this description", type="primary", on_click=_use, disabled=bool(problem))
        st.button("Start again", on_click=editing.redraw, args=(editing.start,))
        st.button("Cancel", on_click=_close, type="tertiary")


def _inputs() -> None:
    left, middle, right = st.columns([2, 1, 1])
    left.text_input("Name", key="layers_name", max_chars=96)
    middle.selectbox("Element type", MODEL_DTYPES, key="layers_dtype")
    right.text_input(
        "Trained maximum, tokens", key="layers_longest", placeholder="not known",
        help="Longer contexts are computed and marked as beyond it.",
    )  # fmt: skip


def _grid(editing: Editing) -> None:
    """The grid; a kind that is new to it brings its columns with the next run."""
    columns = columns_of(editing.records)
    numbers = [name for name in columns if name not in ("kind", "beside")]
    st.data_editor(
        _frame(editing.records, columns, numbers), key=editing.key, num_rows="dynamic",
        hide_index=True, column_order=columns,
        column_config=_columns(numbers), alt="Layers from the first to the last, a row a group.",
    )  # fmt: skip
    if columns_of(now := editing.now()) != columns:
        editing.redraw(now)
        st.rerun()


def _frame(records: list[Record], columns: list[str], numbers: list[str]) -> pd.DataFrame:
    """The records as the grid takes them; what is no number it can hold is an empty cell."""
    frame = pd.DataFrame({c: [r.get(c) for r in records] for c in columns}, dtype=object)
    for name in numbers:
        cells = [v if isinstance(v, int) and abs(v) < MOST else None for v in frame[name]]
        frame[name] = pd.array(cells, dtype="Int64")
    frame["beside"] = [bool(ticked) for ticked in frame["beside"]]
    return frame


def _columns(numbers: list[str]) -> dict[str, Any]:
    config = st.column_config
    found: dict[str, Any] = {
        name: config.NumberColumn(name, min_value=0, max_value=MOST, step=1, format="%d")
        for name in numbers
    }
    found["layers"] = config.NumberColumn(
        "layers", min_value=1, max_value=MAX_LAYERS, step=1, default=1
    )
    found["kind"] = config.SelectboxColumn(
        "kind", options=KNOWN, default="full_attention", required=True,
        help="What such a layer keeps; shared keeps nothing of its own.",
    )  # fmt: skip
    found["beside"] = config.CheckboxColumn(
        "same layers as above", default=False,
        help="A second cache in the layers of the row above, as in a hybrid layer.",
    )  # fmt: skip
    return found


def _said(editing: Editing) -> str:
    """What is wrong, in a sentence that is shown; else empty, and how many layers there are."""
    try:
        model = model_of_text(_text(editing))
    except CalculatorError as error:
        markup.show(f'<div class="notice bad" role="alert">{esc(error)}</div>')
        return str(error)
    groups = "one kind" if len(model.layer_groups) == 1 else f"{len(model.layer_groups):,} kinds"
    markup.show(
        f'<p class="under" role="status"><span class="t-fits n">✓</span> '
        f"{esc(f'{model.num_hidden_layers:,} layers of {groups}')}</p>"
    )
    return ""


def _text(editing: Editing) -> str:
    longest = st.session_state.get("layers_longest", "").strip()
    return description(
        rows_from(editing.now()),
        name=st.session_state.get("layers_name", ""),
        dtype=st.session_state.get("layers_dtype", "bf16"),
        max_position_embeddings=parse_tokens("maximum", longest) if longest else None,
        num_parameters=editing.num_parameters,
    )


def _use() -> None:
    try:
        pasted.keep(_text(st.session_state[STATE]))
    except CalculatorError:
        return  # said below the table, which stays
    _close()


def _close() -> None:
    st.session_state.pop(STATE, None)


def show_marked(model: ModelSpec) -> None:
    """Above a described model's size: whose figures they are, and what can be done with them."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        said = "Layers as you described them, not read from a configuration."
        st.markdown(f":gray[{said}]", width="content")
        st.button(
            "Edit the layers", on_click=open_known, args=(model,), type="tertiary",
            icon=":material/edit_note:",
        )  # fmt: skip
        name = slug(model.name)
        st.download_button(
            "Download as a preset", preset_text(replace(model, id=name)), f"{name}.toml",
            "application/toml", on_click="ignore", type="tertiary", icon=":material/download:",
            help=f"Saved as presets/models/described/{name}.toml, kvcalc knows it by that name.",
        )  # fmt: skip


def slug(name: str) -> str:
    """A name as a file may be called.

    >>> slug("Nova 40B as described")
    'nova-40b-as-described'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or DESCRIBED
