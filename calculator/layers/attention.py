"""Attention over every token → a key and a value tensor; windows and cross attention use both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.tensors import EveryToken, Growth, StateTensor
from calculator.units import checked_int


def key_and_value(
    heads: int, head_dim: int, v_head_dim: int | None, growth: Growth
) -> tuple[StateTensor, ...]:
    """K and V of shape (batch, num_key_value_heads, slots, head_dim); V may be of another width."""
    return (
        StateTensor("key", heads, head_dim, growth, "key"),
        StateTensor("value", heads, v_head_dim or head_dim, growth, "value"),
    )


def check_heads(num_key_value_heads: int, head_dim: int, v_head_dim: int | None) -> None:
    """What every such layer has; a `v_head_dim` of None is the key's."""
    checked_int("num_key_value_heads", num_key_value_heads, at_most=2**20)
    checked_int("head_dim", head_dim, at_most=2**20)
    if v_head_dim is not None:
        checked_int("v_head_dim", v_head_dim, at_most=2**20)


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
        check_heads(self.num_key_value_heads, self.head_dim, self.v_head_dim)
        if self.num_attention_heads is not None:
            checked_int("num_attention_heads", self.num_attention_heads, at_most=2**20)

    def tensors(self) -> tuple[StateTensor, ...]:
        return key_and_value(self.num_key_value_heads, self.head_dim, self.v_head_dim, EveryToken())
