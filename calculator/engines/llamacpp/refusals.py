"""Cache types and a model → refused where llama.cpp refuses, with its reason."""

from __future__ import annotations

from functools import lru_cache

from calculator.dtypes import DTYPES
from calculator.engines.llamacpp.architectures import HEADLESS_LAYERS, architecture
from calculator.engines.llamacpp.stored import heads_of
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.model import ModelSpec

GGML_NAMES = {"fp32": "f32", "fp16": "f16"}


@lru_cache(maxsize=4096)
def check(model: ModelSpec, key: str, value: str, flash_attn: bool) -> None:
    """Source: llama-context.cpp:llama_init_from_model, in its order."""
    caches = [c for g in model.layer_groups for c in g.caches]
    name = architecture(model.model_type)
    if key != value and any(_keys_only(c, model) for c in caches):
        _refuse(
            "model does not support different "
            f"K ({_ggml(key)}) and V ({_ggml(value)}) cache types", "type_v",
        )  # fmt: skip
    if _quantised(value) and not flash_attn:
        _refuse("quantized V cache requires flash_attn to be enabled", "type_v")
    if not flash_attn and name in HEADLESS_LAYERS and any(not g.caches for g in model.layer_groups):
        raise UnsupportedModel(
            "Without flash_attn llama.cpp keeps padded values in layers that have no heads; that "
            "is not computed.",
            field="flash_attn",
        )
    for kind, type_, widths in (
        ("K", key, [w for c in caches for w in _key_widths(c, model)]),
        ("V", value, [w for c in caches for w in _value_widths(c, model)]),
    ):
        block = DTYPES[type_].block_elements
        for width in widths:
            if width % block:
                _refuse(
                    f"{kind} cache type {_ggml(type_)} with block size {block} does not divide "
                    f"n_embd_head_{kind.lower()}={width}", f"type_{kind.lower()}",
                )  # fmt: skip


def _keys_only(cache: object, model: ModelSpec) -> bool:
    if isinstance(cache, LatentAttention):
        return heads_of(cache, model) is None
    return isinstance(cache, CompressedAttention)


def _key_widths(cache: object, model: ModelSpec) -> list[int]:
    match cache:
        case LatentAttention() if heads_of(cache, model) is None:
            return [cache.kv_lora_rank + cache.qk_rope_head_dim]
        case SparseIndexer():
            return [cache.index_head_dim]
        case CompressedAttention():
            return [cache.head_dim, *([cache.index_head_dim] if cache.index_head_dim else [])]
        case _:
            found = heads_of(cache, model)  # type: ignore[arg-type]
            return [found[1]] if found else []


def _value_widths(cache: object, model: ModelSpec) -> list[int]:
    match cache:
        case LatentAttention() if heads_of(cache, model) is None:
            return [cache.kv_lora_rank]
        case _:
            found = heads_of(cache, model)  # type: ignore[arg-type]
            return [found[2]] if found else []


def _quantised(name: str) -> bool:
    return DTYPES[name].block_elements > 1


def _ggml(name: str) -> str:
    return GGML_NAMES.get(name, name)


def _refuse(reason: str, field: str) -> None:
    raise InvalidInput(f"llama.cpp refuses: {reason}.", field=field)
