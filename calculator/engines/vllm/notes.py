"""The defaults vLLM picked for a model, a sentence each with its source."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from calculator.engines.vllm.pool import Pool, types_of
from calculator.engines.vllm.spec import Rule, rule_of
from calculator.model import ModelSpec
from calculator.parallel import Parallelism

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm


def notes(engine: Vllm, model: ModelSpec, pool: Pool, parallelism: Parallelism) -> tuple[str, ...]:
    """What was assumed: GPU and backend, blocks, groups, windows, states, spread."""
    rules = {rule_of(c) for g in model.layer_groups for c in g.caches}
    found = [_gpu(engine, pool), _moment(rules)]
    if len(pool.groups) > 1:
        found.append(_groups(pool))
    if engine.keeps_whole(model) and rules & {"sliding", "chunked"}:
        found.append(
            "Windows and chunks are stored whole: --disable-hybrid-kv-cache-manager, as asked."
        )
    if "state" in rules:
        found += _states(engine, model, pool, attention=bool(rules - {"state"}))
    if parallelism.tensor_parallel_size > 1 or parallelism.pipeline_parallel_size > 1:
        shared = parallelism.decode_context_parallel_size > 1
        found.append(
            "Key-value heads are dealt to tensor ranks, at least one each "
            "(config/model.py:get_num_kv_heads), latents and index keys lie whole on every rank"
            f"{', of its own tokens' if shared else ''}; "
            "a stage's block is as large as its largest group (kv_cache_planning.py)."
        )
    return tuple(found)


def _gpu(engine: Vllm, pool: Pool) -> str:
    version = engine.version or engine.verified_with
    backend = f"attention backend {pool.backend} as on an NVIDIA Hopper GPU"
    if engine.attention_backend:
        backend = f"attention backend {pool.backend} as asked"
    return (
        f"vLLM {version}: {backend} (platforms/cuda.py:_get_backend_priorities), blocks of "
        f"{pool.block_size:,} tokens (platforms/interface.py:update_block_size_for_backend), "
        "blocks of all layers in one pool (v1/core/kv_cache_planning.py)."
    )


def _moment(rules: set[Rule]) -> str:
    parts = ["started blocks count whole"]
    if rules & {"sliding", "chunked"}:
        parts.append("a window or chunk gives back the blocks wholly below it")
    return (
        "Held while the last token is computed: "
        f"{'; '.join(parts)} (v1/core/single_type_kv_cache_manager.py:remove_skipped_blocks)."
    )


def _groups(pool: Pool) -> str:
    counts = Counter((len(g.members), g.spec.block_size) for g in pool.groups)
    sizes = ", ".join(
        f"{number} of {layers} with blocks of {tokens:,} tokens"
        for (layers, tokens), number in counts.items()
    )
    return (
        f"{len(pool.groups)} groups of layers share the pool: {sizes}; one with fewer layers than "
        "the largest leaves part of its blocks unused "
        "(kv_cache_planning.py:_get_kv_cache_groups_uniform_page_size)."
    )


def _states(engine: Vllm, model: ModelSpec, pool: Pool, *, attention: bool) -> list[str]:
    types = types_of(engine, model, "bf16")
    found = [
        f"Convolutions keep kernel − 1 columns in {types.convolution.name}, recurrent states are "
        f"{types.state.name} (mamba_utils.py:MambaStateDtypeCalculator, models/config.py)."
    ]
    if attention:
        found.append(
            f"Blocks of {pool.block_size:,} tokens so that a page of attention holds a state, the "
            "state's page padded to it (platforms/interface.py:_align_hybrid_block_size)."
        )
    if engine.enable_prefix_caching and not engine.prefix_caching(model):
        found.append(
            "Prefix caching is off: vLLM has none for models of states alone or with an encoder "
            "(config/model.py:is_prefix_caching_supported)."
        )
    elif engine.prefix_caching(model):
        found.append(
            f"Prefix caching is on: a request may take {engine.state_blocks(model)} blocks of "
            "states, and holds 1, or 2 on the first token of a block (mamba_cache_mode align)."
        )
    return found
