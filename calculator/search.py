"""Memory of a device → the longest context and the largest batch whose cache it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from calculator.engines.answers import Demand
from calculator.engines.base import Engine
from calculator.errors import CalculatorError
from calculator.footprint import footprint
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request
from calculator.units import MAX_COUNT, MAX_TOKENS

NOT_RUN = 2**128
"""Stands for what an engine's options do not let run: more than any size that can be asked for."""

_SCANNED, _MANY = 256, 2048
_STEPS = (*(2**i for i in range(11)), *(3 * 2**i for i in range(11)))


class Search:
    """Of one scenario; its request gives everything but the length and the number searched for."""

    def __init__(
        self, model: ModelSpec, request: Request, engine: Engine, parallelism: Parallelism
    ) -> None:
        self.model, self.request, self.engine = model, request, engine
        self.parallelism = parallelism
        self.held = resized(model, request, engine.storage(), parallelism)
        self.demand = demand_of(model, request, engine, parallelism)

    def needed(self, seq_len: int, batch_size: int) -> int:
        """Bytes a device must have; NOT_RUN where the engine's options forbid it [bytes]."""
        if self.engine.bounded:
            asked = resize(self.request, seq_len, batch_size)
            if self.engine.limit(self.model, asked, self.parallelism):
                return NOT_RUN
        return self.demand(seq_len).for_held(self.held(seq_len, batch_size))

    def longest(self, available: int) -> int | None:
        """Tokens, with the request's number of sequences; None where nothing grows."""
        tokens, sequences = self.request.longest, self.request.num_sequences
        guess = tokens * available // max(1, self.held(tokens, sequences))
        return _in_steps(
            lambda n: self.needed(n, sequences) <= available,
            lambda n: self.held(n, sequences) < NOT_RUN,
            tokens, MAX_TOKENS, guess,
        )  # fmt: skip

    def most(self, available: int, seq_len: int) -> int | None:
        """Sequences of `seq_len` tokens at once; None where nothing grows."""
        guess = available // max(1, self.held(seq_len, 1))
        own = self.engine.max_sequences
        limit = min(MAX_COUNT, own * self.parallelism.data_parallel_size) if own else MAX_COUNT
        found = _in_steps(
            lambda n: self.needed(seq_len, n) <= available,
            lambda n: self.held(seq_len, n) < NOT_RUN,
            self.request.num_sequences, limit, guess,
        )  # fmt: skip
        return limit if found is None and own else found


def _in_steps(
    fits: Callable[[int], bool], runs: Callable[[int], bool], known: int, limit: int, guess: int
) -> int | None:
    """`largest`, among the numbers that run at all.

    They are all, or the multiples of the smallest (what is quantised in groups), or a few: divisors
    of what an engine deals out.
    """
    step = next((n for n in (*_STEPS, known) if runs(n)), 1)
    if not all(runs(n) for n in (2 * step, 3 * step, 5 * step, 7 * step) if n <= limit):
        few = _few(runs, limit)
        if few is not None:
            return max((n for n in few if fits(n)), default=0)
    found = largest(lambda n: fits(n * step), max(1, limit // step), guess // step)
    return found * step if found else found


def _few(runs: Callable[[int], bool], limit: int) -> list[int] | None:
    """Every number that runs, None where they go on: none may run from some number to its double.

    >>> _few(lambda n: 512 % n == 0 and n <= 256, 10**6), _few(lambda n: n % 16 == 0, 10**6)
    ([1, 2, 4, 8, 16, 32, 64, 128, 256], None)
    """
    found: list[int] = []
    for n in range(1, min(limit, _MANY) + 1):
        if n > _SCANNED and n > 2 * (found[-1] if found else 0):
            return found
        if runs(n):
            found.append(n)
    return found if limit <= _MANY else None


@lru_cache(maxsize=256)
def resize(request: Request, seq_len: int, batch_size: int) -> Request:
    """The request with so many sequences of this length, all else as it is."""
    prefix = min(request.shared_prefix_len, seq_len)
    return replace(
        request, seq_len=seq_len, batch_size=batch_size, seq_lens=None, shared_prefix_len=prefix
    )


def resized(
    model: ModelSpec, request: Request, engine: Engine, parallelism: Parallelism
) -> Callable[[int, int], int]:
    """(seq_len, batch_size) → bytes on the device that holds most; NOT_RUN where that is refused.

    Raises CalculatorError where the model cannot be spread, or something is missing.
    """

    def by_footprint(seq_len: int, batch_size: int) -> int:
        asked = resize(request, seq_len, batch_size)
        try:
            return max(footprint(model, asked, engine, parallelism).bytes_per_device)
        except CalculatorError:
            return NOT_RUN

    ranks = parallelism.tensor_parallel_size
    uneven = parallelism.num_devices > ranks or parallelism.decode_context_parallel_size > 1
    if uneven or not engine.additive or request.shared_prefix_len:
        asked = resize(request, request.longest, request.num_sequences)
        footprint(model, asked, engine, parallelism)
        return by_footprint
    of_one = _of_one_sequence(model, resize(request, 1, 1), engine, parallelism)
    return lambda seq_len, batch_size: batch_size * (of_one(seq_len) // ranks)


@lru_cache(maxsize=64)
def _of_one_sequence(
    model: ModelSpec, request: Request, engine: Engine, parallelism: Parallelism
) -> Callable[[int], int]:
    """Kept for the next search and chart, which ask for many of the same lengths."""
    footprint(model, request, engine, parallelism)
    return lru_cache(maxsize=2048)(engine.of_one_sequence(model, request, parallelism))


def demand_of(
    model: ModelSpec, request: Request, engine: Engine, parallelism: Parallelism
) -> Callable[[int], Demand]:
    """What a device must have at each length of a request like this one; kept likewise."""
    return _demand(model, resize(request, 1, 1), engine, parallelism)


@lru_cache(maxsize=64)
def _demand(
    model: ModelSpec, request: Request, engine: Engine, parallelism: Parallelism
) -> Callable[[int], Demand]:
    return lru_cache(maxsize=2048)(engine.demand(model, request, parallelism))


def largest(fits: Callable[[int], bool], limit: int, guess: int = 1) -> int | None:
    """The largest n from 1 to `limit` that fits, 0 if none does, None if all do.

    Searched for in growing steps from `guess`, which changes the time and not the answer.

    >>> largest(lambda n: n * n <= 50, 1000), largest(lambda n: n * n <= 50, 1000, guess=9)
    (7, 7)
    """
    if not fits(1):
        return 0
    below = above = min(max(guess, 1), limit)
    step = 1
    if fits(below):
        while (above := below + step) <= limit and fits(above):
            below, step = above, step * 2
        if above > limit:
            if fits(limit):
                return None
            above = limit
    else:
        while (below := max(1, above - step)) > 1 and not fits(below):
            above, step = below, step * 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if fits(middle) else (below, middle)
    return below
