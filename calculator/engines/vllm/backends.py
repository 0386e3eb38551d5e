"""An attention that is wanted → the backend vLLM takes for it, or why none does it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import lcm

from calculator.engines.vllm.formats import DS_MLA
from calculator.engines.vllm.kernels import (
    BACKENDS,
    DECODER_ONLY,
    DEFAULT_BLOCK_SIZE,
    NO_CONTEXT_RANKS,
    NO_IMAGES,
    NOT_ON_HOPPER,
    Backend,
    Wanted,
    order,
)
from calculator.errors import InvalidInput, shown

IMAGE_PREFIX = "image tokens that see each other (supports_mm_prefix)"


def reading(name: str, cache_format: str, widths: Iterable[int]) -> Backend:
    """A backend as it reads such heads: FLASH_ATTN fp8 ones of 512 in whole pages of 64 tokens.

    Source: `flash_attn.py:_get_sm90_fa4_fp8_kv_block_size`.
    """
    fp8 = cache_format in ("fp8", "fp8_e4m3")
    paged = name == "FLASH_ATTN" and fp8 and 512 in widths
    return BACKENDS[name]._replace(multiple=0, sizes=(64,)) if paged else BACKENDS[name]


def pick(wanted: Wanted, block_size: int | None) -> str:
    """The backend vLLM takes on a Hopper GPU: the first that does all of it and takes the block."""
    doing = [name for name in order(wanted) if _does(name, wanted)]
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


def _does(name: str, wanted: Wanted) -> bool:
    """All that `backend.py:validate_configuration` asks but for the block size."""
    return not (
        wanted.format not in BACKENDS[name].formats
        or wanted.format in NOT_ON_HOPPER
        or _wrong_widths(name, wanted)
        or (wanted.cross and name in DECODER_ONLY)
        or (wanted.tokens_shared and name in NO_CONTEXT_RANKS)
        or (wanted.images and name in NO_IMAGES)
    )


def _wrong_widths(name: str, wanted: Wanted) -> list[int]:
    """Widths it does not take, 64 in nvfp4 among them (`flashinfer.py:supports_combination`)."""
    misread = (64,) if wanted.format == "nvfp4" else ()
    return [w for w in wanted.widths if w not in BACKENDS[name].widths or w in misread]


def _nothing_does(wanted: Wanted) -> InvalidInput:
    """What of the model the backends that take the type do not do, and a type that works."""
    tried, alone = order(wanted), wanted._replace(tokens_shared=False)
    if any(_does(name, alone) for name in tried):
        return InvalidInput(
            "decode_context_parallel_size is more than 1; no attention backend of vLLM on a Hopper "
            f"GPU does it with kv_cache_dtype {wanted.format}.",
            field="decode_context_parallel_size",
        )
    kind = "latent attention" if wanted.latent else "attention"
    what = f"kv_cache_dtype is {wanted.format}; no {kind} backend of vLLM on a Hopper GPU takes it"
    taking = [n for n in tried if wanted.format in BACKENDS[n].formats]
    narrow = [n for n in taking if wanted.format not in NOT_ON_HOPPER and _wrong_widths(n, wanted)]
    if narrow:
        taken = "; ".join(_taken(name, wanted.format) for name in narrow)
        what += f" with {wanted.rows} ({taken}: v1/attention/backends/)"
    elif any(_does(name, wanted._replace(images=False)) for name in tried):
        what += f" with {IMAGE_PREFIX}"
    fp8 = wanted._replace(format="fp8")
    other = "fp8" if any(_does(name, fp8) for name in tried) else "auto"
    unfit = NO_IMAGES if wanted.images else ()
    elsewhere = [n for n, b in BACKENDS.items() if _is_for(b, wanted) and n not in unfit]
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
    for is_wanted, without, what in (
        (wanted.cross, DECODER_ONLY, "attention to an encoder's output (supports_attn_type)"),
        (wanted.images, NO_IMAGES, IMAGE_PREFIX),
    ):
        if is_wanted and asked in without:
            raise InvalidInput(
                f"attention_backend is {asked}; it does not do {what}, as this model has.",
                field="attention_backend",
            )
    return asked


def check_tokens_shared(backend: str, name: str) -> None:
    """Refuses a backend or cache type that decode-context parallelism does not do.

    Source: `backend.py:validate_configuration`, `flashmla_sparse.py:FlashMLASparseImpl.__init__`,
    `flashinfer.py:FlashInferMetadataBuilder.__init__`.
    """
    why = ""
    if backend in NO_CONTEXT_RANKS:
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

    >>> from calculator.engines.vllm.kernels import INDEXER
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
