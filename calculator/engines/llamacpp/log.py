"""Items of a context → the lines llama.cpp prints of its caches while it sets them up."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from math import ldexp

from calculator.engines.llamacpp.cells import PAD, Cells
from calculator.engines.llamacpp.command import GGML_NAMES
from calculator.engines.llamacpp.steps import RECURRENT
from calculator.items import Item
from calculator.tensors import Constant, CurrentChunk, LastTokens
from calculator.units import ceil_div, round_up

Items = tuple[Item, ...]
DEVICE = "<device>"
"""What is printed in its place depends on the machine: CPU, CUDA0, MTL0_Private."""
ALIGNMENT = 128  # of a tensor in CUDA's buffers; Metal's and the CPU's 32 gives the same MiB
CUDA_ROW = 512  # ggml-cuda/common.cuh:MATRIX_ROW_PADDING
VALUES = ("value", "padded value", "index value")


def log_lines(
    items: Items, cells: Cells, types: tuple[str, str], num_layers: int, headless: int
) -> tuple[str, ...]:
    """The lines of sizes, in llama.cpp's order: attention first, then recurrent states.

    A buffer line stands for all layers on one device; spread over several, each has one of its own.
    `headless` layers are counted among those with a cache, and keep nothing.
    """
    states = tuple(i for i in items if i.row.kind in RECURRENT)
    attention = tuple(i for i in items if i.row.kind not in RECURRENT)
    found: list[str] = []
    if any(i.row.kind == "compressed_attention" for i in attention):
        found += _dsv4(attention, cells, types)
    elif attention:
        found += _attention(attention, cells, types, headless)
    if states:
        found += _recurrent(states, cells, num_layers)
    return tuple(found)


def _attention(items: Items, cells: Cells, types: tuple[str, str], headless: int) -> Iterator[str]:
    """One cache; two where some layers slide, or where an indexer has its own."""
    index = tuple(i for i in items if i.row.kind == "sparse_indexer")
    main = tuple(i for i in items if i not in index)
    if index:
        values = any(i.row.tensor in VALUES for i in index)
        maker = "llama_kv_cache_msa" if values else "llama_kv_cache_dsa"
        for name, part in (("main", main), ("indexer", index)):
            yield f"{maker}: creating {name} KV cache, size = {cells.cells} cells"
            yield from _cache(part, cells.cells, cells.streams, cells, types)
    elif any(_window(i) for i in main):
        yield from _iswa(main, cells, cells.streams, types)
    else:
        yield from _cache(main, cells.cells, cells.streams, cells, types, headless)


def _iswa(items: Items, cells: Cells, streams: int, types: tuple[str, str]) -> Iterator[str]:
    """Source: llama-kv-cache-iswa.cpp:llama_kv_cache_iswa; one of the two may have no layers."""
    sliding = tuple(i for i in items if _window(i))
    window = max(_window(i) for i in sliding)
    size = cells.window_cells(window, shared=streams < cells.n_seq_max)
    yield f"llama_kv_cache_iswa: creating non-SWA KV cache, size = {cells.cells} cells"
    whole = tuple(i for i in items if not _window(i))
    yield from _cache(whole, cells.cells, streams, cells, types)
    yield f"llama_kv_cache_iswa: creating     SWA KV cache, size = {size} cells"
    yield from _cache(sliding, size, streams, cells, types)


def _dsv4(items: Items, cells: Cells, types: tuple[str, str]) -> Iterator[str]:
    """Source: llama-kv-cache-dsv4.cpp:llama_kv_cache_dsv4; a stream a sequence, unified or not."""

    def of(name: str, indexed: bool | None = None) -> Items:
        return tuple(
            i for i in items
            if i.row.tensor == name and indexed in (None, i.row.layer_type in with_index)
        )  # fmt: skip

    with_index = {i.row.layer_type for i in items if i.row.tensor == "index key"}
    here, streams = "llama_kv_cache_dsv4: creating", cells.n_seq_max
    yield f"{here} DSV4 raw KV cache"
    yield from _iswa(of("window key"), cells, streams, types)
    for what, ratio, part in (
        ("CSA compressed", 4, of("compressed key", indexed=True)),
        ("HCA compressed", 128, of("compressed key", indexed=False)),
        ("lightning-indexer", 4, of("index key")),
    ):
        groups = ceil_div(cells.cells, ratio)
        yield f"{here} DSV4 {what} KV cache, size = {groups} cells"
        yield from _cache(part, round_up(groups, PAD), streams, cells, types)
    for title, short, ratio, name, indexed in (
        ("CSA", "csa", 4, "compressor", True),
        ("HCA", "hca", 128, "compressor", False),
        ("lightning-indexer", "lid", 4, "index compressor", None),
    ):
        yield f"{here} DSV4 {title} compressor state"
        parts = of(f"{name} key", indexed) + of(f"{name} score", indexed)
        yield from _compressor(parts, short, ratio, streams)


def _compressor(items: Items, short: str, ratio: int, streams: int) -> Iterator[str]:
    if not items:
        return
    row, size = items[0].row, sum(i.num_bytes for i in items)
    where, rows = "llama_dsv4_comp_state:", row.growth[0] if isinstance(row.growth, Constant) else 0
    buffer = f"DSV4 {short} state buffer size = {_mib(size):8.2f} MiB"
    yield f"{where} {DEVICE:>10} {buffer}"
    layers = sum(i.row.layers for i in items if i.row.tensor == row.tensor)
    yield (
        f"{where} {short} ratio = {ratio}, state = {rows} x {row.heads * row.width}, "
        f"streams = {streams}, rs_seq = 0, layers = {layers}, size = {_mib(size):7.2f} MiB"
    )


def _cache(
    items: Items,
    size: int,
    streams: int,
    cells: Cells,
    types: tuple[str, str],
    headless: int = 0,
) -> Iterator[str]:
    """Source: llama-kv-cache.cpp:llama_kv_cache."""
    keys = _bytes(items, lambda name: name not in VALUES)
    values = _bytes(items, lambda name: name in VALUES)
    layers = headless + sum(i.row.layers for i in items if i.row.tensor not in VALUES)
    if layers:
        yield from _buffer("llama_kv_cache", "KV", items)
    yield (
        f"llama_kv_cache: size = {_as_float(keys + values):7.2f} MiB ({size:6d} cells, "
        f"{layers:3d} layers, {cells.n_seq_max:2d}/{streams} seqs), "
        f"K ({_ggml(types[0])}): {_as_float(keys):7.2f} MiB, "
        f"V ({_ggml(types[1])}): {_as_float(values):7.2f} MiB"
    )


def _recurrent(items: Items, cells: Cells, num_layers: int) -> Iterator[str]:
    """Source: llama-memory-recurrent.cpp:llama_memory_recurrent; it counts all of the layers."""
    states = _bytes(items, lambda name: name == "recurrent state")
    rest = _bytes(items, lambda name: name != "recurrent state")
    yield from _buffer("llama_memory_recurrent", "RS", items)
    yield (
        f"llama_memory_recurrent: size = {_as_float(rest + states):7.2f} MiB "
        f"({cells.n_seq_max:6d} cells, {num_layers:3d} layers, {cells.n_seq_max:2d} seqs "
        f" 0 rs_seq), R (f32): {_as_float(rest):7.2f} MiB, S (f32): {_as_float(states):7.2f} MiB, "
        f"P (f32): {_as_float(0):7.2f} MiB"
    )


def _buffer(where: str, what: str, items: Items) -> Iterator[str]:
    """All tensors of the layers on one device, each aligned; nothing where devices differ in it.

    CUDA's tensors end with a part of a row more, where a quantised row is no multiple of
    CUDA_ROW elements (ggml-cuda.cu:ggml_backend_cuda_buffer_type_get_alloc_size).
    """
    if any(i.row.dtype.block_elements > 1 and i.row.heads * i.row.width % CUDA_ROW for i in items):
        return
    size = sum(i.row.layers * round_up(i.slots * i.row.slot_bytes, ALIGNMENT) for i in items)
    yield f"{where}: {DEVICE:>10} {what} buffer size = {_mib(size):8.2f} MiB"


def _window(item: Item) -> int:
    growth = item.row.growth
    return growth[0] if isinstance(growth, LastTokens | CurrentChunk) else 0


def _bytes(items: Items, wanted: Callable[[str], bool]) -> int:
    return sum(i.num_bytes for i in items if wanted(i.row.tensor))


def _mib(num_bytes: int) -> float:
    return ldexp(num_bytes, -20)


def _as_float(num_bytes: int) -> float:
    """MiB of a byte count rounded to C's `float`, as these lines print it."""
    rounded: float = struct.unpack("f", struct.pack("f", num_bytes))[0]
    return ldexp(rounded, -20)


def _ggml(name: str) -> str:
    return GGML_NAMES.get(name, name)
