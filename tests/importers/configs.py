"""Small configurations for tests; keyword arguments change keys, `...` takes one away."""

from __future__ import annotations

from typing import Any

from calculator.footprint import footprint
from calculator.importers.hf_config import model_from_config
from calculator.model import ModelSpec
from calculator.request import Request

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 512,
    "torch_dtype": "bfloat16",
}


def config(**changes: Any) -> dict[str, Any]:
    found = LLAMA | changes
    return {key: value for key, value in found.items() if value is not ...}


def model(**changes: Any) -> ModelSpec:
    return model_from_config(config(**changes))


def counted(spec: ModelSpec) -> dict[str, int]:
    """Layer type → how many layers."""
    return {group.layer_type: group.layers for group in spec.layer_groups}


def cache_of(spec: ModelSpec, layer_type: str, index: int = 0) -> Any:
    return dict(spec.caches)[layer_type][index]


def num_bytes(spec: ModelSpec, seq_len: int, **more: Any) -> int:
    return footprint(spec, Request(seq_len=seq_len, **more)).num_bytes
