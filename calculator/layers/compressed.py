"""Attention over compressed groups of tokens, beside a window of plain ones → its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.tensors import EveryNthToken, LastTokens, StateTensor
from calculator.units import MAX_TOKENS, checked_int


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """Keys that serve as values too: the last W tokens, and one entry for every n tokens.

    bytes = (min(T, W) + ⌊T ÷ n⌋) × num_key_value_heads × head_dim × b
          + ⌊T ÷ n⌋ × index_head_dim × b, where an indexer chooses among the entries

    `compress_ratio` n is None on a layer that keeps its window alone.
    Valid when a group is stored once it is complete; the buffers an implementation holds for the
    group being filled are its own and not counted here.
    Source: transformers `modeling_deepseek_v4.py`; DeepSeek-V4 configuration `compress_ratios`.
    """

    label: ClassVar[str] = "Compressed attention"
    letter: ClassVar[str] = "C"

    kind: Literal["compressed_attention"]
    num_key_value_heads: int
    head_dim: int
    sliding_window: int
    compress_ratio: int | None = None
    index_head_dim: int | None = None

    def __post_init__(self) -> None:
        checked_int("num_key_value_heads", self.num_key_value_heads, at_most=2**20)
        checked_int("head_dim", self.head_dim, at_most=2**20)
        checked_int("sliding_window", self.sliding_window, at_most=MAX_TOKENS)
        for name in ("compress_ratio", "index_head_dim"):
            value = getattr(self, name)
            if value is not None:
                checked_int(name, value, at_most=2**20)

    def tensors(self) -> tuple[StateTensor, ...]:
        heads, width = self.num_key_value_heads, self.head_dim
        window = StateTensor("window key", heads, width, LastTokens(self.sliding_window), "key")
        if self.compress_ratio is None:
            return (window,)
        groups = EveryNthToken(self.compress_ratio)
        entries = StateTensor("compressed key", heads, width, groups, "key")
        if self.index_head_dim is None:
            return (window, entries)
        return (window, entries, StateTensor("index key", 1, self.index_head_dim, groups, "key"))
