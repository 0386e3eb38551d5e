"""The engine, a model and a scenario → every default and rule it used, a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calculator.engines.accelerators import Accelerator, borrowed_budget
from calculator.engines.transformers.kept import LATENT_SINCE, WITHOUT_CLASS
from calculator.engines.transformers.options import STATIC
from calculator.model import ModelSpec
from calculator.request import Request

if TYPE_CHECKING:
    from calculator.engines.transformers import Transformers


def notes(engine: Transformers, model: ModelSpec, request: Request) -> tuple[str, ...]:
    """What the number rests on, in the order it was decided."""
    version = engine.version or engine.verified_with
    parts = "; ".join(_parts(engine, model, request))
    found = [f"Engine transformers {version}, {engine.cache} cache: {parts}."]
    if engine.cache in STATIC:
        found.append(_length(engine, request))
    if engine.cache == "quantized":
        found.append(_quantised(engine, request))
    if engine.cache.startswith("offloaded"):
        found.append(_where(engine))
    if model.model_type in WITHOUT_CLASS:
        found.append(
            f"transformers {engine.verified_with} has no class for model type "
            f"{model.model_type}: counted as its cache classes keep such layers, not checked "
            "against the model's own code."
        )
    if model.kv_cache_dtype and model.kv_cache_dtype != model.dtype:
        found.append(
            f"The checkpoint asks for a {model.kv_cache_dtype} cache; transformers does not "
            f"apply that and keeps what the options say."
        )
    if len(request.lengths) > 1:
        found.append(f"One batch, padded: every sequence counts {request.longest:,} tokens.")
    return tuple(found)


def device_notes(device: Accelerator) -> tuple[str, ...]:
    """Sentences to stand beside the budget of a device."""
    return (borrowed_budget("transformers", device),)


def _parts(engine: Transformers, model: ModelSpec, request: Request) -> list[str]:
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    static = engine.cache in STATIC
    what = "floating-point and quantised" if engine.cache == "quantized" else "floating-point"
    when = "after one forward pass"
    if decoded := engine.decoded(request.longest):
        when += f" and {decoded:,} of one token each" if decoded > 1 else " and one of a token"
    counted = "the memory behind" if engine.count == "storage" else "the cache's"
    parts = [f"{counted} {what} tensors {when} (cache_utils.py)"]
    if kinds & {"sliding_attention", "compressed_attention"}:
        parts.append(
            "a window has W slots (StaticSlidingWindowLayer)"
            if static
            else "a window keeps W − 1 tokens (DynamicSlidingWindowLayer.update)"
        )
    if "chunked_attention" in kinds:
        parts.append(
            "a chunk has its size in slots (StaticSlidingWindowLayer)"
            if static
            else "a chunk keeps its size − 1 (DynamicSlidingWindowLayer.update)"
        )
    if kinds & {"mamba1", "mamba2", "gated_delta_net", "kimi_delta_attention"}:
        parts.append("states in fp32 and all convolution columns (LinearAttentionLayer)")
    if "latent_attention" in kinds:
        what = "the latent" if engine.release >= LATENT_SINCE else "every head's key and value"
        parts.append(f"MLA keeps {what} (modeling_deepseek_v3.py:DeepseekV3Attention.forward)")
    return parts


def _length(engine: Transformers, request: Request) -> str:
    counters = "the int64 counters of lengths are not counted"
    if engine.max_cache_len:
        return f"max_cache_len {engine.max_cache_len:,} slots a sequence, used or not; {counters}."
    return (
        f"max_cache_len left out: {request.longest:,}, the longest sequence, as StaticCache is set "
        f"up for it; generate() takes max_length − 1 (generation/utils.py); {counters}."
    )


def _quantised(engine: Transformers, request: Request) -> str:
    if engine.backend == "fp8":
        return (
            "Backend fp8: a byte a value, one fp32 scale for all keys of a layer and one for "
            "all values (Fp8QuantizedLayer)."
        )
    decoded = engine.decoded(request.longest)
    waiting = {
        0: f"all {request.longest:,} tokens came in the first pass; later ones wait",
        1: f"of {request.longest:,} tokens the last came after the first pass, and waits",
    }.get(
        decoded,
        f"of {request.longest:,} tokens the last {decoded:,} came one by one, and wait",
    )
    return (
        f"Backend {engine.backend}: {engine.nbits} bits in groups of {engine.q_group_size}, a "
        f"scale and a zero of the model's type each; {waiting} in the model's type until there "
        f"are {engine.residual_length:,} (QuantizedLayer.update)."
    )


def _where(engine: Transformers) -> str:
    kept = " and windows" if engine.cache == "offloaded_static" else ""
    return (
        "All of the cache is counted; between passes it lies in host memory, but for the first "
        f"layer, fetched ahead{kept and f',{kept}'} and states, which stay on the device; during a "
        "pass the device holds two offloaded layers at a time (cache_utils.py:Cache.update)."
    )
