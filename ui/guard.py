"""A page's body → the same, with every exception turned into a sentence."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps

import streamlit as st

from calculator.errors import CalculatorError
from ui.markup import esc, show

LOG = logging.getLogger("kvcalc.page")


def guarded(body: Callable[[], None]) -> Callable[[], None]:
    """What a user can cause is said; anything else is logged and apologised for."""

    @wraps(body)
    def run() -> None:
        try:
            body()
        except CalculatorError as error:
            show(f'<div class="notice bad" role="alert">{esc(error)}</div>')
        except Exception:
            LOG.exception("a page failed")
            apologise()

    return run


def apologise() -> None:
    st.error("This page failed; the log of the server says why. Your inputs are kept.")
