"""A CUDA allocator's settings → which counters mean something, and whether the rule holds."""

from __future__ import annotations

import os
from typing import NamedTuple

COUNTED = ("requested_bytes", "allocated_bytes", "reserved_bytes")
UNCACHED = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")


class Allocator(NamedTuple):
    """Backend, settings and what it held before a measurement began."""

    backend: str
    settings: str
    is_caching: bool
    held_bytes: int

    @property
    def counted(self) -> tuple[str, ...]:
        """Counters that mean something: what a backend does not count stays 0 under every name."""
        if not self.is_caching:
            return ()
        return COUNTED if self.backend == "native" else COUNTED[1:]

    @property
    def unlike_the_rule(self) -> str:
        """Why `set_aside` does not say what this allocator takes; empty where it does.

        >>> Allocator("native", "max_split_size_mb:64", True, 0).unlike_the_rule
        'Its settings (max_split_size_mb:64) change how it rounds, so nothing is predicted of it.'
        """
        if not self.is_caching:
            return "Without caching it counts nothing; the storage alone is held to the prediction."
        if self.backend != "native":
            return (
                f"Backend {self.backend} does not count the bytes asked for, and what it sets "
                "aside is the driver's business."
            )
        if self.settings:
            return (
                f"Its settings ({self.settings}) change how it rounds, so nothing is predicted "
                "of it."
            )
        if self.held_bytes:
            return (
                f"It held {self.held_bytes:,} B for others already, and their segments may have "
                "room, so what more it sets aside is not predicted."
            )
        return ""


def allocator(held_bytes: int) -> Allocator:
    """This process's, `held_bytes` being reserved before anything is measured."""
    import torch

    settings = getattr(torch._C, "_accelerator_getAllocatorSettings", _told_settings)
    is_caching = not any(os.environ.get(name) for name in UNCACHED)
    return Allocator(torch.cuda.get_allocator_backend(), settings(), is_caching, held_bytes)


def _told_settings() -> str:
    """For a torch that does not say: what the environment tells it."""
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
    return ",".join(os.environ[name] for name in names if os.environ.get(name))
