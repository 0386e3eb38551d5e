"""An error → one sentence, what was read, and ways on; never a number."""

from __future__ import annotations

import json
import re
from typing import Any

import streamlit as st

from calculator.errors import CalculatorError, UnsupportedModel
from calculator.flags import flag_name, flag_texts
from calculator.footprint import IDEAL
from ui import hub, markup, pasted
from ui.answer import answer, flags_of, model_of
from ui.blocks import layer_table, ways
from ui.markup import STRONG, esc, fold, marked, table, title
from ui.report import at
from ui.scenario import DEFAULTS, FLAGS, LABELS, LIMITS, NAMES


def show(error: CalculatorError, options: dict[str, str]) -> None:
    """No bar, no chart, no number; the inputs are kept."""
    sentence = " ".join(str(error).split())
    under = "A number here would be a guess, so there is none. Your inputs are kept."
    if not isinstance(error, UnsupportedModel):
        under = f"Your inputs are kept; {_where(error, options)}."
    config = config_of(options) if isinstance(error, UnsupportedModel) else {}
    markup.show(
        '<span class="tag not" role="status">✕ No size</span>',
        f'<h1 class="sentence refused">{_coded(marked(_bold(sentence, options)))}</h1>'
        f'<p class="under">{under}</p>',
        ways.measured_html(options, config),
    )
    read = _keys(error, config) if isinstance(error, UnsupportedModel) else ""
    st.space("small")
    if read:
        left, right = st.columns([1.3, 1], gap="large")
        with left:
            markup.show(read)
    else:
        right = st.container(width=420)
    with right:
        if isinstance(error, UnsupportedModel) and is_of_the_model(options):
            ways.show(error, options, config)
        else:
            _actions(error, options)


def is_of_the_model(options: dict[str, str]) -> bool:
    """Whether the model itself is refused, and not what an engine makes of it."""
    try:
        model_of(options["model"], pasted.text())
    except UnsupportedModel:
        return True
    except CalculatorError:
        return False
    return False


def config_of(options: dict[str, str]) -> dict[str, Any]:
    """The configuration that was refused, pasted or from the Hub; empty where there is none."""
    name = options["model"]
    if name == pasted.NAME:
        return json.loads(pasted.text() or "{}")
    return hub.config_of(name) or {}


def _coded(html: str) -> str:
    """What the sentence quotes, set as code."""
    return re.sub("&#x27;(.{1,80}?)&#x27;", r"<code>\1</code>", html)


def _bold(sentence: str, options: dict[str, str]) -> str:
    """The model's name stands out where the sentence names it."""
    name = options["model"]
    quoted = f"'{name}'" in sentence
    return sentence if quoted else sentence.replace(name, STRONG.format(name))


def _keys(error: UnsupportedModel, config: dict[str, Any]) -> str:
    """The keys that could change the size first, then those that were understood, then the rest."""
    rows = []
    if error.model_type:
        without_rule = "no rule" in str(error)
        rows.append(("model_type", error.model_type, NO_RULE if without_rule else READ))
    rows += [(key, at(config, key), COULD_CHANGE) for key in error.unknown_keys]
    rows += [(key, value, READ) for key, value in error.keys_read if key != "model_type"]
    if not rows:
        return ""
    named = {key for key, _, _ in rows}
    rest = [(key, value) for key, value in config.items() if key not in named]
    remark = f"config.json, {len(config)} keys" if config else ""
    found = title("What was read", remark) + table(
        ("key", "value", ""), [(_code(k), _value(v), said) for k, v, said in rows], classes="keys"
    )
    if rest:
        others = table(("key", "value"), [(_code(k), _value(v)) for k, v in rest], classes="keys")
        them = "key, which does not touch" if len(rest) == 1 else "keys, none of which touches"
        found += fold(f"The other {len(rest)} {them} the cache", others)
    return found


NO_RULE = '<span class="t-not n">✕ no rule</span>'
COULD_CHANGE = '<span class="t-not n">✕ could change the size</span>'
READ = '<span class="t-fits n">✓ read</span>'


def _code(key: str) -> str:
    return f"<code>{breakable(esc(key))}</code>"


def breakable(html: str) -> str:
    """A key may wrap after an underscore, on a phone, and nowhere else."""
    return html.replace("_", "_<wbr>")


def _value(value: object) -> str:
    """As the configuration wrote it, cut to a line."""
    text = json.dumps(value, ensure_ascii=False) if value != "…" else "…"
    return breakable(esc(text if len(text) <= 60 else text[:59] + "…"))


def _actions(error: CalculatorError, options: dict[str, str]) -> None:
    markup.show(title("What you can do"))
    if hub.is_hub_name(options["model"]) and error.field == "model":
        st.button("Ask the Hub again", type="primary", width="stretch", icon=":material/refresh:")
        st.caption("What it said last is remembered for 20 seconds.")
    if _has_ideal_size(options):
        _button("Show the ideal size", "engine", IDEAL.engine, primary=True)
        st.caption("The bytes of the formula alone, by no engine's rules.")
    if near := re.search(r"did you mean ([\w.-]+)\?", str(error)):
        _button(f"Use {near[1]}", error.field or "model", near[1], primary=True)
        st.caption("The nearest name there is.")
    if error.field not in NAMES and pasted.text_of(options["model"]):
        st.button(
            "Describe its layers yourself", on_click=layer_table.open_chosen, width="stretch",
            icon=":material/edit_note:",
        )  # fmt: skip
        st.caption("Start from what could be read and say what is missing; marked as described.")
    wrong = _given(wrong_options(error, options), options)
    for option in wrong:
        _button(f"Reset {LABELS[option].lower()}", option, plain(option))
        st.caption(f"Back to {plain(option) or 'none'}.")
    if wrong:
        return
    if isinstance(error, UnsupportedModel) or error.field in ("model", ""):
        _button(f"Show {DEFAULTS['model']}", "model", DEFAULTS["model"])
        st.caption(f"A preset{_kept()}.")
        st.page_link(
            "views/catalogue.py", label="Look through the catalogue", icon=":material/list:"
        )


def _kept() -> str:
    """Where a text of one's own is to be found again, if there is any."""
    if st.session_state.get("config_text"):
        return "; what you pasted stays in its box"
    return "; what you brought stays among the models" if pasted.names() else ""


OPTIONS = {
    "key_dtype": ("kv_dtype",), "value_dtype": ("kv_dtype",), "seq_len": ("context",),
    "batch_size": ("sequences",), "encoder_seq_len": ("encoder_context",),
    "shared_prefix_len": ("shared_prefix",), "tensor_parallel_size": ("devices", "pp", "dp"),
    "num_devices": ("devices", "pp", "dp"), "pipeline_parallel_size": ("pp",),
    "data_parallel_size": ("dp",), "decode_context_parallel_size": ("dcp",),
}  # fmt: skip
"""The calculator's names → the inputs they come from."""


def wrong_options(error: CalculatorError, options: dict[str, str]) -> tuple[str, ...]:
    """The inputs whose change can help, as far as the error names one."""
    field = error.field or ""
    told = [flag_name(text) for text in flag_texts(options.get("set", ""))]
    if field in told or (field in flags_of(options["engine"]) and field not in OPTIONS):
        return ("set",)
    return OPTIONS.get(field, (field,) if field in LABELS else ())


def _given(names: tuple[str, ...], options: dict[str, str]) -> tuple[str, ...]:
    """Those that say something else than their default."""
    return tuple(name for name in names if options.get(name) not in (None, plain(name)))


def _where(error: CalculatorError, options: dict[str, str]) -> str:
    """Which input to change, by the words beside it."""
    wrong = wrong_options(error, options)
    if not wrong:
        return "change the one named above"
    name = (*_given(wrong, options), *wrong)[0]
    folded = ", under Engine flags" if name in FLAGS else ""
    return f"change {LABELS[name]}{folded}"


def plain(option: str) -> str:
    """What an input holds where nothing was said."""
    return (
        DEFAULTS.get(option)
        or {"encoder_context": "1500"}.get(option)
        or ("1" if option in LIMITS else "")
    )


def _has_ideal_size(options: dict[str, str]) -> bool:
    """Whether it is the engine that refuses."""
    if options["engine"] == IDEAL.engine:
        return False
    try:
        answer(tuple((options | {"engine": IDEAL.engine}).items()), pasted.text())
    except CalculatorError:
        return False
    return True


def _button(label: str, option: str, value: str, *, primary: bool = False) -> None:
    kind = "primary" if primary else "secondary"
    st.button(label, type=kind, width="stretch", on_click=_set, args=(option, value))


def _set(option: str, value: str) -> None:
    """Into the widget, as if it had been typed."""
    number = isinstance(st.session_state.get(option), int)
    st.session_state[option] = int(value) if number else value
