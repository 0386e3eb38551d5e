"""A configuration whose code needs real tensors → one with the same cache and little else."""

from __future__ import annotations

import copy
from typing import Any

from calculator.errors import DoesNotFit
from calculator.units import format_gib

SMALL = {
    64: ("intermediate_size", "moe_intermediate_size", "ffn_dim", "decoder_ffn_dim",
         "encoder_ffn_dim", "feed_forward_size", "d_ff"),
    8: ("num_local_experts", "num_experts", "n_routed_experts"),
    512: ("vocab_size",),
}  # fmt: skip
"""Keys that no layer's cache depends on, and what they are in a twin."""


def twin_of(config: Any) -> Any:
    """The same layers, heads and widths; feed-forward, experts and vocabulary small."""
    twin = copy.deepcopy(config)
    for size, names in SMALL.items():
        for name in names:
            if isinstance(getattr(twin, name, None), int):
                setattr(twin, name, min(size, getattr(twin, name)))
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        if isinstance(getattr(twin, name, None), int):
            setattr(twin, name, min(getattr(twin, name), 2))
    return twin


def check_twin(config: Any, twin: Any, share_bytes: int, budget_bytes: int | None) -> None:
    """Refuse a twin whose weights are larger than the memory that may be used."""
    import torch
    import transformers

    with torch.device("meta"):
        model = transformers.AutoModel.from_config(twin, dtype=config.dtype)
    needed = sum(p.numel() * p.element_size() for p in model.parameters())
    budget = share_bytes if budget_bytes is None else min(share_bytes, budget_bytes)
    if needed > budget:
        raise DoesNotFit(
            f"The code of {config.model_type} needs real tensors, and even its small twin has "
            f"{format_gib(needed)} of weights; {format_gib(budget)} may be used.",
            field="model",
        )
