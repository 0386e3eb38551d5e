"""Layers whose state does not grow with tokens → a convolution window and a recurrent state.

A recurrent state is kept in fp32, as the reference implementations compute it; the convolution
window (kernel − 1 columns: the column being computed is not state) in the model's element type.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from calculator.dtypes import DTYPES
from calculator.errors import InvalidInput
from calculator.tensors import Constant, StateTensor
from calculator.units import checked_int

FP32 = DTYPES["fp32"]


def convolution(channels: int, kernel: int, name: str = "convolution") -> StateTensor:
    """(batch, channels, kernel − 1): the inputs that the next step of a convolution needs."""
    return StateTensor(name, channels, 1, Constant(kernel - 1), "model")


def recurrent_state(heads: int, width: int) -> StateTensor:
    """(batch, heads, width) in fp32, one slot for ever."""
    return StateTensor("recurrent state", heads, width, Constant(1), FP32)


class _Positive:
    """Checks that every field but the tag is a positive integer."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name != "kind":
                checked_int(field.name, getattr(self, field.name), at_most=2**26)


@dataclass(frozen=True, slots=True)
class Mamba1(_Positive):
    """Mamba-1: intermediate_size × state_size fp32; the convolution has intermediate_size channels.

    Source: Gu & Dao, Mamba, arXiv:2312.00752 §3; transformers `modeling_mamba.py`.
    """

    label: ClassVar[str] = "Mamba-1"
    letter: ClassVar[str] = "R"

    kind: Literal["mamba1"]
    intermediate_size: int
    state_size: int
    conv_kernel: int

    def tensors(self) -> tuple[StateTensor, ...]:
        return (
            convolution(self.intermediate_size, self.conv_kernel),
            recurrent_state(self.intermediate_size, self.state_size),
        )


@dataclass(frozen=True, slots=True)
class Mamba2(_Positive):
    """Mamba-2 (SSD): num_heads × head_dim × state_size fp32; the convolution runs over x, B and C.

    Source: Dao & Gu, arXiv:2405.21060 §7; transformers `modeling_mamba2.py`
    (conv_dim = intermediate_size + 2 × n_groups × state_size).
    """

    label: ClassVar[str] = "Mamba-2"
    letter: ClassVar[str] = "R"

    kind: Literal["mamba2"]
    num_heads: int
    head_dim: int
    state_size: int
    n_groups: int
    conv_kernel: int

    def tensors(self) -> tuple[StateTensor, ...]:
        channels = self.num_heads * self.head_dim + 2 * self.n_groups * self.state_size
        return (
            convolution(channels, self.conv_kernel),
            recurrent_state(self.num_heads, self.head_dim * self.state_size),
        )


@dataclass(frozen=True, slots=True)
class GatedDeltaNet(_Positive):
    """Gated DeltaNet: a key_dim × value_dim matrix a value head, fp32; convolution over q, k, v.

    Source: Yang et al., arXiv:2412.06464; transformers `modeling_qwen3_next.py`.
    """

    label: ClassVar[str] = "Gated DeltaNet"
    letter: ClassVar[str] = "R"

    kind: Literal["gated_delta_net"]
    linear_num_key_heads: int
    linear_key_head_dim: int
    linear_num_value_heads: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int

    def tensors(self) -> tuple[StateTensor, ...]:
        key_channels = self.linear_num_key_heads * self.linear_key_head_dim
        value_channels = self.linear_num_value_heads * self.linear_value_head_dim
        return (
            convolution(2 * key_channels + value_channels, self.linear_conv_kernel_dim),
            recurrent_state(
                self.linear_num_value_heads, self.linear_key_head_dim * self.linear_value_head_dim
            ),
        )


@dataclass(frozen=True, slots=True)
class KimiDeltaAttention(_Positive):
    """Kimi delta attention: a head_dim × head_dim matrix a head, fp32; convolutions for q, k and v.

    Source: Kimi Linear, arXiv:2510.26692 §3; transformers `modeling_kimi_linear.py`.
    """

    label: ClassVar[str] = "Kimi delta attention"
    letter: ClassVar[str] = "R"

    kind: Literal["kimi_delta_attention"]
    num_heads: int
    head_dim: int
    short_conv_kernel_size: int

    def tensors(self) -> tuple[StateTensor, ...]:
        channels, kernel = self.num_heads * self.head_dim, self.short_conv_kernel_size
        return (
            *(convolution(channels, kernel, f"{x} convolution") for x in ("query", "key", "value")),
            recurrent_state(self.num_heads, self.head_dim * self.head_dim),
        )


@dataclass(frozen=True, slots=True)
class LightningAttention(_Positive):
    """Lightning (linear) attention: a head_dim × head_dim matrix a head, fp32, and nothing else.

    Source: MiniMax-01, arXiv:2501.08313 §2.2; transformers `modeling_minimax.py`.
    """

    label: ClassVar[str] = "Lightning attention"
    letter: ClassVar[str] = "R"

    kind: Literal["lightning_attention"]
    num_attention_heads: int
    head_dim: int

    def tensors(self) -> tuple[StateTensor, ...]:
        return (recurrent_state(self.num_attention_heads, self.head_dim * self.head_dim),)


@dataclass(frozen=True, slots=True)
class ShortConvolution(_Positive):
    """A gated short convolution over hidden_size channels, in the model's type.

    Source: LFM2, transformers `modeling_lfm2.py`, `conv_L_cache`.
    """

    label: ClassVar[str] = "Short convolution"
    letter: ClassVar[str] = "R"

    kind: Literal["short_convolution"]
    hidden_size: int
    conv_L_cache: int

    def tensors(self) -> tuple[StateTensor, ...]:
        return (convolution(self.hidden_size, self.conv_L_cache),)


@dataclass(frozen=True, slots=True)
class Wkv(_Positive):
    """RWKV-6 and -7: a head_size × head_size matrix a head, fp32, and the last inputs of a layer.

    `token_shift_count` is 2 where time mixing and channel mixing each mix in the token before, 1
    where only the former does.
    Source: Peng et al., Eagle and Finch, arXiv:2404.05892 §3; RWKV-7, arXiv:2503.14456 §4.
    """

    label: ClassVar[str] = "RWKV"
    letter: ClassVar[str] = "R"

    kind: Literal["wkv"]
    hidden_size: int
    head_size: int
    token_shift_count: int = 2

    def __post_init__(self) -> None:
        _Positive.__post_init__(self)
        if self.hidden_size % self.head_size:
            raise InvalidInput(
                f"hidden_size is {self.hidden_size:,}; expected a multiple of head_size, "
                f"{self.head_size:,}.",
                field="hidden_size",
            )

    def tensors(self) -> tuple[StateTensor, ...]:
        shifts = Constant(self.token_shift_count)
        return (
            StateTensor("token shift", self.hidden_size, 1, shifts, "model"),
            recurrent_state(self.hidden_size // self.head_size, self.head_size * self.head_size),
        )
