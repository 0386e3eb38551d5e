"""What a layer keeps → the tensors llama.cpp makes of it."""

from __future__ import annotations

from calculator.dtypes import DTYPES
from calculator.engines.llamacpp.architectures import (
    INDEX_WITH_VALUE,
    WINDOW_KEPT,
    architecture,
    stores_heads,
)
from calculator.errors import UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.compressed import CompressedAttention
from calculator.layers.cross import CrossAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.layers.windows import ChunkedAttention, SlidingAttention
from calculator.model import ModelSpec
from calculator.tensors import Constant, EveryToken, Growth, StateTensor

FP32 = DTYPES["fp32"]
# llama-kv-cache-dsv4.cpp, by DSV4_CSA_RATIO and DSV4_HCA_RATIO: (rows, heads wide) of an open group
_OPEN_GROUP = {4: (8, 2), 128: (128, 1)}

Headed = FullAttention | SlidingAttention | ChunkedAttention


def stored(cache: LayerCache, model: ModelSpec, flash_attn: bool) -> tuple[StateTensor, ...]:
    """The tensors of one layer's cache; states and convolutions in fp32 whatever is asked.

    Source: llama-kv-cache.cpp:llama_kv_cache, llama-memory-recurrent.cpp:llama_memory_recurrent.
    """
    match cache:
        case FullAttention() | SlidingAttention() | ChunkedAttention():
            return _heads(cache, model, flash_attn)
        case LatentAttention():
            return _latent(cache, model)
        case SparseIndexer():
            return _index(cache, model, flash_attn)
        case CompressedAttention():
            return _compressed(cache)
        case CrossAttention():
            raise UnsupportedModel(
                f"{model.name} has cross attention; what llama.cpp keeps of an encoder's output is "
                "not computed.",
                field="model",
            )
        case _:
            return tuple(t._replace(dtype=FP32) for t in cache.tensors())


def heads_of(cache: LayerCache, model: ModelSpec) -> tuple[int, int, int] | None:
    """(cached heads, key width, value width) of a cache with a key and a value a head."""
    match cache:
        case FullAttention() | SlidingAttention() | ChunkedAttention():
            return (
                cache.num_key_value_heads, cache.head_dim, cache.v_head_dim or cache.head_dim,
            )  # fmt: skip
        case LatentAttention() if stores_heads(model):
            heads, nope, value = (
                cache.num_attention_heads, cache.qk_nope_head_dim, cache.v_head_dim,
            )  # fmt: skip
            if heads is None or nope is None or value is None:
                raise UnsupportedModel(
                    "num_attention_heads, qk_nope_head_dim or v_head_dim is missing; llama.cpp "
                    f"keeps every head's key and value of a {model.model_type} model.",
                    field="model",
                )
            return heads, nope + cache.qk_rope_head_dim, value
        case _:
            return None


def widest_value(model: ModelSpec) -> int:
    """Elements of the widest layer's values (llama-hparams.cpp:n_embd_v_gqa_max)."""
    found = (heads_of(c, model) for g in model.layer_groups for c in g.caches)
    return max((heads * value for heads, _, value in filter(None, found)), default=0)


def _heads(cache: Headed, model: ModelSpec, flash_attn: bool) -> tuple[StateTensor, ...]:
    key, _ = cache.tensors()
    kept = architecture(model.model_type) in WINDOW_KEPT
    return _key_and_value(cache, model, key.growth if kept else EveryToken(), flash_attn)


def _key_and_value(
    cache: LayerCache, model: ModelSpec, growth: Growth, flash_attn: bool
) -> tuple[StateTensor, ...]:
    """A key and a value a head; without flash attention values as wide as the widest layer's.

    Source: llama-kv-cache.cpp, [TAG_V_CACHE_VARIABLE].
    """
    found = heads_of(cache, model)
    assert found is not None
    heads, key_width, value_width = found
    key = StateTensor("key", heads, key_width, growth, "key")
    widest = heads * value_width if flash_attn else widest_value(model)
    if widest == heads * value_width:
        return key, StateTensor("value", heads, value_width, growth, "value")
    return key, StateTensor("padded value", 1, widest, growth, "value")


def _latent(cache: LatentAttention, model: ModelSpec) -> tuple[StateTensor, ...]:
    """One row a token of latent and rope key, and no value: that is a view of it (is_mla)."""
    if stores_heads(model):
        return _key_and_value(cache, model, EveryToken(), flash_attn=True)
    width = cache.kv_lora_rank + cache.qk_rope_head_dim
    return (StateTensor("latent and rope key", 1, width, EveryToken(), "key"),)


def _index(cache: SparseIndexer, model: ModelSpec, flash_attn: bool) -> tuple[StateTensor, ...]:
    """llama-kv-cache-dsa.cpp: keys alone; llama-kv-cache-msa.cpp: one head's value beside them."""
    (key,) = cache.tensors()
    if architecture(model.model_type) not in INDEX_WITH_VALUE:
        return (key,)
    width = max(
        value for g in model.layer_groups for c in g.caches
        for _, _, value in filter(None, [heads_of(c, model)])
    )  # fmt: skip
    return key, StateTensor("index value", 1, width, EveryToken(), "value")


def _compressed(cache: CompressedAttention) -> tuple[StateTensor, ...]:
    """Keys as elsewhere, and for each compressor the state of the group being filled, in fp32.

    Source: llama-kv-cache-dsv4.cpp:llama_kv_cache_dsv4, llama_dsv4_comp_state.
    """
    ratio = cache.compress_ratio
    if ratio is None:
        return cache.tensors()
    if ratio not in _OPEN_GROUP or (cache.index_head_dim is None) == (ratio == 4):
        raise UnsupportedModel(
            f"compress_ratio is {ratio}; llama.cpp knows 4, with an indexer, and 128, without.",
            field="compress_ratio",
        )
    rows, wide = _OPEN_GROUP[ratio]
    widths = [("compressor", cache.head_dim)]
    if cache.index_head_dim is not None:
        widths.append(("index compressor", cache.index_head_dim))
    states = (
        StateTensor(f"{name} {what}", 1, wide * width, Constant(rows), FP32)
        for name, width in widths
        for what in ("key", "score")
    )
    return (*cache.tensors(), *states)
