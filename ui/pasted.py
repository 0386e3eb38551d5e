"""A configuration that is pasted, uploaded or carried by a link → a model like any other."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

import streamlit as st

from calculator.errors import CalculatorError, InvalidInput
from calculator.model import ModelSpec

NAME = "pasted-config"
PARAMETER = "config"
MAX_LINK = 4096
MAX_TEXT = 2**17


def text() -> str:
    """The configuration of this session as compact JSON, or an empty text."""
    return st.session_state.get("pasted", "")


def model(config: str) -> ModelSpec:
    from calculator.importers.hf_config import model_from_config
    from calculator.importers.schema import parse_json

    return model_from_config(parse_json(config), source="a pasted configuration")


def popover() -> None:
    """Paste or upload; what was typed stays, and an error is one sentence below it."""
    with st.popover("Paste or upload a config", type="tertiary", icon=":material/upload_file:"):
        st.text_area(
            "config.json", key="config_text", height=180, placeholder='{"model_type": …}',
            help="A Hugging Face config.json. It stays in this session and in the link you copy.",
        )  # fmt: skip
        st.file_uploader("or upload it", "json", key="config_file", max_upload_size=2)
        st.button("Use this configuration", on_click=_take, type="primary")
        if problem := st.session_state.get("config_problem"):
            st.error(problem)


def _take() -> None:
    """The uploaded file if there is one, else the text; kept only if it is a JSON object."""
    from calculator.importers.schema import parse_json

    file = st.session_state.get("config_file")
    try:
        given = file.getvalue() if file else st.session_state.get("config_text", "")
        if not given.strip():
            raise InvalidInput("The configuration is empty; paste the text of a config.json.")
        found = parse_json(given, name=file.name if file else "The configuration")
    except CalculatorError as error:
        st.session_state["config_problem"] = str(error)
        return
    st.session_state["config_problem"] = ""
    st.session_state["pasted"] = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    st.session_state["model"] = NAME


def take_from_link(code: str) -> None:
    """Raises InvalidInput where the code is none of ours."""
    from calculator.importers.schema import parse_json

    if len(code) > MAX_LINK:
        raise InvalidInput("config in the link is too long.", field=PARAMETER)
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.urlsafe_b64decode(code.encode("ascii")), MAX_TEXT)
        if unpack.unconsumed_tail or not unpack.eof:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error, UnicodeError):
        raise InvalidInput("config in the link cannot be read.", field=PARAMETER) from None
    found = parse_json(data, name="config in the link")
    st.session_state["pasted"] = json.dumps(found, separators=(",", ":"), ensure_ascii=False)


@st.cache_data(max_entries=64, show_spinner=False)
def link_code(config: str) -> str:
    """The configuration for a link: compressed, only keys that matter; empty if too long."""
    short = json.dumps(_needed(json.loads(config)), separators=(",", ":"))
    code = base64.urlsafe_b64encode(zlib.compress(short.encode(), 9)).decode("ascii")
    return code if len(code) <= MAX_LINK else ""


def _needed(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration without the keys whose absence changes nothing of the model."""
    from calculator.importers.hf_config import model_from_config

    def read(found: dict[str, Any]) -> object:
        try:
            return model_from_config(found, source="link")
        except CalculatorError as error:
            return str(error), getattr(error, "unknown_keys", ()), getattr(error, "keys_read", ())

    whole, kept = read(config), dict(config)
    for name in config:
        without = {k: v for k, v in kept.items() if k != name}
        if without and read(without) == whole:
            kept = without
    return kept
