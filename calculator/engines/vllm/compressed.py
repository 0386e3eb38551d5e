"""DeepSeek-V4's compressed attention → the caches vLLM keeps of a layer, each with its blocks."""

from __future__ import annotations

from typing import NamedTuple

from calculator.dtypes import Dtype
from calculator.engines.vllm.formats import BF16, FP8, FP32
from calculator.engines.vllm.spec import Kept, Layout, Rule, Spec, Stored, page_bytes
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers.compressed import CompressedAttention
from calculator.model import ModelSpec
from calculator.tensors import EveryNthToken, Growth, LastTokens, StateTensor
from calculator.units import round_up

BACKEND = "FLASHMLA_SPARSE_DSV4"
BLOCK_SIZE = 256  # deepseek_v4/sparse_mla.py:get_supported_kernel_block_sizes
WINDOW_BLOCK = 64  # sparse_swa.py:DeepseekV4SWACache
STATE_BLOCKS = {4: 4, 128: 8}  # deepseek_v4/compressor.py:CompressorStateCache
ALIGNMENT = 576  # bytes a page is rounded up to
SCALES = 8
ROPE = 64


class Part(NamedTuple):
    """One cache of a layer: how its blocks come and go, and what a slot holds."""

    rule: Rule
    reach: int
    block_size: int
    tensors: tuple[StateTensor, ...]


def parts_of(cache: CompressedAttention) -> tuple[Part, ...]:
    """The window, and for each group size the entries, the index keys and the open groups.

    An open group is kept as the projections of the last n tokens, 2n with the indexer, key and
    score, in fp32 (`deepseek_v4/compressor.py`, `deepseek_v4/attention.py`).
    """
    window, ratio, index = cache.sliding_window, cache.compress_ratio, cache.index_head_dim
    found = [Part("sliding", window, WINDOW_BLOCK, _row("window", LastTokens(window)))]
    if ratio is None:
        return tuple(found)
    groups = EveryNthToken(ratio)
    found.append(Part("full", 0, BLOCK_SIZE, _row("compressed", groups)))
    overlap = 1 if index is None else 2
    states = [("compressor state", cache.head_dim)]
    if index is not None:
        keys = (
            StateTensor("index key", 1, index, groups, FP8),
            StateTensor("index scale", 1, index // 128, groups, FP32),
        )
        found.append(Part("full", 0, BLOCK_SIZE, keys))
        states.append(("index compressor state", index))
    reach = overlap * ratio
    for name, width in states:
        state = StateTensor(name, 1, 2 * overlap * width, LastTokens(reach), FP32)
        found.append(Part("sliding", reach, STATE_BLOCKS[ratio], (state,)))
    return tuple(found)


def _row(name: str, growth: Growth) -> tuple[StateTensor, ...]:
    """584 bytes of a packed row: 448 in fp8, 64 with positions in bf16, 8 of scales."""
    return (
        StateTensor(f"{name} key", 1, 512 - ROPE, growth, FP8),
        StateTensor(f"{name} rope key", 1, ROPE, growth, BF16),
        StateTensor(f"{name} scales", 1, SCALES, growth, FP8),
    )


def layout_of(model: ModelSpec, ranks: int) -> Layout:
    """The same on every tensor rank: there is one head."""
    kept, specs = [], {}
    for layer_type, _, caches in model.layer_groups:
        nth = 0
        for cache in caches:
            for part in parts_of(_checked(cache)):
                stored = tuple(_stored(t, ranks) for t in part.tensors)
                kept.append(Kept(layer_type, nth, cache.kind, stored))
                specs[layer_type, nth] = _spec(part, stored)
                nth += 1
    return Layout(BACKEND, BLOCK_SIZE, tuple(kept), specs)


def check_flags(cache_type: str, block_size: int | None, backend: str | None, whole: bool) -> None:
    """Refuses what Hopper's kernels for it do not do (`_resolve_dsv4_kv_cache_dtype`)."""
    wrong = {
        "kv_cache_dtype": (cache_type, cache_type not in ("fp8", "fp8_ds_mla"), "fp8"),
        "block_size": (block_size, block_size not in (None, BLOCK_SIZE), BLOCK_SIZE),
        "attention_backend": (backend, backend is not None, "its own"),
        "disable_hybrid_kv_cache_manager": ("true", whole, "false"),
    }
    for field, (value, is_wrong, needed) in wrong.items():
        if is_wrong:
            raise InvalidInput(
                f"{field} is {value}; vLLM's compressed attention is computed for a Hopper GPU "
                f"and {needed} only.",
                field=field,
            )


def _checked(cache: object) -> CompressedAttention:
    """The one shape that the kernels' packed rows are made for."""
    if not isinstance(cache, CompressedAttention):
        raise UnsupportedModel(
            "What vLLM keeps of compressed attention beside other kinds of layer is not computed "
            "(calculator/engines/vllm/compressed.py would do it).",
            field="engine",
        )
    shape = (cache.num_key_value_heads, cache.head_dim)
    ratio, index = cache.compress_ratio, cache.index_head_dim
    known = ratio is None or (ratio == 4 and index == 128) or (ratio == 128 and index is None)
    if shape != (1, 512) or not known:
        raise UnsupportedModel(
            f"compress_ratio is {ratio} with {shape[0]} head of {shape[1]}; vLLM's rows are for "
            "one head of 512, in groups of 4 with an indexer of 128, or of 128 without.",
            field="engine",
        )
    return cache


def _stored(tensor: StateTensor, ranks: int) -> Stored:
    assert isinstance(tensor.dtype, Dtype)
    return Stored(tensor, tensor.dtype, ranks, tensor.dtype.row_bytes(tensor.width))


def _spec(part: Part, stored: tuple[Stored, ...]) -> Spec:
    shape = ("latent", *((s.tensor.name, s.tensor.width, s.tensor.growth) for s in stored))
    page = page_bytes(stored, part.block_size, part.rule)
    return Spec(part.rule, shape, part.block_size, page, round_up(page, ALIGNMENT), part.reach)
