"""Attention layers that keep a window or a chunk of the tokens → their two tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.layers.attention import check_heads, key_and_value
from calculator.tensors import CurrentChunk, LastTokens, StateTensor
from calculator.units import MAX_TOKENS, checked_int


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
        check_heads(self.num_key_value_heads, self.head_dim, self.v_head_dim)
        checked_int("sliding_window", self.sliding_window, at_most=MAX_TOKENS)

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
        check_heads(self.num_key_value_heads, self.head_dim, self.v_head_dim)
        checked_int("attention_chunk_size", self.attention_chunk_size, at_most=MAX_TOKENS)

    def tensors(self) -> tuple[StateTensor, ...]:
        growth = CurrentChunk(self.attention_chunk_size)
        return key_and_value(self.num_key_value_heads, self.head_dim, self.v_head_dim, growth)
