"""A footprint → the tensors to allocate for it: shapes and element types, no torch yet."""

from __future__ import annotations

from typing import NamedTuple

from calculator.dtypes import Dtype
from calculator.footprint import Footprint
from calculator.items import Item

Shape = tuple[int, ...]

NATIVE = {
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8": "float8_e4m3fn",
    "int8": "int8",
}
"""Element types that torch has; every other is a block of bytes, stored as uint8."""
ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1, "int8": 1, "uint8": 1}


class Planned(NamedTuple):
    """One row of the footprint as tensors: `shapes` of one layer, the same for every layer."""

    layer_type: str
    layers: int
    tensor: str
    dtype: Dtype
    torch_dtype: str
    shapes: tuple[Shape, ...]
    copies: int
    predicted_bytes: int

    @property
    def num_tensors(self) -> int:
        return self.layers * self.copies * len(self.shapes)


def tensor_list(found: Footprint) -> tuple[Planned, ...]:
    """Every row of `found` as tensors of shape (sequences, heads, slots, width).

    Sequences of one length are one tensor. A row whose slots are not those of single sequences (a
    pool of blocks or cells, a shared prefix) is one tensor a layer. Block types are uint8, a row of
    elements as the bytes it takes; an engine that packs all heads into one row has no heads axis.

    >>> from calculator.catalog import load_model
    >>> from calculator.footprint import footprint
    >>> from calculator.request import Request
    >>> found = footprint(load_model("llama-3-8b"), Request(seq_lens=(100, 100, 8192)))
    >>> tensor_list(found)[0].shapes
    ((2, 8, 100, 128), (1, 8, 8192, 128))
    """
    return tuple(_planned(item, found) for item in found.items)


def _planned(item: Item, found: Footprint) -> Planned:
    row = item.row
    groups = _sequence_groups(item, found)
    native = NATIVE.get(row.dtype.name, "uint8")
    shapes: tuple[Shape, ...]
    if row.slot_bytes == row.heads * row.width * ITEM_BYTES[native] and native != "uint8":
        shapes = tuple((n, row.heads, slots, row.width) for n, slots in groups)
    elif row.slot_bytes == row.heads * row.dtype.row_bytes(row.width):
        native, row_bytes = "uint8", row.dtype.row_bytes(row.width)
        shapes = tuple((n, row.heads, slots, row_bytes) for n, slots in groups)
    else:
        native = "uint8"
        shapes = tuple((n, slots, row.slot_bytes) for n, slots in groups)
    return Planned(
        row.layer_type, row.layers, row.tensor, row.dtype, native, shapes, row.copies,
        item.num_bytes,
    )  # fmt: skip


def _sequence_groups(item: Item, found: Footprint) -> tuple[tuple[int, int], ...]:
    """(sequences, slots of each): by length, else padded to the longest, else one pool."""
    request, growth = found.request, item.row.growth
    encoder = request.encoder_seq_len or 0
    each = [(n, found.engine.slots(growth, length, encoder)) for length, n in request.lengths]
    longest = found.engine.slots(growth, request.longest, encoder)
    for groups in (each, [(request.num_sequences, longest)]):
        if sum(n * slots for n, slots in groups) == item.slots:
            return tuple(groups)
    return ((1, item.slots),)
