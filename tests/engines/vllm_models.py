"""Models vLLM's planner was asked about that no preset describes."""

from __future__ import annotations

from dataclasses import replace

import calculator as kv
from calculator.model import ModelSpec
from tests.models import full, model

MAMBA2 = {
    "kind": "mamba2", "num_heads": 80, "head_dim": 64, "state_size": 128, "n_groups": 1,
    "conv_kernel": 4,
}  # fmt: skip
NEMOTRON_MAMBA2 = {
    "kind": "mamba2", "num_heads": 128, "head_dim": 64, "state_size": 128, "n_groups": 8,
    "conv_kernel": 4,
}  # fmt: skip

OWN = {
    "phi3-mini": model(layers=32, full=full(32, 96)),  # a twin without its window
    "mamba2": model(layers=4, state=MAMBA2),
    "nemotron-h-8b": replace(
        model(
            *(["state"] * 6 + ["none"] * 6 + ["full"]),
            layers=52, state=NEMOTRON_MAMBA2, none=[], full=full(8, 128),
        ),
        model_type="nemotron_h",
    ),
    "whisper-large-v3": model(
        layers=32,
        both=[full(20, 64), {"kind": "cross_attention", "num_key_value_heads": 20, "head_dim": 64}],
    ),
}  # fmt: skip


def named(name: str) -> ModelSpec:
    return OWN.get(name) or kv.load_model(name)
