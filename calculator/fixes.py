"""A scenario not certain to fit → single changes that make it certain, largest gain first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from calculator.budget import ByteRange, budget_of
from calculator.capacity import Capacity, fit
from calculator.dtypes import DTYPES
from calculator.errors import CalculatorError
from calculator.search import resize
from calculator.weights import weights_of

HEADING = "To be certain that it fits"
NONE_FOUND = "no single change found"


@dataclass(frozen=True, slots=True)
class Fix:
    """One change, what the cache then takes on a device and what is spare [bytes]."""

    change: str
    changes_outputs: bool
    cache_bytes_per_device: int
    spare: ByteRange

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": self.change,
            "changes_outputs": self.changes_outputs,
            "cache_bytes_per_device": self.cache_bytes_per_device,
            "spare_bytes_per_device": self.spare._asdict(),
        }


def fixes(asked: Capacity) -> tuple[Fix, ...]:
    """Changes after which the scenario certainly fits; none when it already does."""
    if asked.verdict == "fits":
        return ()
    tried = [
        Fix(change, lossy, found.cache_bytes_per_device, found.spare)
        for change, lossy, found in _candidates(asked)
        if found.verdict == "fits"
    ]
    return tuple(sorted(tried, key=lambda fix: -fix.spare.low))


def _candidates(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    yield from _more_devices(asked)
    yield from _smaller_weights(asked)
    yield from _smaller_cache(asked)
    yield from _shared_tokens(asked)
    yield from _lighter_engine(asked)
    yield from _longer_limit(asked)
    request, most, longest = asked.footprint.request, asked.max_batch_size, asked.max_seq_len
    if most.low and most.low < request.num_sequences:
        plural = "s" if most.low > 1 else ""
        text = f"{most.low:,} sequence{plural} instead of {request.num_sequences:,}"
        yield text, False, _with(asked, batch_size=most.low)
    if longest.low and longest.low < request.longest <= longest.low * 8:
        length = longest.low - longest.low % (1000 if longest.low >= 10_000 else 1)
        text = f"Context {length:,} instead of {request.longest:,}"
        yield text, False, _with(asked, seq_len=length)


def _more_devices(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The smallest doubling of the tensor-parallel group that certainly fits."""
    fp, budget = asked.footprint, asked.budget
    if budget.device is None or budget.weights is None:
        return
    for factor in (2, 4, 8, 16, 32, 64):
        size = fp.parallelism.tensor_parallel_size * factor
        spread = replace(fp.parallelism, tensor_parallel_size=size)
        weights = weights_of(fp.model, spread, weights_bytes=budget.weights.num_bytes)
        try:
            larger = budget_of(budget.device, weights, budget.overhead, budget.share)
            found = fit(fp.model, fp.request, fp.engine, spread, larger)
        except CalculatorError:
            return
        if found.verdict == "fits":
            text = f"{spread.num_devices} × {budget.device.name}, tensor parallel {size}"
            yield text, False, found
            return


def _smaller_weights(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The mildest quantisation of the weights that suffices."""
    fp, budget = asked.footprint, asked.budget
    if budget.device is None or budget.weights is None or fp.model.num_parameters is None:
        return
    for name in fp.engine.lighter_weights:
        weights = weights_of(fp.model, fp.parallelism, name)
        if weights.bytes_per_device < budget.weights.bytes_per_device:
            lighter = budget_of(budget.device, weights, budget.overhead, budget.share)
            found = fit(fp.model, fp.request, fp.engine, fp.parallelism, lighter)
            if found.verdict == "fits":
                yield f"Weights {name}", True, found
                return


def _smaller_cache(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The mildest cache type this engine can run that suffices."""
    fp = asked.footprint
    bits = min((DTYPES[name].bits for name in fp.dtypes if name in DTYPES), default=0)
    for name in ("fp8", "q8_0", "q4_0"):
        if name in fp.engine.cache_dtypes and DTYPES[name].bits < bits:
            request = replace(fp.request, key_dtype=name, value_dtype=name)
            try:
                found = fit(fp.model, request, fp.engine, fp.parallelism, asked.budget)
            except CalculatorError:  # a flag of the engine says another type
                return
            if found.verdict == "fits":
                yield f"Cache {name}", True, found
                return


def _shared_tokens(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The fewest tensor ranks that must share tokens instead of holding copies of their heads."""
    fp = asked.footprint
    now, ranks = fp.parallelism.decode_context_parallel_size, fp.parallelism.tensor_parallel_size
    sizes = [n for n in (2, 4, 8, 16) if n > now and ranks % n == 0]
    for size in sizes if fp.engine.context_parallel else ():
        spread = replace(fp.parallelism, decode_context_parallel_size=size)
        try:
            found = fit(fp.model, fp.request, fp.engine, spread, asked.budget)
        except CalculatorError:  # no copies, or not with this attention
            return
        if found.verdict == "fits":
            yield f"Decode-context parallel {size}", False, found
            return


def _lighter_engine(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The mildest of the engine's own settings that suffices."""
    fp = asked.footprint
    for flag, engine in fp.engine.lighter(fp.request):
        found = fit(fp.model, fp.request, engine, fp.parallelism, asked.budget)
        if found.verdict == "fits":
            yield flag, False, found
            return


def _longer_limit(asked: Capacity) -> Iterator[tuple[str, bool, Capacity]]:
    """The engine's own limit raised, where it is what says no."""
    fp = asked.footprint
    if not asked.limit:
        return
    try:
        for flag, engine in fp.engine.longer(fp.request, fp.parallelism):
            yield flag, False, fit(fp.model, fp.request, engine, fp.parallelism, asked.budget)
    except CalculatorError:  # more than the engine takes at all
        return


def _with(asked: Capacity, **lengths: int) -> Capacity:
    fp = asked.footprint
    seq_len = lengths.get("seq_len", fp.request.longest)
    request = resize(fp.request, seq_len, lengths.get("batch_size", fp.request.num_sequences))
    return fit(fp.model, request, fp.engine, fp.parallelism, asked.budget)
