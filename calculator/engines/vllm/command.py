"""A scenario → the `vllm serve` command that plans for it."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING

from calculator.engines.vllm.formats import spelled
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm

HUB = "https://huggingface.co/"
OWN = ("version", "max_model_len", "kv_cache_dtype")  # ours, or written below
LONGER = "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"


def vllm_serve(
    engine: Vllm, model: ModelSpec, request: Request, parallelism: Parallelism, share: float
) -> str:
    """The flags of this scenario under vLLM's names; what is its default is left out.

    Above the model's maximum it needs a variable (`config/model.py:_get_and_verify_max_len`).
    """
    name = model.source.removeprefix(HUB) if model.source.startswith(HUB) else "MODEL"
    length = engine.max_model_len or request.longest
    beyond = model.max_position_embeddings is not None and length > model.max_position_embeddings
    words = [LONGER] if beyond else []
    words += ["vllm", "serve", name, "--max-model-len", str(length)]
    words += ["--max-num-seqs", str(request.num_sequences)]
    for size, value in (
        ("tensor-parallel-size", parallelism.tensor_parallel_size),
        ("pipeline-parallel-size", parallelism.pipeline_parallel_size),
        ("data-parallel-size", parallelism.data_parallel_size),
        ("decode-context-parallel-size", parallelism.decode_context_parallel_size),
    ):
        if value > 1:
            words += [f"--{size}", str(value)]
    cache = _cache_dtype(engine, model, request)
    if cache != "auto":
        words += ["--kv-cache-dtype", spelled(cache, cache)]
    words += ["--gpu-memory-utilization", f"{share:g}"]
    return shlex.join([*words, *_flags(engine)])


def _cache_dtype(engine: Vllm, model: ModelSpec, request: Request) -> str:
    """The flag, else the type asked for where auto would be another; an engine has one for both."""
    asked = request.key_dtype or request.value_dtype
    if engine.kv_cache_dtype != "auto" or asked in (None, engine.auto_dtype(model)[0]):
        return engine.kv_cache_dtype
    return str(asked)


def _flags(engine: Vllm) -> list[str]:
    """Options not at their default; the batch always, whose default depends on the machine."""
    words = ["--max-num-batched-tokens", str(engine.max_num_batched_tokens)]
    for field in fields(engine):
        value = getattr(engine, field.name)
        if field.name in (*OWN, "max_num_batched_tokens") or value == field.default:
            continue
        flag = field.name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", str(value)]
    return words
