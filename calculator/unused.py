"""Options that were given → a sentence on those that have no use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculator.model import ModelSpec

OF_A_DEVICE = ("weights_bytes", "overhead", "share", "typical_context")


def unused(given: Mapping[str, Any], model: ModelSpec) -> tuple[str, ...]:
    """A sentence for the options that another one, or the model, leaves no use for.

    >>> from calculator.catalog import load_model
    >>> unused({"typical_context": "5"}, load_model("llama-3-8b"))
    ('Not used: typical_context, since no device is given.',)
    """
    names, why = _beside(given)
    if given.get("weights_dtype", "auto") == "auto":
        names = [name for name in names if name != "weights_dtype"]
    found = [name for name in names if name in given]
    sentences = [f"Not used: {', '.join(found)}, since {why}."] if found else []
    if "encoder_context" in given and not model.has_encoder:
        sentences.insert(0, f"Not used: encoder_context, since {model.name} has no encoder.")
    return tuple(sentences)


def _beside(given: Mapping[str, Any]) -> tuple[list[str], str]:
    """What has no use beside, or without, the option that says what there is; and why."""
    if "kv_bytes_per_device" in given:
        names = ["device", "device_memory", "weights_bytes", "overhead", "share", "weights_dtype"]
        return names, "kv_bytes_per_device says what there is for the cache"
    if "device" in given or "device_memory" in given:
        told = ["weights_dtype"] if "weights_bytes" in given else []
        return told, "weights_bytes says how large they are"
    names = [*OF_A_DEVICE, "weights_dtype"]
    if given.get("engine", "ideal") != "ideal":  # the command that starts the engine says it
        names.remove("share")
    return names, "no device is given"
