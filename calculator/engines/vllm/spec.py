"""A layer's cache → its tensors on all ranks, and the page that a block of it is on one rank."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from calculator.dtypes import DTYPES, Dtype
from calculator.engines.vllm.formats import attention_tensors, indexer_tensors, latent_tensors
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.compressed import CompressedAttention
from calculator.layers.cross import CrossAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.layers.recurrent import GatedDeltaNet, Mamba2
from calculator.layers.windows import ChunkedAttention, SlidingAttention
from calculator.parallel import replicas
from calculator.tensors import (
    Constant,
    CurrentChunk,
    EncoderTokens,
    EveryNthToken,
    EveryToken,
    Growth,
    LastTokens,
    StateTensor,
)

Rule: TypeAlias = Literal["full", "sliding", "chunked", "cross", "state"]
STATE_KINDS = frozenset(
    (
        "mamba1", "mamba2", "gated_delta_net", "kimi_delta_attention", "lightning_attention",
        "short_convolution",
    )
)  # fmt: skip


class Spec(NamedTuple):
    """What vLLM's planner knows of a layer on one rank; layers of equal specs share a group.

    `shape` tells specs of equal pages apart, as heads and widths do in `kv_cache_interface.py`.
    `reach` is the window or chunk. `states` are the state blocks a request may take at most.
    """

    rule: Rule
    shape: tuple[object, ...]
    block_size: int
    page_bytes: int
    padded_bytes: int
    reach: int = 0
    states: int = 0

    @property
    def latent(self) -> bool:
        return self.shape[0] == "latent"

    def resized(self, block_size: int) -> Spec:
        """The same layer with larger blocks, its page growing with them."""
        page = self.page_bytes // self.block_size * block_size
        return self._replace(block_size=block_size, page_bytes=page, padded_bytes=page)


class Stored(NamedTuple):
    """One tensor over all ranks: `copies` of it, and the bytes of a slot on one rank."""

    tensor: StateTensor
    dtype: Dtype
    copies: int
    rank_slot_bytes: int


class Kept(NamedTuple):
    """What the nth cache of a layer of some type keeps."""

    layer_type: str
    nth: int
    kind: str
    tensors: tuple[Stored, ...]


class Layout(NamedTuple):
    """Backend, tokens of a block, and what each cache of each layer type keeps, in which pages."""

    backend: str
    block_size: int
    kept: tuple[Kept, ...]
    specs: dict[tuple[str, int], Spec]


class Types(NamedTuple):
    """Element types decided: of keys and values, of convolutions, of recurrent states.

    `index_keys` is None for DeepSeek's packed row of fp8 keys and their scales.
    """

    cache: str
    convolution: Dtype
    state: Dtype
    index_keys: Dtype | None = None


def rule_of(cache: LayerCache) -> Rule:
    """How blocks of a layer's cache come and go."""
    match cache:
        case FullAttention() | LatentAttention() | SparseIndexer():
            return "full"
        case SlidingAttention():
            return "sliding"
        case ChunkedAttention():
            return "chunked"
        case CrossAttention():
            return "cross"
        case CompressedAttention():  # its window; its other parts are in compressed.py
            return "sliding"
    if cache.kind in STATE_KINDS:
        return "state"
    raise UnsupportedModel(
        f"What vLLM keeps of {cache.kind} is not computed yet "
        "(calculator/engines/vllm/spec.py would do it).",
        field="engine",
    )


def growth_of(cache: LayerCache, whole: bool) -> Growth:
    """How the slots of an attention cache grow; `whole` is a window or chunk kept whole."""
    match cache:
        case SlidingAttention() if not whole:
            return LastTokens(cache.sliding_window)
        case ChunkedAttention() if not whole:
            return CurrentChunk(cache.attention_chunk_size)
        case CrossAttention():
            return EncoderTokens()
        case _:
            return EveryToken()


def stored(cache: LayerCache, types: Types, whole: bool, ranks: int) -> tuple[Stored, ...]:
    """The tensors vLLM keeps of a layer's cache, spread over `ranks` tensor-parallel ranks.

    Heads are dealt to ranks, replicated where there are fewer (`config/model.py:get_num_kv_heads`);
    latents and index keys lie whole on every rank.
    """
    match cache:
        case LatentAttention():
            found = latent_tensors(cache, types.cache)
        case SparseIndexer():
            found = indexer_tensors(cache, types.index_keys)
        case FullAttention() | SlidingAttention() | ChunkedAttention() | CrossAttention():
            found = attention_tensors(cache, growth_of(cache, whole), types.cache)
        case _:
            return _states(cache, types, ranks)
    result = []
    for t in found:
        copies = replicas(t.heads, ranks, f"{cache.kind} {t.name}")
        dtype = t.dtype if isinstance(t.dtype, Dtype) else DTYPES[types.cache]
        slot_bytes = t.heads * dtype.row_bytes(t.width)
        result.append(Stored(t, dtype, copies, slot_bytes * copies // ranks))
    return tuple(result)


def _states(cache: LayerCache, types: Types, ranks: int) -> tuple[Stored, ...]:
    """Convolution windows and recurrent states, split by channels and heads (`mamba_utils.py`)."""
    result = []
    for t, copies in _dealt(cache, ranks):
        dtype = types.state if t.name == "recurrent state" else types.convolution
        if t.heads * copies % ranks:
            raise InvalidInput(
                f"tensor_parallel_size is {ranks}; vLLM splits the {t.heads:,} of the {t.name} of "
                f"{cache.kind} evenly, and they do not divide.",
                field="tensor_parallel_size",
            )
        slot_bytes = t.heads * dtype.row_bytes(t.width)
        result.append(Stored(t, dtype, copies, slot_bytes * copies // ranks))
    return tuple(result)


def _dealt(cache: LayerCache, ranks: int) -> tuple[tuple[StateTensor, int], ...]:
    """The tensors of a state and the copies of each; the one group of a Mamba-2 is on every rank.

    Source: `mamba_utils.py:MambaStateShapeCalculator.extra_groups_for_head_shards`; vLLM does that
    only for one group (`mamba_mixer2.py:MambaMixer2.__init__`).
    """
    found = cache.tensors()
    if isinstance(cache, GatedDeltaNet) and cache.linear_num_key_heads % ranks:
        raise InvalidInput(
            f"tensor_parallel_size is {ranks}; vLLM needs the {cache.linear_num_key_heads} key "
            "heads of the gated delta net to divide by it.",
            field="tensor_parallel_size",
        )
    if not isinstance(cache, Mamba2) or cache.n_groups % ranks == 0:
        return tuple((t, 1) for t in found)
    if cache.n_groups != 1:
        raise InvalidInput(
            f"tensor_parallel_size is {ranks}; vLLM needs n_groups, {cache.n_groups}, to be 1 or "
            "to divide by it.",
            field="tensor_parallel_size",
        )
    convolution, state = found
    own = convolution._replace(heads=cache.num_heads * cache.head_dim)
    group = convolution._replace(name="group convolution", heads=2 * cache.state_size)
    return ((own, 1), (group, ranks), (state, 1))


def page_bytes(tensors: tuple[Stored, ...], block_size: int, rule: Rule) -> int:
    """Bytes of a block on one rank: of `block_size` tokens, or of one whole state."""
    if rule == "state":
        return sum(s.rank_slot_bytes * slots_of_block(s.tensor.growth, 1) for s in tensors)
    return sum(s.rank_slot_bytes * slots_of_block(s.tensor.growth, block_size) for s in tensors)


def slots_of_block(growth: Growth, tokens: int) -> int:
    """Slots in a block of so many tokens: a state's own, one for n tokens of compressed entries."""
    if isinstance(growth, Constant):
        return growth.num_slots
    return tokens // growth.stride if isinstance(growth, EveryNthToken) else tokens
