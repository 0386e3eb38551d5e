"""vLLM's flags as they were given → refusals of what vLLM would not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calculator.engines.vllm.backends import known_backend
from calculator.engines.vllm.formats import cache_format, state_dtype
from calculator.engines.vllm.releases import release
from calculator.errors import InvalidInput, shown
from calculator.units import MAX_COUNT, MAX_TOKENS, checked_int

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm

_COUNTS = (
    ("block_size", 2**20),
    ("max_num_batched_tokens", MAX_TOKENS),
    ("max_model_len", MAX_TOKENS),
    ("num_gpu_blocks_override", MAX_COUNT),
)
_SWITCHES = ("enable_prefix_caching", "async_scheduling", "disable_hybrid_kv_cache_manager")
_GDN_BACKENDS = ("auto", "flashinfer", "triton")


def check_flags(engine: Vllm) -> None:
    """Raises InvalidInput naming the first flag whose value is none of vLLM's."""
    for name, limit in _COUNTS:
        if getattr(engine, name) is not None:
            checked_int(name, getattr(engine, name), at_most=limit)
    for name in _SWITCHES:
        value = getattr(engine, name)
        if value is not True and value is not False:
            raise InvalidInput(f"{name} is {shown(value)}; expected true or false.", field=name)
    if engine.gdn_prefill_backend not in _GDN_BACKENDS:
        raise InvalidInput(
            f"gdn_prefill_backend is {shown(engine.gdn_prefill_backend)}; "
            f"known: {', '.join(_GDN_BACKENDS)}.",
            field="gdn_prefill_backend",
        )
    if engine.attention_backend is not None:
        known_backend(engine.attention_backend)
    cache_format(engine.kv_cache_dtype)
    for name in ("mamba_cache_dtype", "mamba_ssm_cache_dtype"):
        state_dtype(getattr(engine, name), field=name)
    release(engine.version)
