"""A configuration that may wrap several models → the part that generates text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calculator.errors import UnsupportedModel, shown
from calculator.importers.hf_config.registry import FAMILIES, text_type_of

# In this order; never a vision or audio tower, whose counts are not those of the cache.
_TEXT_KEYS = (
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "language_model",
    "decoder",
)


_MEDIA_CONFIGS = ("vision_config", "audio_config", "visual", "vision_tower_config")
_MEDIA_TOKENS = (
    "mm_tokens_per_image", "vision_soft_tokens_per_image", "image_seq_length", "image_seq_len",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextModel:
    """The text model's own configuration, and what stands around it."""

    config: Mapping[str, Any]
    model_type: str
    prefix: str
    """Path to its keys, such as "text_config."; empty where nothing wraps it."""
    key: str
    """The wrapper's key that holds it; empty where nothing wraps it."""
    outer: Mapping[str, Any]
    """The wrapper; empty where there is none."""
    outer_type: str

    def around(self) -> dict[str, Any]:
        """The wrapper's keys but the text model and what only repeats it."""
        return {
            key: value
            for key, value in self.outer.items()
            if key != self.key and not (key in self.config and self.config[key] == value)
        }

    def media_note(self) -> str:
        """What an image or a sound counts as, where the model takes any; else empty."""
        if not any(isinstance(self.outer.get(key), Mapping) for key in _MEDIA_CONFIGS):
            return ""
        if self.model_type == "mllama_text_model":
            return "An image's tokens are the encoder's, and count in cross-attention layers alone."
        for key in _MEDIA_TOKENS:
            number = self.outer.get(key)
            if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 2**20:
                return f"An image counts as {number} tokens of the sequence ({key})."
        return "Images and sounds count as the tokens that they take in the sequence."

    @property
    def quantization_config(self) -> Mapping[str, Any]:
        for place in (self.outer, self.config):
            for key in ("quantization_config", "compression_config"):
                found = place.get(key)
                if isinstance(found, Mapping):
                    return found
        return {}


def text_model(config: Mapping[str, Any]) -> TextModel:
    """The text model of `config`: itself, or what its text_config and the like hold."""
    outer_type = _type_of(config)
    for key in _TEXT_KEYS:
        inner = config.get(key)
        if isinstance(inner, Mapping) and all(isinstance(k, str) for k in inner):
            deeper = inner.get("text_config")
            if isinstance(deeper, Mapping) and all(isinstance(k, str) for k in deeper):
                path, inner = f"{key}.text_config.", deeper
            else:
                path = f"{key}."
            inner_type = _inner_type(inner, outer_type)
            if inner_type is None:
                break
            return TextModel(inner, inner_type, path, key, config, outer_type or inner_type)
    if outer_type is None:
        raise UnsupportedModel(
            "model_type is missing; the size of a cache depends on the architecture, so a "
            "configuration must name its own.",
            field="model_type",
        )
    return TextModel(config, _flat_type(outer_type), "", "", {}, outer_type)


def _flat_type(outer_type: str) -> str:
    """The type that reads a file without a text_config: older wrappers wrote all keys in one."""
    return outer_type if outer_type in FAMILIES else text_type_of(outer_type) or outer_type


def _inner_type(inner: Mapping[str, Any], outer_type: str | None) -> str | None:
    """The text model's type: its own, else the one that its wrapper's class stands for."""
    return _type_of(inner) or (outer_type and text_type_of(outer_type)) or None


def _type_of(config: Mapping[str, Any]) -> str | None:
    found = config.get("model_type")
    if found is None or found == "":
        return None
    if not isinstance(found, str) or not found.isprintable():
        raise UnsupportedModel(
            f"model_type is {shown(found)}; expected the name of an architecture, such as "
            f"{next(iter(FAMILIES))}.",
            field="model_type",
        )
    return found
