"""What the page listens to in the browser: its scheme, popovers opened with keys, copy buttons."""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
export default function ({ setTriggerValue }) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const changed = () => setTimeout(() => setTriggerValue("changed", dark.matches), 300);
  dark.addEventListener("change", changed);
  document.addEventListener("click", enter);
  document.addEventListener("click", copy);
  document.addEventListener("keydown", leave);
  return () => {
    dark.removeEventListener("change", changed);
    document.removeEventListener("click", enter);
    document.removeEventListener("click", copy);
    document.removeEventListener("keydown", leave);
  };
}

const body = '[data-testid="stPopoverBody"]';
const first = ["button", "input", "textarea", '[tabindex="0"]'].map((e) => `${body} ${e}`).join();
const rounds = 600;  // half a minute
let opener = null;

// A popover is the last thing of the document: who opened it with a key would be far from it.
// Its content is asked of the server, so it may be a while; who has gone on is left alone.
function enter({ target, detail }) {
  const button = target.closest?.('[data-testid="stPopoverButton"]');
  if (!button || detail !== 0) return;
  opener = button;
  let left = rounds;
  const look = () => {
    if (document.activeElement !== button) return;
    const found = document.querySelector(first);
    if (found) found.focus();
    else if (left--) setTimeout(look, 50);
  };
  setTimeout(look, 50);
}

// Where a page may not write to the clipboard (no https), the text is selected instead.
async function copy({ target }) {
  const button = target.closest?.(".to-copy button");
  if (!button) return;
  const [text, said] = [button.previousElementSibling, button.nextElementSibling];
  try {
    await navigator.clipboard.writeText(text.textContent);
    said.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(text);
    said.textContent = "Selected";
  }
  setTimeout(() => { said.textContent = ""; }, 2000);
}

function leave({ key, target }) {
  if (key !== "Escape" || !target.closest?.(body)) return;
  setTimeout(() => document.activeElement === document.body && opener?.focus(), 100);
}
"""
_listen = st.components.v2.component("kvcalc_listener", js=_SCRIPT)


def listen() -> None:
    """Mounts the listener, which draws nothing; another colour scheme is a rerun, for the figures.

    Without a key: the state of one that has a key is worked out again for each input of the page.
    """
    _listen(height=1)
