"""A refused architecture → a text to hand to whoever keeps the rules; nothing of it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from calculator import __version__
from calculator.errors import UnsupportedModel

MAX_VALUE = 200


def report_text(error: UnsupportedModel, config: Mapping[str, object]) -> str:
    """What was refused and why, with the keys that matter and no others."""
    named = error.model_type or "a model"
    lines = [f"No rule for the cache of {named}", "", str(error)]
    if error.unknown_keys:
        lines += ["", "Keys that could change the size:"]
        lines += [f"- {key}: {_value(at(config, key))}" for key in error.unknown_keys]
    if error.keys_read:
        lines += ["", "Keys that were understood:"]
        lines += [f"- {key}: {_value(value)}" for key, value in error.keys_read]
    lines += [
        "",
        "Where the model's code is, and what a layer of it keeps for a token:",
        "",
        f"kv-cache-calculator {__version__}",
    ]
    return "\n".join(lines)


def at(config: Mapping[str, object], key: str) -> object:
    """A value by its key, or by the path of a nested one."""
    found: object = config
    for part in key.split("."):
        found = found.get(part, "…") if isinstance(found, Mapping) else "…"
    return found


def _value(value: object) -> str:
    text = "…" if value == "…" else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
