"""Model types whose configurations hold the cache's figures in a way of their own."""

from __future__ import annotations

from collections.abc import Callable

from calculator.errors import UnsupportedModel
from calculator.layers.attention import FullAttention
from calculator.layers.compressed import CompressedAttention
from calculator.layers.windows import SlidingAttention
from calculator.model import ModelSpec
from calculator.verify.config_keys import Defaults, Values, first, general_keys, heads_of

SHARED, FULL, SLIDING = "shared", "full_attention", "sliding_attention"


def own_keys(model: ModelSpec, model_type: str, defaults: Defaults) -> Values:
    """Values for the type's keys: under the names many share, then under its own."""
    values = general_keys(model, defaults)
    if model_type in _TYPES:
        values |= _TYPES[model_type](model, {**defaults, **values})
    return values


def _with_room(model: ModelSpec, values: Values) -> Values:
    """Query heads for the hidden size that a recurrent layer has fixed."""
    cache = first(model, FullAttention)
    if cache is None:
        return {}
    return heads_of(cache.num_key_value_heads, cache.head_dim, values, values["hidden_size"])


def _jamba(model: ModelSpec, values: Values) -> Values:
    every = model.every_layer_type()
    full = [i for i, t in enumerate(every) if t == FULL]
    period = full[1] - full[0] if len(full) > 1 else len(every)
    return {
        **_with_room(model, values),
        "attn_layer_period": period,
        "attn_layer_offset": full[0] % period,
    }


def _bamba(model: ModelSpec, values: Values) -> Values:
    full = [i for i, t in enumerate(model.every_layer_type()) if t == FULL]
    return {**_with_room(model, values), "attn_layer_indices": full}


def _zamba2(model: ModelSpec, values: Values) -> Values:
    """The attention's heads share twice the hidden size."""
    cache = first(model, FullAttention)
    assert cache is not None
    queries = 2 * values["hidden_size"] // cache.head_dim
    return {
        "num_attention_heads": queries,
        "num_key_value_heads": cache.num_key_value_heads,
        "attention_hidden_size": 2 * values["hidden_size"],
        "attention_head_dim": cache.head_dim,
    }


def _shared(model: ModelSpec, values: Values) -> Values:
    """The last layers keep nothing; which kind of layer they read does not touch the size."""
    every = list(model.every_layer_type())
    own = [t for t in every if t != SHARED]
    count = len(every) - len(own)
    kinds = [SLIDING] * max(count - 1, 0) + [FULL] * min(count, 1)
    return {"num_kv_shared_layers": count, "layer_types": own + kinds}


def _gemma4(model: ModelSpec, values: Values) -> Values:
    full, sliding = first(model, FullAttention), first(model, SlidingAttention)
    if full is None or sliding is None:
        return {}
    found = {
        **_shared(model, values),
        **heads_of(sliding.num_key_value_heads, sliding.head_dim, values),
        "global_head_dim": full.head_dim,
    }
    found.pop("per_layer_config", None)
    if full.num_key_value_heads != sliding.num_key_value_heads:
        found["attention_k_eq_v"] = True
        found["num_global_key_value_heads"] = full.num_key_value_heads
    return found


def _falcon(model: ModelSpec, values: Values) -> Values:
    """A single cached head, or the newer form, whose code caches a key for every query head."""
    cache = first(model, FullAttention)
    assert cache is not None
    if cache.num_key_value_heads > 1 and cache.num_attention_heads:
        return {
            "new_decoder_architecture": True,
            "num_attention_heads": cache.num_attention_heads,
            "num_kv_heads": cache.num_key_value_heads,
            "hidden_size": cache.num_attention_heads * cache.head_dim,
        }
    if cache.num_key_value_heads > 1:
        raise UnsupportedModel(
            f"transformers' code of falcon caches a key for every query head, and {model.name} is "
            "kept without their number. Paste its config.json instead.",
            field="model_type",
        )
    return {"new_decoder_architecture": False, "multi_query": True}


def _bigcode(model: ModelSpec, values: Values) -> Values:
    cache = first(model, FullAttention)
    assert cache is not None
    single = cache.num_key_value_heads == 1
    queries = 2 if single else cache.num_key_value_heads
    return {"multi_query": single, "n_head": queries, "n_embd": queries * cache.head_dim}


def _deepseek_v4(model: ModelSpec, values: Values) -> Values:
    kept = dict(model.caches)
    rates = dict(values["compress_rates"])
    found: Values = {}
    for layer_type in model.every_layer_type():
        (cache,) = kept[layer_type]
        assert isinstance(cache, CompressedAttention)
        found |= {"head_dim": cache.head_dim, "sliding_window": cache.sliding_window}
        if cache.compress_ratio:
            rates[layer_type] = cache.compress_ratio
        if cache.index_head_dim:
            found["index_head_dim"] = cache.index_head_dim
    return {**found, "compress_rates": rates, "layer_types": list(model.every_layer_type())}


def _glm_moe_dsa(model: ModelSpec, values: Values) -> Values:
    every = model.every_layer_type()
    return {
        "indexer_types": ["shared" if t == "shared_indexer" else "full" for t in every],
        "layer_types": ["indexed_attention"] * len(every),
    }


def _mimo_v2_flash(model: ModelSpec, values: Values) -> Values:
    """Its code gives layers with a window twice the cached heads of the full ones."""
    full = first(model, FullAttention)
    if full is None:
        return {}
    heads = heads_of(2 * full.num_key_value_heads, full.head_dim, values)
    return {
        **heads,
        "num_key_value_heads": full.num_key_value_heads,
        "layer_types": list(model.every_layer_type()),
    }


def _mllama(model: ModelSpec, values: Values) -> Values:
    every = model.every_layer_type()
    return {"cross_attention_layers": [i for i, t in enumerate(every) if t == "cross_attention"]}


_TYPES: dict[str, Callable[[ModelSpec, Values], Values]] = {
    "bamba": _bamba,
    "deepseek_v4": _deepseek_v4,
    "falcon": _falcon,
    "gemma3n_text": _shared,
    "gemma4_text": _gemma4,
    "glm_moe_dsa": _glm_moe_dsa,
    "gpt_bigcode": _bigcode,
    "granitemoehybrid": _with_room,
    "jamba": _jamba,
    "lfm2": _with_room,
    "lfm2_moe": _with_room,
    "mimo_v2_flash": _mimo_v2_flash,
    "mllama_text_model": _mllama,
    "zamba2": _zamba2,
}
