"""A capacity → the sentences that say it: the verdict, the limits, the term that decides."""

from __future__ import annotations

from calculator.budget import ByteRange
from calculator.capacity import Capacity, CountRange
from calculator.explain import answer
from calculator.units import GIB, counted, format_bytes

TAGS = {"fits": "✓ Fits", "marginal": "≈ Marginal", "does-not-fit": "✕ Does not fit"}


def verdict_text(found: Capacity) -> str:
    """The answer and the verdict in two sentences."""
    return f"{answer(found.footprint)} {verdict_sentence(found)}"


def verdict_sentence(found: Capacity, strong: str = "{}") -> str:
    """Fits, marginal or not, and by how much; `strong` is a template around the figures."""
    where, (low, high) = place(found), found.spare
    if found.limit:
        return f"Does not run on {where}: {found.limit}"
    match found.verdict:
        case "fits":
            figure = strong.format(amounts(found.spare))
            return f"Fits {where} with {figure} to spare."
        case "marginal":
            short = strong.format(f"{amount(-low)} short")
            spare = strong.format(f"{amount(high)} to spare")
            return f"Marginal on {where}: from {short} to {spare}."
        case _:
            figure = strong.format(amounts(ByteRange(-high, -low)))
            return f"Does not fit {where}: {figure} short."


def place(found: Capacity) -> str:
    """The device or devices, as they stand in a sentence."""
    device, number = found.budget.device, found.footprint.parallelism.num_devices
    if device is None:
        return (
            "the memory given" if number == 1 else f"the memory given on each of {number} devices"
        )
    name = device.name
    if number == 1:
        text = name if name.startswith("a ") else f"one {name}"
    else:
        text = f"each of {number} × {name.removeprefix('a ')}"
    return f"{text} ({device.memory_note})" if device.memory_note else text


def limits_text(found: Capacity, strong: str = "{}") -> str:
    """How many sequences at this context, how many tokens at this many, and what decides.

    `strong` is a template around the figures.
    """
    request, model = found.footprint.request, found.footprint.model
    parts = []
    if found.needs_more:
        parts.append(_more_text(found, strong))
    if found.verdict == "marginal" and found.budget.device is not None:
        room = found.budget.limit_bytes - found.needed_bytes_per_device
        weights = found.budget.weights.bytes_per_device if found.budget.weights else 0
        low, high = found.budget.overhead
        parts.append(
            f"Fits if other needs stay under {strong.format(amount(room - weights))} "
            f"(estimate: {gib(low)}–{gib(high)})."
        )
    sequences = strong.format(counts(found.max_batch_size, "sequence"))
    replicas = found.footprint.parallelism.data_parallel_size
    over = f" on all {replicas:,} replicas together" if replicas > 1 else ""
    parts.append(f"At this context: {sequences}{over}.")
    maximum = model.max_position_embeddings
    note = f" (model maximum {maximum:,})" if maximum else ""
    number = request.num_sequences
    parts.append(
        f"At {counted(number, 'sequence')}: "
        f"{strong.format(counts(found.max_seq_len, 'token'))}{note}."
    )
    if found.typical:
        context, number_of = found.typical
        figure = strong.format(counts(number_of, "sequence"))
        parts.append(f"Of {context:,} tokens each: {figure}.")
    parts.append(decided_text(found, strong))
    return " ".join(part for part in parts if part)


def _more_text(found: Capacity, strong: str) -> str:
    """Why more is needed than the cache holds."""
    engine, several = found.footprint.engine, found.footprint.parallelism.num_devices > 1
    needed = strong.format(amount(found.needed_bytes_per_device))
    where = " on each device" if several else ""
    if not engine.reserves:
        return f"The memory behind these tensors is {needed}{where}."
    return (
        f"To start, {engine.engine} must find {needed} for the cache{where}, what it reckons for "
        f"one request at its most; running, {amount(found.cache_bytes_per_device)} are held."
    )


def decided_text(found: Capacity, strong: str = "{}") -> str:
    """The largest term as a share of what the engine may use."""
    name, size = found.decided_by
    limit = found.budget.limit_bytes
    if found.limit:
        return f"Decided by the {strong.format(name)}."
    if found.budget.device is None:
        return ""
    share = f"{size * 100 // max(1, limit):,} %"
    return f"Decided by the {strong.format(name)}, {share} of what the engine may use."


def counts(found: CountRange, noun: str) -> str:
    """A range of whole numbers with its noun.

    >>> counts(CountRange(5, 7), "sequence"), counts(CountRange(None, None), "token")
    ('5–7 sequences', 'no limit, nothing grows')
    """
    low, high = found
    if low is None:
        return "no limit, nothing grows"
    if high is None:
        return f"at least {low:,} {noun}s"
    if low == high:
        return counted(low, noun)
    return f"{low:,}–{high:,} {noun}s"


def gib(num_bytes: int) -> str:
    """GiB with one decimal, never "-0.0", and what would be zero by its bound."""
    if 0 < num_bytes < GIB // 20:
        return "<0.1"
    return f"{abs(num_bytes) / GIB if abs(num_bytes) < GIB // 20 else num_bytes / GIB:,.1f}"


def amount(num_bytes: int) -> str:
    """GiB with one decimal; below a tenth of one in the unit that fits.

    >>> amount(5 * 2**30), amount(3 * 2**20)
    ('5.0 GiB', '3 MiB')
    """
    return f"{gib(num_bytes)} GiB" if abs(num_bytes) >= GIB // 10 else format_bytes(num_bytes)


def amounts(found: ByteRange) -> str:
    """Least to most; one figure where they print alike."""
    low, high = amount(found.low), amount(found.high)
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low}–{high}"


def gib_range(found: ByteRange) -> str:
    """Least to most in GiB; one figure where they print alike."""
    low, high = gib(found.low), gib(found.high)
    return low if low == high else f"{low}–{high}"


def gib2(size: int) -> str:
    """Two decimals, a significant one where that would be zero, never an exponent."""
    if size >= GIB // 200 or not size:
        return f"{size / GIB:,.2f}"
    return f"{size / GIB:.2g}" if size >= GIB // 10_000 + 1 else "<0.0001"
