"""Names → models: presets, aliases, files, configurations, Hub ids, in this order."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from calculator.errors import InvalidInput, SourceUnavailable, UnsupportedModel, shown
from calculator.layers import layer_cache
from calculator.model import ModelSpec


def load_model(source: str | os.PathLike[str] | Mapping[str, Any] | ModelSpec) -> ModelSpec:
    """The model that `source` names.

    Tried in this order: a preset id or alias · an existing path (`config.json`, a folder with one)
    · a parsed configuration · `org/name` or a Hub URL. Anything else is refused, and nothing is
    asked of the network for it.

    >>> load_model("llama-3-8b").num_hidden_layers
    32
    """
    if isinstance(source, ModelSpec):
        return source
    if isinstance(source, Mapping):
        from calculator.importers.hf_config import model_from_config

        return model_from_config(source, source="a configuration given in Python")
    if not isinstance(source, str | os.PathLike):
        raise InvalidInput(f"model is {shown(source)}; expected a name or a path.", field="model")
    text = os.fspath(source).strip()
    if not find_preset(text) and (path := _existing_path(text)):
        return _model_from_path(path)
    return load_named(text)


def load_named(name: str) -> ModelSpec:
    """The model of a preset id, an alias or a Hub id: what a page or an API may be asked for.

    No file of this machine is looked at.
    """
    text = name.strip()
    if preset := find_preset(text):
        return preset
    if is_hub_id(text) or text.startswith(("https://", "http://")):
        from calculator.importers.hub import model_from_hub

        return model_from_hub(text)
    raise SourceUnavailable(
        f"model is {shown(text)}; it is neither a preset (see kvcalc presets) nor an existing file"
        f"{_nearest(text)}",
        field="model",
    )


def is_hub_id(text: str) -> bool:
    """Whether a text may be a Hub id: `org/name` of plain characters, and no way up a folder."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", text, re.ASCII) is not None and ".." not in text


def find_preset(name: str) -> ModelSpec | None:
    """The preset with this id or alias, or None."""
    paths, given = preset_paths(), name.lower()
    path = paths.get(given) or paths.get(aliases().get(given, ""))
    return _read_preset(path) if path else None


def presets() -> tuple[ModelSpec, ...]:
    """All presets, by id."""
    return tuple(_read_preset(path) for _, path in sorted(preset_paths().items()))


@lru_cache(maxsize=1)
def data_folder() -> str:
    """Where presets lie: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(package, "presets")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "presets")


def read_data(name: str) -> dict[str, Any]:
    """One TOML file of the presets folder."""
    with open(os.path.join(data_folder(), name), "rb") as file:
        return tomllib.load(file)


@lru_cache(maxsize=1)
def preset_paths() -> dict[str, str]:
    """id → file; one file a model, named by its id, in a folder named by its publisher."""
    folder = os.path.join(data_folder(), "models")
    return {
        name.removesuffix(".toml"): os.path.join(folder, publisher, name)
        for publisher in os.listdir(folder)
        for name in os.listdir(os.path.join(folder, publisher))
        if name.endswith(".toml")
    }


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Other names of presets → their ids."""
    found: dict[str, str] = read_data("aliases.toml")["models"]
    return found


@lru_cache(maxsize=1024)
def _read_preset(path: str) -> ModelSpec:
    return model_from_record(read_data(path))


def model_from_record(record: dict[str, Any]) -> ModelSpec:
    """A model from the record that a preset file holds; unknown keys are refused.

    `layers` maps each layer type to a list of tagged caches, empty where nothing is kept.
    """
    fields = dict(record)
    layers = fields.pop("layers", None)
    if not isinstance(layers, dict):
        raise UnsupportedModel(
            "layers is missing; a preset maps layer types to caches.", field="layers"
        )
    unknown = [name for name in fields if name not in _RECORD_FIELDS]
    missing = [name for name in _REQUIRED if name not in fields]
    if unknown or missing:
        what = f"unknown field {unknown[0]}" if unknown else f"no field {missing[0]}"
        raise UnsupportedModel(f"The preset has {what}.", field=(unknown or missing)[0])
    caches = tuple((t, tuple(layer_cache(**c) for c in found)) for t, found in layers.items())
    fields["provenance"] = tuple(fields.get("provenance", {}).items())
    for name in ("layer_types", "assumptions"):
        fields[name] = tuple(fields.get(name, ()))
    fields["checked"] = str(fields.get("checked", ""))
    return ModelSpec(caches=caches, **fields)


_REQUIRED = ("id", "name", "model_type", "num_hidden_layers", "layer_types")
_RECORD_FIELDS = frozenset(
    name for name, f in ModelSpec.__dataclass_fields__.items() if f.init and name != "caches"
)


def _existing_path(text: str) -> str | None:
    try:
        path = os.path.expanduser(text)
        return path if text and "\0" not in text and os.path.exists(path) else None
    except (OSError, ValueError):
        return None


def _model_from_path(path: str) -> ModelSpec:
    if os.path.isdir(path):
        path = _config_in(path)
    if not os.path.isfile(path):
        raise SourceUnavailable(f"{path} is not a regular file.", field="model")
    if is_gguf(path):
        from calculator.importers.gguf import model_from_gguf

        return model_from_gguf(path)
    if path.endswith(".toml"):
        from calculator.importers.preset_file import read_record

        return model_from_record(read_record(path))
    from calculator.importers.hf_config import model_from_config
    from calculator.importers.schema import read_json

    return model_from_config(read_json(path), source=path)


def _config_in(folder: str) -> str:
    """The config.json of a folder; one with GGUF files alone is told to name one of them."""
    path = os.path.join(folder, "config.json")
    if os.path.isfile(path):
        return path
    try:
        found = sorted(name for name in os.listdir(folder) if name.endswith(".gguf"))
    except OSError:
        found = []
    some = f"; give one of its GGUF files, such as {found[0]}" if found else ""
    raise SourceUnavailable(f"{folder} holds no config.json{some}.", field="model")


def is_gguf(path: str) -> bool:
    """Whether a file is a GGUF file, by its name or by its first four bytes."""
    if path.endswith(".gguf"):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _nearest(text: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text.lower()[:80], [*preset_paths(), *aliases()], n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else "."
