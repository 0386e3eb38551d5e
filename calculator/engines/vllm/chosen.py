"""A model under vLLM's flags → its attention backend, and the cache type as that one stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calculator.engines.vllm import backends as choice
from calculator.engines.vllm.formats import FLAGS, SIXTEEN_BIT, AttentionCache, spelled
from calculator.engines.vllm.kernels import Wanted
from calculator.errors import InvalidInput, UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.cross import CrossAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.model import ModelSpec

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Vllm

# index keys in bf16 whatever the cache type (models/minimax_m3/common/indexer.py)
PLAIN_INDEX = ("minimax_m3", "minimax_m3_text", "minimax_m3_vl", "minimax_m3_vl_text")
# whose image tokens see each other, unless the configuration says otherwise
# (transformers_utils/model_arch_config_convertor.py:is_mm_prefix_lm)
IMAGE_MODELS = ("bagel", "gemma3", "molmo2", "moondream3", "paligemma")


def backend_of(
    engine: Vllm,
    model: ModelSpec,
    cache_type: str,
    caches: list[tuple[str, int, LayerCache]],
    tokens_shared: bool,
) -> tuple[str, str]:
    """The attention backend, and the cache type as it stores it.

    fp8 on FLASHMLA_SPARSE is the packed row (`_canonicalize_sparse_mla_kv_cache_dtype`).
    """
    wanted = _wanted(model, spelled(engine.kv_cache_dtype, cache_type), caches, tokens_shared)
    if engine.attention_backend is not None:
        found = choice.checked(engine.attention_backend, wanted)
    else:
        found = choice.pick(wanted, engine.block_size)
    if found == "FLASHMLA_SPARSE" and cache_type == "fp8":
        cache_type = "fp8_ds_mla"
    if tokens_shared:
        choice.check_tokens_shared(found, cache_type)
    return found, cache_type


def _wanted(
    model: ModelSpec,
    name: str,
    caches: list[tuple[str, int, LayerCache]],
    tokens_shared: bool,
) -> Wanted:
    """What the model's attention asks of a backend."""
    own = "bf16" if model.dtype == "fp32" else model.dtype
    if name in SIXTEEN_BIT and FLAGS[name] != own:
        raise InvalidInput(
            f"kv_cache_dtype is {name}; in 16 bit vLLM keeps a cache only in the model's own type, "
            f"{own} (config/vllm.py:_reject_mismatched_float_kv_cache).",
            field="kv_cache_dtype",
        )
    rows = {
        c.kv_lora_rank + c.qk_rope_head_dim for _, _, c in caches if isinstance(c, LatentAttention)
    }
    sparse = any(isinstance(c, SparseIndexer) for _, _, c in caches)
    if sparse and not rows and model.model_type not in PLAIN_INDEX:
        raise UnsupportedModel(
            f"What vLLM keeps of {model.model_type}'s indexer beside plain attention is not "
            "computed (calculator/engines/vllm/chosen.py would do it).",
            field="engine",
        )
    heads = {c.head_dim for _, _, c in caches if isinstance(c, AttentionCache)}
    cross = any(isinstance(c, CrossAttention) for _, _, c in caches)
    widths = tuple(sorted(rows or heads))
    images = model.model_type in IMAGE_MODELS if model.image_prefix is None else model.image_prefix
    return Wanted(name, bool(rows), sparse, widths, cross, tokens_shared, images)
