"""A preset file of the user's own → its record, each field of the form a shipped one has."""

from __future__ import annotations

import tomllib
from typing import Any

from calculator.dtypes import WEIGHT_DTYPES, dtype
from calculator.errors import InvalidInput, SourceUnavailable, shown

MAX_BYTES = 2**20
TEXTS = ("id", "name", "model_type", "dtype", "source", "read_from", "revision",
         "weights_dtype", "kv_cache_dtype")  # fmt: skip
LISTS = ("layer_types", "assumptions")


def read_record(path: str) -> dict[str, Any]:
    """What a file holds that `kvcalc import … --toml` or the page wrote.

    Raises InvalidInput naming the field; SourceUnavailable if the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceUnavailable(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{path} is larger than 1 MiB; a preset is a few hundred bytes.")
    try:
        record = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is no TOML: {shown(str(error), 120)}.") from None
    return _checked(record)


def _checked(record: dict[str, Any]) -> dict[str, Any]:
    """The record, if every field has the right form; the model checks its figures."""
    for name in TEXTS:
        _expect(record, name, str, "text")
    for name in LISTS:
        _expect(record, name, list, "a list of texts")
        if not all(isinstance(item, str) for item in record.get(name, ())):
            _refuse(name, record[name], "a list of texts")
    _expect(record, "image_prefix", bool, "true or false")
    _expect(record, "provenance", dict, "a table")
    _expect(record, "layers", dict, "a table of layer types")
    for layer_type, caches in record.get("layers", {}).items():
        if not isinstance(caches, list) or not all(isinstance(c, dict) for c in caches):
            _refuse(f"layers.{layer_type}", caches, "a list of caches")
    for name, known in (
        ("dtype", None),
        ("kv_cache_dtype", None),
        ("weights_dtype", WEIGHT_DTYPES),
    ):
        if name in record:
            record[name] = dtype(record[name], field=name, known=known).name
    return record


def _expect(record: dict[str, Any], name: str, form: type, what: str) -> None:
    if name in record and not isinstance(record[name], form):
        _refuse(name, record[name], what)


def _refuse(name: str, value: object, what: str) -> None:
    raise InvalidInput(f"{name} is {shown(value)}; expected {what}.", field=name)
