"""A rerun of the Plan page beside an empty page that shows the same charts as static figures.

    python benchmarks/page.py        exit status 1 when a goal is missed

A rerun that has seen everything before, and one with a new context, whose figures must be drawn;
beside figures made beforehand, and the latter also beside the same figures drawn in each run.

All run in this process by Streamlit's own test runner, without a browser. Needs the extra `app`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path

import plotly.io
from ratios import Ratio, best_in_turns, table
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

MAIN = Path(__file__).parents[1] / "ui" / "main.py"
GOAL = 2


def static_page(figures) -> None:  # no names from this file: only its source is run
    """The empty page."""
    import streamlit as st

    for number, figure in enumerate(figures):
        st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=str(number))


def drawing_page(specifications) -> None:
    """The empty page again, drawing the same figures from their literal data in each run."""
    import json

    import plotly.graph_objects as go
    import streamlit as st

    for number, specification in enumerate(specifications):
        figure = go.Figure(json.loads(specification))
        st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=str(number))


def plan_page() -> AppTest:
    page = AppTest.from_file(str(MAIN), default_timeout=60).run()
    assert not page.exception, page.exception[0].message
    return page


def rerun(page: AppTest, context: int) -> None:
    """One rerun with the context typed, from the entry script on."""
    page.text_input(key="context").set_value(str(context)).run()
    assert not page.exception, page.exception[0].message


def ratio(name: str, contexts: Callable[[], int], *, drawn: bool, goal: float | None) -> Ratio:
    page = plan_page()
    specifications = [chart.proto.spec for chart in page.get("plotly_chart")]
    if drawn:
        beside, what, given = drawing_page, "drawn in each run", specifications
    else:
        beside, what = static_page, "made beforehand"
        given = [plotly.io.from_json(text) for text in specifications]
    static = AppTest.from_function(beside, args=(given,), default_timeout=60).run()
    assert len(static.get("plotly_chart")) == len(specifications) > 0
    ours, theirs = best_in_turns(lambda: rerun(page, contexts()), static.run, calls=1, rounds=40)
    charts = f"an empty page, the same {len(specifications)} charts {what}"
    return Ratio(name, ours, charts, theirs, goal)


def main() -> int:
    logging.disable(logging.WARNING)  # the test runner has no browser session, and says so
    cache = ScriptCache()  # a server keeps one for all its runs; the test runner compiles each time
    local_script_runner.ScriptCache = app_test.ScriptCache = lambda: cache
    seen, new = cycle([8192, 16_384]), count(20_000)
    old, fresh = "rerun, a context seen before", "rerun, a new context"
    ratios = [
        ratio(old, lambda: next(seen), drawn=False, goal=GOAL),
        ratio(fresh, lambda: next(new), drawn=True, goal=GOAL),
        ratio(fresh, lambda: next(new), drawn=False, goal=GOAL),
    ]
    print(table(ratios))
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
