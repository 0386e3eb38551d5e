"""The vocabulary of a cache: a state tensor says how wide a slot is and how its slots grow with tokens.

Two words are kept apart everywhere: tokens *seen* by the model, slots *stored* in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from calculator.dtypes import Dtype
from calculator.units import MAX_TOKENS, checked_int


@dataclass(frozen=True, slots=True)
class EveryToken:
    """One slot for every token seen."""


@dataclass(frozen=True, slots=True)
class EveryNthToken:
    """One slot for every `stride` tokens seen, stored once its group is complete."""

    stride: int

    def __post_init__(self) -> None:
        checked_int("stride", self.stride, at_most=MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """A slot for each token of the group of `stride` that is not complete yet: T mod stride."""

    stride: int

    def __post_init__(self) -> None:
        checked_int("stride", self.stride, at_most=MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class LastGroup:
    """One slot for the last complete group of `stride` tokens; none before there is one."""

    stride: int

    def __post_init__(self) -> None:
        checked_int("stride", self.stride, at_most=MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class LastTokens:
    """A slot for each of the last `window` tokens."""

    window: int

    def __post_init__(self) -> None:
        checked_int("sliding_window", self.window, at_most=MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class CurrentChunk:
    """A slot for each token of the current chunk; counted at the most it holds."""

    chunk: int

    def __post_init__(self) -> None:
        checked_int("attention_chunk_size", self.chunk, at_most=MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class EncoderTokens:
    """One slot for every token of the encoder's input, written once."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A fixed number of slots, whatever the length."""

    num_slots: int = 1

    def __post_init__(self) -> None:
        checked_int("num_slots", self.num_slots, at_least=0)


Growth: TypeAlias = (
    EveryToken
    | EveryNthToken
    | OpenGroup
    | LastGroup
    | LastTokens
    | CurrentChunk
    | EncoderTokens
    | Constant
)
Follows: TypeAlias = Literal["key", "value", "model"]


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One tensor a layer keeps: shape (batch, heads, slots, width).

    `heads` are the units that tensor parallelism may split: cached (grouped-query) heads of an
    attention layer, value heads or channels of a recurrent one, 1 where nothing can be split.
    `dtype` is a fixed element type, or whose it follows: the request's key or value type, or the
    model's.
    """

    name: str
    heads: int
    width: int
    growth: Growth
    dtype: Dtype | Follows
