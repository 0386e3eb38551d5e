"""Decode-context parallelism → refused where vLLM cannot deal a sequence's tokens to ranks."""

from __future__ import annotations

from calculator.engines.vllm.spec import rule_of
from calculator.errors import InvalidInput
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention


def check_context_parallel(caches: list[LayerCache], ranks: int, size: int) -> None:
    """Ranks that hold the same heads may share tokens; states stay on each, windows are refused.

    Source: `config/model.py:verify_with_parallel_config`, `config/parallel.py`, and
    `kv_cache_coordinator.py` ("DCP with hybrid KV cache layouts only supports full-attention,
    Mamba, and replicated draft groups").
    """
    rules = {rule_of(cache) for cache in caches}
    if "full" not in rules or rules - {"full", "state"}:
        raise _refusal(size, "vLLM deals tokens of full and latent attention only, beside states")
    for cache in caches:
        if rule_of(cache) == "full":
            heads = cache.num_key_value_heads if isinstance(cache, FullAttention) else 1
            if ranks % heads or (ranks // heads) % size:
                raise _refusal(
                    size,
                    "it must divide the tensor ranks that hold the same heads: "
                    f"{ranks} ranks for the {heads} of {cache.kind}",
                )


def _refusal(size: int, why: str) -> InvalidInput:
    field = "decode_context_parallel_size"
    return InvalidInput(f"{field} is {size}; {why}.", field=field)
