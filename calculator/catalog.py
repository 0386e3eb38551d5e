"""Names → models: presets, aliases, files, configurations, Hub ids, in this order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from calculator.errors import InvalidInput, SourceUnavailable, UnsupportedModel, shown
from calculator.layers import layer_cache
from calculator.model import ModelSpec

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def load_model(source: str | Path | Mapping[str, Any] | ModelSpec) -> ModelSpec:
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
    if not isinstance(source, str | Path):
        raise InvalidInput(f"model is {shown(source)}; expected a name or a path.", field="model")
    text = str(source).strip()
    if preset := find_preset(text):
        return preset
    if path := _existing_path(text):
        return _model_from_path(path)
    if HUB_ID.fullmatch(text) and ".." not in text:
        raise SourceUnavailable(
            f"{text} is no preset, and this version reads no model from the Hub; "
            "give the path of its config.json.",
            field="model",
        )
    raise SourceUnavailable(
        f"model is {shown(text)}; it is neither a preset (see kvcalc presets) nor a file that exists"
        f"{_nearest(text)}.",
        field="model",
    )


def find_preset(name: str) -> ModelSpec | None:
    """The preset with this id or alias, or None."""
    preset_id = aliases().get(name.lower(), name.lower())
    path = preset_paths().get(preset_id)
    return _read_preset(path) if path else None


def presets() -> tuple[ModelSpec, ...]:
    """All presets, by id."""
    return tuple(_read_preset(path) for _, path in sorted(preset_paths().items()))


@lru_cache(maxsize=1)
def data_folder() -> Path:
    """Where presets lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "presets"
    return inside if inside.is_dir() else package.parent / "presets"


@lru_cache(maxsize=1)
def preset_paths() -> dict[str, Path]:
    """id → file; one file a model, named by its id, in a folder named by its publisher."""
    return {path.stem: path for path in (data_folder() / "models").glob("*/*.toml")}


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Other names of presets → their ids."""
    with (data_folder() / "aliases.toml").open("rb") as file:
        found: dict[str, str] = tomllib.load(file)["models"]
    return found


@lru_cache(maxsize=1024)
def _read_preset(path: Path) -> ModelSpec:
    with path.open("rb") as file:
        return model_from_record(tomllib.load(file))


def model_from_record(record: dict[str, Any]) -> ModelSpec:
    """A model from the record that a preset file holds; unknown keys are refused.

    `layers` maps each layer type to a list of tagged caches, empty where nothing is kept.
    """
    fields = dict(record)
    layers = fields.pop("layers", None)
    if not isinstance(layers, dict):
        raise UnsupportedModel("layers is missing; a preset maps layer types to caches.", field="layers")
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
    name
    for name, f in ModelSpec.__dataclass_fields__.items()
    if f.init and name != "caches"
)


def _existing_path(text: str) -> Path | None:
    try:
        path = Path(text).expanduser()
        return path if text and "\0" not in text and path.exists() else None
    except (OSError, RuntimeError):
        return None


def _model_from_path(path: Path) -> ModelSpec:
    from calculator.importers.hf_config import model_from_config
    from calculator.importers.schema import read_json

    if path.is_dir():
        path = path / "config.json"
        if not path.is_file():
            raise SourceUnavailable(f"{path.parent} holds no config.json.", field="model")
    if path.suffix == ".gguf":
        raise UnsupportedModel(
            f"{path.name} is a GGUF file, which this version does not read; "
            "give the model's config.json or a preset.",
            field="model",
        )
    if not path.is_file():
        raise SourceUnavailable(f"{path} is not a regular file.", field="model")
    return model_from_config(read_json(path), source=str(path))


def _nearest(text: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text.lower()[:80], [*preset_paths(), *aliases()], n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


