"""The checks of a session: started once, polled, cancelled, kept by what they check."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calculator.errors import CalculatorError
from calculator.verify.child import Run, Status, start
from calculator.verify.jobs import Job

STATE = "verify_runs"
ABANDON_AFTER_S = 15.0
"""How long a browser may be away before its checks are ended; a reload or a gap of the network."""
MAX_KEPT = 12

Key = tuple[object, ...]


def begin(method: str, key: Key, job: Job) -> None:
    """Queue a check; a refusal is kept in its place and shown like a failed one."""
    cancel(method, key)
    runs = _runs()
    runs.pop((method, key), None)
    try:
        runs[method, key] = start(job, abandon_after_s=ABANDON_AFTER_S, is_watched=_is_connected())
    except CalculatorError as error:
        refuse(method, key, error)
    for old in list(runs)[:-MAX_KEPT]:
        _end(runs.pop(old))


def refuse(method: str, key: Key, error: CalculatorError) -> None:
    """A check that could not even be queued."""
    _runs()[method, key] = error


def status(method: str, key: Key) -> Status | None:
    """How far the check is, or None where it was not asked for."""
    found = _runs().get((method, key))
    if isinstance(found, Run):
        return found.poll()
    return None if found is None else Status("failed", 0, 0, 1, "", None, found)


def result(method: str, key: Key) -> dict[str, Any] | None:
    found = status(method, key)
    return found.result if found else None


def cancel(method: str, key: Key) -> None:
    _end(_runs().get((method, key)))


def cancel_others(key: Key) -> None:
    """End what still runs for inputs that are no longer chosen."""
    for (_, other), run in _runs().items():
        if other != key:
            _end(run)


def is_going(found: Status | None) -> bool:
    return found is not None and not found.is_over


def _is_connected() -> Callable[[], bool]:
    """Whether this session's browser still is; a tab in the background hardly polls any more."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: False
    return partial(runtime.get_instance().is_active_session, context.session_id)


def _end(run: Run | CalculatorError | None) -> None:
    if isinstance(run, Run) and not run.poll().is_over:
        run.cancel()


def _runs() -> dict[tuple[str, Key], Run | CalculatorError]:
    found: dict[tuple[str, Key], Run | CalculatorError] = st.session_state.setdefault(STATE, {})
    return found
