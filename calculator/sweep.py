"""Lengths × batch sizes → a table of bytes, equal to `footprint` at every point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calculator.engines.arguments import check_arguments
from calculator.engines.base import Engine
from calculator.errors import InvalidInput, shown
from calculator.footprint import IDEAL, footprint
from calculator.model import ModelSpec
from calculator.parallel import SINGLE, Parallelism
from calculator.request import Request
from calculator.units import MAX_TOKENS, checked_int

if TYPE_CHECKING:
    import numpy as np

MAX_INT64 = 2**63 - 1


def sweep(
    model: ModelSpec,
    seq_lens: Any,
    batch_sizes: Any,
    engine: Engine = IDEAL,
    parallelism: Parallelism = SINGLE,
    request: Request | None = None,
) -> np.ndarray:
    """int64 array of shape (len(seq_lens), len(batch_sizes)) [bytes], all devices together.

    `request` gives element types, encoder length and shared prefix; its own length is not used.
    Where an engine is additive the table is an outer product, else each point is computed.
    Raises InvalidInput past int64.
    """
    import numpy as np

    lengths, batches = _counts("seq_lens", seq_lens), _counts("batch_sizes", batch_sizes)
    base = Request(seq_len=1) if request is None else request
    check_arguments(model=model, request=base, engine=engine, parallelism=parallelism)
    if not lengths or not batches:
        return np.zeros((len(lengths), len(batches)), dtype=np.int64)

    footprint(model, replace(base, seq_len=1, batch_size=1, seq_lens=None), engine, parallelism)
    if engine.additive and not base.shared_prefix_len:
        single = list(map(engine.of_one_sequence(model, base, parallelism), lengths))
        _check_range(max(single) * max(batches))
        return np.multiply.outer(
            np.array(single, dtype=np.int64), np.array(batches, dtype=np.int64)
        )
    asked = [
        [replace(base, seq_len=n, batch_size=b, seq_lens=None) for b in batches] for n in lengths
    ]
    table = [[footprint(model, r, engine, parallelism).num_bytes for r in row] for row in asked]
    _check_range(max(max(row) for row in table))
    return np.array(table, dtype=np.int64)


def _counts(field: str, values: Any) -> list[int]:
    listed = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(listed, Iterable):
        raise InvalidInput(f"{field} is {shown(listed)}; expected a list of numbers.", field=field)
    listed = list(listed)
    for value in listed:
        checked_int(field, value, at_most=MAX_TOKENS)
    return listed


def _check_range(largest: int) -> None:
    if largest > MAX_INT64:
        raise InvalidInput(
            f"The largest point is {largest:,} B, past what a table of 64-bit integers holds "
            f"({MAX_INT64:,} B); sweep smaller lengths or batch sizes.",
            field="seq_lens",
        )
