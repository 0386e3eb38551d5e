"""The defaults vLLM picked for a model or a device, a sentence each with its source."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from calculator.engines.accelerators import Accelerator
from calculator.engines.vllm import compressed
from calculator.engines.vllm.pool import Pool, types_of
from calculator.engines.vllm.spec import Rule, rule_of
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm


SERVED_BATCH = 8192
HOPPER = ("h100-", "h200-", "gh200-")
PLATFORMS = {"NVIDIA": "cuda", "AMD": "rocm"}


def notes(
    engine: Vllm, model: ModelSpec, pool: Pool, request: Request, parallelism: Parallelism
) -> tuple[str, ...]:
    """What was assumed: GPU and backend, blocks, groups, windows, states, prefix, spread."""
    rules = {rule_of(c) for g in model.layer_groups for c in g.caches}
    found = [_gpu(engine, pool), _moment(rules)]
    found += _found_at_start(engine, rules, engine.keeps_whole(model), parallelism)
    found.append(_two_counts(rules, engine.keeps_whole(model)))
    if len(pool.groups) > 1:
        found.append(_groups(pool))
    if engine.keeps_whole(model) and rules & {"sliding", "chunked"}:
        found.append(
            "Windows and chunks are stored whole: --disable-hybrid-kv-cache-manager, as asked."
        )
    if "state" in rules:
        found += _states(engine, model, pool, attention=bool(rules - {"state"}))
    found += _prefix(pool, request, parallelism)
    if parallelism.tensor_parallel_size > 1 or parallelism.pipeline_parallel_size > 1:
        shared = parallelism.decode_context_parallel_size > 1
        found.append(
            "Key-value heads are dealt to tensor ranks, at least one each "
            "(config/model.py:get_num_kv_heads), latents and index keys lie whole on every rank"
            f"{', of its own tokens' if shared else ''}; "
            "a stage's block is as large as its largest group (kv_cache_planning.py)."
        )
    if (replicas := parallelism.data_parallel_size) > 1:
        found.append(
            "num_blocks, num_tokens and max_concurrency are of one replica, as each logs its own "
            f"(v1/core/kv_cache_utils.py); max_batch_size counts the sequences of all {replicas:,}."
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
    if "sliding" in rules:
        parts.append("a window gives back the blocks wholly below it")
    if "chunked" in rules:
        parts.append("a chunk counts as it is before it is given back")
    return (
        "Held while the last token is computed: "
        f"{'; '.join(parts)} (v1/core/single_type_kv_cache_manager.py:remove_skipped_blocks)."
    )


def _found_at_start(
    engine: Vllm, rules: set[Rule], whole: bool, parallelism: Parallelism
) -> list[str]:
    """What the batch adds to one request before vLLM starts (`max_memory_usage_bytes`)."""
    batch, found = engine.max_num_batched_tokens, []
    asked = "as asked"
    if batch == SERVED_BATCH:
        asked = (
            "vllm serve's own on a GPU of 70 to 160 GiB (engine/arg_utils.py:get_batch_defaults)"
        )
    if rules & {"sliding", "chunked"} and not whole:
        in_flight = engine.in_flight_tokens(parallelism.pipeline_parallel_size)
        found.append(
            f"Found at start: a window or chunk counts {in_flight:,} tokens in flight on top, "
            f"{in_flight // batch} × max_num_batched_tokens (config/vllm.py:max_in_flight_tokens); "
            f"{batch:,} is {asked}."
        )
    if "cross" in rules:
        found.append(
            f"Found at start: cross attention counts {batch:,} encoder tokens, "
            f"max_num_batched_tokens (config/scheduler.py:max_num_encoder_input_tokens), {asked}."
        )
    return found


def _two_counts(rules: set[Rule], whole: bool) -> str:
    """Why as many sequences fit as here and not as in the log."""
    windows = bool(rules & {"sliding", "chunked"}) and not whole
    return (
        "Sequences that fit (max_batch_size) are whole ones, by the blocks each holds while it "
        "runs, without the null block; the logged maximum concurrency divides all blocks by the "
        f"most that one request of max_model_len may take{', tokens in flight included' * windows} "
        "(v1/core/kv_cache_utils.py:get_kv_cache_capacity)."
    )


def _groups(pool: Pool) -> str:
    counts = Counter((len(g.members), g.spec.block_size) for g in pool.groups)
    sizes = ", ".join(
        f"{number} of {layers} with blocks of {tokens:,} tokens"
        for (layers, tokens), number in counts.items()
    )
    packed = pool.backend == compressed.BACKEND
    source = "_get_packed_kv_cache_groups" if packed else "_get_kv_cache_groups_uniform_page_size"
    unused = "; one smaller than the largest leaves part of its blocks unused"
    return (
        f"{len(pool.groups)} groups of layers share the pool: {sizes}"
        f"{unused if _uneven(pool) else ''} (kv_cache_planning.py:{source})."
    )


def _uneven(pool: Pool) -> bool:
    """Whether some group is less than a block on some stage."""
    return any(
        group.page_bytes(first, end) < block_bytes
        for (first, end), block_bytes in zip(pairwise(pool.starts), pool.stage_bytes, strict=True)
        for group in pool.groups
    )


def _prefix(pool: Pool, request: Request, parallelism: Parallelism) -> list[str]:
    """How much of a shared prefix is whole blocks, where that is not all of it."""
    prefix, context = request.shared_prefix_len, parallelism.decode_context_parallel_size
    blocks = {
        spec.block_size * (context if spec.rule == "full" else 1)
        for spec, _ in pool.buckets
        if spec.rule not in ("state", "cross")
    }
    if not any(prefix % block for block in blocks):
        return []
    shared = " or ".join(f"{n:,}" for n in sorted({prefix - prefix % b for b in blocks}))
    sizes = " or ".join(f"{block:,}" for block in sorted(blocks))
    return [
        f"Of the {prefix:,} tokens that are the same, vLLM shares whole blocks of {sizes} only: "
        f"{shared} tokens (v1/core/kv_cache_utils.py:get_request_block_hasher)."
    ]


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


def device_notes(device: Accelerator) -> tuple[str, ...]:
    """What must stand beside the budget of a device that is no Hopper GPU.

    A typed memory has no vendor: `_gpu` already says what it is taken for.
    """
    if not device.vendor or device.id.startswith(HOPPER):
        return ()
    rules = "attention backend, block size and cache types here are an NVIDIA Hopper GPU's"
    if device.vendor == "Apple":
        return (
            f"vLLM has no GPU engine for {device.name}, on macOS it runs on the CPU "
            f"(platforms/__init__.py:cpu_platform_plugin): the {rules}.",
        )
    platform = "xpu" if device.id.startswith("arc-") else PLATFORMS.get(device.vendor)
    if platform is None:
        return (
            f"vLLM itself has no kernels for {device.name}, only a package beside it could run it "
            f"(platforms/__init__.py:builtin_platform_plugins): the {rules}.",
        )
    return (
        f"The {rules}; on {device.name} vLLM may choose others "
        f"(platforms/{platform}.py:get_attn_backend_cls).",
    )
