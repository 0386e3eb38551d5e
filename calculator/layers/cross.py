"""Cross-attention layers, which keep what the encoder put out → their two tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.layers.attention import check_heads, key_and_value
from calculator.tensors import EncoderTokens, StateTensor


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
        check_heads(self.num_key_value_heads, self.head_dim, self.v_head_dim)

    def tensors(self) -> tuple[StateTensor, ...]:
        names = ("cross key", "cross value")
        pair = key_and_value(
            self.num_key_value_heads, self.head_dim, self.v_head_dim, EncoderTokens()
        )
        return tuple(
            StateTensor(name, t.heads, t.width, t.growth, t.dtype)
            for name, t in zip(names, pair, strict=True)
        )
