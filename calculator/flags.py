"""Texts of `set` → an engine's flags: one reading for the page, the API and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calculator.errors import InvalidInput, shown


def flag_texts(told: str | Iterable[str]) -> tuple[str, ...]:
    """One FLAG=VALUE each; a text may hold several, as the page's one input does.

    >>> flag_texts("block_size=32, max_model_len=4096"), flag_texts(["a=1", "b=2"])
    (('block_size=32', 'max_model_len=4096'), ('a=1', 'b=2'))
    """
    found: list[str] = []
    for text in (told,) if isinstance(told, str) else told:
        parts = [part.strip() for part in str(text).split(",")]
        found += [part for part in parts if part] or [""]
    return tuple(found)


def flag_name(text: str) -> str:
    """The flag's name as the engine's options have it: `block-size` is `block_size`."""
    return text.partition("=")[0].strip().replace("-", "_")


def flag_values(texts: Iterable[str]) -> dict[str, Any]:
    """Flags by name, numbers and truth values as such; a flag given twice is refused.

    >>> flag_values(["block-size=32", "enable_prefix_caching=False"])
    {'block_size': 32, 'enable_prefix_caching': False}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, (_, equals, value) = flag_name(text), text.partition("=")
        if not equals or not name:
            raise InvalidInput(f"set is {shown(text)}; expected FLAG=VALUE.", field="set")
        if name in found:
            raise InvalidInput(f"{shown(name)} is given twice; leave one out.", field=name)
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> bool | int | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 40 else text
