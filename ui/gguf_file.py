"""A GGUF file of any size, chosen in the browser → its header alone, sent and kept as a model."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

import streamlit as st

from ui import pasted

KEY = "gguf_file"
MAX_HEAD = 8 * 2**20
_HTML = """
<label class="drop">
  <span>or read a GGUF file, of any size: only its header leaves your machine</span>
  <input type="file" accept=".gguf">
</label>
<p role="status"></p>
"""
_CSS = """
.drop { display: block; padding: .6rem .75rem; border: 1px dashed var(--st-border-color);
        border-radius: 6px; font: .9rem var(--st-font); color: var(--st-text-color); }
.drop.over { border-color: var(--st-primary-color); }
.drop span { display: block; margin-bottom: .4rem; text-wrap: pretty; }
.drop input { font: inherit; max-width: 100%; color: inherit; }
.drop input::file-selector-button { font: inherit; color: inherit; cursor: pointer;
  background: var(--st-background-color); border: 1px solid var(--st-border-color);
  border-radius: 6px; padding: .4rem .75rem; margin-right: .6rem; }
.drop input::file-selector-button:hover { border-color: var(--st-primary-color); }
.drop:focus-within { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
p { font: .9rem var(--st-font); color: var(--st-text-color); margin: .4rem 0 0; }
p:empty { display: none; }
"""
_SCRIPT = (Path(__file__).parent / "assets" / "gguf_head.js").read_text(encoding="utf-8")
_choose = st.components.v2.component("kvcalc_gguf", html=_HTML, css=_CSS, js=_SCRIPT)


def choose_file() -> None:
    """The place to choose or drop a file."""
    _choose(key=KEY, on_head_change=_take)


def _take() -> None:
    take_head(st.session_state[KEY].get("head"))


def take_head(sent: object) -> None:
    """Keeps the header that the browser sent; it may have sent anything."""
    data = name = None
    if isinstance(sent, dict):
        data, name = sent.get("data"), sent.get("name")
    if not isinstance(data, str) or not isinstance(name, str):
        return
    try:
        head = base64.b64decode(data[: MAX_HEAD * 2], validate=True)[:MAX_HEAD]
    except (binascii.Error, ValueError):
        head = b""
    pasted.take(head, name=name[:96] or "the file")
