"""A name on the Hub as the page uses it: while it is asked, and what it was refused for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import streamlit as st

from calculator.catalog import find_preset, is_hub_id
from calculator.errors import CalculatorError


def is_hub_name(text: str) -> bool:
    """Whether a text is looked up on the Hub, and not among the presets."""
    text = text.strip()
    is_named = is_hub_id(text) or text.startswith(("https://", "http://"))
    return is_named and find_preset(text) is None


def waiting_for(name: str) -> AbstractContextManager[None]:
    """A line on the page while a model is read from the Hub; nothing for any other."""
    if not is_hub_name(name):
        return nullcontext()
    return st.spinner(f"Reading {name.strip()[:80].replace('[', '(')} from the Hub")


def config_of(name: str) -> dict[str, Any] | None:
    """The config.json of a name that was asked for before, as it lies in the cache."""
    from calculator.importers.hub import CONFIG
    from calculator.importers.hub.cache import cached_file
    from calculator.importers.hub.client import settings
    from calculator.importers.hub.names import parse_name
    from calculator.importers.schema import parse_json

    if not is_hub_name(name):
        return None
    try:
        hub = settings()
        wanted = parse_name(name.strip(), hub.endpoint)
        found = cached_file(hub, wanted.name, wanted.revision, CONFIG)
        return parse_json(found[0]) if found and not wanted.file else None
    except CalculatorError:
        return None
