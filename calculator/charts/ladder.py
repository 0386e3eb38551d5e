"""A scenario → the same cache in every element type that its engine runs, largest first."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from calculator.capacity import Capacity, Verdict, needed_on_device
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
    sizes: dict[tuple[int, float, Verdict | None], list[str]] = {}
    for name in fp.engine.cache_dtypes:
        try:
            asked = replace(fp.request, key_dtype=name, value_dtype=name)
            other = footprint(fp.model, asked, fp.engine, fp.parallelism)
        except CalculatorError:
            continue
        size = max(other.bytes_per_device)
        verdict = found.verdict_of(needed_on_device(other)) if found else None
        sizes.setdefault((size, DTYPES[name].bits, verdict), []).append(name)
    return tuple(
        Rung(
            tuple(sorted(names, key=lambda name: name != key)),
            bits,
            size,
            verdict,
            key == value and key in names,
        )
        for (size, bits, verdict), names in sorted(sizes.items(), key=_largest_first)
    )


def _largest_first(rung: tuple[tuple[int, float, Verdict | None], list[str]]) -> tuple[int, float]:
    (size, bits, _), _ = rung
    return -size, -bits
