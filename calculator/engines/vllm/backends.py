"""Attention backends → the kernel block sizes they take, and which of them vLLM picks."""

from __future__ import annotations

from itertools import product
from math import lcm
from typing import NamedTuple

from calculator.engines.vllm.formats import DS_MLA, PER_TOKEN_HEAD
from calculator.errors import InvalidInput, shown

DEFAULT_BLOCK_SIZE = 16
SIXTEEN_BIT = ("bf16", "fp16")


class Backend(NamedTuple):
    """Kernel blocks: any multiple of `multiple`, or only `sizes`; for latent or plain attention."""

    latent: bool
    sparse: bool
    multiple: int
    sizes: tuple[int, ...]
    formats: tuple[str, ...]

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


_FP8 = (*SIXTEEN_BIT, "fp8")
_SCALED = tuple(PER_TOKEN_HEAD)
# `get_supported_kernel_block_sizes` and `supported_kv_cache_dtypes` of v1/attention/backends/*.py
BACKENDS = {
    "FLASH_ATTN": Backend(False, False, 16, (), _FP8),
    "TRITON_ATTN": Backend(False, False, 16, (), (*_FP8, *_SCALED)),
    "FLEX_ATTENTION": Backend(False, False, 16, (), SIXTEEN_BIT),
    "FLASHINFER": Backend(False, False, 0, (16, 32, 64), (*_FP8, "nvfp4")),
    "FLASH_ATTN_MLA": Backend(True, False, 16, (), SIXTEEN_BIT),
    "TRITON_MLA": Backend(True, False, 16, (), (*_FP8, *_SCALED)),
    "FLASHMLA": Backend(True, False, 0, (64,), _FP8),
    "FLASHINFER_MLA": Backend(True, False, 0, (32, 64), _FP8),
    "CUTLASS_MLA": Backend(True, False, 0, (128,), _FP8),
    "FLASH_ATTN_MLA_SPARSE": Backend(True, True, 64, (), SIXTEEN_BIT),
    "FLASHMLA_SPARSE": Backend(True, True, 64, (), (*SIXTEEN_BIT, *DS_MLA)),
    "MINIMAX_M3_SPARSE": Backend(False, True, 0, (128,), _FP8),
    "FLASHINFER_MLA_SPARSE": Backend(True, True, 32, (), _FP8),
}
INDEXER = Backend(True, True, 0, (64,), ("fp8",))

# The order in which vLLM tries them on Hopper (platforms/cuda.py:_get_backend_priorities).
_PLAIN = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION")
_LATENT = ("FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA")
_SPARSE = ("FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE")
_SPARSE_PLAIN = ("MINIMAX_M3_SPARSE",)  # models/minimax_m3/common/sparse_attention.py
# without `supports_dcp`: they return no softmax sums that would join the ranks' parts
_NO_CONTEXT_RANKS = (
    "TRITON_ATTN", "FLEX_ATTENTION", "FLASH_ATTN_MLA_SPARSE", "MINIMAX_M3_SPARSE",
)  # fmt: skip
_WIDTHS = {"FLASH_ATTN_MLA": (576,), "FLASHMLA": (576,), "TRITON_MLA": (320, 512, 576)}


def pick(
    name: str, latent_width: int | None, sparse: bool, block_size: int | None, tokens_shared: bool
) -> str:
    """The backend vLLM takes on a Hopper GPU for a cache type, latent width and block size.

    `tokens_shared` tells decode-context parallelism, which not every backend does.
    """
    order: tuple[str, ...] = _PLAIN if latent_width is None else _LATENT
    if sparse:
        order = _SPARSE_PLAIN if latent_width is None else _SPARSE
    for candidate in order:
        backend = BACKENDS[candidate]
        wide = latent_width is None or latent_width in _WIDTHS.get(candidate, (latent_width,))
        fits = block_size is None or backend.takes(block_size)
        if tokens_shared and candidate in _NO_CONTEXT_RANKS:
            continue
        if name in backend.formats and wide and fits:
            return candidate
    what = "latent " if latent_width is not None else ""
    rows = f" with rows of {latent_width} elements" if latent_width else ""
    block = f" and block_size {block_size}" if block_size else ""
    raise InvalidInput(
        f"kv_cache_dtype is {name}; no {what}attention backend of vLLM on a Hopper GPU takes "
        f"it{rows}{block}. Name another with attention_backend, or another type.",
        field="block_size" if block_size else "kv_cache_dtype",
    )


def known_backend(name: object) -> str:
    """The name of a backend whose blocks are recorded here, in capitals."""
    if not isinstance(name, str) or name.upper() not in BACKENDS:
        raise InvalidInput(
            f"attention_backend is {shown(name)}; known: {', '.join(BACKENDS)}.",
            field="attention_backend",
        )
    return name.upper()


def checked(asked: str, name: str, latent_width: int | None, sparse: bool) -> str:
    """The backend asked for, refused where it does not do this attention or cache type."""
    asked = known_backend(asked)
    backend, wanted = BACKENDS[asked], (latent_width is not None, sparse)
    if (backend.latent, backend.sparse) != wanted:
        others = [n for n, b in BACKENDS.items() if (b.latent, b.sparse) == wanted]
        raise InvalidInput(
            f"attention_backend is {asked}; for this model's attention vLLM has "
            f"{', '.join(others)}.",
            field="attention_backend",
        )
    if name not in backend.formats:
        raise InvalidInput(
            f"kv_cache_dtype is {name}; backend {asked} takes {', '.join(backend.formats)}.",
            field="kv_cache_dtype",
        )
    return asked


def check_tokens_shared(backend: str, name: str) -> None:
    """Refuses a backend or cache type that decode-context parallelism does not do.

    Source: `backend.py:validate_configuration`, `flashmla_sparse.py:FlashMLASparseImpl.__init__`.
    """
    why = ""
    if backend in _NO_CONTEXT_RANKS:
        why = f"attention backend {backend} does not do it"
    elif backend == "FLASHMLA_SPARSE" and name not in DS_MLA:
        why = f"sparse latent attention does it with fp8 or nvfp4_ds_mla only, not with {name}"
    if why:
        raise InvalidInput(
            f"decode_context_parallel_size is more than 1; {why}.",
            field="decode_context_parallel_size",
        )


def preferred_block_size(backends: tuple[Backend, ...], asked: int | None) -> int:
    """16, or the smallest size all take (`interface.py:_preferred_block_size_for_backends`).

    >>> preferred_block_size((BACKENDS["FLASH_ATTN_MLA"],), None)
    16
    >>> preferred_block_size((BACKENDS["FLASH_ATTN_MLA_SPARSE"], INDEXER), None)
    64
    """
    if asked is not None:
        for backend in backends:
            if not backend.takes(asked):
                raise InvalidInput(
                    f"block_size is {asked}; the attention backend needs a multiple of "
                    f"{backend.smallest}.",
                    field="block_size",
                )
        return asked
    if all(backend.takes(DEFAULT_BLOCK_SIZE) for backend in backends):
        return DEFAULT_BLOCK_SIZE
    sizes = product(*(backend.sizes or (backend.multiple,) for backend in backends))
    return min(n for n in (lcm(*each) for each in sizes) if all(b.takes(n) for b in backends))
