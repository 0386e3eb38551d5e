"""A vLLM release → which of the rules that changed over time it follows."""

from __future__ import annotations

import re
from typing import NamedTuple

from calculator.engines.changes import Change
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


# read from the wheels of the release named and of the one before it on the package index
CHANGES = (
    Change(
        "0.18.0",
        "groups take the most layers of a bucket if under 1.5 times the fewest, before 1.25 times",
        "v1/core/kv_cache_utils.py:_get_kv_cache_groups_uniform_page_size",
        "12 full and 16 sliding layers: groups of 16, 2 instead of 3 of them",
    ),
    Change(
        "0.20.0",
        "--gpu-memory-utilization is 0.92 unless given, before 0.9",
        "config/cache.py:CacheConfig",
        "1.6 GiB more for the pool of an 80 GiB GPU",
    ),
    Change(
        "0.21.0",
        "logged tokens are concurrency × max_model_len, before blocks ÷ groups × block size",
        "v1/core/kv_cache_utils.py:_report_kv_cache_config",
        "Gemma 3 27B, 32,768 blocks, 8,192 tokens in flight: 194,871 instead of 74,896",
    ),
    Change(
        "0.26.0",
        "windows count every batch under way as in flight, two with asynchronous scheduling",
        "config/vllm.py:max_in_flight_tokens",
        "the same pool at max_num_batched_tokens 8,192: 125,115 tokens instead of 194,871",
    ),
    Change(
        "0.29.0",
        "the null block is set aside before a request of max_model_len must fit",
        "v1/core/kv_cache_utils.py:get_kv_cache_configs",
        "Llama-3-8B at 8,192 tokens starts with 513 blocks, before with 512",
    ),
    Change(
        "0.32.0",
        "Mamba-2 keeps a third state block for a checkpoint inside a prefill",
        "model_executor/layers/mamba/mamba_mixer2.py:get_kv_cache_spec",
        "Nemotron-H-8B, 40 GiB, 32,768 tokens: 1,651,507 tokens instead of 1,876,712",
    ),
    Change(
        "0.33.0",
        "so does FlashInfer's gated delta net, its blocks multiples of 64 tokens",
        "platforms/interface.py:_align_hybrid_block_size",
        "Qwen3-Next-80B: blocks of 576 instead of 544, 1,506,335 tokens instead of 1,570,907",
    ),
)


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
