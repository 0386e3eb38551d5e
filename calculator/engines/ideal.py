"""The reference: every token one slot, no blocks, no padding, nothing reserved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calculator.engines.base import Engine
from calculator.model import ModelSpec
from calculator.request import Request


@dataclass(frozen=True, slots=True)
class Ideal(Engine):
    """What the architecture needs and no engine can go below without changing what is stored.

    A sliding layer keeps min(T, W) slots, a chunked one min(T, chunk); MLA one latent and one rope
    tensor in the key's type; recurrent states fp32; convolutions kernel − 1 columns in the model's
    type; cross-attention one slot an encoder token; shared layers nothing.
    """

    engine: ClassVar[str] = "ideal"
    context_parallel: ClassVar[bool] = True

    def assumptions(self, model: ModelSpec, request: Request) -> tuple[str, ...]:
        kinds = {c.kind for g in model.layer_groups for c in g.caches}
        parts = ["every token one slot, no blocks, no padding"]
        if "sliding_attention" in kinds:
            parts.append("a sliding layer keeps min(T, window)")
        if "chunked_attention" in kinds:
            parts.append("a chunked layer counts the most its chunk holds")
        if "compressed_attention" in kinds:
            parts.append("a compressed entry counts once its group of tokens is complete")
        if kinds & _RECURRENT:
            parts.append(
                "recurrent states in fp32, convolutions kernel − 1 columns in the model's type"
            )
        return (f"Engine ideal: {'; '.join(parts)}.",)


_RECURRENT = {
    "mamba1", "mamba2", "gated_delta_net", "kimi_delta_attention", "lightning_attention",
    "short_convolution", "wkv",
}  # fmt: skip
