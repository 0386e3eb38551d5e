"""A generation's result → tokens, times, the cache's growth, smaller caches, how to repeat it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calculator.charts import frame
from calculator.charts.steps import step_chart
from ui.blocks.charts import Drawn, csv_text
from ui.blocks.proof import EQUAL, sign, versions_text
from ui.markup import esc, pair, scroll, show, table, title
from ui.theme import is_dark, palette


def show_generated(found: dict[str, Any]) -> None:
    show(_speed_html(found))
    left, right = st.columns([1, 1.15], gap="large")
    with left:
        _show_growth(found)
    with right:
        show(_equality_html(found))
    show(pair(_lossy_html(found), _reproducibility_html(found)))


def _speed_html(found: dict[str, Any]) -> str:
    """Times of both runs, and the speed-up beside the share of projections saved."""
    work = found["projections"]
    figures = (
        (f"{found['speedup']:,.1f} ×", "faster with the cache"),
        (f"{work['ratio']:,.0f} ×", "fewer positions projected"),
        (_ms(found["prefill_ms"]), "prefill"),
        (_ms(found["ttft_ms"]), "to the first token"),
        (_ms(found["decode_ms"]), "decode"),
        (f"{found['decode_tokens_per_second']:,.0f} a second", "tokens in decode"),
        (_ms(found["uncached_ms"]), "all of it without a cache"),
    )
    cells = "".join(
        f'<div><b class="n">{esc(value)}</b><span class="muted">{esc(name)}</span></div>'
        for value, name in figures
    )
    remark = found["reproducibility"]["decoding"]
    return (
        title("Generated with and without the cache", remark)
        + f'<div class="steps">{cells}</div><p class="text">{esc(found["why"])}</p>'
        + "".join(f'<p class="text muted">{esc(note)}</p>' for note in found.get("notes", ()))
    )


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:,.1f} ms"


def _equality_html(found: dict[str, Any]) -> str:
    """What must be equal, and what must be close."""
    same = EQUAL if found["tokens_equal"] else '<span class="t-not">✕ they differ</span>'
    close = '<span class="t-fits n">✓ within it</span>'
    if not found["within_tolerance"]:
        close = '<span class="t-not n">✕ more than it</span>'
    rows = (
        ("Tokens with and without", f"{len(found['tokens']):,}", same),
        ("Largest difference of logits", f"{found['max_abs_logit_difference']:.2g}", close),
        ("Tolerance", f"{found['tolerance']:g}", ""),
        ("Cache predicted, B", f"{found['predicted_bytes']:,}", ""),
        ("Cache at the end, B", f"{found['measured_bytes']:,}",
         sign(found["predicted_bytes"], found["measured_bytes"])),
    )  # fmt: skip
    return title("The same text") + table(("", "", ""), rows, right=(1,), classes="spread")


def _show_growth(found: dict[str, Any]) -> None:
    chart = step_chart(found)
    added = " or ".join(f"{size:,} B" for size in chart.added_bytes)
    show(title("The cache grows", f"{added} a step" if added else ""))
    st.plotly_chart(
        Drawn(chart.spec(palette(is_dark()))), theme=None, config=frame.CONFIG, alt=chart.alt,
        key="steps_chart",
    )  # fmt: skip
    with st.expander("Table and CSV", type="compact", key="steps_table", on_change="rerun") as fold:
        if fold.open:
            rows = chart.table()
            cells = [[f"{value:,}" for value in row.values()] for row in rows]
            show(table(rows[0], cells, right=range(len(rows[0]))))
            st.download_button(
                "Download CSV", csv_text(rows), "cache-by-step.csv", "text/csv", key="steps_csv",
                on_click="ignore",
            )  # fmt: skip


def _lossy_html(found: dict[str, Any]) -> str:
    """What rounding the cache did to this text."""
    rows = []
    for loss in found["lossy"]:
        until = loss["tokens_until_divergence"]
        said = f"after {until:,} tokens" if until is not None else "not in this text"
        rows.append((esc(loss["dtype"]), f"{loss['max_abs_logit_change']:.2g}", said))
    head = ("cache rounded to", "largest change of logits", "text first differs")
    remark = "lossy: of this small decoder, not of your model"
    return title("A smaller cache changes the text", remark) + table(
        head, rows, right=(1,), classes="spread"
    )


def _reproducibility_html(found: dict[str, Any]) -> str:
    given = found["reproducibility"]
    names = (
        ("model_version", "Model"), ("tokens_in", "Tokens in"), ("decoding", "Decoding"),
        ("seed", "Seed"), ("tolerance", "Tolerance"),
    )  # fmt: skip
    rows = [(label, esc(given[name])) for name, label in names]
    rows.append(("Device and versions", esc(versions_text(found))))
    return title("To repeat it") + scroll(
        "To repeat it", table(("", ""), rows, classes="keys wraps")
    )
