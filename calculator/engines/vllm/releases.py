"""A vLLM release → which of the rules that changed over time it follows."""

from __future__ import annotations

import re
from typing import NamedTuple

from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.model import ModelSpec

VERIFIED = (0, 33, 0)
EARLIEST = (0, 29, 0)


class Release(NamedTuple):
    """Rules that differ between the releases from `EARLIEST` to `VERIFIED`."""

    number: tuple[int, int, int]

    @property
    def mamba2_checkpoints(self) -> bool:
        """A third state block for Mamba-2 under prefix caching (`mamba_mixer2.py`)."""
        return self.number >= (0, 32, 0)

    @property
    def gdn_checkpoints(self) -> bool:
        """A third state block, and blocks of a multiple of 64, for FlashInfer's gated delta net."""
        return self.number >= (0, 33, 0)


def release(version: str | None) -> Release:
    """The release called `version`, the verified one when none is given.

    >>> release("0.31").number
    (0, 31, 0)
    """
    if version is None:
        return Release(VERIFIED)
    found = re.fullmatch(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", str(version), re.ASCII)
    number = tuple(int(n or 0) for n in found.groups()) if found else ()
    if not EARLIEST <= number <= VERIFIED:
        low, high = (".".join(str(n) for n in each) for each in (EARLIEST, VERIFIED))
        raise InvalidInput(
            f"version is {shown(version)}; rules are recorded for {low} to {high}.",
            field="version",
        )
    major, minor, patch = number
    return Release((major, minor, patch))


# model types vLLM's registry lists as served until a release (`models/registry.py`)
DROPPED = {
    "bamba": "0.23.0",
    "minimax": "0.23.0",
    "minimax_text_01": "0.23.0",
    "minimax_m1": "0.23.0",
    "mllama": "0.10.2",
}
NEVER = ("t5", "bart", "mbart", "recurrent_gemma")


def refuse_unserved(model: ModelSpec, served_by: Release) -> None:
    """Refuses a model that this release has no model class for."""
    until = DROPPED.get(model.model_type)
    if until or model.model_type in NEVER:
        number = ".".join(str(n) for n in served_by.number)
        since = f"it did so until {until}" if until else "it has no class for it"
        raise UnsupportedModel(
            f"vLLM {number} does not serve model type {model.model_type}; {since} "
            "(model_executor/models/registry.py).",
            field="engine",
        )
