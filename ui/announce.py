"""A sentence → read aloud when it changes, by a live region that outlasts what is redrawn."""

from __future__ import annotations

import streamlit as st

_HTML = '<p role="status" aria-live="polite"></p>'
_CSS = """
p { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden;
    clip-path: inset(50%); white-space: nowrap; }
"""
_SCRIPT = """
export default function ({ data, parentElement }) {
  const region = parentElement.querySelector("p");
  if (region.textContent !== data) region.textContent = data;
}
"""
_region = st.components.v2.component("kvcalc_announce", html=_HTML, css=_CSS, js=_SCRIPT)


def announce(text: str) -> None:
    """HTML of ours is replaced as a whole, and a region that is new says nothing."""
    _region(key="announce", data=text, height="content")
