"""JSON that nobody vouches for → a mapping, or one sentence on why not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from calculator.errors import InvalidInput, SourceUnavailable, shown
from calculator.units import format_bytes

MAX_JSON_BYTES = 2 * 2**20
MAX_DEPTH = 64
MAX_DIGITS = 30
MAX_CONTAINERS = 50_000

# possessive, so that text made of quotes and backslashes is still read in one pass
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_LONG_INTEGER = re.compile(rb"(?<![.\d])\d{%d,}" % (MAX_DIGITS + 1))
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file of at most 2 MiB."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_JSON_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name cannot be a file's"
        raise SourceUnavailable(
            f"{shown(str(path))} cannot be read: {reason}.", field="model"
        ) from None
    return parse_json(data, name=Path(path).name)


def parse_json(text: str | bytes, *, name: str = "The configuration") -> dict[str, Any]:
    """The object that `text` holds, as pasted or uploaded.

    Refused: more than 2 MiB, other encodings than UTF-8, nesting deeper than 64, a key twice,
    integers of more than 30 digits, anything but an object at the top. NaN and Infinity are let
    through as Python writes them, because Nemotron-H publishes "time_step_limit": [0.0, Infinity];
    no figure may be one.

    >>> parse_json('{"num_hidden_layers": 2}')
    {'num_hidden_layers': 2}
    """
    data = _utf8(text, name)
    bare = _STRINGS.sub(b"", data)
    _check_depth(bare, name)
    _check_integers(bare, name)
    try:
        found = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{name} is not UTF-8 text; expected JSON, as a config.json is.", field="config"
        ) from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{name} is not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}.",
            field="config",
        ) from None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{name} holds {shown(found)}; expected an object with the model's keys.",
            field="config",
        )
    return found


def _utf8(text: str | bytes, name: str) -> bytes:
    if isinstance(text, str):
        text = text[: MAX_JSON_BYTES + 1].encode("utf-8", errors="replace")
    if len(text) > MAX_JSON_BYTES:
        raise InvalidInput(
            f"{name} is larger than {format_bytes(MAX_JSON_BYTES)}; a config.json is a few KiB.",
            field="config",
        )
    return text


def _check_depth(bare: bytes, name: str) -> None:
    """Checked before parsing, because the parser recurses: pairs of brackets are taken away from
    the inside out, and what is left after 64 rounds is deeper than that or not closed at all."""
    brackets = bare.translate(_BRACKETS, _NOT_BRACKETS)
    if brackets.count(b"[") > MAX_CONTAINERS:
        raise InvalidInput(
            f"{name} holds more than {MAX_CONTAINERS:,} lists and objects; a config.json has "
            "a few hundred.",
            field="config",
        )
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if brackets.count(b"[") > MAX_DEPTH:
        raise InvalidInput(
            f"{name} is nested deeper than {MAX_DEPTH} levels; a config.json has a few.",
            field="config",
        )


def _check_integers(bare: bytes, name: str) -> None:
    if found := _LONG_INTEGER.search(bare):
        raise InvalidInput(
            f"{name} holds a number of {len(found[0]):,} digits; expected at most {MAX_DIGITS}.",
            field="config",
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(
                f"{shown(key)} stands twice, as {shown(found[key])} and {shown(value)}; "
                "expected each key once.",
                field=key,
            )
        found[key] = value
    return found
