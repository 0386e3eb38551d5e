"""A scenario → the same cache in every element type that its engine runs, largest first."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from calculator.capacity import Capacity, Verdict
from calculator.dtypes import DTYPES
from calculator.errors import CalculatorError
from calculator.footprint import Footprint, footprint


class Rung(NamedTuple):
    """Element types that give one size; bytes on the device that holds most."""

    dtypes: tuple[str, ...]
    bits: float
    cache_bytes_per_device: int
    verdict: Verdict | None
    current: bool


def ladder(fp: Footprint, found: Capacity | None) -> tuple[Rung, ...]:
    """Types of equal size share a rung; a type that the engine refuses is not on the ladder."""
    key, value = fp.dtypes
    sizes: dict[tuple[int, float], list[str]] = {}
    for name in fp.engine.cache_dtypes:
        try:
            asked = replace(fp.request, key_dtype=name, value_dtype=name)
            other = footprint(fp.model, asked, fp.engine, fp.parallelism)
        except CalculatorError:
            continue
        sizes.setdefault((max(other.bytes_per_device), DTYPES[name].bits), []).append(name)
    return tuple(
        Rung(
            tuple(sorted(names, key=lambda name: name != key)),
            bits,
            size,
            verdict_of(size, found),
            key == value and key in names,
        )
        for (size, bits), names in sorted(sizes.items(), reverse=True)
    )


def verdict_of(cache_bytes_per_device: int, found: Capacity | None) -> Verdict | None:
    """What the verdict is for another size of cache on the same budget."""
    if found is None:
        return None
    low, high = found.budget.available
    if cache_bytes_per_device <= low:
        return "fits"
    return "marginal" if cache_bytes_per_device <= high else "does-not-fit"
