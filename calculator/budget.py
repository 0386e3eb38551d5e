"""A device's memory → what is left of it for the cache: a range, since other needs are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from calculator.errors import InvalidInput, shown
from calculator.units import GIB, MAX_BYTES, checked_int, format_gib

if TYPE_CHECKING:
    from calculator.devices import Device
    from calculator.weights import Weights

DEFAULT_SHARE = 0.92
"""Of a device's memory; vLLM's --gpu-memory-utilization since 0.20."""
LENT_BASIS = "what the device lends by default, as discussion 2182 of llama.cpp has it"

# (usable memory up to, low, high) [tenths of a GiB]: utilisation × total − weights − cache
_OTHER_NEEDS = ((245, 4, 21), (600, 14, 42), (1000, 11, 75), (None, 10, 79))
OTHER_NEEDS_BASIS = (
    "an estimate, the 5th to 95th percentile of activations, graphs and runtime on devices of this "
    "size in 120 public vLLM start-up logs"
)


class ByteRange(NamedTuple):
    """From the case that leaves least to the case that leaves most [bytes]; below zero is short."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Budget:
    """Memory of one device and what is taken from it before the cache [bytes].

    available = usable memory × share − weights − other needs (a range, so available is one too).
    """

    device: Device | None
    share: float
    limit_bytes: int
    weights: Weights | None
    overhead: ByteRange
    available: ByteRange
    basis: tuple[str, ...]


def default_overhead(usable_bytes: int) -> tuple[int, int, str]:
    """What else a server needs on a device with so much memory: low, high [bytes], the basis.

    >>> low, high, _ = default_overhead(24 * GIB)
    >>> round(low / GIB, 1), round(high / GIB, 1)
    (0.4, 2.1)
    """
    low, high = next(
        (low, high)
        for up_to, low, high in _OTHER_NEEDS
        if up_to is None or usable_bytes * 10 <= up_to * GIB
    )
    return low * GIB // 10, high * GIB // 10, OTHER_NEEDS_BASIS


def default_share(device: Device | None) -> float:
    """The share of its memory an engine may use, unless given: no more than the device lends."""
    lent = device.lent_per_mille if device else None
    return min(DEFAULT_SHARE, lent * 0.001) if lent else DEFAULT_SHARE


def budget_of(
    device: Device, weights: Weights, overhead: tuple[int, int] | None, share: float | None
) -> Budget:
    """What a device leaves for the cache: usable memory × share − weights − other needs."""
    given, share = share, default_share(device) if share is None else share
    if not (isinstance(share, float | int) and 0 < share <= 1):
        raise InvalidInput(f"share is {share}; expected more than 0, at most 1.", field="share")
    if overhead is None:
        low, high, basis = default_overhead(device.usable_bytes)
    else:
        if not isinstance(overhead, tuple | list) or len(overhead) != 2:
            raise InvalidInput(
                f"overhead is {shown(overhead)}; expected the least and the most bytes.",
                field="overhead",
            )
        low, high = (checked_int("overhead", n, at_least=0, at_most=MAX_BYTES) for n in overhead)
        basis = "as given"
        if low > high:
            raise InvalidInput(
                f"overhead is {format_gib(low)} to {format_gib(high)}; put the smaller first.",
                field="overhead",
            )
    limit = device.usable_bytes * round(share * 10_000) // 10_000
    left = limit - weights.bytes_per_device
    lent = f", {LENT_BASIS}" if given is None and device.lent_per_mille else ""
    memory = f"{device.usable_bytes:,} B of memory, {device.usable_basis}"
    sentences = (
        weights.basis,
        f"Device: {memory}; share {share:g}{lent}.",
        f"Other needs {format_gib(low, 1)} to {format_gib(high, 1)} a device: {basis}.",
    )
    return Budget(
        device, share, limit, weights, ByteRange(low, high), ByteRange(left - high, left - low),
        sentences,
    )  # fmt: skip
