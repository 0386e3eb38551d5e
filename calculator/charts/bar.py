"""A capacity → the segments of its memory bar, from the left, on one device [bytes]."""

from __future__ import annotations

from typing import Literal, NamedTuple

from calculator.budget import ByteRange
from calculator.capacity import Capacity
from calculator.explain import sizes
from calculator.verdict import amount, amounts

Role = Literal[
    "weights", "fixed", "growing", "start", "estimate", "range", "free", "over", "outside"
]


class Segment(NamedTuple):
    """A stretch of the bar; `low` and `high` are what its entry in the key says."""

    role: Role
    label: str
    num_bytes: int
    low: int
    high: int
    in_key: bool = True


class Bar(NamedTuple):
    """Segments that add up to `scale_bytes`, and where the share of memory ends."""

    segments: tuple[Segment, ...]
    scale_bytes: int
    limit_bytes: int
    usable_bytes: int

    @property
    def key(self) -> tuple[Segment, ...]:
        """Its entries, what is over the limit as the last."""
        return tuple(sorted((s for s in self.segments if s.in_key), key=lambda s: s.role == "over"))

    @property
    def text(self) -> str:
        """The bar in words."""
        return "; ".join(f"{s.label} {gib_span(s.low, s.high)}" for s in self.key)


def memory_bar(found: Capacity) -> Bar:
    """Weights, cache, other needs (sure, then possible), what is free, what is over or outside.

    The scale is the device's memory, or what is needed at most where that is more.
    """
    budget, limit = found.budget, found.budget.limit_bytes
    usable = budget.device.usable_bytes if budget.device else limit
    segments, used = _certain(found), 0
    for segment in segments:
        used += segment.num_bytes
    low, high = budget.overhead
    unsure = Segment("range", "Other needs", high - low, low, high, in_key=False)
    used += unsure.num_bytes
    spare, short = found.spare, max(0, used - limit)
    free = max(0, limit - used)
    if short:
        segments, unsure = _cut(segments, limit), _cut((unsure,), limit, used - unsure.num_bytes)[0]
    outside, untouched = usable - limit, max(0, usable - max(limit, used))
    # nothing free is drawn where something is over: its place in the key is the outside's
    left = "For more requests" if found.footprint.engine.reserves else "Free"
    spared = max(0, spare.low), max(0, spare.high)
    tail = [Segment("free", left, free, *spared, in_key=not (short and untouched))]
    if short:
        tail.append(Segment("over", "Over the limit", short, max(0, -spare.high), short))
    tail.append(
        Segment("outside", "Outside share", untouched, outside, outside, in_key=untouched > 0)
    )
    return Bar((*segments, unsure, *tail), max(usable, used), limit, usable)


def _certain(found: Capacity) -> tuple[Segment, ...]:
    """What is sure to be taken: weights, cache, the low end of other needs."""
    segments, weights = [], found.budget.weights
    if weights:
        label = f"Weights, {weights.dtype}"
        size = weights.bytes_per_device
        segments.append(Segment("weights", label, size, size, size))
    cache, fixed = found.cache_bytes_per_device, fixed_bytes_per_device(found)
    if fixed is None:
        segments.append(Segment("growing", "Cache", cache, cache, cache))
    else:
        segments.append(Segment("fixed", "Cache, fixed", fixed, fixed, fixed, fixed > 0))
        growing = cache - fixed
        segments.append(Segment("growing", "Cache, growing", growing, growing, growing))
    if more := found.needed_bytes_per_device - cache:
        label = "Needed to start" if found.footprint.engine.reserves else "Behind the tensors"
        segments.append(Segment("start", label, more, more, more, found.needs_more > 0))
    low, high = found.budget.overhead
    segments.append(Segment("estimate", "Other needs, estimate", low, low, high, high > 0))
    return tuple(segments)


def fixed_bytes_per_device(found: Capacity) -> int | None:
    """The part that does not grow, where all devices hold the same; None where stages differ."""
    p = found.footprint.parallelism
    if p.num_devices > p.tensor_parallel_size:
        return None
    return found.footprint.fixed_bytes // p.tensor_parallel_size


def _cut(segments: tuple[Segment, ...], limit: int, start: int = 0) -> tuple[Segment, ...]:
    """Segments drawn up to the limit; what passes it is the crosshatched segment's."""
    cut = []
    for segment in segments:
        room = max(0, limit - start)
        cut.append(segment._replace(num_bytes=min(segment.num_bytes, room)))
        start += segment.num_bytes
    return tuple(cut)


def gib_span(low: int, high: int) -> str:
    """Two decimals for a size, one for a range; a dash between its ends."""
    if low == high:
        return sizes(low)[0] if low else "0 GiB"
    return amounts(ByteRange(low, high)) if low else f"0–{amount(high)}"
