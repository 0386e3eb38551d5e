"""The pages, in their order."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

VIEWS = Path(__file__).parent / "views"


def pages() -> list[StreamlitPage]:
    """For one run, which marks the page that it shows: so each has its own, looked up once."""
    return [copy(page) for page in _pages()]


@cache
def _pages() -> tuple[StreamlitPage, ...]:
    return (
        st.Page(VIEWS / "plan.py", title="Plan", default=True),
        st.Page(VIEWS / "verify.py", title="Verify"),
        st.Page(VIEWS / "learn.py", title="Learn"),
        st.Page(VIEWS / "catalogue.py", title="Catalogue"),
    )
