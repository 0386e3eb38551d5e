"""The vocabulary of a cache: how wide a tensor's slots are, and how they grow with tokens.

Two words are kept apart everywhere: tokens *seen* by the model, slots *stored* in memory.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from calculator.dtypes import Dtype


# Named tuples, not dataclasses: to define so many dataclasses would cost a tenth of a whole
# `kvcalc estimate`. Each carries its rule, since tuples of equal values are equal whatever they
# are called.
class EveryToken(NamedTuple):
    """One slot for every token seen."""

    rule: Literal["every_token"] = "every_token"


class EveryNthToken(NamedTuple):
    """One slot for every `stride` tokens seen, stored once its group is complete."""

    stride: int
    rule: Literal["every_nth_token"] = "every_nth_token"


class OpenGroup(NamedTuple):
    """A slot for each token of the group of `stride` that is not complete yet: T mod stride."""

    stride: int
    rule: Literal["open_group"] = "open_group"


class LastGroup(NamedTuple):
    """A slot for each token of the last complete group of `stride`; none before there is one."""

    stride: int
    rule: Literal["last_group"] = "last_group"


class LastTokens(NamedTuple):
    """A slot for each of the last `window` tokens."""

    window: int
    rule: Literal["last_tokens"] = "last_tokens"


class CurrentChunk(NamedTuple):
    """A slot for each token of the current chunk; counted at the most it holds."""

    chunk: int
    rule: Literal["current_chunk"] = "current_chunk"


class EncoderTokens(NamedTuple):
    """One slot for every token of the encoder's input, written once."""

    rule: Literal["encoder_tokens"] = "encoder_tokens"


class Constant(NamedTuple):
    """A fixed number of slots, whatever the length."""

    num_slots: int = 1
    rule: Literal["constant"] = "constant"


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


class StateTensor(NamedTuple):
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
