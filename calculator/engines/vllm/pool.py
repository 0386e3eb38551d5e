"""A model under vLLM's flags → specs of its layers, groups, and bytes of a block on each stage."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from calculator.dtypes import DTYPES
from calculator.engines.vllm import backends as choice
from calculator.engines.vllm import compressed
from calculator.engines.vllm.chosen import PLAIN_INDEX, backend_of
from calculator.engines.vllm.context import check_context_parallel
from calculator.engines.vllm.formats import BF16, FP32, AttentionCache, state_dtype
from calculator.engines.vllm.groups import Group, Layer, groups_of, kept_whole, packed_groups_of
from calculator.engines.vllm.kernels import BACKENDS, DEFAULT_BLOCK_SIZE, INDEXER, Backend
from calculator.engines.vllm.releases import refuse_unserved
from calculator.engines.vllm.spec import (
    Kept,
    Layout,
    Rule,
    Spec,
    Stored,
    Types,
    page_bytes,
    rule_of,
    stored,
)
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.model import ModelSpec
from calculator.parallel import Parallelism, stage_sizes
from calculator.units import ceil_div

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm

GDN_CHECKPOINT_TOKENS = 64  # gdn_attn.py:FLASHINFER_GDN_CHECKPOINT_ALIGNMENT
LATENT_HYBRID_TOKENS = 128  # interface.py:_align_hybrid_block_size


class Pool(NamedTuple):
    """Groups over one pool; stage s holds the layers from `starts[s]` up to `starts[s + 1]`."""

    backend: str
    block_size: int
    groups: tuple[Group, ...]
    buckets: tuple[tuple[Spec, int], ...]
    """A bucket's spec and the number of its groups, which all hold the same blocks of a request."""
    starts: tuple[int, ...]
    stage_bytes: tuple[int, ...]
    """Bytes of one block on each pipeline stage's devices: those of the largest group."""
    kept: tuple[Kept, ...]
    """What the members of the groups keep."""


@lru_cache(maxsize=1024)
def pool_of(engine: Vllm, model: ModelSpec, cache_type: str, parallelism: Parallelism) -> Pool:
    """The pool of one data replica: all ranks of a pipeline stage have the same one."""
    ranks, stages = parallelism.tensor_parallel_size, parallelism.pipeline_parallel_size
    context = parallelism.decode_context_parallel_size
    refuse_unserved(model, engine.release)
    caches = [(g.layer_type, i, c) for g in model.layer_groups for i, c in enumerate(g.caches)]
    if not caches:
        raise UnsupportedModel(f"{model.name} keeps no cache at all.", field="model")
    if context > 1:
        check_context_parallel([c for _, _, c in caches], ranks, context)
    off = engine.disable_hybrid_kv_cache_manager
    if any(isinstance(c, CompressedAttention) for _, _, c in caches):
        compressed.check_flags(cache_type, engine.block_size, engine.attention_backend, off)
        layout = compressed.layout_of(model, ranks)
        groups = packed_groups_of(_layers(model, layout))
    else:
        layout = _layout(engine, model, caches, cache_type, parallelism)
        layers = _layers(model, layout)
        groups = groups_of(kept_whole(layers) if off else layers)
    sizes = stage_sizes(model.num_hidden_layers, stages)
    starts = tuple(sum(sizes[:s]) for s in range(stages + 1))
    stage_bytes = tuple(
        max(g.page_bytes(starts[s], starts[s + 1]) for g in groups) for s in range(stages)
    )
    if not all(stage_bytes):
        raise InvalidInput(
            f"pipeline_parallel_size is {stages}; a stage of {model.name} would hold no cache.",
            field="pipeline_parallel_size",
        )
    counts = Counter(g.bucket for g in groups)
    buckets = tuple((next(g.spec for g in groups if g.bucket == b), n) for b, n in counts.items())
    return Pool(
        layout.backend, layout.block_size, groups, buckets, starts, stage_bytes, layout.kept
    )


def _layers(model: ModelSpec, layout: Layout) -> tuple[Layer, ...]:
    """Every cache of every layer, in the model's order."""
    by_type: dict[str, list[int]] = {}
    for part in layout.kept:
        by_type.setdefault(part.layer_type, []).append(part.nth)
    return tuple(
        Layer(position, layer_type, nth, layout.specs[layer_type, nth])
        for position, layer_type in enumerate(model.every_layer_type())
        for nth in by_type.get(layer_type, ())
    )


def _layout(
    engine: Vllm,
    model: ModelSpec,
    caches: list[tuple[str, int, LayerCache]],
    cache_type: str,
    parallelism: Parallelism,
) -> Layout:
    """One page a cache, each of what its layer keeps of a block's tokens."""
    ranks, context = parallelism.tensor_parallel_size, parallelism.decode_context_parallel_size
    backend, cache_type = backend_of(engine, model, cache_type, caches, context > 1)
    types = types_of(engine, model, cache_type)
    whole = engine.keeps_whole(model)
    kept = {(t, i): stored(c, types, whole, ranks) for t, i, c in caches}
    block_size, specs = _specs(engine, model, caches, kept, backend, cache_type)
    parts = tuple(Kept(t, i, c.kind, kept[t, i]) for t, i, c in caches)
    return Layout(backend, block_size, parts, specs)


def types_of(engine: Vllm, model: ModelSpec, cache_type: str) -> Types:
    """Element types: convolutions follow the model, states the convolutions but for some models.

    Source: `mamba_utils.py:MambaStateDtypeCalculator`; Nemotron-H and Qwen3.5 take the type their
    configuration names, fp32 in the published ones (`models/config.py`).
    """
    own = "bf16" if model.dtype == "fp32" else model.dtype
    convolution = state_dtype(engine.mamba_cache_dtype, field="mamba_cache_dtype") or DTYPES[own]
    state = state_dtype(engine.mamba_ssm_cache_dtype, field="mamba_ssm_cache_dtype")
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    if "lightning_attention" in kinds:
        return Types(cache_type, convolution, convolution)
    if "kimi_delta_attention" in kinds and state == DTYPES["fp16"]:
        raise InvalidInput(
            "mamba_ssm_cache_dtype is float16; vLLM keeps states of Kimi delta attention in "
            "float32 or bfloat16 only.",
            field="mamba_ssm_cache_dtype",
        )
    if model.model_type in PLAIN_INDEX:
        return Types(cache_type, convolution, convolution, index_keys=BF16)
    if state is None and ("kimi_delta_attention" in kinds or model.model_type in FP32_STATES):
        state = FP32
    return Types(cache_type, convolution, state or convolution)


# by the outer type: of a wrapper vLLM asks its own architecture, not the text part's, so that
# MiniCPM-V around Qwen3.5 follows the model's type (models/config.py:MODELS_CONFIG_MAP)
FP32_STATES = ("nemotron_h", "nemotron_h_puzzle", "qwen3_5", "qwen3_5_moe", "qwen3_5_text",
               "qwen3_5_moe_text")  # fmt: skip


def _specs(
    engine: Vllm,
    model: ModelSpec,
    caches: list[tuple[str, int, LayerCache]],
    kept: dict[tuple[str, int], tuple[Stored, ...]],
    backend_name: str,
    cache_type: str,
) -> tuple[int, dict[tuple[str, int], Spec]]:
    """Tokens of a block, and the spec of every cache of every layer type."""
    widths = {c.head_dim for _, _, c in caches if isinstance(c, AttentionCache)}
    backend = choice.reading(backend_name, cache_type, widths)
    rules = {(t, i): rule_of(c) for t, i, c in caches}
    used: tuple[Backend, ...] = (backend,)
    if any(isinstance(c, SparseIndexer) for _, _, c in caches):
        used = (backend, INDEXER) if backend.latent else (backend, BACKENDS["FLASH_ATTN"])
    attention = [key for key, rule in rules.items() if rule != "state"]
    block_size = DEFAULT_BLOCK_SIZE
    if attention:
        block_size = choice.preferred_block_size(used, engine.block_size)
    padded = 0
    states = [key for key, rule in rules.items() if rule == "state"]
    if attention and states:
        token = page_bytes(kept[attention[0]], 1, "full")
        state = max(page_bytes(kept[key], 1, "state") for key in states)
        block_size = hybrid_block_size(engine, model, backend, block_size, token, state)
        padded = block_size * token
    specs = {}
    for t, i, cache in caches:
        rule = rules[t, i]
        own = getattr(cache, "head_dim", 0)  # a window's block follows its own heads alone
        reads = choice.reading(backend_name, cache_type, (own,))
        specs[t, i] = _spec(engine, model, cache, kept[t, i], rule, block_size, reads, padded)
    return block_size, specs


def _spec(
    engine: Vllm,
    model: ModelSpec,
    cache: LayerCache,
    tensors: tuple[Stored, ...],
    rule: Rule,
    block_size: int,
    backend: Backend,
    padded: int,
) -> Spec:
    latent = isinstance(cache, LatentAttention | SparseIndexer)
    shape = (
        "latent" if latent else rule,
        *((s.tensor.heads, s.tensor.width, s.dtype.name, s.copies) for s in tensors),
    )
    reach = getattr(cache, "sliding_window", 0) or getattr(cache, "attention_chunk_size", 0)
    if rule == "sliding":
        block_size = backend.largest_within(block_size)
    page = page_bytes(tensors, block_size, rule)
    if rule == "state":
        return Spec(rule, shape, block_size, page, padded or page, 0, engine.state_blocks(model))
    return Spec(rule, shape, block_size, page, page, reach)


def hybrid_block_size(
    engine: Vllm,
    model: ModelSpec,
    backend: Backend,
    block_size: int,
    token_bytes: int,
    state_bytes: int,
) -> int:
    """Blocks large enough that a page of attention holds a whole state.

    Source: `interface.py:_align_hybrid_block_size`.
    """
    align = max(backend.smallest, block_size)
    if backend.latent:
        align = max(align, LATENT_HYBRID_TOKENS)
    if engine.prefix_caching(model):
        align = lcm(align, engine.checkpoint_tokens(model))
    needed = align * ceil_div(state_bytes, align * token_bytes)
    return max(block_size, backend.smallest * ceil_div(needed, backend.smallest))
