"""ModelSpec → the text of its preset file, as `kvcalc import --toml` prints it."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from calculator.layers import LayerCache
from calculator.model import ModelSpec, shortest_pattern

_SCALARS = (
    "num_hidden_layers", "layer_types", "max_position_embeddings", "dtype", "num_parameters",
    "num_active_parameters", "weights_dtype", "weights_bytes", "kv_cache_dtype",
    "image_prefix",
)  # fmt: skip


def preset_text(model: ModelSpec) -> str:
    """A preset that `catalog.load_model` reads back as the same model.

    >>> from calculator.catalog import load_model
    >>> preset_text(load_model("llama-3-8b")).splitlines()[0]
    'id = "llama-3-8b"'
    """
    lines = [
        f"{name} = {toml_value(getattr(model, name))}" for name in ("id", "name", "model_type")
    ]
    lines += [
        f"{n} = {toml_value(getattr(model, n))}"
        for n in ("source", "read_from", "revision")
        if getattr(model, n)
    ]
    if model.checked:
        lines.append(f"checked = {model.checked}")
    for name in _SCALARS:
        value = getattr(model, name)
        if name == "layer_types":
            value = shortest_pattern(model.every_layer_type())
        if value is not None:
            lines.append(f"{name} = {toml_value(value)}")
    if model.assumptions:
        lines.append(f"assumptions = {toml_value(model.assumptions)}")
    if nothing := [t for t, caches in model.caches if not caches]:
        lines += ["", "[layers]", *(f"{toml_key(t)} = []" for t in nothing)]
    for layer_type, caches in model.caches:
        for cache in caches:
            lines += ["", f"[[layers.{toml_key(layer_type)}]]", *_cache_lines(cache)]
    if model.provenance:
        lines += ["", "[provenance]"]
        lines += [f"{toml_key(k)} = {toml_value(v)}" for k, v in model.provenance]
    return "\n".join(lines) + "\n"


def _cache_lines(cache: LayerCache) -> list[str]:
    values = {field.name: getattr(cache, field.name) for field in fields(cache)}  # type: ignore[arg-type]
    return [f"{name} = {toml_value(value)}" for name, value in values.items() if value is not None]


def toml_key(key: str) -> str:
    bare = key.replace("_", "a").replace("-", "a")
    return key if bare.isascii() and bare.isalnum() else json.dumps(key)


def toml_value(value: Any) -> str:
    """A string, a whole number, a flag or a list of strings; a long list over several lines.

    >>> toml_value(("a", "b")), toml_value(8192), toml_value(True)
    ('["a", "b"]', '8192', 'true')
    """
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    items = [toml_value(item) for item in value]
    line = "[" + ", ".join(items) + "]"
    if len(line) <= 90:
        return line
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
