"""What each layer of a GGUF model keeps → named layer types, equal layers under one name."""

from __future__ import annotations

from collections.abc import Callable

from calculator.importers.gguf.metadata import Metadata
from calculator.layers import LayerCache

# Names of further layer types; as a config.json's importer has them.
HYBRID, DECODER = "hybrid", "decoder"
INDEXED, SHARED_INDEXER = "indexed_attention", "shared_indexer"
SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"

Layer = tuple[str, tuple[LayerCache, ...]]
Rule = Callable[[Metadata], list[Layer]]


def named_layers(
    found: list[Layer],
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[LayerCache, ...]], ...]]:
    """(layer types in order, caches of each type).

    Layers of one kind with other figures get a number: full_attention, full_attention_2.
    """
    names: dict[Layer, str] = {}
    used: dict[str, int] = {}
    types = []
    for layer in found:
        if layer not in names:
            kind, _ = layer
            used[kind] = used.get(kind, 0) + 1
            names[layer] = kind if used[kind] == 1 else f"{kind}_{used[kind]}"
        types.append(names[layer])
    return tuple(types), tuple((name, layer[1]) for layer, name in names.items())
