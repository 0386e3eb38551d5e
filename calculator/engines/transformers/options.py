"""The engine's options: what may stand beside what, and which release is meant."""

from __future__ import annotations

import re
from typing import Any

from calculator.engines.transformers.kept import VERIFIED
from calculator.engines.transformers.quantized import BACKENDS, check_options
from calculator.errors import InvalidInput, shown
from calculator.units import MAX_TOKENS, checked_int

CACHES = ("dynamic", "static", "quantized", "offloaded", "offloaded_static")
STATIC = ("static", "offloaded_static")
COUNTS = ("tensors", "storage")
# cache_utils.py:QuantizedLayer.__init__
_GROUP_WISE = {
    "nbits": 4, "axis_key": 0, "axis_value": 0, "q_group_size": 64, "residual_length": 128
}  # fmt: skip


def release(version: object, verified: str) -> tuple[int, int, int]:
    """`version` as numbers, the verified one when none is given."""
    if version is None:
        return VERIFIED
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", str(version), re.ASCII)
    numbers = tuple(int(n or 0) for n in found.groups()) if found else ()
    if not (5, 0, 0) <= numbers <= VERIFIED:
        raise InvalidInput(
            f"version is {shown(version)}; known are 5.0.0 to {verified}.", field="version"
        )
    major, minor, patch = numbers
    return major, minor, patch


def filled_in(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the defaults of their cache; refuses those that belong to another one."""
    cache, backend = options["cache"], options["backend"]
    _choice("cache", cache, CACHES)
    _choice("count", options["count"], COUNTS)
    checked_int("decoded_tokens", options["decoded_tokens"], at_least=0, at_most=MAX_TOKENS)
    if options["max_cache_len"] is not None:
        _only("max_cache_len", cache in STATIC, "static caches are set up for a length")
        checked_int("max_cache_len", options["max_cache_len"], at_most=MAX_TOKENS)
    given = [name for name in ("backend", *_GROUP_WISE) if options[name] is not None]
    if cache != "quantized":
        for name in given:
            _only(name, False, "cache=quantized has it")
        return options
    filled = options | {"backend": "quanto" if backend is None else backend}
    _choice("backend", filled["backend"], BACKENDS)
    if filled["backend"] == "fp8":
        for name in given:
            _only(name, name == "backend", "backend fp8 quantises whole tensors")
        return filled
    filled |= {name: n for name, n in _GROUP_WISE.items() if options[name] is None}
    check_options(
        filled["backend"],
        filled["nbits"],
        (filled["axis_key"], filled["axis_value"]),
        filled["q_group_size"],
        filled["residual_length"],
    )
    return filled


def _choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(f"{name} is {shown(value)}; known: {', '.join(known)}.", field=name)


def _only(name: str, holds: bool, why: str) -> None:
    if not holds:
        raise InvalidInput(f"{name} does not belong to this cache: {why}.", field=name)
