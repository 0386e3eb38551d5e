"""Names of element types → how many bytes a row of elements takes."""

from __future__ import annotations

from typing import NamedTuple

from calculator.errors import InvalidInput, shown


class Dtype(NamedTuple):
    """A storage format: every `block_elements` elements take `block_bytes` bytes."""

    name: str
    block_elements: int
    block_bytes: int

    def row_bytes(self, elements: int) -> int:
        """Bytes of `elements` stored together, a started block counted whole.

        >>> dtype("q8_0").row_bytes(128), dtype("nvfp4").row_bytes(128), dtype("bf16").row_bytes(3)
        (136, 72, 6)
        """
        return -(-elements // self.block_elements) * self.block_bytes

    @property
    def bits(self) -> float:
        """Bits an element, block scales included; for display only."""
        return self.block_bytes * 8 / self.block_elements


# block sizes: ggml/src/ggml-common.h (q*, iq4_nl); OCP Microscaling (mxfp4);
# nvfp4: 16 elements and one fp8 scale
DTYPES = {
    d.name: d
    for d in (
        Dtype("fp32", 1, 4),
        Dtype("bf16", 1, 2),
        Dtype("fp16", 1, 2),
        Dtype("q8_0", 32, 34),
        Dtype("fp8", 1, 1),
        Dtype("int8", 1, 1),
        Dtype("q5_1", 32, 24),
        Dtype("q5_0", 32, 22),
        Dtype("q4_1", 32, 20),
        Dtype("q4_0", 32, 18),
        Dtype("iq4_nl", 32, 18),
        Dtype("nvfp4", 16, 9),
        Dtype("mxfp4", 32, 17),
        Dtype("int4", 2, 1),
        Dtype("int3", 8, 3),
        Dtype("int2", 4, 1),
        Dtype("int1", 8, 1),
    )
}
ENGINE_DTYPES = ("int3", "int2", "int1")
"""What a single engine's flag asks for, and no other takes."""
CACHE_DTYPES = tuple(name for name in DTYPES if name not in ("mxfp4", *ENGINE_DTYPES))
WEIGHT_DTYPES = ("fp32", "bf16", "fp16", "fp8", "int8", "nvfp4", "mxfp4", "int4")

_ALIASES = {
    "f32": "fp32", "float32": "fp32", "float": "fp32",
    "f16": "fp16", "float16": "fp16", "half": "fp16",
    "bfloat16": "bf16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
}  # fmt: skip


def dtype(name: object, *, field: str = "dtype", known: tuple[str, ...] | None = None) -> Dtype:
    """The element type called `name`, by our name or a common alias of it.

    >>> dtype("bfloat16").name, dtype("f16").name
    ('bf16', 'fp16')
    """
    known = known or tuple(n for n in DTYPES if n not in ENGINE_DTYPES)
    text = name.lower().removeprefix("torch.") if isinstance(name, str) else ""
    text = _ALIASES.get(text, text)
    if text not in known:
        raise InvalidInput(
            f"{field} is {shown(name)}; known element types: {', '.join(known)}.", field=field
        )
    return DTYPES[text]
