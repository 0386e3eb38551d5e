"""The rows a footprint adds up: what is stored, how wide a slot is, how many slots."""

from __future__ import annotations

from typing import Any, NamedTuple

from calculator.dtypes import Dtype
from calculator.tensors import Growth


class Row(NamedTuple):
    """What does not depend on lengths: one tensor of all layers of a type, and its element type."""

    layer_type: str
    layers: int
    kind: str
    tensor: str
    heads: int
    width: int
    growth: Growth
    dtype: Dtype
    slot_bytes: int
    copies: int
    block_size: int = 1
    """Slots are handed out in blocks of so many."""

    @property
    def bytes_per_slot_of_all_layers(self) -> int:
        return self.layers * self.slot_bytes * self.copies


class Item(NamedTuple):
    """A row and the slots of all sequences: layers × slots × slot bytes × copies = bytes."""

    row: Row
    slots: int

    @property
    def num_bytes(self) -> int:
        return self.row.layers * self.slots * self.row.slot_bytes * self.row.copies

    def to_dict(self) -> dict[str, Any]:
        row = self.row
        return {
            "layer_type": row.layer_type,
            "layers": row.layers,
            "tensor": row.tensor,
            "slots": self.slots,
            "slot_bytes": row.slot_bytes,
            "num_bytes": self.num_bytes,
            "copies": row.copies,
            "kind": row.kind,
            "heads": row.heads,
            "width": row.width,
            "dtype": row.dtype.name,
        }
