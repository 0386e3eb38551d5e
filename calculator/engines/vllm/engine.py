"""vLLM's flags → what a running request's blocks hold, padding and phantom layers as items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from calculator.engines.accelerators import Accelerator
from calculator.engines.answers import CacheDtypes, Demand, model_dtype
from calculator.engines.arguments import check_arguments
from calculator.engines.base import Engine
from calculator.engines.vllm.blocks import most_held
from calculator.engines.vllm.command import vllm_serve
from calculator.engines.vllm.flags import check_flags
from calculator.engines.vllm.formats import cache_format, one_for_both
from calculator.engines.vllm.items import blocks_held, items_of
from calculator.engines.vllm.limits import check_prefix, lighter_than, limit_of, longer_than
from calculator.engines.vllm.notes import device_notes, notes
from calculator.engines.vllm.plan import Plan, blocks_per_request, plan_of
from calculator.engines.vllm.pool import GDN_CHECKPOINT_TOKENS, Pool, pool_of
from calculator.engines.vllm.releases import Release, release
from calculator.engines.vllm.spec import rule_of
from calculator.errors import DoesNotFit, InvalidInput
from calculator.items import Item
from calculator.model import ModelSpec
from calculator.parallel import SINGLE, Parallelism, dealt
from calculator.request import Request

Hands = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Vllm(Engine):
    """`vllm serve` on NVIDIA Hopper GPUs, under its own flag names.

    All layers draw blocks from one pool. A block id stands for a page of each layer of one group;
    a request holds blocks of every group. Pages, groups and the pool are in the files beside this.
    `attention_backend`, `block_size` and `gdn_prefill_backend` stand in for other GPUs' choices.
    """

    block_size: int | None = None
    kv_cache_dtype: str = "auto"
    max_num_batched_tokens: int = 8192
    enable_prefix_caching: bool = True
    max_model_len: int | None = None
    attention_backend: str | None = None
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    gdn_prefill_backend: str = "auto"
    disable_hybrid_kv_cache_manager: bool = False
    num_gpu_blocks_override: int | None = None
    async_scheduling: bool = True
    version: str | None = None

    engine: ClassVar[str] = "vllm"
    verified_with: ClassVar[str] = "0.33.0"
    context_parallel: ClassVar[bool] = True
    reserves: ClassVar[bool] = True
    cache_dtypes: ClassVar[tuple[str, ...]] = ("bf16", "fp16", "fp8", "nvfp4")

    def __post_init__(self) -> None:
        check_flags(self)

    @property
    def release(self) -> Release:
        return release(self.version)

    def dtypes(self, model: ModelSpec, request: Request) -> CacheDtypes:
        """Flag, else request, else the checkpoint's or the model's; one for keys and values."""
        flag = cache_format(self.kv_cache_dtype)
        wanted = one_for_both(request.key_dtype, request.value_dtype)
        if flag and wanted and flag != wanted:
            raise InvalidInput(
                f"kv_cache_dtype is {self.kv_cache_dtype}, but the request asks for {wanted}; "
                "leave one out.",
                field="kv_cache_dtype",
            )
        if flag:
            basis = f"Cache type {flag}: --kv-cache-dtype {self.kv_cache_dtype}."
            return CacheDtypes(flag, flag, basis)
        if wanted:
            name = cache_format(wanted, field="key_dtype")
            return CacheDtypes(str(name), str(name), "")
        auto, basis = self.auto_dtype(model)
        return CacheDtypes(auto, auto, f"Cache type auto: {auto}, {basis}.")

    def auto_dtype(self, model: ModelSpec) -> tuple[str, str]:
        """The checkpoint's cache quantisation, else the model's own type, fp32 counting as bf16."""
        if model.kv_cache_dtype:
            found = cache_format(model.kv_cache_dtype)
            source = "utils/torch_utils.py:resolve_kv_cache_dtype_string"
            return str(found), f"from the checkpoint's cache quantisation ({source})"
        if any(c.kind == "compressed_attention" for g in model.layer_groups for c in g.caches):
            source = "models/deepseek_v4/attention.py:_resolve_dsv4_kv_cache_dtype"
            return "fp8", f"in DeepSeek's packed rows ({source})"
        if model.dtype == "fp32":
            return "bf16", "the model's fp32 run in 16 bit (config/model.py:_resolve_auto_dtype)"
        return model_dtype(model)

    def prefix_caching(self, model: ModelSpec) -> bool:
        """On unless switched off, but never for models of states alone or with an encoder.

        Source: `config/model.py:is_prefix_caching_supported`.
        """
        caches = [c for g in model.layer_groups for c in g.caches]
        states_alone = all(rule_of(c) == "state" for c in caches)
        return self.enable_prefix_caching and not states_alone and not model.has_encoder

    def keeps_whole(self, model: ModelSpec) -> bool:
        """Whether windows and chunks are stored whole, as full attention is.

        Not unless asked for, chunked attention included: what would switch the manager off for it,
        VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=0, is not the default (`envs.py`).
        """
        rules = {rule_of(c) for g in model.layer_groups for c in g.caches}
        return self.disable_hybrid_kv_cache_manager and "full" in rules

    def state_blocks(self, model: ModelSpec) -> int:
        """Blocks of states a request may take: 1; with prefix caching 2, 3 with a checkpoint's."""
        if not self.prefix_caching(model):
            return 1
        return 2 + self._exports_checkpoints(model)

    def checkpoint_tokens(self, model: ModelSpec) -> int:
        """Tokens that blocks are a multiple of, so that checkpoints fall on their ends."""
        gdn = any(c.kind == "gated_delta_net" for g in model.layer_groups for c in g.caches)
        return GDN_CHECKPOINT_TOKENS if gdn and self._exports_checkpoints(model) else 1

    def _exports_checkpoints(self, model: ModelSpec) -> bool:
        """Whether the layers write a state inside a prefill, for which vLLM keeps a block ready.

        Mamba-2 does (`mamba_mixer2.py`), the gated delta net of Qwen models with FlashInfer's
        kernel (`qwen_gdn_linear_attn.py`), Kimi K3's delta attention with FlashKDA (`kda.py`).
        """
        kinds = {c.kind for g in model.layer_groups for c in g.caches}
        if "mamba2" in kinds:
            return self.release.mamba2_checkpoints
        if "gated_delta_net" in kinds:
            qwen = model.model_type.startswith("qwen")
            return qwen and self.gdn_prefill_backend != "triton" and self.release.gdn_checkpoints
        return "kimi_delta_attention" in kinds and model.model_type == "kimi_k3"

    def in_flight_tokens(self, stages: int) -> int:
        """Tokens scheduled but not settled: a full batch for each step that may be under way.

        Source: `config/vllm.py:max_concurrent_batches`, `max_in_flight_tokens`.
        """
        return self.max_num_batched_tokens * (stages + self.async_scheduling)

    def pool(self, model: ModelSpec, request: Request | None, parallelism: Parallelism) -> Pool:
        """Groups and bytes of a block for this model, cached."""
        asked = request or _NOTHING_ASKED
        return _pool(self, model, asked.key_dtype, asked.value_dtype, parallelism)

    def allocate(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, hands: Hands
    ) -> tuple[Item, ...]:
        check_prefix(self, model, request)
        cache_type = self.dtypes(model, request).key
        return items_of(self, model, cache_type, request, parallelism, hands)

    def bytes_per_device(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> tuple[int, ...]:
        """Blocks held × bytes of a block on the device's stage; all ranks of a stage are equal."""
        pool, context = self.pool(model, request, parallelism), _context_ranks(parallelism)
        result: list[int] = []
        for hand in dealt(request.lengths, parallelism.data_parallel_size):
            blocks = sum(n * blocks_held(s, request, hand, context) for s, n in pool.buckets)
            for stage_bytes in pool.stage_bytes:
                result += [blocks * stage_bytes] * parallelism.tensor_parallel_size
        return tuple(result)

    def of_one_sequence(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> Callable[[int], int]:
        """Its tokens → blocks it holds × bytes of a block, over stages and ranks."""
        pool, ranks = self.pool(model, request, parallelism), parallelism.tensor_parallel_size
        block_bytes, context = ranks * sum(pool.stage_bytes), _context_ranks(parallelism)
        encoder = request.encoder_seq_len or 0
        return lambda n: (
            block_bytes
            * sum([count * most_held(spec, n, encoder, context) for spec, count in pool.buckets])
        )

    def plan(
        self,
        model: ModelSpec,
        available_bytes: int,
        max_model_len: int | None = None,
        parallelism: Parallelism = SINGLE,
        request: Request | None = None,
    ) -> Plan:
        """The pool vLLM allocates from `available_bytes` of one device, and what it logs of it.

        `request` gives an element type other than the flag's; its lengths are not used.
        Raises DoesNotFit where vLLM would not start: one request of `max_model_len` must fit.
        """
        check_arguments(model=model, request=request or _NOTHING_ASKED, parallelism=parallelism)
        pool = self.pool(model, request, parallelism)
        return plan_of(self, model, pool, available_bytes, max_model_len, parallelism)

    def demand(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> Callable[[int], Demand]:
        """What one request of `max_model_len` is reckoned to take at most, and the null block.

        vLLM does not start with less (`kv_cache_planning.py:_check_enough_kv_cache_memory`).
        """
        pool = self.pool(model, request, parallelism)
        largest = max(pool.stage_bytes)
        shortest, override = self.max_model_len or 0, self.num_gpu_blocks_override
        per_request = blocks_per_request(self, pool, parallelism)

        def at(seq_len: int) -> Demand:
            blocks = per_request(max(seq_len, shortest))
            return Demand(max(blocks, (override or 0) - 1) * largest, largest)

        return at

    @property
    def bounded(self) -> bool:
        return self.max_model_len is not None or self.num_gpu_blocks_override is not None

    @property
    def max_sequences(self) -> int | None:
        """`max_num_seqs` may not be more (`config/scheduler.py`)."""
        return self.max_num_batched_tokens

    def device_notes(self, device: Accelerator) -> tuple[str, ...]:
        return device_notes(device)

    def limit(self, model: ModelSpec, request: Request, parallelism: Parallelism) -> str:
        return limit_of(self, model, request, parallelism)

    def lighter(self, request: Request) -> tuple[tuple[str, Engine], ...]:
        return lighter_than(self, request)

    def longer(self, request: Request, parallelism: Parallelism) -> tuple[tuple[str, Engine], ...]:
        return longer_than(self, request)

    def pool_of_blocks(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, available_bytes: int
    ) -> dict[str, Any] | None:
        """The plan's numbers, for requests of up to `max_model_len` or the longest asked for."""
        length = self.max_model_len or request.longest
        try:
            plan = self.plan(model, max(1, available_bytes), length, parallelism, request)
        except DoesNotFit:
            return dict.fromkeys((*_POOL_NUMBERS, "reserved_bytes_per_device"))
        numbers = {name: getattr(plan, name) for name in _POOL_NUMBERS}
        return numbers | {"reserved_bytes_per_device": plan.num_bytes}

    def log_lines(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, available_bytes: int
    ) -> tuple[str, ...]:
        length = self.max_model_len or request.longest
        try:
            return self.plan(model, max(1, available_bytes), length, parallelism, request).log_lines
        except DoesNotFit as error:
            return (str(error),)

    def command(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, share: float
    ) -> str:
        return vllm_serve(self, model, request, parallelism, share)

    def assumptions_on(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> tuple[str, ...]:
        return notes(self, model, self.pool(model, request, parallelism), request, parallelism)


@lru_cache(maxsize=1024)
def _pool(
    engine: Vllm, model: ModelSpec, key: str | None, value: str | None, parallelism: Parallelism
) -> Pool:
    """Which type is meant is decided once, not at each of the lengths that a search tries."""
    asked = Request(seq_len=1, key_dtype=key, value_dtype=value)
    return pool_of(engine, model, engine.dtypes(model, asked).key, parallelism)


def _context_ranks(parallelism: Parallelism) -> int:
    return parallelism.decode_context_parallel_size


_POOL_NUMBERS = ("num_blocks", "num_tokens", "max_concurrency")
_NOTHING_ASKED = Request(seq_len=1)
