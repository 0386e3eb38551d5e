"""Attention backends → the kernel blocks, heads and cache types they take, and their order."""

from __future__ import annotations

from typing import NamedTuple

from calculator.engines.vllm.formats import DS_MLA, PER_TOKEN_HEAD

DEFAULT_BLOCK_SIZE = 16
Widths = tuple[int, ...] | range
ANY = range(1, 2**31)


class Backend(NamedTuple):
    """Kernel blocks: any multiple of `multiple`, or only `sizes`; for latent or plain attention.

    `formats` as vLLM spells `--kv-cache-dtype`; `widths` are of heads, or of a latent row.
    """

    latent: bool
    sparse: bool
    multiple: int
    sizes: tuple[int, ...]
    formats: tuple[str, ...]
    widths: Widths = ANY

    @property
    def smallest(self) -> int:
        return self.multiple or min(self.sizes)

    def takes(self, block_size: int) -> bool:
        """Whether a block is whole kernel blocks (`backend.py:supports_block_size`)."""
        return any(block_size % size == 0 for size in (self.sizes or (self.multiple,)))

    def largest_within(self, block_size: int) -> int:
        """A sliding layer's own block (`attention.py:_largest_kernel_block_within`)."""
        if self.multiple:
            return max(self.multiple, block_size // self.multiple * self.multiple)
        fitting = [size for size in self.sizes if size <= block_size]
        return max(fitting, default=min(self.sizes))


class Wanted(NamedTuple):
    """What a backend must do: a cache type as vLLM spells it, and the attention of a model.

    `widths` are of heads, or of the latent row. Not every backend does `cross`, attention to an
    encoder's output, `tokens_shared` by ranks, or `images` whose tokens see each other.
    """

    format: str
    latent: bool
    sparse: bool
    widths: tuple[int, ...] = ()
    cross: bool = False
    tokens_shared: bool = False
    images: bool = False

    @property
    def rows(self) -> str:
        found = " or ".join(f"{width}" for width in self.widths)
        return f"rows of {found} elements" if self.latent else f"heads of {found}"


_SIXTEEN = ("float16", "bfloat16")
_FP8 = (*_SIXTEEN, "fp8", "fp8_e4m3")
_BOTH_FP8 = (*_FP8, "fp8_e5m2")
_SCALED = tuple(PER_TOKEN_HEAD)
_MLA = (320, 512, 576)  # mla_attention.py:MLACommonBackend
_ROWS = (512, 576)
# `get_supported_kernel_block_sizes`, `supported_kv_cache_dtypes` and `supports_head_size` or
# `get_supported_head_sizes` of v1/attention/backends/*.py and, for MiniMax-M3, of
# models/minimax_m3/common/sparse_attention.py
BACKENDS = {
    "FLASH_ATTN": Backend(False, False, 16, (), _FP8, range(8, 513, 8)),
    "TRITON_ATTN": Backend(False, False, 16, (), (*_BOTH_FP8, *_SCALED), ANY[31:]),
    "FLEX_ATTENTION": Backend(False, False, 16, (), _SIXTEEN),
    "FLASHINFER": Backend(
        False, False, 0, (16, 32, 64), (*_BOTH_FP8, "nvfp4", "nvfp4_4over6"), (64, 128, 256, 512)
    ),
    "FLASH_ATTN_MLA": Backend(True, False, 16, (), _SIXTEEN, _MLA),
    "TRITON_MLA": Backend(True, False, 16, (), _FP8),
    "FLASHMLA": Backend(True, False, 0, (64,), _FP8, _MLA),
    "FLASHINFER_MLA": Backend(True, False, 0, (32, 64), _FP8, _MLA),
    "CUTLASS_MLA": Backend(True, False, 0, (128,), _FP8, _MLA),
    "FLASH_ATTN_MLA_SPARSE": Backend(True, True, 64, (), _SIXTEEN),
    "FLASHMLA_SPARSE": Backend(True, True, 64, (), ("bfloat16", "fp8", *DS_MLA), _ROWS),
    "MINIMAX_M3_SPARSE": Backend(False, True, 0, (128,), _BOTH_FP8[1:], (128,)),
    "FLASHINFER_MLA_SPARSE": Backend(True, True, 32, (), _FP8, _ROWS),
    "FLASHINFER_MLA_SPARSE_SM90": Backend(True, True, 64, (), _FP8[1:], _ROWS),
}
INDEXER = Backend(True, True, 0, (64,), ("fp8",))

# The order in which vLLM tries them on Hopper (platforms/cuda.py:_get_backend_priorities).
_PLAIN = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION")
_LATENT = ("FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA")
_SPARSE = ("FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM90")
_SPARSE_OF_512 = ("FLASHINFER_MLA_SPARSE_SM90", "FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE")
_SPARSE_PLAIN = ("MINIMAX_M3_SPARSE",)  # models/minimax_m3/common/sparse_attention.py
# without `supports_dcp`: they return no softmax sums that would join the ranks' parts
NO_CONTEXT_RANKS = (
    "TRITON_ATTN", "FLEX_ATTENTION", "FLASH_ATTN_MLA_SPARSE", "MINIMAX_M3_SPARSE",
    "FLASHINFER_MLA_SPARSE_SM90",
)  # fmt: skip
DECODER_ONLY = ("FLASHINFER", "FLEX_ATTENTION")  # `supports_attn_type`
NO_IMAGES = ("FLASHINFER",)  # of the plain ones, without `supports_mm_prefix`
# on Blackwell only (flashinfer.py:supports_kv_cache_dtype, flashmla_sparse.py:supports_combination)
NOT_ON_HOPPER = ("nvfp4_4over6", "nvfp4_ds_mla")


def order(wanted: Wanted) -> tuple[str, ...]:
    """The backends for such attention, as vLLM tries them on a Hopper GPU."""
    if wanted.sparse:
        if not wanted.latent:
            return _SPARSE_PLAIN
        return _SPARSE_OF_512 if wanted.widths == (512,) else _SPARSE
    return _LATENT if wanted.latent else _PLAIN
