"""An answer → the charts with their switches, each with its table and CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import lru_cache
from io import StringIO
from typing import Any

import streamlit as st
from plotly.basedatatypes import BaseFigure

from calculator.charts import frame
from calculator.charts.curves import against_context, against_sequences
from calculator.charts.grid import Grid, grid
from calculator.charts.lines import LineChart
from ui.answer import Answer
from ui.markup import Html, esc, table, title
from ui.theme import is_dark, palette

Chart = LineChart | Grid
SCALES, TABLE = ("log", "linear"), "table"
MAKERS: dict[str, Callable[..., Chart]] = {
    "context": against_context, "sequences": against_sequences, "map": grid,
}  # fmt: skip


@lru_cache(maxsize=256)
def _chart(kind: str, shown: Answer) -> Chart:
    return MAKERS[kind](shown.fp, shown.found)


class Drawn(BaseFigure):
    """A specification that Streamlit takes as a figure without checking each property again.

    That check takes ten times as long as all of the page's own work; the tests do it instead.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    def to_dict(self) -> dict[str, Any]:
        return self._spec


@lru_cache(maxsize=128)
def _figure(kind: str, shown: Answer, mode: str, dark: bool) -> Drawn:
    return Drawn(_chart(kind, shown).spec(palette(dark), mode))


def show_context(shown: Answer) -> None:
    room = "; room: an estimate" if shown.found else ""
    below = f"× n: sequences{room}"
    _show("context", shown, _head("Size against context", SCALES, "context_scale", below))


def show_sequences(shown: Answer) -> None:
    below = "each line: a context"
    mode = _head("Size against sequences", SCALES, "sequences_scale", below)
    _show("sequences", shown, mode)


def show_map(shown: Answer) -> str:
    """Returns the key of what is drawn, for the block below it."""
    found, number = shown.found, shown.fp.parallelism.num_devices
    if found is None or found.budget.device is None:
        mode = _head("Size by context and sequences", ("cache",), "map_shows", "GiB")
        _show("map", shown, mode)
        return ""
    name = found.budget.device.name.removeprefix("a device with ")
    where = f"one {name}" if number == 1 else f"each of {number}"
    mode = _head("What fits", ("cache", "to spare"), "map_shows", f"{where}, GiB")
    _show("map", shown, mode)
    return "" if mode == TABLE else f'<div class="mapkey">{_map_key()}</div>'


def _head(text: str, modes: tuple[str, ...], key: str, below: str) -> str:
    """Title left, and below it what is drawn; switch right, or below where there is no room."""
    lines = f'<div class="mapkey">{esc(below)}</div>'
    st.html(Html(f'<div class="kv inline tall">{title(text)}{lines}</div>'))
    picked = st.segmented_control(
        text, (*modes, TABLE), default=modes[0], key=key, required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    return picked or modes[0]


def _show(kind: str, shown: Answer, mode: str) -> None:
    """The figure, or its figures as a table."""
    if mode == TABLE:
        _show_table(kind, shown)
        return
    st.plotly_chart(
        _figure(kind, shown, mode, is_dark()),
        theme=None,
        config=frame.CONFIG,
        alt=_chart(kind, shown).alt,
        key=f"{kind}_chart",
    )


def _map_key() -> str:
    entries = (
        ("c-fits", "fits"), ("c-marginal", "≈ marginal"), ("c-not", "does not fit"),
        ("c-here", "this scenario"),
    )  # fmt: skip
    return "".join(f'<span><span class="sw {c}"></span>{text}</span>' for c, text in entries)


def _show_table(kind: str, shown: Answer) -> None:
    html, text = _tables(kind, shown)
    st.html(Html(html))
    name = f"{shown.fp.model.id or 'model'}-{kind}.csv".replace("/", "-")
    st.download_button("Download CSV", text, name, "text/csv", key=f"{kind}_csv", on_click="ignore")


@lru_cache(maxsize=128)
def _tables(kind: str, shown: Answer) -> tuple[str, str]:
    """What a chart shows as an HTML table and as CSV."""
    rows = _chart(kind, shown).table()
    cells = [[f"{value:,}" for value in row.values()] for row in rows]
    shown_table = table(rows[0], cells, right=range(len(rows[0])))
    return f'<div class="kv catalogue">{shown_table}</div>', csv_text(rows)


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV, bytes in full."""
    out = StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
