"""Decoders that mix full attention with linear attention: delta nets and lightning."""

from __future__ import annotations

from calculator.importers.hf_config.families.latent import latent_cache
from calculator.importers.hf_config.layers import (
    FULL,
    LINEAR,
    Heads,
    Layers,
    attention_heads,
    by_type,
    class_pattern,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers import LayerCache
from calculator.layers.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
)


def with_linear(r: Reader, types: tuple[str, ...], heads: Heads, linear: LayerCache) -> Layers:
    return by_type(types, {FULL: lambda: (heads.full(),), LINEAR: lambda: (linear,)})


def gated_delta_net(r: Reader) -> Layers:
    """Qwen3-Next, Qwen3.5: full attention in every fourth layer, gated delta nets in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    if types is None:
        types = _by_interval(r, num_layers)
    r.waive("full_attention_interval", "mamba_ssm_dtype", "use_sliding_window", "sliding_window")
    r.waive("max_window_layers", "attn_output_gate", "ple_layer_ids")
    names = (
        "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
        "linear_value_head_dim", "linear_conv_kernel_dim",
    )  # fmt: skip
    if r.flag("use_sliding_window"):
        r.unsupported("use_sliding_window", True, f"{r.model_type} has no layers with a window")
    return with_linear(r, types, heads, GatedDeltaNet("gated_delta_net", *map(r.count, names)))


def olmo_hybrid(r: Reader) -> Layers:
    """OLMo Hybrid: as Qwen3-Next, but figures left out follow from the attention's."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    if types is None:
        types = class_pattern(r, num_layers, 4, LINEAR)
        types = types if FULL in types else (*types[:-1], FULL)
    r.waive("linear_allow_neg_eigval", "linear_a_log_min", "linear_a_log_max", "linear_dt_max")
    r.waive("linear_dt_min", "linear_dt_init_floor")
    num_heads = r.count("num_attention_heads")
    key_heads = r.count_or_none("linear_num_key_heads") or num_heads
    value_heads = r.count_or_none("linear_num_value_heads") or num_heads
    key_dim = r.count_or_none("linear_key_head_dim")
    if key_dim is None:
        key_dim = max(1, 3 * r.count("hidden_size") // (4 * key_heads))
        r.derived("linear_key_head_dim", "0.75 × hidden_size / linear_num_key_heads")
    value_dim = r.count_or_none("linear_value_head_dim") or 2 * key_dim
    kernel = r.count("linear_conv_kernel_dim")
    delta = GatedDeltaNet("gated_delta_net", key_heads, key_dim, value_heads, value_dim, kernel)
    return with_linear(r, types, heads, delta)


def _by_interval(r: Reader, num_layers: int) -> tuple[str, ...]:
    interval = r.count_or_none("full_attention_interval")
    if interval is None:
        return class_pattern(r, num_layers, 4, LINEAR)
    return full_every(num_layers, interval, LINEAR)


def kimi_linear(r: Reader) -> Layers:
    """Kimi Linear: latent attention in some layers, delta attention in the others."""
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    inner = r.inner("linear_attn_config")
    if inner:
        listed = _kimi_layer_types(inner, num_layers)
        types = types or listed
        inner.waive("gate_lower_bound", "use_full_rank_gate", "full_attn_layers", "kda_layers")
    if types is None:
        r.class_rule("layer_types", "full attention in layers 4, 8, 12 and so on, from 0")
        types = tuple(FULL if i and i % 4 == 0 else LINEAR for i in range(num_layers))
    r.waive("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    r.waive("attn_res_block_size", "latent_moe_use_norm", "mla_use_output_gate", "mla_use_nope")
    delta = KimiDeltaAttention(
        "kimi_delta_attention",
        _kimi_figure(r, inner, "num_heads", "linear_num_heads"),
        _kimi_figure(r, inner, "head_dim", "linear_head_dim"),
        _kimi_figure(r, inner, "short_conv_kernel_size", "linear_conv_kernel_dim"),
    )
    latent = latent_cache(r)
    return by_type(types, {FULL: lambda: (latent,), LINEAR: lambda: (delta,)})


def bailing_hybrid(r: Reader) -> Layers:
    """Ling/Ring 2.5: latent attention in every layer_group_size-th layer, delta attention else."""
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    if types is None:
        types = full_every(num_layers, r.count("layer_group_size"), LINEAR)
    r.waive("layer_group_size", "linear_conv_kernel_dim", "linear_num_heads", "linear_head_dim")
    r.waive(
        "group_norm_size",
        "kda_safe_gate",
        "kda_lower_bound",
        "linear_silu",
        "use_linear_silu",
        "short_conv_kernel_size",
    )
    latent = latent_cache(r)
    delta = KimiDeltaAttention(
        "kimi_delta_attention",
        r.count("linear_num_heads", "num_attention_heads"),
        r.count("linear_head_dim", "head_dim"),
        r.count("linear_conv_kernel_dim", "short_conv_kernel_size"),
    )
    return by_type(types, {FULL: lambda: (latent,), LINEAR: lambda: (delta,)})


def _kimi_figure(r: Reader, inner: Reader | None, name: str, flat: str) -> int:
    """Checkpoints keep the linear layers' figures in an object of their own."""
    if inner and inner.config.get(name) is not None:
        return inner.count(name)
    return r.count(flat)


def _kimi_layer_types(inner: Reader, num_layers: int) -> tuple[str, ...] | None:
    """full_attn_layers and kda_layers count from 1, and together name each layer once."""
    full, linear = inner.counts("full_attn_layers"), inner.counts("kda_layers")
    if full is None or linear is None:
        return None
    if sorted(full + linear) != list(range(1, num_layers + 1)):
        inner.invalid("full_attn_layers", full, f"with kda_layers, each of 1 to {num_layers} once")
    chosen = set(full)
    return tuple(FULL if i + 1 in chosen else LINEAR for i in range(num_layers))


def minimax(r: Reader) -> Layers:
    """MiniMax (transformers' form): full attention and lightning attention by turns."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    if types is None:
        r.class_rule("layer_types", "full and lightning attention by turns")
        types = tuple(FULL if (i + 1) % 2 else LINEAR for i in range(num_layers))
    r.waive("block_size", "linear_attn_alpha_factor", "linear_attn_beta_factor", "sliding_window")
    r.waive("full_attn_alpha_factor", "full_attn_beta_factor")
    if r.tokens_or_none("sliding_window"):
        r.unsupported("sliding_window", r.config["sliding_window"], "minimax keeps every token")
    return with_linear(r, types, heads, _lightning(r, heads))


def minimax_01(r: Reader) -> Layers:
    """MiniMax-Text-01 and M1 as published: attn_type_list has 1 for softmax, 0 for lightning."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    listed = r.counts("attn_type_list")
    if listed is None:
        r.missing("attn_type_list")
    if len(listed) != num_layers or set(listed) - {0, 1}:
        r.invalid("attn_type_list", listed, f"0 or 1, for each of {num_layers} layers")
    types = tuple(FULL if x else LINEAR for x in listed)
    r.waive("layernorm_full_attention_alpha", "layernorm_linear_attention_alpha", "shared_moe_mode")
    r.waive("layernorm_full_attention_beta", "layernorm_linear_attention_beta", "sliding_window")
    return with_linear(r, types, heads, _lightning(r, heads))


def _lightning(r: Reader, heads: Heads) -> LightningAttention:
    return LightningAttention("lightning_attention", r.count("num_attention_heads"), heads.head_dim)
