"""Attention backends → the kernel blocks, heads and cache types they take, and vLLM's pick."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import lcm
from typing import NamedTuple

from calculator.engines.vllm.formats import DS_MLA, PER_TOKEN_HEAD
from calculator.errors import InvalidInput, shown

DEFAULT_BLOCK_SIZE = 16
Widths = tuple[int, ...] | range
ANY = range(1, 2**31)


class Backend(NamedTuple):
    """Kernel blocks: any multiple of `multiple`, or only `sizes`; for latent or plain attention.

    `formats` are `--kv-cache-dtype` as vLLM spells them, `widths` those of heads, or of a latent
    row.
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

    `widths` are of heads, or of the latent row; `cross` tells attention to an encoder's output,
    `tokens_shared` decode-context parallelism, which not every backend does.
    """

    format: str
    latent: bool
    sparse: bool
    widths: tuple[int, ...] = ()
    cross: bool = False
    tokens_shared: bool = False

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
_NO_CONTEXT_RANKS = (
    "TRITON_ATTN", "FLEX_ATTENTION", "FLASH_ATTN_MLA_SPARSE", "MINIMAX_M3_SPARSE",
    "FLASHINFER_MLA_SPARSE_SM90",
)  # fmt: skip
_DECODER_ONLY = ("FLASHINFER", "FLEX_ATTENTION")  # `supports_attn_type`
# taken on Blackwell only (flashinfer.py:supports_kv_cache_dtype,
# flashmla_sparse.py:supports_combination)
_NOT_ON_HOPPER = ("nvfp4_4over6", "nvfp4_ds_mla")


def reading(name: str, cache_format: str, widths: Iterable[int]) -> Backend:
    """A backend as it reads such heads: FLASH_ATTN fp8 ones of 512 in whole pages of 64 tokens.

    Source: `flash_attn.py:_get_sm90_fa4_fp8_kv_block_size`.
    """
    fp8 = cache_format in ("fp8", "fp8_e4m3")
    paged = name == "FLASH_ATTN" and fp8 and 512 in widths
    return BACKENDS[name]._replace(multiple=0, sizes=(64,)) if paged else BACKENDS[name]


def pick(wanted: Wanted, block_size: int | None) -> str:
    """The backend vLLM takes on a Hopper GPU: the first that does all of it and takes the block."""
    doing = [name for name in _order(wanted) if _does(name, wanted)]
    if not doing:
        raise _nothing_does(wanted)
    for name in doing:
        reads = reading(name, wanted.format, wanted.widths)
        if block_size is None or reads.takes(block_size):
            return name
    smallest = min(BACKENDS[name].smallest for name in doing)
    raise InvalidInput(
        f"block_size is {block_size}; vLLM's attention backends for {wanted.format} take "
        f"{_multiples(smallest, block_size or 0)}.",
        field="block_size",
    )


def _order(wanted: Wanted) -> tuple[str, ...]:
    if wanted.sparse:
        if not wanted.latent:
            return _SPARSE_PLAIN
        return _SPARSE_OF_512 if wanted.widths == (512,) else _SPARSE
    return _LATENT if wanted.latent else _PLAIN


def _does(name: str, wanted: Wanted) -> bool:
    """All that `backend.py:validate_configuration` asks but for the block size."""
    return not (
        wanted.format not in BACKENDS[name].formats
        or wanted.format in _NOT_ON_HOPPER
        or _wrong_widths(name, wanted)
        or (wanted.cross and name in _DECODER_ONLY)
        or (wanted.tokens_shared and name in _NO_CONTEXT_RANKS)
    )


def _wrong_widths(name: str, wanted: Wanted) -> list[int]:
    """Widths it does not take, 64 in nvfp4 among them (`flashinfer.py:supports_combination`)."""
    misread = (64,) if wanted.format == "nvfp4" else ()
    return [w for w in wanted.widths if w not in BACKENDS[name].widths or w in misread]


def _nothing_does(wanted: Wanted) -> InvalidInput:
    """What of the model the backends that take the type do not do, and a type that works."""
    order, alone = _order(wanted), wanted._replace(tokens_shared=False)
    if any(_does(name, alone) for name in order):
        return InvalidInput(
            "decode_context_parallel_size is more than 1; no attention backend of vLLM on a Hopper "
            f"GPU does it with kv_cache_dtype {wanted.format}.",
            field="decode_context_parallel_size",
        )
    kind = "latent attention" if wanted.latent else "attention"
    what = f"kv_cache_dtype is {wanted.format}; no {kind} backend of vLLM on a Hopper GPU takes it"
    taking = [n for n in order if wanted.format in BACKENDS[n].formats]
    narrow = [n for n in taking if wanted.format not in _NOT_ON_HOPPER and _wrong_widths(n, wanted)]
    if narrow:
        taken = "; ".join(_taken(name, wanted.format) for name in narrow)
        what += f" with {wanted.rows} ({taken}: v1/attention/backends/)"
    fp8 = wanted._replace(format="fp8")
    other = "fp8" if any(_does(name, fp8) for name in order) else "auto"
    elsewhere = [n for n, b in BACKENDS.items() if _is_for(b, wanted)]
    gpu = f", or attention_backend {elsewhere[0]} for another GPU" if elsewhere else ""
    return InvalidInput(f"{what}. Take {other}{gpu}.", field="kv_cache_dtype")


def _is_for(backend: Backend, wanted: Wanted) -> bool:
    """Whether it does this on some GPU."""
    return (
        (backend.latent, backend.sparse) == (wanted.latent, wanted.sparse)
        and wanted.format in backend.formats
        and all(width in backend.widths for width in wanted.widths)
    )


def _taken(name: str, cache_format: str) -> str:
    """
    >>> _taken("FLASHINFER", "nvfp4"), _taken("FLASH_ATTN", "fp8"), _taken("TRITON_ATTN", "fp8")
    ('FLASHINFER takes 128, 256, 512', 'FLASH_ATTN takes 8, 16, … 512', 'TRITON_ATTN takes 32, …')
    """
    widths, asked = BACKENDS[name].widths, Wanted(cache_format, latent=False, sparse=False)
    if isinstance(widths, range):
        ends = f"{widths[0]}, {widths[1]}, … {widths[-1]}" if widths.step > 1 else f"{widths[0]}, …"
        return f"{name} takes {ends}"
    right = [w for w in widths if not _wrong_widths(name, asked._replace(widths=(w,)))]
    return f"{name} takes {', '.join(str(w) for w in right)}"


def _multiples(of: int, near: int) -> str:
    """
    >>> _multiples(16, 17), _multiples(64, 17)
    ('a multiple of 16: 16 or 32', 'a multiple of 64: 64')
    """
    below = near // of * of
    either = f"{below} or {below + of}" if below else f"{of}"
    return f"a multiple of {of}: {either}"


def known_backend(name: object) -> str:
    """The name of a backend whose blocks are recorded here, in capitals."""
    if not isinstance(name, str) or name.upper() not in BACKENDS:
        raise InvalidInput(
            f"attention_backend is {shown(name)}; known: {', '.join(BACKENDS)}.",
            field="attention_backend",
        )
    return name.upper()


def checked(asked: str, wanted: Wanted) -> str:
    """The backend asked for, refused where it does not do this attention, cache type or width."""
    asked = known_backend(asked)
    backend, kind = BACKENDS[asked], (wanted.latent, wanted.sparse)
    if (backend.latent, backend.sparse) != kind:
        others = [n for n, b in BACKENDS.items() if (b.latent, b.sparse) == kind]
        raise InvalidInput(
            f"attention_backend is {asked}; for this model's attention vLLM has "
            f"{', '.join(others)}.",
            field="attention_backend",
        )
    if wanted.format not in backend.formats:
        raise InvalidInput(
            f"kv_cache_dtype is {wanted.format}; backend {asked} takes "
            f"{', '.join(backend.formats)}.",
            field="kv_cache_dtype",
        )
    if any(width not in backend.widths for width in wanted.widths):
        raise InvalidInput(
            f"attention_backend is {asked}; it does not take this model's {wanted.rows} "
            "(backend.py:supports_head_size).",
            field="attention_backend",
        )
    return asked


def check_tokens_shared(backend: str, name: str) -> None:
    """Refuses a backend or cache type that decode-context parallelism does not do.

    Source: `backend.py:validate_configuration`, `flashmla_sparse.py:FlashMLASparseImpl.__init__`,
    `flashinfer.py:FlashInferMetadataBuilder.__init__`.
    """
    why = ""
    if backend in _NO_CONTEXT_RANKS:
        why = f"attention backend {backend} does not do it"
    elif backend == "FLASHMLA_SPARSE" and name not in DS_MLA:
        why = f"sparse latent attention does it with fp8 or nvfp4_ds_mla only, not with {name}"
    elif name == "nvfp4":
        why = "FLASHINFER does not read nvfp4 with it on a Hopper GPU"
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
