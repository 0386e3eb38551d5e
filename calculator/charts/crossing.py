"""A capacity → where the cache outgrows the weights beside it on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from calculator.capacity import Capacity, largest
from calculator.footprint import Footprint, footprint
from calculator.units import MAX_COUNT, MAX_TOKENS


class Crossing(NamedTuple):
    """The least number of sequences, or of tokens, whose cache is larger; None if none is."""

    sequences: int | None
    tokens: int | None


def outgrows_weights(found: Capacity) -> Crossing | None:
    """From how many sequences at this context, and from which context at this many sequences."""
    weights, fp = found.budget.weights, found.footprint
    if weights is None or not weights.bytes_per_device:
        return None
    room = weights.bytes_per_device
    sequences = largest(lambda n: _on_device(fp, batch_size=n) <= room, MAX_COUNT)
    tokens = largest(lambda n: _on_device(fp, seq_len=n) <= room, MAX_TOKENS)
    return Crossing(
        None if sequences is None else sequences + 1, None if tokens is None else tokens + 1
    )


def _on_device(fp: Footprint, *, seq_len: int = 0, batch_size: int = 0) -> int:
    seq_len = seq_len or fp.request.longest
    request = replace(
        fp.request,
        seq_len=seq_len,
        batch_size=batch_size or fp.request.num_sequences,
        seq_lens=None,
        shared_prefix_len=min(fp.request.shared_prefix_len, seq_len),
    )
    return max(footprint(fp.model, request, fp.engine, fp.parallelism).bytes_per_device)
