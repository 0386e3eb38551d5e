"""A model and a scenario → the reason why transformers has no such cache, raised."""

from __future__ import annotations

from calculator.engines.transformers.kept import VERIFIED, in_one_cache
from calculator.engines.transformers.options import STATIC
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request

# generation/utils.py:_supports_default_dynamic_cache
_OWN_CACHE = ("reformer", "xlnet", "rwkv", "xlstm")
_NO_STATIC = ("prophetnet",)
_RECURRENT = frozenset(
    (
        "mamba1",
        "mamba2",
        "gated_delta_net",
        "kimi_delta_attention",
        "lightning_attention",
        "short_convolution",
    )
)


def check_spread(request: Request, parallelism: Parallelism) -> None:
    """Refuse devices and prefixes that transformers does not share a cache over."""
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        if getattr(parallelism, name) > 1:
            raise InvalidInput(
                f"{name} is {getattr(parallelism, name)}; how transformers splits a cache over "
                "devices is not computed yet.",
                field=name,
            )
    if request.shared_prefix_len:
        raise InvalidInput(
            f"shared_prefix_len is {request.shared_prefix_len}; transformers stores every "
            "sequence whole.",
            field="shared_prefix_len",
        )


def check_cache_release(cache: str, count: str, release: tuple[int, int, int]) -> None:
    """Refuse an older release for what was read at the verified one only."""
    if release < VERIFIED and (cache, count) != ("dynamic", "tensors"):
        what = "caches other than dynamic were" if cache != "dynamic" else "storage was"
        raise InvalidInput(
            f"version is {'.'.join(str(n) for n in release)}; {what} read at "
            f"{'.'.join(str(n) for n in VERIFIED)} only.",
            field="version",
        )


def check_cache(cache: str, model: ModelSpec) -> None:
    """Refuse a cache other than the dynamic one where transformers has none for the model."""
    if cache == "dynamic":
        return
    if model.model_type == "minimax" or model.model_type.startswith(_OWN_CACHE):
        raise UnsupportedModel(
            f"transformers' code of {model.model_type} brings its own cache and ignores "
            "cache_implementation (generation/utils.py:_supports_default_dynamic_cache).",
            field="cache",
        )
    if cache in STATIC and model.model_type in _NO_STATIC:
        raise UnsupportedModel(
            f"transformers' code of {model.model_type} does not run with a static cache: its "
            "attention masks are as long as the tokens, not as the cache.",
            field="cache",
        )
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    if cache in STATIC and "compressed_attention" in kinds:
        raise UnsupportedModel(
            f"transformers has no static cache for the compressed layers of {model.name} "
            "(cache_utils.py:STATIC_LAYER_TYPE_MAPPING).",
            field="cache",
        )
    if cache.startswith("offloaded"):
        _check_offloaded(model, kinds)


def _check_offloaded(model: ModelSpec, kinds: set[str]) -> None:
    """Refuse layers that the offloading was not read for, or that it does not bring back."""
    other = sorted(kinds & {"compressed_attention", "cross_attention"})
    if other:
        raise UnsupportedModel(
            f"What offloading does to the {other[0]} layers of {model.name} is not computed.",
            field="cache",
        )
    for _, _, caches in model.layer_groups:
        found = {c.kind for c in caches}
        if found & _RECURRENT and found - _RECURRENT:
            raise UnsupportedModel(
                f"{model.name} has attention and states in one layer; transformers sends those "
                "away and does not fetch all of them again (cache_utils.py:Cache.is_linear).",
                field="cache",
            )


def check_length(max_cache_len: int | None, model: ModelSpec, request: Request) -> None:
    """Refuse more tokens than a static cache is set up for."""
    slots = max_cache_len or request.longest
    encoder = (request.encoder_seq_len or 0) if in_one_cache(model) else 0
    needed = max(request.longest, encoder)
    if needed > slots:
        what = "its encoder" if encoder == needed else "a sequence"
        raise InvalidInput(
            f"max_cache_len is {slots:,} and {what} has {needed:,} tokens; a static cache does not "
            f"grow: set it to {needed:,} or more.",
            field="max_cache_len",
        )
