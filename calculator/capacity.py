"""A scenario on a device → does it fit, how long, how many: ranges, because other needs are one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from calculator.budget import Budget, ByteRange, budget_of
from calculator.devices import Device, load_device
from calculator.engines.arguments import check_arguments
from calculator.engines.base import Engine
from calculator.errors import InvalidInput
from calculator.footprint import IDEAL, Footprint, footprint
from calculator.model import ModelSpec
from calculator.parallel import SINGLE, Parallelism
from calculator.request import Request
from calculator.search import Search, demand_of
from calculator.units import MAX_BYTES, MAX_TOKENS, checked_int
from calculator.weights import weights_of

Verdict = Literal["fits", "marginal", "does-not-fit"]


class CountRange(NamedTuple):
    """Least to most; None where nothing grows, so that there is no limit."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The verdict on one scenario; sizes are of the device that holds most of the cache.

    `max_batch_size` counts the sequences of all data-parallel replicas together; an engine's blocks
    (`pool_of_blocks`) are those of one.
    """

    footprint: Footprint
    budget: Budget
    cache_bytes_per_device: int
    needed_bytes_per_device: int
    max_seq_len: CountRange
    max_batch_size: CountRange
    typical: tuple[int, CountRange] | None = None
    limit: str = ""

    @property
    def spare(self) -> ByteRange:
        """What is left beside what the cache needs, least to most; negative is what is short."""
        low, high = self.budget.available
        return ByteRange(low - self.needed_bytes_per_device, high - self.needed_bytes_per_device)

    @property
    def needs_more(self) -> int:
        """Bytes of a device that are needed beyond the cache, where that is worth a word.

        What the engine must find to start, or the memory behind tensors that are views: over 1 %
        of the cache, and 64 MiB.
        """
        more = self.needed_bytes_per_device - self.cache_bytes_per_device
        is_worth = more * 100 > self.cache_bytes_per_device and more >= 2**26
        return more if is_worth else 0

    @property
    def verdict(self) -> Verdict:
        return "does-not-fit" if self.limit else self.verdict_of(self.needed_bytes_per_device)

    def verdict_of(self, needed_bytes_per_device: int) -> Verdict:
        """What the verdict is when the cache needs so much on the same budget."""
        low, high = self.budget.available
        if needed_bytes_per_device <= low:
            return "fits"
        return "marginal" if needed_bytes_per_device <= high else "does-not-fit"

    @property
    def decided_by(self) -> tuple[str, int]:
        """The largest term and its bytes on a device; the engine's options where they forbid it."""
        if self.limit:
            return "engine's options", 0
        weights = self.budget.weights
        terms = {
            "weights": weights.bytes_per_device if weights else 0,
            "cache": self.needed_bytes_per_device,
            "other needs": self.budget.overhead.high,
        }
        name = max(terms, key=lambda term: terms[term])
        return name, terms[name]

    def pool_of_blocks(self) -> dict[str, Any]:
        """An engine's blocks, tokens and concurrency; low and high where these differ."""
        fp = self.footprint
        low, high = (
            fp.engine.pool_of_blocks(fp.model, fp.request, fp.parallelism, available) or {}
            for available in self.budget.available
        )
        return {
            name: low[name] if low[name] == high[name] else {"low": low[name], "high": high[name]}
            for name in low
        }

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of `kvcalc capacity --json`: estimate's and what fits."""
        from calculator.fixes import fixes

        budget, weights = self.budget, self.budget.weights
        found = {
            **self.footprint.to_dict(),
            "verdict": self.verdict,
            "device": budget.device.to_dict() if budget.device else None,
            "num_devices": self.footprint.parallelism.num_devices,
            "share": budget.share,
            "limit_bytes_per_device": budget.limit_bytes,
            "weights_bytes_per_device": weights.bytes_per_device if weights else None,
            "weights_dtype": weights.dtype if weights else None,
            "other_needs_bytes_per_device": budget.overhead._asdict(),
            "available_bytes_per_device": budget.available._asdict(),
            "cache_bytes_per_device": self.cache_bytes_per_device,
            "needed_bytes_per_device": self.needed_bytes_per_device,
            "spare_bytes_per_device": self.spare._asdict(),
            "max_seq_len": self.max_seq_len._asdict(),
            "max_batch_size": self.max_batch_size._asdict(),
            "decided_by": self.decided_by[0],
            "limit": self.limit or None,
            "fixes": [fix.to_dict() for fix in fixes(self)],
        }
        found |= self.pool_of_blocks()
        if self.typical:
            context, sequences = self.typical
            found["typical"] = {"context": context, "max_batch_size": sequences._asdict()}
        found["assumptions"] = [*found["assumptions"], *budget.basis]
        return found


def capacity(
    model: ModelSpec,
    *,
    device: str | Device | None = None,
    num_devices: int | None = None,
    request: Request | None = None,
    engine: Engine = IDEAL,
    parallelism: Parallelism | None = None,
    kv_bytes_per_device: int | None = None,
    weights_dtype: str | None = None,
    weights_bytes: int | None = None,
    overhead: tuple[int, int] | None = None,
    share: float | None = None,
    typical_context: int | None = None,
) -> Capacity:
    """Whether a request fits on devices, and the longest context and largest batch that do.

    Give a `device` (id, "64 GB" or Device) or `kv_bytes_per_device`, the bytes an engine says it
    has for its cache. Several devices without `parallelism` are one tensor-parallel group.
    `overhead` is the range of other needs of a device [bytes]; default: from public start-up logs.
    `share` is of its memory; default: 0.92, or what the device lends where that is less.
    """
    check_arguments(model=model, engine=engine, request=request or Request(1))
    check_arguments(parallelism=parallelism or SINGLE)
    request = request or Request(seq_len=min(8192, model.max_position_embeddings or 8192))
    parallelism = spread(parallelism, num_devices)
    if kv_bytes_per_device is not None:
        checked_int("kv_bytes_per_device", kv_bytes_per_device, at_most=MAX_BYTES)
        given = ByteRange(kv_bytes_per_device, kv_bytes_per_device)
        basis = (f"Memory for the cache: {kv_bytes_per_device:,} B a device, as given.",)
        none = ByteRange(0, 0)
        budget = Budget(None, 1.0, kv_bytes_per_device, None, none, given, basis)
    elif device is None:
        raise InvalidInput(
            "device is missing; give a device, its memory, or the bytes there are for the cache.",
            field="device",
        )
    else:
        found = device if isinstance(device, Device) else load_device(device)
        weights = weights_of(model, parallelism, weights_dtype, weights_bytes)
        budget = budget_of(found, weights, overhead, share)
        budget = replace(budget, basis=(*budget.basis, *engine.device_notes(found)))
    return fit(model, request, engine, parallelism, budget, typical_context)


def spread(parallelism: Parallelism | None, num_devices: int | None) -> Parallelism:
    """The parallelism asked for, or one tensor-parallel group of all devices."""
    if num_devices is not None:
        checked_int("num_devices", num_devices, at_most=2**14)
    if parallelism is None or parallelism == SINGLE:
        return Parallelism(tensor_parallel_size=num_devices or 1)
    if num_devices is not None and num_devices != parallelism.num_devices:
        raise InvalidInput(
            f"num_devices is {num_devices}, but the parallel sizes multiply to "
            f"{parallelism.num_devices}; make them equal or leave one out.",
            field="num_devices",
        )
    return parallelism


def fit(
    model: ModelSpec,
    request: Request,
    engine: Engine,
    parallelism: Parallelism,
    budget: Budget,
    typical_context: int | None = None,
) -> Capacity:
    """The verdict for a budget, and what it holds at this context and this many sequences."""
    fp = footprint(model, request, engine, parallelism)
    search = Search(model, request, engine, parallelism)
    low, high = budget.available
    typical = None
    if typical_context is not None:
        checked_int("typical_context", typical_context, at_most=MAX_TOKENS)
        sequences = CountRange(*(search.most(n, typical_context) for n in (low, high)))
        typical = (typical_context, sequences)
    return Capacity(
        footprint=fp,
        budget=budget,
        cache_bytes_per_device=max(fp.bytes_per_device),
        needed_bytes_per_device=needed_on_device(fp),
        max_seq_len=CountRange(search.longest(low), search.longest(high)),
        max_batch_size=CountRange(*(search.most(n, request.longest) for n in (low, high))),
        typical=typical,
        limit=engine.limit(model, request, parallelism),
    )


def needed_on_device(fp: Footprint) -> int:
    """Bytes the fullest device must have for the cache, what lies behind its tensors included."""
    demand = demand_of(fp.model, fp.request, fp.engine, fp.parallelism)(fp.request.longest)
    behind = fp.engine.storage()
    if behind != fp.engine:
        fp = footprint(fp.model, fp.request, behind, fp.parallelism)
    return demand.for_held(max(fp.bytes_per_device))
