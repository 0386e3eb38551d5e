"""A refused architecture → three ways on: measure it, describe it, report it."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from calculator.errors import CalculatorError, UnsupportedModel
from calculator.units import format_bytes
from calculator.verify.child import Status
from calculator.verify.jobs import check_packages
from calculator.verify.switch import is_local, refusal
from ui import markup, runs
from ui.blocks import layer_table
from ui.blocks.checks import EVERY_S, progress
from ui.layer_rows import start_text
from ui.markup import STRONG, esc, marked, title
from ui.report import report_text
from ui.verification import MEASURED, measured_job

METHOD = "real-model"


def show(error: UnsupportedModel, options: dict[str, str], config: dict[str, Any]) -> None:
    """Each action with a caption that says what happens."""
    markup.show(title("What you can do"))
    if config.get("model_type"):
        _measure(options, config)
    st.button(
        "Describe its layers yourself", on_click=layer_table.open_refused,
        args=(error, options["model"], config), width="stretch", icon=":material/edit_note:",
    )  # fmt: skip
    st.caption(f"Start from {start_text(error)} and change what differs; marked as described.")
    with st.popover("Report this architecture", width="stretch", icon=":material/flag:"):
        st.code(report_text(error, config), language=None, wrap_lines=True)
    st.caption(
        "A text to copy, with these keys filled in, for whoever keeps the rules; nothing is sent."
    )


def key_of(options: dict[str, str], config: dict[str, Any]) -> runs.Key:
    """Equal for inputs that are measured alike, on whichever page."""
    text = json.dumps(config, separators=(",", ":"), ensure_ascii=False)
    return ("no rule", text, *(options.get(name) for name in MEASURED))


def why_off() -> str:
    """Why nothing can be measured here, in a sentence; empty where it can."""
    headers = st.context.headers.to_dict()
    if off := refusal(is_local=is_local(st.context.ip_address, headers)):
        return off
    try:
        check_packages(METHOD)
    except CalculatorError as error:
        return str(error)
    return ""


def _measure(options: dict[str, str], config: dict[str, Any]) -> None:
    """The button; while it runs, how far it is, drawn again twice a second."""
    key, off = key_of(options, config), why_off()
    runs.cancel_others(key)
    going = runs.is_going(runs.status(METHOD, key))

    def part() -> None:
        found = runs.status(METHOD, key)
        if going != runs.is_going(found):
            st.rerun()  # it began or ended: the whole page shows so
        if found and runs.is_going(found):
            _show_progress(found, key)
        else:
            _show_button(found, off, key, options, config)

    st.fragment(part, run_every=EVERY_S if going else None)()


def _show_progress(found: Status, key: runs.Key) -> None:
    st.button(
        "Cancel the measurement", width="stretch", on_click=runs.cancel, args=(METHOD, key),
        icon=":material/close:",
    )  # fmt: skip
    st.progress(*progress(METHOD, found))


def _show_button(
    found: Status | None, off: str, key: runs.Key, options: dict[str, str], config: dict[str, Any]
) -> None:
    done = found is not None and found.state == "done"
    st.button(
        "Measure it again" if done else "Measure it with transformers", width="stretch",
        type="secondary" if done else "primary", icon=":material/straighten:", disabled=bool(off),
        on_click=_begin, args=(key, options, config),
    )  # fmt: skip
    st.caption(
        off
        or "Runs the model’s own code without weights, at this context and number of sequences, "
        "and counts the bytes it keeps. About 10 s. The result is labelled measured, not derived."
    )
    if found and found.error:
        markup.show(f'<div class="notice bad" role="alert">{esc(found.error)}</div>')
    elif found and found.state == "cancelled":
        markup.show('<p class="under" role="status">Cancelled; nothing is left of it.</p>')


def _begin(key: runs.Key, options: dict[str, str], config: dict[str, Any]) -> None:
    try:
        runs.begin(METHOD, key, measured_job(options, config, {}))
    except CalculatorError as error:
        runs.refuse(METHOD, key, error)


def measured_html(options: dict[str, str], config: dict[str, Any]) -> str:
    """What was measured for these inputs, if it was; never called a prediction."""
    found = runs.result(METHOD, key_of(options, config)) if config else None
    if not found:
        return ""
    size = found["measured_bytes"]
    short, exact = format_bytes(size), f"{size:,} B"
    figures = STRONG.format(short) + (f" ({exact})" if short != exact else "")
    said = (
        f"{found['model']['model_type']}, {found['seq_len']:,} tokens × {found['batch_size']:,}: "
        f"{figures}, measured from transformers {found['versions']['transformers']}, not from a "
        "rule."
    )
    notes = [text for text in found["notes"] if not text.startswith("Measured from")]
    notes.append("What that code keeps: a key which it does not read changes nothing.")
    return (
        '<span class="tag marginal" role="status">≈ Measured, no rule</span>'
        f'<p class="measured">{marked(said)}</p>'
        + "".join(f'<p class="under">{esc(text)}</p>' for text in notes)
    )
