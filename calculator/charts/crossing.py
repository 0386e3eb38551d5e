"""A capacity → where the cache outgrows the weights beside it on a device."""

from __future__ import annotations

from typing import NamedTuple

from calculator.capacity import Capacity
from calculator.search import NOT_RUN, largest, resized
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
    room, request = weights.bytes_per_device, fp.request
    size = resized(fp.model, request, fp.engine, fp.parallelism)
    length, number = request.longest, request.num_sequences
    one, all_of_them = max(1, size(length, 1)), max(1, size(length, number))

    def within(num_bytes: int) -> bool:
        return num_bytes <= room or num_bytes == NOT_RUN

    sequences = largest(lambda n: within(size(length, n)), MAX_COUNT, room // one)
    guess = length * room // all_of_them
    tokens = largest(lambda n: within(size(n, number)), MAX_TOKENS, guess)
    return Crossing(
        None if sequences is None else sequences + 1, None if tokens is None else tokens + 1
    )
