"""Cache types, a context and a model → refused where llama.cpp refuses, with its reason."""

from __future__ import annotations

from functools import lru_cache
from typing import NoReturn

from calculator.dtypes import DTYPES
from calculator.engines.llamacpp.architectures import (
    HEADLESS_LAYERS,
    SHARED_LAYERS_UNKNOWN,
    UNEVEN_BATCH_ABORTS,
    architecture,
)
from calculator.engines.llamacpp.cells import Cells
from calculator.engines.llamacpp.command import GGML_NAMES
from calculator.engines.llamacpp.stored import heads_of, stored
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request


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
    if DTYPES[value].block_elements > 1 and not flash_attn:
        _refuse("quantized V cache requires flash_attn to be enabled", "type_v")
    some_keep_nothing = any(not g.caches for g in model.layer_groups)
    if some_keep_nothing and name in SHARED_LAYERS_UNKNOWN:
        raise UnsupportedModel(
            f"{model.name} shares caches between layers; llama.cpp does not run such "
            f"{model.model_type} models.",
            field="model_type",
        )
    if not flash_attn and some_keep_nothing and name in HEADLESS_LAYERS:
        raise UnsupportedModel(
            "Without flash_attn llama.cpp keeps padded values in layers that have no heads; that "
            "is not computed.",
            field="flash_attn",
        )
    if flash_attn:
        for cache in caches:
            _check_head(cache, model, "K", key, 0)
        for cache in caches:
            _check_head(cache, model, "V", value, 1)
    _check_rows(caches, model, key, flash_attn)


def check_context(cells: Cells, model: ModelSpec) -> None:
    """Sizes with which llama.cpp ends itself while it sets up its graphs."""
    if cells.n_seq_max > cells.n_batch:
        _abort(
            f"n_seq_max {cells.n_seq_max} is more than n_batch {cells.n_batch}, which is at most "
            "n_ctx", "n_outputs_max <= cparams.n_outputs_max", "n_seq_max",
        )  # fmt: skip
    if cells.unified or cells.n_ubatch % cells.n_seq_max == 0:
        return
    if architecture(model.model_type) in UNEVEN_BATCH_ABORTS:
        _abort(
            f"n_ubatch {cells.n_ubatch} is no multiple of n_seq_max {cells.n_seq_max}, as "
            f"{model.model_type} models need without kv_unified", "ggml_can_repeat(b, a)",
            "n_ubatch",
        )  # fmt: skip


def _keys_only(cache: LayerCache, model: ModelSpec) -> bool:
    if isinstance(cache, LatentAttention):
        return heads_of(cache, model) is None
    return isinstance(cache, CompressedAttention)


def _check_head(cache: LayerCache, model: ModelSpec, kind: str, type_: str, which: int) -> None:
    """Flash attention reads whole blocks of a head."""
    match cache:
        case LatentAttention() if _keys_only(cache, model):
            widths = (cache.kv_lora_rank + cache.qk_rope_head_dim, cache.kv_lora_rank)
        case CompressedAttention():
            widths = (cache.head_dim, cache.head_dim)
        case _:
            found = heads_of(cache, model)
            if found is None:
                return
            widths = found[1:]
    block = DTYPES[type_].block_elements
    if widths[which] % block:
        _refuse(
            f"{kind} cache type {_ggml(type_)} with block size {block} does not divide "
            f"n_embd_head_{kind.lower()}={widths[which]}", f"type_{kind.lower()}",
        )  # fmt: skip


def _check_rows(caches: list[LayerCache], model: ModelSpec, key: str, flash_attn: bool) -> None:
    """A row, all heads of a token together, is stored in whole blocks."""
    block = DTYPES[key].block_elements
    for tensor in (t for c in caches for t in stored(c, model, flash_attn)):
        if tensor.dtype == "key" and tensor.heads * tensor.width % block:
            _abort(
                f"a row of {tensor.heads * tensor.width} elements ({tensor.name}) is no multiple "
                f"of the block size {block} of {_ggml(key)}", "data_size + view_offs <= "
                "ggml_nbytes(view_src)", "type_k",
            )  # fmt: skip


def _ggml(name: str) -> str:
    return GGML_NAMES.get(name, name)


def _refuse(reason: str, field: str) -> NoReturn:
    raise InvalidInput(f"llama.cpp refuses: {reason}.", field=field)


def _abort(what: str, assertion: str, field: str) -> NoReturn:
    raise InvalidInput(f"llama.cpp aborts: {what} (GGML_ASSERT {assertion}).", field=field)


def refuse_split(parallelism: Parallelism, request: Request) -> None:
    why = {
        "tensor_parallel_size": "how llama.cpp splits rows over devices is not computed",
        "pipeline_parallel_size": "llama.cpp deals layers by the free memory of each device",
    }
    for name, reason in why.items():
        if getattr(parallelism, name) > 1:
            raise InvalidInput(f"{name} is {getattr(parallelism, name)}; {reason}.", field=name)
    if request.shared_prefix_len:
        raise InvalidInput(
            f"shared_prefix_len is {request.shared_prefix_len}; llama-server keeps every slot's "
            "prompt whole.",
            field="shared_prefix_len",
        )
