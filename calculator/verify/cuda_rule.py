"""Sizes asked for, in order → the bytes that torch's CUDA allocator sets aside for them."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

from calculator.units import MIB, round_up

MIN_BLOCK = 512
SMALL = MIB
SMALL_SEGMENT = 2 * MIB
LARGE_SEGMENT = 20 * MIB
MIN_LARGE_ALLOC = 10 * MIB
ROUND_LARGE = 2 * MIB

RULE = (
    "Each request is rounded up to 512 B. Up to 1 MiB it comes out of 2 MiB segments, below 10 MiB "
    "out of 20 MiB segments, else its segment is the size rounded up to 2 MiB. What is left of a "
    "segment is used for later requests, but stays with the block if it is less than 512 B (small) "
    "or at most 1 MiB (large)."
)


class SetAside(NamedTuple):
    """Bytes in blocks handed out, and bytes taken from the device in segments."""

    allocated_bytes: int
    reserved_bytes: int


def set_aside(sizes: list[int]) -> SetAside:
    """What a fresh process holds after these requests, none of them freed.

    Source: torch 2.13 c10/core/AllocatorConfig.h (sizes), c10/cuda/CUDACachingAllocator.cpp
    (`round_size`, `get_allocation_size`, `get_free_block`: the smallest that is large enough,
    `should_split`). Valid for the default backend without expandable segments or other settings.

    >>> set_aside([1000]), set_aside([5 * MIB, 5 * MIB]), set_aside([11 * MIB])
    (SetAside(allocated_bytes=1024, reserved_bytes=2097152), \
SetAside(allocated_bytes=10485760, reserved_bytes=20971520), \
SetAside(allocated_bytes=12582912, reserved_bytes=12582912))
    """
    free: dict[bool, list[int]] = {True: [], False: []}
    allocated = reserved = 0
    for size in sizes:
        if not size:
            continue
        wanted = max(MIN_BLOCK, round_up(size, MIN_BLOCK))
        small = wanted <= SMALL
        pool = free[small]
        at = bisect_left(pool, wanted)
        if at < len(pool):
            block = pool.pop(at)
        else:
            block = _segment(wanted)
            reserved += block
        left = block - wanted
        if left >= MIN_BLOCK if small else left > SMALL:
            insort(pool, left)
            block = wanted
        allocated += block
    return SetAside(allocated, reserved)


def _segment(wanted: int) -> int:
    if wanted <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if wanted < MIN_LARGE_ALLOC else round_up(wanted, ROUND_LARGE)
