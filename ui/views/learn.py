"""Learn: why the cache exists, with the chosen model's own numbers."""

import streamlit as st

from calculator.errors import CalculatorError
from ui.answer import Answer, taught
from ui.blocks import claims, lesson, work
from ui.guard import guarded
from ui.markup import esc, pair, show
from ui.pasted import text as pasted_text
from ui.scenario import chosen


@guarded
def page() -> None:
    remark = ""
    try:
        shown: Answer | None
        shown, remark = taught(chosen(), pasted_text())
    except CalculatorError as error:
        shown = None
        show(
            '<h1 class="sentence">Why there is a cache</h1>'
            f'<p class="under">Without this model’s numbers: {esc(error)}</p>'
        )
    if shown:
        show(lesson.sentence_html(shown) + lesson.remark_html(remark), lesson.loop_html(shown))
    st.space("small")
    work.show_work()
    st.space("small")
    if shown:
        show(lesson.tensors_html(shown))
        show(pair(lesson.left_out_html(shown), lesson.promises_html(shown)))
    show(lesson.questions_html(), claims.html())


page()
