"""Plan: one scenario and everything about it, proved from the sentence down."""

import streamlit as st

from calculator.errors import CalculatorError
from ui.answer import Answer, answer
from ui.blocks import (
    bar,
    charts,
    details,
    engine,
    formula,
    ladder,
    layer_table,
    layers,
    refused,
    verdict,
)
from ui.guard import guarded
from ui.markup import pair, show
from ui.pasted import DESCRIBED
from ui.pasted import text as pasted_text
from ui.scenario import chosen


@guarded
def page() -> None:
    if layer_table.is_open():
        verdict.no_copies()
        layer_table.show()
        return
    options = chosen()
    try:
        shown = answer(tuple(options.items()), pasted_text())
    except CalculatorError as error:
        verdict.no_copies()
        refused.show(error, options)
        return
    if st.context.is_embedded:
        show(verdict.tag(shown), verdict.html(shown), bar.html(shown))
        charts.show_context(shown)
    else:
        if options["model"] == DESCRIBED:
            with st.container():
                layer_table.show_marked(shown.asked.model)
                verdict.show_copies(shown, options)
        else:
            verdict.show_copies(shown, options)
        prove(shown)


def prove(shown: Answer) -> None:
    """From the sentence to the assumptions."""
    show(
        verdict.tag(shown),
        verdict.html(shown),
        bar.html(shown),
        details.fixes_html(shown),
        formula.html(shown) + details.sources_html(shown),
        *engine.sections(shown),
    )
    with st.container(key="charts"):  # side by side by the style sheet: a block a column costs
        charts.show_context(shown)
        charts.show_sequences(shown)
        key = charts.show_map(shown)
        show(key, details.growth_html(shown))
    show(layers.html(shown), pair(ladder.html(shown), details.assumptions_html(shown)))


page()
