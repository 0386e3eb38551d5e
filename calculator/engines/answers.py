"""What an engine answers with, where that is more than a number."""

from __future__ import annotations

from typing import NamedTuple


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
