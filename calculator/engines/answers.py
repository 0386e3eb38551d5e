"""What an engine answers with, where that is more than a number."""

from __future__ import annotations

from typing import NamedTuple

from calculator.model import ModelSpec


class CacheDtypes(NamedTuple):
    """Element types of keys and values, and in a sentence why these."""

    key: str
    value: str
    basis: str


class Demand(NamedTuple):
    """Bytes of cache a device must have at `least` to start, and those that are never usable."""

    least: int
    unusable: int

    def for_held(self, held: int) -> int:
        """What a device must have for sequences that hold so much [bytes]."""
        return max(held, self.least) + self.unusable


def model_dtype(model: ModelSpec) -> tuple[str, str]:
    """The model's type, and where it comes from when nothing names one for its cache."""
    whose = "assumed" if ("dtype", "assumed") in model.provenance else "the model's own"
    silent = "what was read" if model.read_from else "its checkpoint"
    return model.dtype, f"{whose}; {silent} names no cache quantisation"
