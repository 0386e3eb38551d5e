"""A device as engines know it; what of its budget is vLLM's and a guide for the others."""

from __future__ import annotations

from typing import Protocol


class Accelerator(Protocol):
    """The part of a device that decides an engine's rules; a typed memory has no vendor."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def vendor(self) -> str: ...
    @property
    def lent_per_mille(self) -> int | None: ...


def borrowed_budget(program: str, device: Accelerator) -> str:
    """The sentence for a program whose own needs no public logs were read of."""
    if device.lent_per_mille:
        return (
            "Other needs, unless given, are vLLM's (its start-up logs, on other devices): for "
            f"{program} they are only a guide."
        )
    return (
        "Share and other needs, unless given, are vLLM's (its --gpu-memory-utilization, 0.92, and "
        f"its start-up logs): for {program} they are only a guide."
    )
