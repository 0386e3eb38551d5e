"""Bytes available on a device → the number of blocks vLLM makes, and the line it logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from calculator.engines.vllm.blocks import most
from calculator.engines.vllm.groups import Group
from calculator.engines.vllm.pool import Pool
from calculator.engines.vllm.spec import Spec
from calculator.errors import DoesNotFit, InvalidInput
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.units import MAX_BYTES, MAX_TOKENS, checked_int, format_gib

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm


class PlanGroup(NamedTuple):
    """One group: its layers over all stages, what a block of it is, and what a request may take.

    `page_bytes` is the first layer's, `block_bytes` of all its layers, phantom ones not counted.
    """

    layer_types: tuple[str, ...]
    layers: int
    block_size: int
    page_bytes: int
    block_bytes: int
    blocks_per_request: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The pool of one device, as vLLM allocates and logs it; sizes are of the fullest stage.

    `num_tokens` is derived, as vLLM derives it: the sequences of `max_model_len` that fit, times
    that length. It is no number of slots, and for windows and states it moves with
    `max_num_batched_tokens`. One block, the null block, is never used.
    """

    num_blocks: int
    num_tokens: int
    max_concurrency: float
    bytes_per_block: int
    blocks_per_request: int
    max_model_len: int
    block_size: int
    attention_backend: str
    available_bytes: int
    groups: tuple[PlanGroup, ...]
    bytes_per_block_of_stages: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """What is allocated on the device of the fullest stage [bytes]."""
        return self.num_blocks * self.bytes_per_block

    @property
    def request_bytes(self) -> int:
        """What vLLM reckons for one request of `max_model_len` [bytes]."""
        return self.blocks_per_request * self.bytes_per_block

    @property
    def log_lines(self) -> tuple[str, ...]:
        """What the engine prints (`gpu_worker.py`, `kv_cache_utils.py:update_kv_cache_capacity`).

        Python's rounding of GiB is the engine's too: 5.625 prints as 5.62.
        """
        gib = round(float(Fraction(self.available_bytes, 2**30)), 2)
        return (
            f"Available KV cache memory: {gib} GiB",
            f"GPU KV cache size: {self.num_tokens:,} tokens, Maximum concurrency for "
            f"{self.max_model_len:,} tokens per request: {self.max_concurrency:.2f}x",
        )


def plan_of(
    engine: Vllm,
    model: ModelSpec,
    pool: Pool,
    available_bytes: int,
    max_model_len: int | None,
    parallelism: Parallelism,
) -> Plan:
    """The pool, where one request of `max_model_len` fits beside the null block.

    Source: `kv_cache_planning.py:get_kv_cache_configs`, `kv_cache_utils.py:get_kv_cache_capacity`.
    """
    checked_int("available_bytes", available_bytes, at_most=MAX_BYTES)
    length = _max_model_len(engine, model, max_model_len)
    largest = max(pool.stage_bytes)
    num_blocks = engine.num_gpu_blocks_override or available_bytes // largest
    per_request = blocks_per_request(engine, pool, parallelism)
    most_of = _most_of(engine, parallelism)
    needed = per_request(length)
    usable = num_blocks * largest - largest
    if engine.num_gpu_blocks_override is None:
        usable = available_bytes - largest
    if needed * largest > usable:
        raise _refusal(length, usable, largest, per_request)
    concurrency = float(Fraction(num_blocks, needed))
    return Plan(
        num_blocks=num_blocks,
        num_tokens=int(concurrency * length),
        max_concurrency=concurrency,
        bytes_per_block=largest,
        blocks_per_request=needed,
        max_model_len=length,
        block_size=pool.block_size,
        attention_backend=pool.backend,
        available_bytes=available_bytes,
        groups=tuple(_plan_group(g, length, most_of(g.spec, length)) for g in pool.groups),
        bytes_per_block_of_stages=pool.stage_bytes,
    )


def blocks_per_request(engine: Vllm, pool: Pool, parallelism: Parallelism) -> Callable[[int], int]:
    """Tokens of a request → blocks of all groups that vLLM reckons for it."""
    most_of = _most_of(engine, parallelism)
    return lambda tokens: sum([n * most_of(spec, tokens) for spec, n in pool.buckets])


def _most_of(engine: Vllm, parallelism: Parallelism) -> Callable[[Spec, int], int]:
    """Blocks of one group; an encoder's tokens are reckoned at a batch (`config/scheduler.py`)."""
    batch, context = engine.max_num_batched_tokens, parallelism.decode_context_parallel_size
    in_flight = engine.in_flight_tokens(parallelism.pipeline_parallel_size)
    return lambda spec, tokens: most(spec, tokens, in_flight, batch, context)


def _plan_group(group: Group, length: int, blocks: int) -> PlanGroup:
    spec = group.spec
    whole = spec.rule == "state" and spec.states == 1  # one state for all tokens
    return PlanGroup(
        layer_types=tuple(dict.fromkeys(m.layer_type for m in group.members)),
        layers=len(group.members),
        block_size=length if whole else spec.block_size,
        page_bytes=spec.padded_bytes,
        block_bytes=sum(m.spec.padded_bytes for m in group.members),
        blocks_per_request=blocks,
    )


def _max_model_len(engine: Vllm, model: ModelSpec, asked: int | None) -> int:
    flag = engine.max_model_len
    if asked is not None:
        checked_int("max_model_len", asked, at_most=MAX_TOKENS)
        if flag is not None and asked != flag:
            raise InvalidInput(
                f"max_model_len is {asked:,}, but the engine's flag is {flag:,}; leave one out.",
                field="max_model_len",
            )
    length = asked or flag or model.max_position_embeddings
    if length is None:
        raise InvalidInput(
            f"max_model_len is missing, and the maximum of {model.name} is not known.",
            field="max_model_len",
        )
    return length


def _refusal(
    length: int, usable: int, block_bytes: int, per_request: Callable[[int], int]
) -> DoesNotFit:
    """vLLM's own refusal, and the longest request that fits (`_check_enough_kv_cache_memory`)."""
    longest, above = 0, length
    while above - longest > 1:
        middle = (longest + above) // 2
        fits = per_request(middle) * block_bytes <= usable
        longest, above = (middle, above) if fits else (longest, middle)
    needed = format_gib(per_request(length) * block_bytes)
    best = f"The longest that fits is {longest:,} tokens." if longest else "No length fits."
    return DoesNotFit(
        f"One request of {length:,} tokens needs {needed} of cache on a device; vLLM has "
        f"{format_gib(max(usable, 0))} there beside its null block and would not start. {best}",
        field="max_model_len",
    )
