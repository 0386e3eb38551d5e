"""A model and element types → the rows an engine keeps, all but their slots."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from calculator.dtypes import DTYPES, Dtype
from calculator.items import Row
from calculator.model import ModelSpec
from calculator.parallel import context_copies, replicas
from calculator.tensors import EveryToken

if TYPE_CHECKING:
    from calculator.engines.base import Engine


@lru_cache(maxsize=4096)
def plan(
    engine: Engine,
    model: ModelSpec,
    key: str,
    value: str,
    tensor_parallel_size: int,
    context_ranks: int = 1,
) -> tuple[Row, ...]:
    """Everything of the rows that does not depend on lengths, worked out once a model.

    Context ranks share what keeps every token; windows and states stay copies on each.
    """
    follows = {"key": key, "value": value, "model": model.dtype}
    rows = []
    for layer_type, layers, caches in model.layer_groups:
        for cache in caches:
            for t in engine.tensors(cache, model):
                d = t.dtype if isinstance(t.dtype, Dtype) else DTYPES[follows[t.dtype]]
                slot_bytes = engine.slot_bytes(t, d)
                name = f"{layer_type} {t.name}"
                copies = replicas(t.heads, tensor_parallel_size, name)
                if isinstance(t.growth, EveryToken):
                    copies = context_copies(copies, context_ranks, name)
                rows.append(
                    Row(
                        layer_type, layers, cache.kind, t.name, t.heads, t.width,
                        t.growth, d, slot_bytes, copies,
                    )
                )  # fmt: skip
    return tuple(rows)
