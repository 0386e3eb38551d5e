"""Figures of a configuration → layer types in order, and what each type keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from calculator.errors import InvalidInput
from calculator.importers.hf_config.reader import Reader
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.windows import ChunkedAttention, SlidingAttention

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
CROSS: Final = "cross_attention"
LINEAR, CONV, SHARED, NOTHING = "linear_attention", "conv", "shared", "mlp"

# transformers/configuration_utils.py, `_LEGACY_LAYER_TYPE_REMAP`
_OLD_NAMES = {
    "mamba": LINEAR,
    "attention": FULL,
    "deepseek_sparse_attention": "indexed_attention",
    "qwen_sparse_attention": "indexed_attention",
}


Makers: TypeAlias = Mapping[str, Callable[[], tuple[LayerCache, ...]]]


class Layers(NamedTuple):
    """The type of every layer, and for each type its caches."""

    layer_types: tuple[str, ...]
    caches: Mapping[str, tuple[LayerCache, ...]]


class Heads(NamedTuple):
    """What an attention layer caches for a token: so many keys and values of these widths."""

    num_key_value_heads: int
    head_dim: int
    v_head_dim: int | None = None

    def full(self) -> FullAttention:
        return FullAttention(FULL, *self)

    def sliding(self, window: int) -> SlidingAttention:
        heads, head_dim, v_head_dim = self
        return SlidingAttention(SLIDING, heads, head_dim, window, v_head_dim)

    def chunked(self, chunk: int) -> ChunkedAttention:
        heads, head_dim, v_head_dim = self
        return ChunkedAttention(CHUNKED, heads, head_dim, chunk, v_head_dim)


def every_layer(layer_type: str, num_layers: int, *caches: LayerCache) -> Layers:
    """All layers alike."""
    return Layers((layer_type,) * num_layers, {layer_type: caches})


def by_type(layer_types: Iterable[str], makers: Makers) -> Layers:
    """Caches of those types that occur, so that a window nobody uses need not be there."""
    types = tuple(layer_types)
    return Layers(types, {t: makers[t]() for t in dict.fromkeys(types)})


def attention_by_type(
    r: Reader, layer_types: Iterable[str], heads: Heads, window: str = "sliding_window"
) -> Layers:
    """Layers of full, sliding and chunked attention with the same heads."""
    return by_type(
        layer_types,
        {
            FULL: lambda: (heads.full(),),
            SLIDING: lambda: (heads.sliding(r.tokens(window)),),
            CHUNKED: lambda: (heads.chunked(r.tokens("attention_chunk_size")),),
        },
    )


def listed_layer_types(
    r: Reader, num_layers: int, known: tuple[str, ...], key: str = "layer_types"
) -> tuple[str, ...] | None:
    """`layer_types` as the file lists them, under today's names; None where it does not."""
    listed = r.list_or_none(key)
    if listed is None:
        return None
    types = tuple(_OLD_NAMES.get(t, t) if isinstance(t, str) else t for t in listed)
    for t in types:
        if t not in known:
            r.unsupported(key, t, f"the layer types of {r.model_type} are {', '.join(known)}")
    if len(types) != num_layers:
        raise InvalidInput(
            f"{r.prefix}{key} has {len(types):,} entries for {num_layers:,} layers; "
            "expected one for each.",
            field=key,
        )
    return types


def class_pattern(r: Reader, num_layers: int, period: int, other: str = SLIDING) -> tuple[str, ...]:
    """Full attention in every `period`-th layer, as the class has it where the file is silent."""
    r.class_rule("layer_types", f"full attention in every {ordinal(period)} layer")
    return full_every(num_layers, period, other)


def ordinal(number: int) -> str:
    """2 → second … 6 → sixth; other numbers with their ending."""
    names = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
    return names.get(number, f"{number}th")


def full_every(num_layers: int, period: int, other: str = SLIDING) -> tuple[str, ...]:
    """Full attention in every `period`-th layer, counted from 1.

    >>> full_every(4, 2)
    ('sliding_attention', 'full_attention', 'sliding_attention', 'full_attention')
    """
    return tuple(other if (i + 1) % period else FULL for i in range(num_layers))


def attention_heads(
    r: Reader,
    *,
    heads: tuple[str, ...] = ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    kv_heads: tuple[str, ...] = ("num_key_value_heads",),
    head_dim: tuple[str, ...] = ("head_dim",),
    hidden: tuple[str, ...] = ("hidden_size", "n_embd", "d_model"),
) -> Heads:
    """Cached heads and their width: grouped-query heads, else as many as query heads."""
    num_heads = r.count(*heads)
    num_kv_heads = r.count_or_none(*kv_heads) if kv_heads else None
    if num_kv_heads is None:
        num_kv_heads = num_heads
        r.derived("num_key_value_heads", heads[0])
    check_divides(r, num_kv_heads, num_heads)
    width = r.count_or_none(*head_dim) if head_dim else None
    if width is None:
        width = derived_head_dim(r, num_heads, hidden)
    return Heads(num_kv_heads, width)


def check_divides(r: Reader, num_kv_heads: int, num_heads: int) -> None:
    if num_heads % num_kv_heads:
        raise InvalidInput(
            f"{r.prefix}num_key_value_heads is {num_kv_heads:,}; "
            f"it does not divide the {num_heads:,} attention heads.",
            field="num_key_value_heads",
        )


def derived_head_dim(r: Reader, num_heads: int, hidden: tuple[str, ...]) -> int:
    """hidden_size ÷ num_attention_heads, which must come out even."""
    hidden_size = r.count(*hidden)
    if hidden_size % num_heads:
        raise InvalidInput(
            f"{r.prefix}{hidden[0]} is {hidden_size:,}, no multiple of the {num_heads:,} "
            "attention heads, and there is no head_dim.",
            field=hidden[0],
        )
    r.derived("head_dim", f"{hidden[0]} / num_attention_heads")
    return hidden_size // num_heads
