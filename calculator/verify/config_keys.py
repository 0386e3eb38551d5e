"""A model's caches → the keys under which its type's configuration holds their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.cross import CrossAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.layers.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
)
from calculator.layers.windows import ChunkedAttention, SlidingAttention
from calculator.model import ModelSpec

Values = dict[str, Any]
Defaults = Mapping[str, Any]
Cache = TypeVar("Cache")

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers",
          "num_decoder_layers")  # fmt: skip
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads",
         "encoder_attention_heads")  # fmt: skip
KV_HEADS = ("num_key_value_heads", "num_kv_heads")
HEAD_DIMS = ("head_dim", "d_kv")
HIDDEN = ("hidden_size", "n_embd", "d_model", "word_embed_proj_dim")
POSITIONS = ("max_position_embeddings", "n_positions", "model_max_length")


def general_keys(model: ModelSpec, defaults: Defaults) -> Values:
    """Values for keys that the type's default configuration has."""
    values: Values = {k: model.num_hidden_layers for k in LAYERS if k in defaults}
    for kind, keys in _KINDS.items():
        cache = first(model, kind)
        if cache is not None:
            values |= keys(cache, defaults)
    values |= _layer_types(model, defaults)
    values |= _window(model, defaults)
    if model.max_position_embeddings:
        values |= {k: model.max_position_embeddings for k in POSITIONS if k in defaults}
    return values


def first(model: ModelSpec, kind: type[Cache]) -> Cache | None:
    """The first cache of a kind, in the order of the layers."""
    for group in model.layer_groups:
        for cache in group.caches:
            if isinstance(cache, kind):
                return cache
    return None


def heads_of(heads: int, head_dim: int, defaults: Defaults, hidden: int | None = None) -> Values:
    """Cached heads of a width: as many query heads as a hidden size, given or not, has room for."""
    grouped = any(k in defaults for k in KV_HEADS)
    queries = heads * 2 if grouped else heads
    if hidden is not None:
        queries = hidden // head_dim
    return {
        **{k: queries for k in HEADS if k in defaults},
        **{k: heads for k in KV_HEADS if k in defaults},
        **{k: head_dim for k in HEAD_DIMS if k in defaults},
        **{k: hidden or queries * head_dim for k in HIDDEN if k in defaults},
    }


def _attention(cache: Any, defaults: Defaults) -> Values:
    found = heads_of(cache.num_key_value_heads, cache.head_dim, defaults)
    if cache.v_head_dim is not None and "v_head_dim" in defaults:
        found["v_head_dim"] = cache.v_head_dim
    return found


def _latent(cache: Any, defaults: Defaults) -> Values:
    names = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    found = {n: getattr(cache, n) for n in names if getattr(cache, n) is not None}
    if cache.num_attention_heads:
        found |= {"num_attention_heads": cache.num_attention_heads}
        found |= {k: cache.num_attention_heads for k in KV_HEADS if k in defaults}
    return found


def _delta(cache: Any, defaults: Defaults) -> Values:
    return {n: getattr(cache, n) for n in GatedDeltaNet.__dataclass_fields__ if n != "kind"}


def _kimi(cache: Any, defaults: Defaults) -> Values:
    return {
        "linear_num_heads": cache.num_heads,
        "linear_head_dim": cache.head_dim,
        "linear_conv_kernel_dim": cache.short_conv_kernel_size,
    }


def _mamba1(cache: Any, defaults: Defaults) -> Values:
    prefix = "mamba_" if "mamba_expand" in defaults else ""
    hidden = cache.intermediate_size // defaults[f"{prefix}expand"]
    names = ("mamba_d_state", "mamba_d_conv") if prefix else ("state_size", "conv_kernel")
    return {
        **dict(zip(names, (cache.state_size, cache.conv_kernel), strict=True)),
        "hidden_size": hidden,
    }


_MAMBA2_NAMES = {
    "num_heads": ("mamba_n_heads", "n_mamba_heads", "mamba_num_heads", "num_heads"),
    "head_dim": ("mamba_d_head", "mamba_head_dim", "mamba_headdim"),
    "state_size": ("mamba_d_state", "ssm_state_size", "state_size"),
    "n_groups": ("mamba_n_groups", "mamba_ngroups", "n_groups"),
    "conv_kernel": ("mamba_d_conv", "conv_kernel"),
}


def _mamba2(cache: Any, defaults: Defaults) -> Values:
    found: Values = {}
    for name, keys in _MAMBA2_NAMES.items():
        key = next((k for k in keys if k in defaults), None)
        if key:
            found[key] = getattr(cache, name)
    inner = cache.num_heads * cache.head_dim
    if "mamba_d_ssm" in defaults:
        found["mamba_d_ssm"] = inner
    elif "mamba_num_heads" not in defaults:
        expand = defaults.get("mamba_expand", defaults.get("expand"))
        found["hidden_size"] = inner // expand
    return found


def _convolution(cache: Any, defaults: Defaults) -> Values:
    return {"conv_L_cache": cache.conv_L_cache, "hidden_size": cache.hidden_size}


_KINDS: dict[type[LayerCache], Callable[[Any, Defaults], Values]] = {
    FullAttention: _attention,
    SlidingAttention: _attention,
    ChunkedAttention: lambda c, d: {
        **_attention(c, d),
        "attention_chunk_size": c.attention_chunk_size,
    },
    CrossAttention: _attention,
    LatentAttention: _latent,
    SparseIndexer: lambda c, d: {"index_head_dim": c.index_head_dim},
    LightningAttention: lambda c, d: {},
    GatedDeltaNet: _delta,
    KimiDeltaAttention: _kimi,
    Mamba1: _mamba1,
    Mamba2: _mamba2,
    ShortConvolution: _convolution,
}


def _layer_types(model: ModelSpec, defaults: Defaults) -> Values:
    """The list of layer types, under the key that the type has for it."""
    every = list(model.every_layer_type())
    for key in ("layers_block_type", "layer_types"):
        if key in defaults and defaults[key] is not None:
            return {key: every}
    return {}


def _window(model: ModelSpec, defaults: Defaults) -> Values:
    cache = first(model, SlidingAttention)
    found: Values = {}
    if "sliding_window" in defaults:
        found["sliding_window"] = cache.sliding_window if cache else None
    if "use_sliding_window" in defaults:
        found["use_sliding_window"] = cache is not None
    return found
