"""A change of the browser's colour scheme → one rerun, so that figures are drawn in its colours."""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
export default function ({ setTriggerValue }) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const changed = () => setTimeout(() => setTriggerValue("changed", dark.matches), 300);
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}
"""
_watch = st.components.v2.component("kvcalc_scheme", js=_SCRIPT)


def follow() -> None:
    """Mounts the listener; it draws nothing.

    Without a key: the state of one that has a key is worked out again for each input of the page.
    """
    _watch(height=1)
