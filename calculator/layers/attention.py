"""Attention layers that store a key and a value a head → their two tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.tensors import (
    CurrentChunk,
    EncoderTokens,
    EveryToken,
    Growth,
    LastTokens,
    StateTensor,
)
from calculator.units import MAX_TOKENS, checked_int


def key_and_value(
    heads: int, head_dim: int, v_head_dim: int | None, growth: Growth
) -> tuple[StateTensor, ...]:
    """K and V of shape (batch, num_key_value_heads, slots, head_dim); V may be of another width."""
    return (
        StateTensor("key", heads, head_dim, growth, "key"),
        StateTensor("value", heads, v_head_dim or head_dim, growth, "value"),
    )


@dataclass(frozen=True, slots=True)
class FullAttention:
    """Every token stays: 2 × T × num_key_value_heads × head_dim × b bytes (MHA, GQA, MQA).

    `num_attention_heads` is given where some engine's code caches one for every query head instead
    (transformers' of Falcon).

    Source: Ainslie et al., GQA, arXiv:2305.13245; transformers `DynamicLayer`.
    """

    label: ClassVar[str] = "Full attention"
    letter: ClassVar[str] = "F"

    kind: Literal["full_attention"]
    num_key_value_heads: int
    head_dim: int
    v_head_dim: int | None = None
    num_attention_heads: int | None = None

    def __post_init__(self) -> None:
        check_heads(self)

    def tensors(self) -> tuple[StateTensor, ...]:
        return key_and_value(self.num_key_value_heads, self.head_dim, self.v_head_dim, EveryToken())


@dataclass(frozen=True, slots=True)
class SlidingAttention:
    """The last W tokens stay: 2 × min(T, W) × num_key_value_heads × head_dim × b bytes.

    Source: Mistral 7B, arXiv:2310.06825 §2 (rolling buffer of W slots).
    """

    label: ClassVar[str] = "Sliding window"
    letter: ClassVar[str] = "S"

    kind: Literal["sliding_attention"]
    num_key_value_heads: int
    head_dim: int
    sliding_window: int
    v_head_dim: int | None = None

    def __post_init__(self) -> None:
        check_heads(self)

    def tensors(self) -> tuple[StateTensor, ...]:
        growth = LastTokens(self.sliding_window)
        return key_and_value(self.num_key_value_heads, self.head_dim, self.v_head_dim, growth)


@dataclass(frozen=True, slots=True)
class ChunkedAttention:
    """The current chunk stays: 2 × min(T, chunk) × num_key_value_heads × head_dim × b bytes.

    Source: transformers `configuration_llama4.py`, `attention_chunk_size`.
    """

    label: ClassVar[str] = "Chunked attention"
    letter: ClassVar[str] = "S"

    kind: Literal["chunked_attention"]
    num_key_value_heads: int
    head_dim: int
    attention_chunk_size: int
    v_head_dim: int | None = None

    def __post_init__(self) -> None:
        check_heads(self)

    def tensors(self) -> tuple[StateTensor, ...]:
        growth = CurrentChunk(self.attention_chunk_size)
        return key_and_value(self.num_key_value_heads, self.head_dim, self.v_head_dim, growth)


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Keys and values of the encoder's output: 2 × S × num_key_value_heads × head_dim × b bytes.

    Source: Vaswani et al., arXiv:1706.03762 §3.2.3; transformers `EncoderDecoderCache`.
    """

    label: ClassVar[str] = "Cross attention"
    letter: ClassVar[str] = "X"

    kind: Literal["cross_attention"]
    num_key_value_heads: int
    head_dim: int
    v_head_dim: int | None = None

    def __post_init__(self) -> None:
        check_heads(self)

    def tensors(self) -> tuple[StateTensor, ...]:
        names = ("cross key", "cross value")
        pair = key_and_value(
            self.num_key_value_heads, self.head_dim, self.v_head_dim, EncoderTokens()
        )
        return tuple(
            StateTensor(name, t.heads, t.width, t.growth, t.dtype)
            for name, t in zip(names, pair, strict=True)
        )


AttentionCache = FullAttention | SlidingAttention | ChunkedAttention | CrossAttention


def check_heads(cache: AttentionCache) -> None:
    checked_int("num_key_value_heads", cache.num_key_value_heads, at_most=2**20)
    checked_int("head_dim", cache.head_dim, at_most=2**20)
    if cache.v_head_dim is not None:
        checked_int("v_head_dim", cache.v_head_dim, at_most=2**20)
    match cache:
        case FullAttention():
            if cache.num_attention_heads is not None:
                checked_int("num_attention_heads", cache.num_attention_heads, at_most=2**20)
        case SlidingAttention():
            checked_int("sliding_window", cache.sliding_window, at_most=MAX_TOKENS)
        case ChunkedAttention():
            checked_int("attention_chunk_size", cache.attention_chunk_size, at_most=MAX_TOKENS)
