"""A device's name → whether it is there, how much memory is free, what it reports."""

from __future__ import annotations

import gc
import os
import platform
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from calculator import __version__
from calculator.errors import InvalidInput, shown
from calculator.verify.allocator import COUNTED

DEVICES = ("auto", "cpu", "cuda", "mps")
OUT_OF_MEMORY = ("out of memory", "allocate memory", "invalid buffer size")
"""CUDA's and Metal's words, the CPU's, and Metal's for one buffer larger than it can have."""


class Free(NamedTuple):
    """Memory free before anything is allocated, and what share of it may be used."""

    free_bytes: int
    budget_bytes: int
    basis: str


def chosen_device(asked: str) -> str:
    """The device to use: as asked if it is there, for auto the first of cuda, mps and cpu.

    ROCm answers to cuda, as in torch itself.
    """
    import torch

    if asked not in DEVICES:
        raise InvalidInput(
            f"device is {shown(asked)}; known: {', '.join(DEVICES)}.", field="device"
        )
    here = [name for name in ("cuda", "mps", "cpu") if _is_here(torch, name)]
    if asked == "auto":
        return here[0]
    if asked not in here:
        raise InvalidInput(
            f"device is {asked}, which torch {torch.__version__} does not find here; it finds "
            f"{', '.join(here)}.",
            field="device",
        )
    return asked


def _is_here(torch: Any, name: str) -> bool:
    if name == "cuda":
        return bool(torch.cuda.is_available())
    return name == "cpu" or bool(torch.backends.mps.is_available())


def device_name(device: str) -> str:
    """What the device calls itself."""
    import torch

    if device == "cuda":
        return str(torch.cuda.get_device_name())
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this is how torch says that memory has run out: on CPU a plain RuntimeError."""
    import torch

    known = (MemoryError, torch.OutOfMemoryError)
    text = str(error).lower()
    return isinstance(error, known) or (
        isinstance(error, RuntimeError) and any(said in text for said in OUT_OF_MEMORY)
    )


def versions(device: str, *, transformers: bool = False) -> dict[str, str]:
    """What a measurement depends on, by name."""
    import torch

    found = {
        "kv-cache-calculator": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(terse=True),
    }
    if device == "cuda":
        backend = "rocm" if torch.version.hip else "cuda"
        found[backend] = str(torch.version.hip or torch.version.cuda)
    if transformers:
        import transformers as package

        found["transformers"] = package.__version__
    return found


def free_memory(device: str) -> Free:
    """Free memory of a device, and the share of it that is used unless a budget is given."""
    import torch

    if device == "cuda":
        free = int(torch.cuda.mem_get_info()[0])
        return Free(free, free * 9 // 10, "nine tenths of what the device has free")
    if device == "mps":
        used = int(torch.mps.driver_allocated_memory())
        free = int(torch.mps.recommended_max_memory()) - used
        return Free(free, free * 9 // 10, "nine tenths of what Metal recommends")
    free = free_main_memory()
    return Free(free, free // 2, "half of the main memory that is free")


def free_main_memory() -> int:
    """Main memory a process may still take: the machine's or its container's, the smaller."""
    limits = [_control_group_bytes()]
    with suppress(OSError, StopIteration):
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(x for x in file if x.startswith("MemAvailable:"))
        limits.append(int(line.split()[1]) * 1024)
    if len(limits) == 1:  # no /proc: physical memory, half of it taken as free
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return min(x for x in limits if x is not None)


def _control_group_bytes() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        with suppress(OSError, ValueError):
            with open(limit, encoding="ascii") as file:
                most = int(file.read())
            with open(used, encoding="ascii") as file:
                return max(0, most - int(file.read()))
    return None


def synchronize(device: str) -> None:
    """Wait until the device has done what it was given; before reading a clock or a counter."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def settle(device: str) -> None:
    """Give back what is no longer used, so that a counter read next means what it says."""
    import torch

    if device != "cpu":
        gc.collect()
        synchronize(device)
    if device == "cuda":
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()
    elif sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def counters(device: str) -> dict[str, int]:
    """The device's own figures, as far as it has any."""
    import torch

    if device == "cuda":
        stats = torch.cuda.memory_stats()
        return {name: int(stats.get(f"{name}.all.current", 0)) for name in COUNTED}
    if device == "mps":
        return {
            "current_allocated_bytes": int(torch.mps.current_allocated_memory()),
            "driver_allocated_bytes": int(torch.mps.driver_allocated_memory()),
        }
    resident = resident_bytes()
    return {} if resident is None else {"resident_bytes": resident}


def resident_bytes() -> int | None:
    """Main memory this process has pages in; None where the system does not say (no /proc)."""
    with suppress(OSError, StopIteration):
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            line = next(x for x in file if x.startswith("Rss:"))
        return int(line.split()[1]) * 1024
    return None
