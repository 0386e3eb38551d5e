"""A model type and a seed → configurations: its own defaults, and shapes nobody has published."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from transformers import AutoConfig

from tests.conformance.transformers import shapes
from tests.conformance.transformers.overrides import Override

LAYER_COUNTS = {
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers",
    "num_decoder_layers", "num_encoder_layers", "num_blocks", "attn_layers",
}  # fmt: skip
DTYPES = ("bfloat16", "float16", "float32")


@dataclass(frozen=True, slots=True)
class Geometry:
    """A configuration object, and the forms in which it may be published.

    "full" has every key, "saved" is what transformers writes, "bare" leaves out whatever the class
    would fill in again, as older files and hand-written ones do; layer counts are always there.
    """

    label: str
    config: Any
    forms: dict[str, dict[str, Any]]

    @property
    def full(self) -> dict[str, Any]:
        return self.forms["full"]


def default(model_type: str, override: Override) -> Geometry:
    """The class's own defaults, and real values where it has none."""
    dtype = override.only_dtype or "bfloat16"
    return _geometry("default", model_type, nested(model_type, dict(override.config)), dtype)


def random(model_type: str, override: Override, seed: str) -> Geometry:
    """A shape of its own: layers, heads, widths, windows, patterns, ranks, state sizes."""
    rng = Random(f"{model_type} {seed}")
    dtype = override.only_dtype or rng.choice(DTYPES)
    values = {**override.config, **shapes.sample(model_type, text_defaults(model_type), rng)}
    return _geometry(f"seed {seed}", model_type, nested(model_type, values), dtype)


def text_defaults(model_type: str) -> dict[str, Any]:
    """The defaults of the part that holds the decoder's figures."""
    config = AutoConfig.for_model(model_type)
    key = text_key(model_type)
    return dict((getattr(config, key) if key else config).to_dict())


def nested(model_type: str, values: dict[str, Any]) -> dict[str, Any]:
    """`values` where this type's configuration keeps the decoder's figures."""
    key = text_key(model_type)
    return {key: values} if key and values else values


def text_key(model_type: str) -> str:
    """The key under which a composite configuration keeps its decoder, or nothing."""
    config = AutoConfig.for_model(model_type)
    text = config.get_text_config(decoder=True)
    if text is config:
        return ""
    return next((k for k in config.sub_configs if getattr(config, k, None) is text), "")


def _geometry(label: str, model_type: str, values: dict[str, Any], dtype: str) -> Geometry:
    config = AutoConfig.for_model(model_type, dtype=dtype, **values)
    full = json.loads(config.to_json_string(use_diff=False))
    saved = json.loads(config.to_json_string(use_diff=True))
    keep_layer_counts(full, saved)
    forms = {"full": full, "saved": saved}
    if bare := without_defaults(model_type, full):
        forms["bare"] = bare
    return Geometry(label, config, forms)


def without_defaults(model_type: str, full: dict[str, Any]) -> dict[str, Any] | None:
    """`full` without the class's defaults, if the class reads the same configuration from it."""
    plain = AutoConfig.for_model(model_type)
    default = json.loads(plain.to_json_string(use_diff=False))
    bare = _stripped(full, default, set(plain.sub_configs)) | {"model_type": model_type}
    keep_layer_counts(full, bare)
    try:
        again = AutoConfig.for_model(**bare)
    except Exception:  # the class may demand a key that equals its default
        return None
    return bare if json.loads(again.to_json_string(use_diff=False)) == full else None


def _stripped(values: dict[str, Any], default: dict[str, Any], parts: set[str]) -> dict[str, Any]:
    """Keys that differ from the defaults; inside a part, its own keys that do."""
    kept = {}
    for key, value in values.items():
        same = default.get(key, _ABSENT)
        if key in parts and isinstance(value, dict) and isinstance(same, dict):
            part = _stripped(value, same, set())
            if part:
                kept[key] = part
        elif value != same:
            kept[key] = value
    return kept


_ABSENT = object()


def keep_layer_counts(full: dict[str, Any], published: dict[str, Any]) -> None:
    """Put layer counts back: a file without one is refused, whatever its class's default."""
    counts = LAYER_COUNTS & set(full) or {"layers_block_type"}  # nemotron_h lists them instead
    for key, value in full.items():
        if key in counts:
            published.setdefault(key, value)
        elif isinstance(value, dict) and LAYER_COUNTS & set(value) and key != "vision_config":
            part = published.setdefault(key, {})
            keep_layer_counts(value, part)
