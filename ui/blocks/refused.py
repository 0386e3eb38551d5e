"""An error → one sentence, what was read, and ways on; never a number."""

from __future__ import annotations

import json
import re

import streamlit as st

from calculator.errors import CalculatorError, UnsupportedModel, shown
from ui import markup, pasted
from ui.markup import STRONG, esc, marked, table, title
from ui.scenario import DEFAULTS, default_model


def show(error: CalculatorError, options: dict[str, str]) -> None:
    """No bar, no chart, no number; the inputs are kept."""
    sentence = " ".join(str(error).split())
    under = "A number here would be a guess, so there is none. Your inputs are kept."
    if not isinstance(error, UnsupportedModel):
        under = "Your inputs are kept; change the one named above."
    markup.show(
        '<span class="tag not" role="status">✕ No size</span>',
        f'<h1 class="sentence refused">{marked(_bold(sentence, options))}</h1>'
        f'<p class="under">{under}</p>',
    )
    read = _keys(error) if isinstance(error, UnsupportedModel) else ""
    st.space("small")
    if read:
        left, right = st.columns([1.3, 1], gap="large")
        with left:
            markup.show(read)
    else:
        right = st.container(width=420)
    with right:
        _actions(error)


def _bold(sentence: str, options: dict[str, str]) -> str:
    """The model's name stands out where the sentence names it."""
    name = options["model"]
    return sentence.replace(name, STRONG.format(name)) if len(name) > 2 else sentence


def _keys(error: UnsupportedModel) -> str:
    """The keys that could change the size first, then those that were understood."""
    config = _config()
    rows = []
    if error.model_type:
        rule = "✕ no rule" if not error.keys_read else "✓ read"
        kind = "t-not" if not error.keys_read else "t-fits"
        rows.append(("model_type", error.model_type, kind, rule))
    rows += [
        (key, _at(config, key), "t-not", "✕ could change the size") for key in error.unknown_keys
    ]
    rows += [(key, value, "t-fits", "✓ read") for key, value in error.keys_read]
    if not rows:
        return ""
    cells = [
        (f"<code>{esc(key)}</code>", esc(shown(value)), f'<span class="{kind} n">{text}</span>')
        for key, value, kind, text in rows
    ]
    remark = f"config.json, {len(config)} keys" if config else ""
    return title("What was read", remark) + table(("key", "value", ""), cells, classes="keys")


def _config() -> dict[str, object]:
    return json.loads(pasted.text()) if pasted.text() else {}


def _at(config: dict[str, object], key: str) -> object:
    """A value by its key, or by the path of a nested one."""
    found: object = config
    for part in key.split("."):
        found = found.get(part, "…") if isinstance(found, dict) else "…"
    return found


def _actions(error: CalculatorError) -> None:
    markup.show(title("What you can do"))
    if near := re.search(r"did you mean ([\w.-]+)\?", str(error)):
        _button(f"Use {near[1]}", error.field or "model", near[1], primary=True)
        st.caption("The nearest name there is.")
    if error.field in DEFAULTS and error.field != "model":
        _button(f"Reset {error.field.replace('_', ' ')}", error.field, DEFAULTS[error.field])
        st.caption(f"Back to {DEFAULTS[error.field]}.")
    elif isinstance(error, UnsupportedModel) or error.field in ("model", ""):
        _button(f"Show {default_model()}", "model", default_model())
        st.caption("A preset; what you pasted stays in its box.")
        st.page_link(
            "pages/catalogue.py", label="Look through the catalogue", icon=":material/list:"
        )


def _button(label: str, option: str, value: str, *, primary: bool = False) -> None:
    kind = "primary" if primary else "secondary"
    st.button(label, type=kind, width="stretch", on_click=_set, args=(option, value))


def _set(option: str, value: str) -> None:
    """Into the widget, as if it had been typed."""
    number = isinstance(st.session_state.get(option), int)
    st.session_state[option] = int(value) if number else value
