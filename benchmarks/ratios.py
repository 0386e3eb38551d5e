"""Two timed functions → their ratio, held against a goal; both run in turns on the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Ratio(NamedTuple):
    """What was timed, beside what, and how much larger it may be; no goal: to be known only."""

    name: str
    seconds: float
    reference: str
    reference_seconds: float
    goal: float | None

    @property
    def value(self) -> float:
        return self.seconds / self.reference_seconds

    @property
    def holds(self) -> bool:
        return self.goal is None or self.value <= self.goal


def best_in_turns(
    first: Callable[[], object], second: Callable[[], object], *, calls: int, rounds: int
) -> tuple[float, float]:
    """Seconds a call of each, the best of `rounds`; in turns, so that other load hits both."""
    first(), second()
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for i, function in enumerate((first, second)):
            start = time.perf_counter()
            for _ in range(calls):
                function()
            best[i] = min(best[i], (time.perf_counter() - start) / calls)
    return best[0], best[1]


def medians_in_turns(*functions: Callable[[], object], rounds: int) -> list[float]:
    """Seconds of a call of each, the median of `rounds`: what waits for others has no best time."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, took in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            took.append(time.perf_counter() - start)
    return [median(took) for took in times]


def table(ratios: list[Ratio]) -> str:
    """The ratios as a Markdown table."""
    rows = [
        f"| {r.name} | {_shown(r.seconds)} | {r.reference} | {_shown(r.reference_seconds)} "
        f"| {r.value:.2f} | {_verdict(r)} |"
        for r in ratios
    ]
    head = "| What | time | beside | time | ratio | goal at most | holds |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows])


def _verdict(ratio: Ratio) -> str:
    if ratio.goal is None:
        return "– | –"
    return f"{ratio.goal:g} | {'yes' if ratio.holds else 'NO'}"


def _shown(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms"
