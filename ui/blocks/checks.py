"""A scenario → three checks with their buttons, progress and cancel, redrawn while one runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from calculator.errors import CalculatorError
from calculator.explain import sizes
from calculator.units import parse_bytes
from calculator.verify.child import Status
from calculator.verify.device import DEVICES
from calculator.verify.jobs import Job, Method
from ui import runs
from ui.markup import esc, show

EVERY_S, WAITING_S = 0.5, 2.0
"""How often a check is looked at while it runs, and while others run before it."""
SLICE = re.compile(r"([\d,]+ of [\d,]+ (?:layers|tokens)) \(--slice (layers|tokens)\)")


class Check(NamedTuple):
    """One way to prove it: what its buttons say, and what pressing it does."""

    method: Method
    label: str
    cancel: str
    caption: str


CHECKS = (
    Check(
        "allocate",
        "Allocate real tensors",
        "Cancel the allocation",
        "Every tensor of the scenario on this server's device, its storage counted.",
    ),
    Check(
        "real-model",
        "Run transformers' own code",
        "Cancel transformers' code",
        "The model's class at full size on the meta device: no weights, no GPU.",
    ),
    Check(
        "generate",
        "Generate with and without the cache",
        "Cancel the generation",
        "A small decoder in torch writes the same text twice.",
    ),
)

Make = Callable[[Method, dict[str, Any]], Job]


def show_checks(key: runs.Key, make: Make, checks: tuple[Check, ...] = CHECKS) -> None:
    """The columns of checks; while one runs they are drawn again twice a second."""
    before = _states(key)

    def columns() -> None:
        for check, column in zip(checks, st.columns(len(checks), gap="medium"), strict=True):
            with column:
                _show(check, key, make)
        if [_stage(s) for s in _states(key)] != [_stage(s) for s in before]:
            st.rerun()  # something began or ended: the whole page shows it

    st.fragment(columns, run_every=_every(before))()


def _every(found: list[Status | None]) -> float | None:
    """Seconds until it is drawn again; None where nothing goes on."""
    going = [status for status in found if status and not status.is_over]
    if not going:
        return None
    return WAITING_S if all(_waits(status) for status in going) else EVERY_S


def in_a_word(key: runs.Key) -> str:
    """Where the checks are that have no result yet."""
    found = _states(key)
    if any(runs.is_going(status) for status in found):
        return "Checking"
    if any(status and status.error for status in found):
        return "No result, see below"
    return "Not checked yet"


def aloud(key: runs.Key) -> str:
    """Every check that was started and where it is, for who does not see the page."""
    said = {
        check.label: _aloud(status)
        for check, status in zip(CHECKS, _states(key), strict=True)
        if status
    }
    return " ".join(f"{label}: {text}." for label, text in said.items())


def _aloud(found: Status) -> str:
    if found.result:
        return {True: "equal", False: "not equal", None: "measured"}[found.result["equal"]]
    if found.error:
        return "no result"
    return {"queued": "waiting", "running": "running"}.get(found.state, "cancelled")


def _states(key: runs.Key) -> list[Status | None]:
    return [runs.status(check.method, key) for check in CHECKS]


def _stage(found: Status | None) -> str | None:
    """What the page around the checks depends on, and how often they are drawn."""
    if found is None or found.is_over:
        return found and found.state
    return "waits" if _waits(found) else "going"


def _waits(found: Status) -> bool:
    """Whether others run before it."""
    return found.state == "queued" and found.ahead > 0


def _show(check: Check, key: runs.Key, make: Make) -> None:
    found = runs.status(check.method, key)
    if found is not None and not found.is_over:
        st.button(
            check.cancel, key=f"cancel_{check.method}", width="stretch", on_click=runs.cancel,
            args=(check.method, key), icon=":material/close:",
        )  # fmt: skip
        share, text = progress(check.method, found)
        st.progress(share, text)
        return
    st.button(
        check.label, key=f"run_{check.method}", width="stretch", on_click=_begin,
        args=(check.method, key, make, {}),
        type="primary" if check.method == "allocate" and found is None else "secondary",
    )  # fmt: skip
    st.caption(check.caption)
    if found and found.error:
        _show_error(check.method, key, make, found.error)
    elif found and found.state == "cancelled":
        show('<p class="under" role="status">Cancelled; nothing is left of it.</p>')


def _show_error(method: Method, key: runs.Key, make: Make, error: CalculatorError) -> None:
    """What went wrong in a sentence; for what is too large, its largest parts as buttons."""
    parts = SLICE.findall(str(error)) if error.field == "slice" else []
    text = SLICE.sub(r"\1", str(error))
    show(f'<div class="notice bad" role="alert">{esc(text)}</div>')
    for text, kind in parts:
        st.button(
            f"Allocate {text}", key=f"slice_{kind}", width="stretch", on_click=_begin,
            args=(method, key, make, {"slice": kind}),
        )  # fmt: skip


def _begin(method: Method, key: runs.Key, make: Make, more: dict[str, Any]) -> None:
    """Into the queue; what is typed wrong in the settings is said in the check's own place."""
    try:
        runs.begin(method, key, make(method, settings(method) | more))
    except CalculatorError as error:
        runs.refuse(method, key, error)


def progress(method: Method, found: Status) -> tuple[float, str]:
    """(share that is done, in words)."""
    if found.state == "queued":
        one = "One check is" if found.ahead == 1 else f"{found.ahead:,} checks are"
        return 0.0, f"{one} before this one" if found.ahead else "Starting"
    if not found.text:
        return 0.0, "Starting"
    share = min(1.0, found.done / max(1, found.total))
    if method == "allocate":
        return share, f"{sizes(found.done)[0]} of {sizes(found.total)[0]}"
    return share, f"{found.text[0].upper()}{found.text[1:]}, {share:.0%}"


def show_settings() -> None:
    """Where and how the checks run; not part of the scenario, so not of the link."""
    with st.expander(
        "Device, memory, lengths", type="compact", key="verify_settings", on_change="rerun"
    ) as fold:
        if not fold.open:
            return
        left, middle, right = st.columns(3, gap="large")
        left.selectbox("Device", DEVICES, key="verify_device", persist_state="session")
        left.text_input(
            "Memory it may take", key="verify_memory", placeholder="a share of what is free",
            persist_state="session",
        )  # fmt: skip
        for column, name, label, low, high, default in (
            (middle, "prompt_tokens", "Prompt to generate from, tokens", 1, 4096, 512),
            (middle, "new_tokens", "Tokens to generate", 2, 4096, 256),
            (right, "seed", "Seed", 0, 2**31, 0),
        ):
            column.number_input(
                label, low, high, default, 1, key=f"verify_{name}", persist_state="session"
            )
        right.number_input(
            "Temperature, 0 is greedy", 0.0, 5.0, 0.0, 0.1, key="verify_temperature",
            persist_state="session",
        )  # fmt: skip


def settings(method: Method) -> dict[str, Any]:
    """What the fold says, as a job's fields; empty where it was never opened."""
    given = st.session_state
    found: dict[str, Any] = {"device": given.get("verify_device", "auto")}
    if memory := given.get("verify_memory"):
        found["budget_bytes"] = parse_bytes("memory", memory)
    if method == "generate":
        names = ("prompt_tokens", "new_tokens", "seed")
        found["generation"] = {n: given[f"verify_{n}"] for n in names if f"verify_{n}" in given}
        if temperature := given.get("verify_temperature"):
            found["generation"]["temperature"] = temperature
    return found
