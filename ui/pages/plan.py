"""Plan: one scenario and everything about it, proved from the sentence down."""

import streamlit as st

from calculator.errors import CalculatorError
from ui.answer import Answer, answer
from ui.blocks import bar, charts, details, formula, ladder, layers, refused, verdict
from ui.guard import guarded
from ui.pasted import text as pasted_text
from ui.scenario import chosen


@guarded
def show() -> None:
    options = chosen()
    try:
        shown = answer(tuple(options.items()), pasted_text())
    except CalculatorError as error:
        refused.show(error, options)
        return
    embedded = bool(st.context.is_embedded)
    verdict.show(shown, options, embedded=embedded)
    if shown.found:
        bar.show(shown.found)
    if embedded:
        charts.show_context(shown)
    else:
        prove(shown)


def prove(shown: Answer) -> None:
    """From the fixes to the assumptions."""
    details.show_fixes(shown)
    st.space("small")
    formula.show(shown.fp)
    details.show_sources(shown)
    left, right = st.columns(2, gap="large")
    with left:
        charts.show_context(shown)
    with right:
        charts.show_map(shown)
    left, right = st.columns(2, gap="large")
    with left:
        charts.show_sequences(shown)
    with right:
        details.show_growth(shown)
    st.space("small")
    layers.show(shown.fp)
    st.space("small")
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        ladder.show(shown)
    with right:
        details.show_assumptions(shown)


show()
