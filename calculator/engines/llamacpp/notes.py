"""A device → what llama.cpp's budget on it rests on."""

from __future__ import annotations

from calculator.engines.accelerators import Accelerator, borrowed_budget


def device_notes(device: Accelerator) -> tuple[str, ...]:
    """Sentences to stand beside the budget of a device."""
    return (borrowed_budget("llama.cpp", device),)
