"""Lengths × batch sizes → bytes of cache on the device that holds most."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from calculator.footprint import Footprint
from calculator.search import NOT_RUN, demand_of, resize, resized


def sizes_on_device(fp: Footprint, lengths: list[int], batches: list[int]) -> list[list[int]]:
    """A row for each length, a column for each batch size [bytes]."""
    request = replace(fp.request, shared_prefix_len=min(fp.request.shared_prefix_len, *lengths))
    size = resized(fp.model, request, fp.engine, fp.parallelism)
    return [[size(n, b) for b in batches] for n in lengths]


def what_runs(
    fp: Footprint, lengths: list[int], batches: list[int]
) -> tuple[list[int], list[int], list[list[int]]]:
    """The table without rows and columns in which an option of the engine refuses a size.

    This scenario's own row and column run, and say which of the others are worth keeping.
    """
    table = sizes_on_device(fp, lengths, batches)
    if max(map(max, table)) < NOT_RUN:
        return lengths, batches, table
    row = table[lengths.index(fp.request.longest)]
    columns = [i for i, size in enumerate(row) if size < NOT_RUN]
    kept = [r for r, sizes in enumerate(table) if all(sizes[i] < NOT_RUN for i in columns)]
    return (
        [lengths[r] for r in kept],
        [batches[i] for i in columns],
        [[table[r][i] for i in columns] for r in kept],
    )


def needs_of(
    fp: Footprint, lengths: list[int], batches: list[int], sizes: list[list[int]]
) -> list[tuple[int, ...]]:
    """What the device must have for each size of such a table [bytes]."""
    behind = fp.engine.storage()
    if behind != fp.engine:
        sizes = sizes_on_device(replace(fp, engine=behind), lengths, batches)
    demands = map(demand_of(fp.model, fp.request, fp.engine, fp.parallelism), lengths)
    needs = [
        tuple([max(held, least) + unusable for held in row])
        for (least, unusable), row in zip(demands, sizes, strict=True)
    ]
    if not fp.engine.bounded:
        return needs
    return [
        tuple(need if _runs(fp, n, b) else NOT_RUN for b, need in zip(batches, row, strict=True))
        for n, row in zip(lengths, needs, strict=True)
    ]


def _runs(fp: Footprint, seq_len: int, batch_size: int) -> bool:
    asked = resize(fp.request, seq_len, batch_size)
    return not fp.engine.limit(fp.model, asked, fp.parallelism)


def powers(low: int, high: int) -> list[int]:
    """Powers of two from `low` to `high`, which are powers of two themselves.

    >>> powers(1024, 4096)
    [1024, 2048, 4096]
    """
    return [2**n for n in range(low.bit_length() - 1, high.bit_length())]


def power_below(n: int) -> int:
    """The largest power of two that is not above n.

    >>> power_below(1024), power_below(1500)
    (1024, 1024)
    """
    return 1 << (n.bit_length() - 1)


def power_above(n: int) -> int:
    """The smallest power of two that is not below n.

    >>> power_above(1024), power_above(1500)
    (1024, 2048)
    """
    return 1 << (n - 1).bit_length()


def context_range(fp: Footprint) -> tuple[int, int]:
    """From 1K to 256K, wider where the scenario or the model's maximum asks for it."""
    longest, limit = fp.request.longest, fp.model.max_position_embeddings or 1
    low = power_below(min(1024, longest))
    return low, max(2**18, power_above(longest), min(2**20, power_above(limit)))


@lru_cache(maxsize=64)
def between(low: int, high: int, steps: int = 2) -> tuple[int, ...]:
    """Whole numbers at even distances on a log axis, `steps` to an octave, ends included.

    >>> between(1024, 2048)
    (1024, 1448, 2048)
    """
    octaves = (high.bit_length() - low.bit_length()) * steps
    points = {round(low * 2 ** (i / steps)) for i in range(octaves + 1)}
    return tuple(sorted(points | {low, high}))
