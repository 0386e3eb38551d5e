"""A request → which of vLLM's own limits it would pass, memory apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calculator.engines.vllm.plan import blocks_per_request
from calculator.errors import InvalidInput
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request
from calculator.units import ceil_div

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm


def limit_of(engine: Vllm, model: ModelSpec, request: Request, parallelism: Parallelism) -> str:
    """A sentence on the first limit passed; empty where vLLM would run it."""
    longest, most = request.longest, engine.max_model_len
    if most is not None and longest > most:
        return f"{longest:,} tokens are more than max_model_len, {most:,}."
    sequences = ceil_div(request.num_sequences, parallelism.data_parallel_size)
    if sequences > engine.max_num_batched_tokens:  # config/scheduler.py:SchedulerConfig
        return (
            f"{sequences:,} sequences at once are more than max_num_batched_tokens, "
            f"{engine.max_num_batched_tokens:,}, which vLLM refuses as max_num_seqs."
        )
    if engine.num_gpu_blocks_override is None:
        return ""
    pool = engine.pool(model, request, parallelism)
    block, usable = max(pool.stage_bytes), engine.num_gpu_blocks_override - 1
    held = ceil_div(max(engine.bytes_per_device(model, request, parallelism)), block)
    one = blocks_per_request(engine, pool, parallelism)(max(longest, most or 0))
    if max(held, one) <= usable:
        return ""
    return (
        f"{max(held, one):,} blocks are more than the {usable:,} there are beside the null block "
        "with num_gpu_blocks_override."
    )


def lighter_than(engine: Vllm, request: Request) -> tuple[tuple[str, Vllm], ...]:
    """A shorter maximum, and fewer tokens in flight, which windows and chunks are reckoned with."""
    found = []
    length = request.longest
    if engine.max_model_len and engine.max_model_len > length:
        found.append((f"--max-model-len {length}", replace(engine, max_model_len=length)))
    for n in (2048, 512):
        if n < engine.max_num_batched_tokens:
            fewer = replace(engine, max_num_batched_tokens=n)
            found.append((f"--max-num-batched-tokens {n}", fewer))
    return tuple(found)


def longer_than(engine: Vllm, request: Request) -> tuple[tuple[str, Vllm], ...]:
    """A longer maximum, where the request is beyond it."""
    most, length = engine.max_model_len, request.longest
    if most is None or length <= most:
        return ()
    return ((f"--max-model-len {length}", replace(engine, max_model_len=length)),)


def check_prefix(engine: Vllm, model: ModelSpec, request: Request) -> None:
    """Raises InvalidInput where a prefix is shared that vLLM, or this program, does not share."""
    if request.shared_prefix_len and not engine.prefix_caching(model):
        raise InvalidInput(
            f"shared_prefix_len is {request.shared_prefix_len:,}; vLLM shares blocks by prefix "
            "caching, which is off here.",
            field="shared_prefix_len",
        )
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    if request.shared_prefix_len and "compressed_attention" in kinds:
        raise InvalidInput(
            f"shared_prefix_len is {request.shared_prefix_len:,}; what vLLM shares of "
            "compressed attention's blocks of different lengths is not computed.",
            field="shared_prefix_len",
        )
