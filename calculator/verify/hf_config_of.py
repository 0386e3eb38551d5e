"""A model → a transformers configuration of its type with the same cache, or a refusal.

A model keeps what its cache depends on, not the configuration it was read from. So the figures are
written back under the type's own keys, the rest is the class's default, and the importer must read
the same caches out of the result: otherwise it is refused, never bent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculator.errors import CalculatorError, UnsupportedModel
from calculator.importers.hf_config import model_from_config
from calculator.model import ModelSpec
from calculator.verify.overrides import override
from calculator.verify.type_keys import own_keys

TORCH_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def config_of(model: ModelSpec) -> Any:
    """The configuration object, of the text part where the type wraps several models."""
    from transformers import AutoConfig

    defaults = _defaults(model.model_type)
    text_type = defaults["model_type"]
    values = {
        **override(model.model_type).config,
        **own_keys(model, text_type, defaults),
        "dtype": TORCH_DTYPES.get(model.dtype, "bfloat16"),
    }
    try:
        config = AutoConfig.for_model(text_type, **values)
    except Exception as error:  # a class checks its own figures, each in its own way
        reason = " ".join(str(error).split())[:200]
        raise UnsupportedModel(
            f"transformers' configuration of {text_type} refuses these figures: {reason}.",
            field="model_type",
        ) from None
    _check(config, model)
    return config


def _defaults(model_type: str) -> dict[str, Any]:
    """The default configuration of a type, its text part."""
    import transformers
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if model_type not in CONFIG_MAPPING:
        raise UnsupportedModel(
            f"transformers {transformers.__version__} has no class for model type {model_type}; "
            "its code comes with the checkpoint and is not run here.",
            field="model_type",
        )
    config = AutoConfig.for_model(model_type).get_text_config(decoder=True)
    found: dict[str, Any] = config.to_dict()
    return found


def given_config(config: Mapping[str, Any]) -> Any:
    """The configuration object of a published or pasted config.json, used as it is.

    What it says of quantised weights is left out: the cache is not theirs.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    model_type = config.get("model_type")
    _defaults(str(model_type))
    kept = {k: v for k, v in config.items() if k not in ("quantization_config", "auto_map")}
    try:
        found = CONFIG_MAPPING[model_type].from_dict(kept)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise UnsupportedModel(
            f"transformers' configuration of {model_type} refuses this file: {reason}.",
            field="config",
        ) from None
    if found.dtype is None:
        found.dtype = found.get_text_config(decoder=True).dtype or _bfloat16()
    return found


def _bfloat16() -> Any:
    import torch

    return torch.bfloat16


def _check(config: Any, model: ModelSpec) -> None:
    """The rebuilt configuration reads back as the same layers with the same caches."""
    try:
        back = model_from_config(_as_published(config))
    except CalculatorError as error:
        raise _not_rebuilt(model, str(error)) from None
    if _layers(back) != _layers(model):
        raise _not_rebuilt(model, "it would read back as other layers")
    if back.dtype != model.dtype:
        raise _not_rebuilt(model, f"its type would be {back.dtype}")


def _as_published(config: Any) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return found


def _layers(model: ModelSpec) -> list[Any]:
    kept = dict(model.caches)
    return [kept[t] for t in model.every_layer_type()]


def _not_rebuilt(model: ModelSpec, reason: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"The configuration of {model.name} cannot be rebuilt for transformers' class of "
        f"{model.model_type}: {reason.rstrip('.')}. Paste its config.json instead.",
        field="model_type",
    )
