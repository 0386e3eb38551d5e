"""What somebody pastes or uploads → one compact JSON text of three kinds → ModelSpec."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from calculator.errors import InvalidInput, shown
from calculator.importers.schema import parse_json
from calculator.model import ModelSpec

NAME, GGUF, DESCRIBED = "pasted-config", "pasted-gguf", "described-layers"
FILES = {NAME: "config.json", GGUF: "model.gguf", DESCRIBED: "described"}
MARK = "described_layers"
"""The key that only our own text of a description has; its value is the text's version."""
VERSION = 1
MAX_ROWS = 512
MAX_NAME = 96


def compact(given: str | bytes, *, name: str = "The configuration") -> str:
    """A config.json, a description, a GGUF file's head or a dump of it, as a short text.

    Raises CalculatorError for what is none of them, and for GGUF metadata that makes no model; a
    configuration may still be refused later, where a page can show its keys.
    """
    from calculator.importers.gguf import gguf_as_json

    if not given.strip():
        raise InvalidInput("The configuration is empty; paste the text of a config.json.")
    if isinstance(given, bytes) and given.startswith(b"GGUF"):
        return _named(gguf_as_json(io.BytesIO(given), name=name), name)
    if isinstance(given, str) and is_dump(given):
        return gguf_as_json(given)
    found = parse_json(given, name=name)
    kind = kind_of(found)
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    if kind == GGUF:
        return gguf_as_json(text)
    if kind == DESCRIBED:
        model_of_text(text)
    return text


def _named(text: str, file: str) -> str:
    """A header that carries no name of its model is called by its file."""
    found = json.loads(text)
    found["metadata"].setdefault("general.name", file.removesuffix(".gguf")[:MAX_NAME])
    return json.dumps(found, separators=(",", ":"))


def is_dump(text: str) -> bool:
    """Whether a text is what gguf-dump or llama.cpp prints, and not JSON."""
    return not text.lstrip().startswith(("{", "[")) and (
        "llama_model_loader" in text or "general.architecture" in text
    )


def kind_of(found: Mapping[str, Any]) -> str:
    """Which of the three a parsed text is."""
    if MARK in found:
        return DESCRIBED
    inner = found.get("metadata", found)
    is_gguf = isinstance(inner, Mapping) and "general.architecture" in inner
    return GGUF if is_gguf else NAME


def model_of_text(text: str) -> ModelSpec:
    """The model that a compact text describes."""
    found = parse_json(text)
    match kind_of(found):
        case "described-layers":
            return _described(found)
        case "pasted-gguf":
            from calculator.importers.gguf import model_from_gguf_dump

            return model_from_gguf_dump(text, source="GGUF metadata given on this page")
    from calculator.importers.hf_config import model_from_config

    return model_from_config(found, source="a pasted configuration")


def description(
    rows: list[dict[str, Any]],
    *,
    name: str,
    dtype: str,
    max_position_embeddings: int | None = None,
    num_parameters: int | None = None,
) -> str:
    """The compact text of layers that a user described; refused like any other if it is wrong."""
    told = {
        MARK: VERSION,
        "name": name.strip() or "described model",
        "dtype": dtype,
        "max_position_embeddings": max_position_embeddings,
        "num_parameters": num_parameters,
        "rows": [{k: v for k, v in row.items() if v is not None} for row in rows],
    }
    kept = {key: value for key, value in told.items() if value is not None}
    return compact(json.dumps(kept, ensure_ascii=False), name="The description")


def _described(found: Mapping[str, Any]) -> ModelSpec:
    from calculator.importers.description import model_from_rows

    told = {key: value for key, value in found.items() if key != MARK}
    if found[MARK] != VERSION:
        raise InvalidInput(f"{MARK} is {shown(found[MARK])}; this page reads version {VERSION}.")
    unknown = [key for key in told if key not in _KEYS]
    if unknown:
        raise InvalidInput(f"A description has no {shown(unknown[0])}; {', '.join(_KEYS)}.")
    name, dtype = told.get("name", ""), told.get("dtype", "bf16")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInput(
            f"name is {shown(name)}; expected one line of at most {MAX_NAME} characters.",
            field="name",
        )
    if not isinstance(dtype, str):
        raise InvalidInput(f"dtype is {shown(dtype)}; expected a name such as bf16.", field="dtype")
    return model_from_rows(
        _rows(told.get("rows")), **{k: v for k, v in told.items() if k != "rows"}
    )


_KEYS = ("name", "dtype", "max_position_embeddings", "num_parameters", "rows")


def _rows(found: object) -> list[Mapping[str, Any]]:
    """Rows of numbers and words; what they mean is model_from_rows' to judge."""
    if not isinstance(found, list) or len(found) > MAX_ROWS:
        raise InvalidInput(f"rows is {shown(found)}; expected a list of at most {MAX_ROWS:,} rows.")
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            raise InvalidInput(f"Row {number} is {shown(row)}; expected layers, kind and fields.")
        for key, value in row.items():
            if isinstance(value, bool) or not isinstance(value, int | str | None):
                raise InvalidInput(f"Row {number}: {key} is {shown(value)}; expected a number.")
    return found
