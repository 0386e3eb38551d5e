"""Keys and values in full → the same as a smaller element type would give them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from calculator.dtypes import DTYPES
from calculator.verify.generation import generate_with_cache
from calculator.verify.reference_model import Decoder

if TYPE_CHECKING:
    from torch import Tensor

    from calculator.verify.generation import Generated

BLOCK = 32


class Loss(NamedTuple):
    """What a smaller cache changed in one run."""

    dtype: str
    max_abs_logit_change: float
    tokens_until_divergence: int | None
    """New tokens that were the same before the first other one; None if all were."""


def loss(model: Decoder, prompt: Tensor, exact: Generated, dtype: str) -> Loss:
    """Logits along the exact text, and how long the tokens stay those of the exact cache."""
    rounding, count = ROUNDINGS[dtype], exact.tokens.shape[1]
    along = generate_with_cache(model, prompt, count, rounding=rounding, forced=exact.tokens)
    free = generate_with_cache(model, prompt, count, rounding=rounding)
    other = (free.tokens != exact.tokens).any(0).nonzero()
    return Loss(
        dtype,
        float((along.logits - exact.logits).abs().max()),
        int(other[0]) if len(other) else None,
    )


def fp8(tensor: Tensor) -> Tensor:
    """Cast to e4m3 and back, no scale."""
    import torch

    return tensor.to(torch.float8_e4m3fn).to(tensor.dtype)


def int8(tensor: Tensor) -> Tensor:
    """A scale for each head's row of a token: the largest magnitude becomes 127."""
    scale = tensor.abs().amax(-1, keepdim=True).div(127).clamp(min=1e-12)
    return tensor.div(scale).round() * scale


def q8_0(tensor: Tensor) -> Tensor:
    """ggml's blocks of 32: an fp16 scale, the largest magnitude becomes 127."""
    import torch

    blocks = tensor.unflatten(-1, (-1, BLOCK))
    scale = blocks.abs().amax(-1, keepdim=True).div(127)
    steps = blocks.div(scale.clamp(min=1e-12)).round()
    return (steps * scale.to(torch.float16).to(tensor.dtype)).flatten(-2)


def q4_0(tensor: Tensor) -> Tensor:
    """ggml's blocks of 32: the value of the largest magnitude becomes −8, an fp16 scale.

    Source: ggml-quants.c, `quantize_row_q4_0_ref`.
    """
    import torch

    blocks = tensor.unflatten(-1, (-1, BLOCK))
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = largest.div(-8)
    inverse = torch.where(scale == 0, 0.0, scale.reciprocal())
    steps = (blocks * inverse + 8.5).floor().clamp(0, 15) - 8
    return (steps * scale.to(torch.float16).to(tensor.dtype)).flatten(-2)


ROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "fp8": fp8,
    "int8": int8,
    "q8_0": q8_0,
    "q4_0": q4_0,
}
assert set(ROUNDINGS) <= set(DTYPES)
