"""Engines' allocation rules that changed with a release: what, since when, what it did to a number.

A report of other bytes is often one of these, so they stand in docs/engines/changes.md
(`python -m tools.changes`); tests compute the numbers again.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """A rule that changed: since when, what, where in the source, and what it did to a number."""

    since: str
    what: str
    source: str
    effect: str


TRANSFORMERS = (
    Change(
        "5.15.0",
        "latent attention keeps its latent and rope key, before every head's expanded key and "
        "value",
        "models/deepseek_v3/modeling_deepseek_v3.py:DeepseekV3Attention.forward",
        "DeepSeek-V3, 8,192 tokens: 575,668,224 B instead of 40,936,407,040 B",
    ),
)
LLAMA_CPP = (
    Change(
        "April 2025",
        "GGUF files describe the latent (`key_length_mla`), and one row of it is kept; files from "
        "before keep every head's key and value, whatever the release",
        "src/llama-hparams.cpp:is_mla",
        "DeepSeek-V2-Lite, 8,192 tokens: 254,803,968 B instead of 2,264,924,160 B",
    ),
)


def changes() -> dict[str, tuple[Change, ...]]:
    """Engine → its recorded changes, oldest first."""
    from calculator.engines.vllm.releases import CHANGES

    return {"vllm": CHANGES, "transformers": TRANSFORMERS, "llama.cpp": LLAMA_CPP}
