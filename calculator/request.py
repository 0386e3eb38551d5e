"""What is asked of the cache: lengths, encoder length, element types."""

from __future__ import annotations

from dataclasses import dataclass, field

from calculator.dtypes import CACHE_DTYPES, ENGINE_DTYPES, dtype
from calculator.errors import InvalidInput
from calculator.units import MAX_TOKENS, checked_int


@dataclass(frozen=True, slots=True)
class Request:
    """One `seq_len` × `batch_size`, or ragged `seq_lens`: tokens seen, prompt included.

    `shared_prefix_len` tokens at the start are the same in all sequences and stored once. Element
    types are None until asked for: then model, checkpoint and engine decide.
    """

    seq_len: int | None = None
    batch_size: int = 1
    seq_lens: tuple[int, ...] | None = None
    encoder_seq_len: int | None = None
    key_dtype: str | None = None
    value_dtype: str | None = None
    shared_prefix_len: int = 0
    lengths: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)
    """(tokens, how many sequences have so many), in the order they were given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", self._counted_lengths())
        if self.encoder_seq_len is not None:
            checked_int("encoder_seq_len", self.encoder_seq_len, at_most=MAX_TOKENS)
        for name in ("key_dtype", "value_dtype"):
            value = getattr(self, name)
            if value is not None:
                known = CACHE_DTYPES + ENGINE_DTYPES
                object.__setattr__(self, name, dtype(value, field=name, known=known).name)
        if self.shared_prefix_len != 0:
            shortest = min(length for length, _ in self.lengths)
            checked_int("shared_prefix_len", self.shared_prefix_len, at_least=0, at_most=shortest)

    def _counted_lengths(self) -> tuple[tuple[int, int], ...]:
        checked_int("batch_size", self.batch_size)
        if self.seq_lens is None:
            if self.seq_len is None:
                raise InvalidInput("seq_len is missing; give seq_len or seq_lens.", field="seq_len")
            checked_int("seq_len", self.seq_len, at_most=MAX_TOKENS)
            return ((self.seq_len, self.batch_size),)
        if self.seq_len is not None or self.batch_size != 1:
            raise InvalidInput(
                "seq_lens is given beside seq_len or batch_size; it already says both.",
                field="seq_lens",
            )
        if not isinstance(self.seq_lens, tuple | list) or not self.seq_lens:
            raise InvalidInput(
                "seq_lens is empty or no sequence of numbers; expected a length for each sequence.",
                field="seq_lens",
            )
        object.__setattr__(self, "seq_lens", tuple(self.seq_lens))
        counts: dict[int, int] = {}
        for length in self.seq_lens:
            checked_int("seq_lens", length, at_most=MAX_TOKENS)
            counts[length] = counts.get(length, 0) + 1
        return tuple(counts.items())

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(length for length, _ in self.lengths)

    @property
    def num_sequences(self) -> int:
        return sum(count for _, count in self.lengths)
