"""A footprint → its layer types with what each layer holds and gains, for a strip of layers."""

from __future__ import annotations

from typing import NamedTuple

from calculator.footprint import Footprint
from calculator.layers import kind_class
from calculator.tensors import EveryNthToken


class LayerKind(NamedTuple):
    """All layers of one type: what one of them holds, and gains with one more token [bytes]."""

    layer_type: str
    label: str
    letter: str
    kind: str
    layers: int
    bytes_each: int
    added_each: int


def layer_kinds(fp: Footprint) -> dict[str, LayerKind]:
    """Layer type → its kind, in the order in which the types first appear in the model."""
    held: dict[str, int] = {}
    added: dict[str, int] = {}
    for item in fp.items:
        row = item.row
        held[row.layer_type] = held.get(row.layer_type, 0) + item.num_bytes
        if fp.grows(row):
            stride = row.growth.stride if isinstance(row.growth, EveryNthToken) else 1
            gain = row.bytes_per_slot_of_all_layers // stride
            added[row.layer_type] = added.get(row.layer_type, 0) + gain
    found = {}
    for group in fp.model.layer_groups:
        classes = [kind_class(cache.kind) for cache in group.caches]
        labels = " + ".join(dict.fromkeys(cls.label for cls in classes))
        found[group.layer_type] = LayerKind(
            group.layer_type,
            labels or "Shares another layer's cache, or keeps none",
            "".join(dict.fromkeys(cls.letter for cls in classes)),
            group.caches[0].kind if group.caches else "",
            group.layers,
            held.get(group.layer_type, 0) // group.layers,
            added.get(group.layer_type, 0) // group.layers,
        )
    return found


def period(layer_types: tuple[str, ...], at_most: int = 12) -> int:
    """Columns of a narrow strip: the largest multiple of the pattern's length, `at_most` if none.

    >>> period(("s",) * 5 + ("f",)), period(("f",))
    (12, 12)
    """
    size = len(layer_types)
    return at_most // size * size if size <= at_most else at_most
