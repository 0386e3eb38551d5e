"""Random values for the keys of a configuration that can change the size of a cache."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.transformers.own_shapes import OWN, Values, some_of_each

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers",
          "num_decoder_layers", "num_blocks")  # fmt: skip
ENCODER_LAYERS = ("encoder_layers", "num_encoder_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads",
         "num_decoder_attention_heads", "attention_heads")  # fmt: skip
ENCODER_HEADS = ("encoder_attention_heads", "num_encoder_attention_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model", "emb_dim")
KV_HEADS = ("num_key_value_heads", "num_kv_heads")
HEAD_DIMS = ("head_dim", "kv_channels", "d_head")
INNER = ("intermediate_size", "moe_intermediate_size", "ffn_dim", "decoder_ffn_dim",
         "encoder_ffn_dim", "shared_expert_intermediate_size", "shared_intermediate_size",
         "intermediate_size_mlp", "dense_intermediate_size", "dff", "ffn_hidden_size",
         "expert_ffn_hidden_size", "prefix_dense_intermediate_size",
         "moe_shared_expert_intermediate_size")  # fmt: skip
EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk", "top_k_experts")
ONE = ("n_group", "topk_group", "num_expert_group", "moe_num_shared_experts")


def sample(model_type: str, defaults: Values, rng: Random) -> Values:
    """New values for the keys that `defaults` has, and fit together."""
    values = _attention(defaults, rng)
    if defaults.get("kv_lora_rank") is not None:  # latent attention: head_dim follows from others
        values |= {k: values[h] for k in KV_HEADS for h in HEADS if k in values and h in values}
        for key in HEAD_DIMS:
            values.pop(key, None)
    layers = next((values[k] for k in LAYERS if k in values), 2)
    _feed_forward(values, defaults, layers, rng)
    for key, choose in FREE.items():
        if defaults.get(key) is not None:
            values[key] = choose(rng)
    for key in NULL:
        if key in values and rng.random() < 0.15:
            values[key] = None
    _layer_types(values, defaults, layers, rng)
    if defaults.get("is_decoder") is False and not defaults.get("is_encoder_decoder"):
        values["is_decoder"] = rng.random() < 0.7
    if model_type in OWN:
        OWN[model_type](values, rng)
    return values


def _attention(defaults: Values, rng: Random) -> Values:
    """Layers, heads, widths: hidden_size = heads × head_dim where the latter has no key."""
    values: Values = {}
    heads = rng.choice((2, 4, 6, 8, 12))
    kv_heads = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    head_dim = rng.choice((16, 32, 48, 64, 80))
    has_head_dim = any(defaults.get(k) is not None for k in HEAD_DIMS)
    free_hidden = has_head_dim and rng.random() < 0.7
    hidden = rng.choice((64, 96, 128, 192)) * 2 if free_hidden else heads * head_dim
    for keys, value in (
        (LAYERS, rng.randint(2, 9)),
        (ENCODER_LAYERS, rng.randint(1, 3)),
        (HEADS, heads),
        (ENCODER_HEADS, heads),
        (HIDDEN, hidden),
        (KV_HEADS, kv_heads),
        (HEAD_DIMS, head_dim),
    ):
        values |= {k: value for k in keys if k in defaults}
    if not has_head_dim:
        for k in HEAD_DIMS:
            values.pop(k, None)
    return values


def _feed_forward(values: Values, defaults: Values, layers: int, rng: Random) -> None:
    """Small where it does not touch the cache."""
    values |= {k: 64 for k in INNER if isinstance(defaults.get(k), int)}
    values |= {k: 4 for k in EXPERTS if isinstance(defaults.get(k), int)}
    values |= {k: 2 for k in CHOSEN if isinstance(defaults.get(k), int)}
    values |= {k: 1 for k in ONE if isinstance(defaults.get(k), int)}
    if "first_k_dense_replace" in defaults:
        values["first_k_dense_replace"] = rng.randint(0, layers)


def _layer_types(values: Values, defaults: Values, layers: int, rng: Random) -> None:
    """A pattern of its own, or none, so that the class makes its own out of other keys."""
    known = sorted(set(defaults.get("layer_types") or ()))
    if known and rng.random() < 0.6:
        values["layer_types"] = some_of_each(known, layers, rng)


NULL = ("head_dim", "num_key_value_heads", "sliding_window")
"""Keys that a file may set to null, where the class lets it."""

FREE: dict[str, Callable[[Random], Any]] = {
    "sliding_window": lambda r: r.randint(2, 40),
    "attention_chunk_size": lambda r: r.randint(2, 40),
    "kv_lora_rank": lambda r: r.choice((16, 32, 48, 128)),
    "q_lora_rank": lambda r: r.choice((16, 32, 64)),
    "qk_rope_head_dim": lambda r: r.choice((8, 16, 32)),
    "qk_nope_head_dim": lambda r: r.choice((16, 32, 48)),
    "v_head_dim": lambda r: r.choice((16, 32, 48)),
    "index_head_dim": lambda r: r.choice((32, 48, 64)),
    "index_n_heads": lambda r: r.choice((2, 4)),
    "index_topk": lambda r: r.choice((4, 16)),
    "linear_num_heads": lambda r: r.choice((2, 4)),
    "linear_head_dim": lambda r: r.choice((16, 32)),
    "short_conv_kernel_size": lambda r: r.randint(2, 5),
    "conv_kernel_size": lambda r: r.randint(2, 5),
    "linear_conv_kernel_dim": lambda r: r.randint(2, 5),
    "linear_key_head_dim": lambda r: r.choice((16, 32)),
    "linear_value_head_dim": lambda r: r.choice((16, 32, 48)),
    "conv_L_cache": lambda r: r.randint(2, 6),
    "conv_kernel": lambda r: r.randint(2, 5),
    "state_size": lambda r: r.choice((8, 16, 32)),
    "ssm_state_size": lambda r: r.choice((8, 16, 32)),
    "mamba_d_state": lambda r: r.choice((8, 16, 32)),
    "mamba_d_conv": lambda r: r.randint(2, 5),
    "use_sliding_window": lambda r: r.random() < 0.7,
    "max_window_layers": lambda r: r.randint(0, 4),
    "multi_query": lambda r: r.random() < 0.5,
    "new_decoder_architecture": lambda r: r.random() < 0.5,
    "no_rope_layer_interval": lambda r: r.randint(1, 4),
    "sliding_window_pattern": lambda r: r.randint(2, 4),
    "prefix_dense_sliding_window_pattern": lambda r: r.randint(1, 3),
    "global_attn_every_n_layers": lambda r: r.randint(1, 4),
    "local_attention": lambda r: r.randint(4, 40),
    "layer_group_size": lambda r: r.randint(1, 4),
    "H_cycles": lambda r: r.randint(1, 3),
    "L_cycles": lambda r: r.randint(1, 3),
    "mamba_ssm_cache_dtype": lambda r: r.choice(("float32", "bfloat16")),
}
