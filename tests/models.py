"""Small models for tests, made without an importer."""

from __future__ import annotations

from calculator.layers import layer_cache
from calculator.model import ModelSpec


def model(*layer_types: str, layers: int | None = None, dtype: str = "bf16", **caches) -> ModelSpec:
    """A model whose `caches` map a layer type to one cache, several, or none (an empty list)."""
    described = {
        layer_type: tuple(layer_cache(**c) for c in (found if isinstance(found, list) else [found]))
        for layer_type, found in caches.items()
    }
    names = layer_types or tuple(described)
    return ModelSpec(
        id="test",
        name="Test",
        model_type="test",
        num_hidden_layers=layers or len(names),
        layer_types=names,
        caches=tuple(described.items()),
        dtype=dtype,
    )


def full(heads: int = 8, head_dim: int = 128, **more) -> dict:
    return {
        "kind": "full_attention",
        "num_key_value_heads": heads,
        "head_dim": head_dim,
        **more,
    }


def sliding(window: int, heads: int = 8, head_dim: int = 128) -> dict:
    return full(heads, head_dim) | {"kind": "sliding_attention", "sliding_window": window}


def plain(layers: int, heads: int, head_dim: int, dtype: str = "fp16") -> ModelSpec:
    return model(layers=layers, dtype=dtype, full=full(heads, head_dim))
