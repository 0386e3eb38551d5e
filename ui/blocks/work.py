"""Two lengths → the work with and without a cache, as a table and a chart."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from calculator.charts import frame
from calculator.charts.work import short, work_chart
from calculator.lesson import Work, attention_pairs, projections
from ui.blocks.charts import Drawn, csv_text
from ui.markup import esc, show, table, title
from ui.theme import is_dark, palette

LARGEST = 2**24
EXAMPLES = ((1000, 1000), (4000, 1000), (1, 4096))
KINDS = (("positions projected", projections), ("pairs in attention", attention_pairs))


def show_work() -> None:
    """The table for lengths that can be typed, beside the picture."""
    left, right = st.columns([1.2, 1], gap="large")
    with left:
        _head()
        prompt, new = _lengths()
        show(_table(int(prompt), int(new)))
    with right:
        show(title("Positions projected", "from a prompt of one token"))
        st.plotly_chart(
            _figure(is_dark()), theme=None, config=frame.CONFIG, alt=work_chart().alt,
            key="work_chart",
        )  # fmt: skip
        _chart_table()


def _head() -> None:
    text = (
        "Without a cache every pass projects all positions again: the sum grows with the square of "
        "the length, and attention with the cube. With one every position is projected once, and "
        "attention grows with the square."
    )
    show(title("Work with and without") + f'<p class="text">{esc(text)}</p>')


def _lengths() -> tuple[int, int]:
    pair = st.container(horizontal=True)
    return (
        pair.number_input("Prompt, tokens", 1, LARGEST, 512, 1, key="lesson_prompt", width=160),
        pair.number_input("New tokens", 1, LARGEST, 256, 1, key="lesson_new", width=160),
    )


@lru_cache(maxsize=64)
def _table(prompt: int, new: int) -> str:
    """Both kinds of work for the lengths typed, and projections for three others."""
    head = ("", "without", "with a cache", "")
    rows = [[esc(name), *_cells(work(prompt, new))] for name, work in KINDS]
    others = [[f"{p:,} + {n:,}", *_cells(projections(p, n))] for p, n in EXAMPLES]
    return table(head, rows, right=(1, 2, 3)) + table(
        ("prompt + new, projected", "", "", ""), others, right=(1, 2, 3)
    )


def _cells(work: Work) -> tuple[str, str, str]:
    """Short, the whole count in the tip."""
    exact, cached = (
        f'<span class="n" title="{count:,}">{esc(short(count))}</span>'
        for count in (work.without, work.cached)
    )
    return exact, cached, f"<b>{work.ratio:,.0f}\N{NO-BREAK SPACE}×</b>"


@lru_cache(maxsize=2)
def _figure(dark: bool) -> Drawn:
    return Drawn(work_chart().spec(palette(dark)))


def _chart_table() -> None:
    with st.expander("Table and CSV", type="compact", key="work_table", on_change="rerun") as fold:
        if fold.open:
            rows = work_chart().table()
            cells = [[f"{value:,}" for value in row.values()] for row in rows]
            show(table(rows[0], cells, right=range(len(rows[0]))))
            st.download_button(
                "Download CSV", csv_text(rows), "work.csv", "text/csv", key="work_csv",
                on_click="ignore",
            )  # fmt: skip
