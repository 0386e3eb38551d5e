"""A model somebody brings: its text in this session and in a link → a model like any other."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

import streamlit as st

from calculator.errors import CalculatorError, InvalidInput
from ui.brought import DESCRIBED, FILES, GGUF, NAME, compact, kind_of, model_of_text

PARAMETER = "config"
MAX_LINK = 4096
MAX_TEXT = 2**17

# what can be chosen as a model → where this session keeps its text
SLOTS = {NAME: "pasted", GGUF: "pasted_gguf", DESCRIBED: "described"}
model = model_of_text


def names() -> list[str]:
    """What was brought in this session, as names to choose."""
    return [name for name in SLOTS if text_of(name)]


def text_of(name: str) -> str:
    """The compact JSON of this name, or an empty text."""
    return st.session_state.get(SLOTS[name], "") if name in SLOTS else ""


def text() -> str:
    """The text of the chosen model, if it is one that was brought."""
    chosen = st.session_state.get("model", st.query_params.get("model"))
    return text_of(str(chosen))


def file_name(name: str) -> str:
    """What a command calls the file that this model is in."""
    return FILES[name]


COMMANDS = {
    NAME: "Command, with the configuration saved as config.json",
    GGUF: "Command, with the file's own name",
    DESCRIBED: "Command, with the preset saved as presets/models/described/described.toml",
}


def keep(found: str) -> None:
    """Keeps a compact text and chooses it as the model."""
    name = kind_of(json.loads(found))
    st.session_state[SLOTS[name]] = found
    st.session_state["model"] = name


def keep_in_address() -> None:
    """What was brought is in the address while it is chosen, so that a reload still has it."""
    found = text()
    code = link_code(found) if found else ""
    if code != st.query_params.get(PARAMETER, ""):
        if code:
            st.query_params[PARAMETER] = code
        else:
            del st.query_params[PARAMETER]


def popover() -> None:
    """Paste or upload, made when it is opened; what was typed stays, an error is a sentence."""
    if typed := st.session_state.get("config_text"):
        st.session_state["config_text"] = typed  # or it goes with the box it was typed in
    with st.popover(
        "Paste or upload a config", type="tertiary", icon=":material/upload_file:", key="bring",
        on_change="rerun",
    ) as opened:  # fmt: skip
        if opened.open:
            _ways_in()


def _ways_in() -> None:
    from ui.blocks import layer_table
    from ui.gguf_file import choose_file

    st.text_area(
        "config.json, or a printed GGUF header", key="config_text", height=180,
        placeholder='{"model_type": …}',
        help="A Hugging Face config.json, the output of gguf-dump, or the lines that llama.cpp "
        "logs while it loads a model. It stays in this session and in the link you copy.",
    )  # fmt: skip
    st.file_uploader("or upload it", "json", key="config_file", max_upload_size=2)
    st.button("Use this configuration", on_click=_take, type="primary", width="stretch")
    choose_file()
    layer_table.open_button()
    if problem := st.session_state.get("config_problem"):
        st.error(problem)


def _take() -> None:
    """The uploaded file if there is one, else the text; kept only if it can be a model."""
    file = st.session_state.get("config_file")
    given = file.getvalue() if file else st.session_state.get("config_text", "")
    take(given, name=file.name if file else "The configuration")


def take(given: str | bytes, *, name: str) -> None:
    """Keeps what was brought, or the sentence on why it is none."""
    try:
        keep(compact(given, name=name))
        st.session_state["config_problem"] = ""
    except CalculatorError as error:
        st.session_state["config_problem"] = str(error)


def take_from_link(code: str) -> None:
    """Raises InvalidInput where the code is none of ours."""
    if len(code) > MAX_LINK:
        raise InvalidInput("config in the link is too long.", field=PARAMETER)
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.urlsafe_b64decode(code.encode("ascii")), MAX_TEXT)
        if unpack.unconsumed_tail or not unpack.eof:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error, UnicodeError):
        raise InvalidInput("config in the link cannot be read.", field=PARAMETER) from None
    found = compact(data, name="config in the link")
    st.session_state[SLOTS[kind_of(json.loads(found))]] = found


@st.cache_data(max_entries=64, show_spinner=False)
def link_code(config: str) -> str:
    """The text for a link: compressed, only keys that matter; empty if too long."""
    short = json.dumps(_needed(json.loads(config)), separators=(",", ":"))
    code = base64.urlsafe_b64encode(zlib.compress(short.encode(), 9)).decode("ascii")
    return code if len(code) <= MAX_LINK else ""


def _needed(found: dict[str, Any]) -> dict[str, Any]:
    """A configuration without the keys whose absence changes nothing of the model."""
    if kind_of(found) != NAME:
        return found

    def read(config: dict[str, Any]) -> object:
        try:
            return model_of_text(json.dumps(config))
        except CalculatorError as error:
            return str(error), getattr(error, "unknown_keys", ()), getattr(error, "keys_read", ())

    whole, kept = read(found), dict(found)
    for name in found:
        without = {k: v for k, v in kept.items() if k != name}
        if without and read(without) == whole:
            kept = without
    return kept
