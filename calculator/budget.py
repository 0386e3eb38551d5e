"""A device's memory → the range that a server needs besides weights and cache."""

from __future__ import annotations

from calculator.units import GIB

DEFAULT_SHARE = 0.92
"""Of a device's memory; vLLM's --gpu-memory-utilization since 0.20."""

# (usable memory up to, low, high) [tenths of a GiB]: utilisation × total − weights − cache
_OTHER_NEEDS = ((245, 4, 21), (600, 14, 42), (1000, 11, 75), (None, 10, 79))
OTHER_NEEDS_BASIS = (
    "an estimate, the 5th to 95th percentile of activations, graphs and runtime on devices of this "
    "size in 120 public vLLM start-up logs"
)


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
