"""Metadata of a GGUF file as tools print it → the header it was printed from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from calculator.errors import InvalidInput, shown
from calculator.importers.gguf.header import MAX_STORED, Header, Skipped, Tensor, Value
from calculator.importers.gguf.types import TENSOR_TYPES
from calculator.importers.schema import MAX_JSON_BYTES, parse_json

# llama_model_loader: - kv   3:   llama.block_count u32   = 32
_LOADER = re.compile(
    r"llama_model_loader: - kv +\d+: +(?P<key>\S+) (?P<type>\w+|arr\[\w+,(?P<count>\d{1,12})\]) += "
    r"(?P<value>.*)"
)
_LOADER_COUNT = re.compile(r"loaded meta data with (\d{1,12}) key-value pairs and \d+ tensors")
#       5: UINT32     |        1 | llama.block_count = 32
_DUMP = re.compile(
    r" *\d+: (?P<type>\[*[A-Z]+\d*\]*) *\| +(?P<count>\d{1,12}) \| (?P<key>\S+)"
    r"(?: = (?P<value>.*))?"
)
_DUMP_COUNT = re.compile(r"Dumping (\d{1,12}) key/value pair")
#       1:  525336576 |  4096, 128256,     1,     1 | Q4_K    | token_embd.weight
_TENSOR = re.compile(r" *\d+: +\d+ \|([\d, ]+)\| (\w+) *\| (\S+)")
_TENSOR_COUNT = re.compile(r"Dumping (\d{1,12}) tensor")

_TYPES = {t.name.upper(): t for t in TENSOR_TYPES.values()}


def read_dump(text: str) -> tuple[Header, str]:
    """(header, an assumption or ""): the keys found, and the tensors if all of them are listed."""
    if len(text) > MAX_JSON_BYTES:
        raise InvalidInput(
            "The dump is longer than 2 MiB; leave out the tokenizer's lists.", field="model"
        )
    if text.lstrip().startswith("{"):
        return _from_json(parse_json(text, name="The dump")), ""
    values: dict[str, Value] = {}
    tensors: list[Tensor] = []
    for line in text.splitlines():
        found = _LOADER.search(line) or _DUMP.fullmatch(line.rstrip())
        if found:
            _add(values, found["key"], _value(found))
        elif row := _TENSOR.fullmatch(line.rstrip()):
            tensors.append(_tensor(row[3], _lengths(row[1]), row[2]))
    if not values:
        raise InvalidInput(
            "The text holds no GGUF metadata; expected the lines of llama_model_loader or the "
            "output of gguf-dump.",
            field="model",
        )
    note = _check_complete(text, len(values))
    listed = _TENSOR_COUNT.search(text)
    all_there = listed is not None and int(listed[1]) == len(tensors)
    return Header(values, tuple(tensors) if all_there else None), note


def _check_complete(text: str, num_keys: int) -> str:
    """Refused if the tool says that it printed more keys than there are; else what is assumed."""
    said = _LOADER_COUNT.search(text) or _DUMP_COUNT.search(text)
    if said is None:
        return "The pasted lines are taken for all the keys that the file has."
    if int(said[1]) != num_keys:
        raise InvalidInput(
            f"The dump says {int(said[1]):,} keys and holds {num_keys:,}; paste all of its lines.",
            field="model",
        )
    return ""


def _add(values: dict[str, Value], key: str, value: Value) -> None:
    if values.get(key, value) != value:
        raise InvalidInput(
            f"The dump has {shown(key)} twice, as {shown(values[key])} and {shown(value)}; "
            "paste one model's.",
            field="model",
        )
    values[key] = value


def _value(found: re.Match[str]) -> Value:
    """A printed value; a list that was cut off when printing is not usable, and says so."""
    kind, text = found["type"], found["value"] or ""
    if kind in ("str", "STRING"):
        return text.strip("'\"")
    if text in ("true", "false", "True", "False"):
        return text.lower() == "true"
    if kind.startswith(("arr", "[")):
        return _list(text, int(found["count"] or 0))
    try:
        return float(text) if kind in ("f32", "f64", "FLOAT32", "FLOAT64") else int(text[:30])
    except ValueError:
        raise InvalidInput(
            f"{found['key']} is {shown(text)} in the dump; expected a {kind}.", field="model"
        ) from None


def _lengths(text: str) -> list[int]:
    """4096, 128256, 1, 1; what is no row of lengths counts as empty."""
    found = [x.strip() for x in text.split(",")]
    sound = len(found) <= 8 and all(x.isdecimal() and len(x) < 13 for x in found)
    return [int(x) for x in found] if sound else [0]


def _list(text: str, count: int) -> Value:
    """[8, 8, 4] or [true, false]; anything else, such as a list that was cut off, is skipped."""
    items = [x.strip().lower() for x in text.strip().strip("[]").split(",")]
    if len(items) != count or count > MAX_STORED:
        return Skipped(count)
    if all(x in ("true", "false") for x in items):
        return tuple(x == "true" for x in items)
    if all(x.removeprefix("-").isdecimal() and len(x) < 20 for x in items):
        return tuple(int(x) for x in items)
    return Skipped(count)


def _numbers(items: list[Any]) -> Value:
    if all(isinstance(x, int | float) for x in items) and len(items) <= MAX_STORED:
        return tuple(items)
    return Skipped(len(items))


def _from_json(data: Mapping[str, Any]) -> Header:
    """gguf-dump --json, or the keys and values alone."""
    inner = data.get("metadata", data)
    if not isinstance(inner, Mapping):
        raise InvalidInput(f"metadata is {shown(inner)}; expected an object.", field="model")
    values: dict[str, Value] = {}
    for key, entry in inner.items():
        plain = entry.get("value", Skipped(0)) if isinstance(entry, Mapping) else entry
        if isinstance(plain, list):
            plain = _numbers(plain)
        values[key] = plain if isinstance(plain, int | float | str | tuple) else Skipped(0)
    tensors = data.get("tensors")
    if not isinstance(tensors, Mapping) or not tensors:
        return Header(values, None)
    return Header(values, tuple(_json_tensor(name, t) for name, t in tensors.items()))


def _json_tensor(name: str, entry: object) -> Tensor:
    shape = entry.get("shape") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(shape, list):
        raise InvalidInput(f"tensor {shown(name)} is {shown(entry)}.", field="model")
    if not all(isinstance(n, int) and 0 <= n < 2**40 for n in shape):
        raise InvalidInput(f"tensor {shown(name)} has shape {shown(shape)}.", field="model")
    return _tensor(name, shape, str(entry.get("type")))


def _tensor(name: str, shape: list[int], type_name: str) -> Tensor:
    elements = 1
    for length in shape[:8]:
        elements *= length
    found = _TYPES.get(type_name.upper())
    if found is None or (shape and shape[0] % found.block_elements):
        return Tensor(name, elements, f"type {type_name[:20]}", None)
    return Tensor(name, elements, found.name, elements // found.block_elements * found.block_bytes)


def _is_figure(value: Value) -> bool:
    """Fractions say nothing of a cache, and may be no numbers."""
    items = value if isinstance(value, tuple) else (value,)
    return not isinstance(value, Skipped) and not any(isinstance(x, float) for x in items)


def written(header: Header) -> str:
    """The keys that describe the architecture, and the tensors added up by type, as JSON."""
    architecture = header.values.get("general.architecture")
    kept = ("general.architecture", "general.name", "split.count")
    values = {
        key: value
        for key, value in header.values.items()
        if _is_figure(value) and (key in kept or key.startswith(f"{architecture}."))
    }
    added: dict[str, int] = {}
    for tensor in header.tensors or ():
        added[tensor.type_name] = added.get(tensor.type_name, 0) + tensor.elements
    tensors = {name: {"shape": [n], "type": name} for name, n in added.items()}
    for tensor in header.tensors or ():
        if tensor.name.endswith(".nextn.eh_proj.weight"):  # some rules look for it
            tensors[tensor.name] = {"shape": [0], "type": tensor.type_name}
    return json.dumps({"metadata": values, "tensors": tensors}, separators=(",", ":"))
