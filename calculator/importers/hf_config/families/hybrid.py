"""Decoders that mix attention layers with recurrent or convolution ones."""

from __future__ import annotations

from calculator.importers.hf_config.families.latent import latent_cache
from calculator.importers.hf_config.families.recurrent import check_product, waive_kernel_choices
from calculator.importers.hf_config.layers import (
    CONV,
    FULL,
    LINEAR,
    Heads,
    Layers,
    Makers,
    attention_heads,
    by_type,
    check_divides,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers import LayerCache
from calculator.layers.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
)

HYBRID = "hybrid"


def with_linear(r: Reader, types: tuple[str, ...], heads: Heads, linear: LayerCache) -> Layers:
    return by_type(types, {FULL: lambda: (heads.full(),), LINEAR: lambda: (linear,)})


def gated_delta_net(r: Reader) -> Layers:
    """Qwen3-Next, Qwen3.5: full attention in every fourth layer, gated delta nets in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, LINEAR))
    if types is None:
        types = full_every(num_layers, r.count_or_none("full_attention_interval") or 4, LINEAR)
    r.waive("full_attention_interval", "mamba_ssm_dtype", "use_sliding_window", "sliding_window")
    r.waive("max_window_layers", "attn_output_gate", "ple_layer_ids")
    names = (
        "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
        "linear_value_head_dim", "linear_conv_kernel_dim",
    )  # fmt: skip
    if r.flag("use_sliding_window"):
        r.unsupported("use_sliding_window", True, f"{r.model_type} has no layers with a window")
    return with_linear(r, types, heads, GatedDeltaNet("gated_delta_net", *map(r.count, names)))


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
    r.waive("group_norm_size", "linear_silu", "use_linear_silu", "short_conv_kernel_size")
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


def jamba(r: Reader) -> Layers:
    """Jamba: attention in each attn_layer_period-th layer, Mamba-1 in the others."""
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r)
    waive_kernel_choices(r)
    period, offset = r.count("attn_layer_period"), r.count("attn_layer_offset", at_least=0)
    types = tuple(FULL if i % period == offset else LINEAR for i in range(num_layers))
    r.waive("expert_layer_period", "expert_layer_offset", "layers_block_type", "sliding_window")
    inner = r.count("mamba_expand") * r.count("hidden_size")
    r.derived("intermediate_size", "mamba_expand × hidden_size")
    state = Mamba1("mamba1", inner, r.count("mamba_d_state"), r.count("mamba_d_conv"))
    return with_linear(r, types, heads, state)


def bamba(r: Reader) -> Layers:
    """Bamba: attention in the layers that attn_layer_indices names, Mamba-2 in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    chosen = set(r.counts("attn_layer_indices") or [])
    types = tuple(FULL if i in chosen else LINEAR for i in range(num_layers))
    return with_linear(r, types, heads, _mamba2(r))


def granite_hybrid(r: Reader) -> Layers:
    """Granite 4: layers as listed, all Mamba-2 where no list is given."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    r.waive("shared_intermediate_size", "layers_block_type", "layer_types")
    types = listed_layer_types(r, num_layers, (FULL, LINEAR)) or listed_layer_types(
        r, num_layers, (FULL, LINEAR), "layers_block_type"
    )
    return with_linear(r, types or (LINEAR,) * num_layers, heads, _mamba2(r))


def _mamba2(r: Reader) -> Mamba2:
    """Figures named mamba_…; mamba_d_head may be "auto"."""
    waive_kernel_choices(r)
    inner, heads = r.count("mamba_expand") * r.count("hidden_size"), r.count("mamba_n_heads")
    return _mamba2_cache(r, inner, heads)


def _mamba2_cache(r: Reader, inner: int, heads: int) -> Mamba2:
    if r.raw("mamba_d_head") in (None, "auto"):
        head_dim = inner // heads
        r.derived("mamba_d_head", "mamba_expand × hidden_size / mamba_n_heads")
    else:
        head_dim = r.count("mamba_d_head")
    check_product(r, heads * head_dim, inner)
    names = ("mamba_d_state", "mamba_n_groups", "mamba_d_conv")
    return Mamba2("mamba2", heads, head_dim, *map(r.count, names))


def falcon_h1(r: Reader) -> Layers:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    waive_kernel_choices(r)
    r.waive("mamba_expand", "ssm_multipliers", "attn_layer_indices", "key_multiplier")
    r.waive("mlp_expansion_factor", "mamba_use_mlp")
    inner = r.count_or_none("mamba_d_ssm") or r.count("mamba_expand") * r.count("hidden_size")
    state = _mamba2_cache(r, inner, r.count("mamba_n_heads"))
    return by_type((HYBRID,) * num_layers, {HYBRID: lambda: (heads.full(), state)})


def nemotron_h(r: Reader) -> Layers:
    """Nemotron-H: M for Mamba-2, * for attention, - and E for layers that keep nothing."""
    waive_kernel_choices(r)
    types = _nemotron_layer_types(r)
    r.waive(
        "expand", "mamba_expand", "attention_head_dim", "sliding_window", "mtp_layers_block_type"
    )
    r.waive("hybrid_override_pattern", "mtp_hybrid_override_pattern", "moe_latent_size")
    if r.tokens_or_none("sliding_window"):
        r.unsupported("sliding_window", r.config["sliding_window"], "nemotron_h keeps every token")
    heads = attention_heads(r, head_dim=("head_dim", "attention_head_dim"))
    state = Mamba2(
        "mamba2",
        r.count("mamba_num_heads"),
        r.count("mamba_head_dim"),
        r.count("ssm_state_size", "state_size"),
        r.count("n_groups", "mamba_n_groups"),
        r.count("conv_kernel", "mamba_d_conv"),
    )
    makers: Makers = {
        FULL: lambda: (heads.full(),),
        LINEAR: lambda: (state,),
        "moe": tuple,
        "mlp": tuple,
    }
    return by_type(types, makers)


def _nemotron_layer_types(r: Reader) -> tuple[str, ...]:
    """Newer files list the layers and leave out how many there are."""
    known = (FULL, LINEAR, "moe", "mlp")
    for key in ("layers_block_type", "layer_types"):
        if r.config.get(key) is not None:
            listed = r.list_or_none(key) or []
            given = r.count_or_none("num_hidden_layers")
            return listed_layer_types(r, given or len(listed), known, key) or ()
    num_layers = r.num_hidden_layers()
    letters = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}
    pattern = r.text_or_none("hybrid_override_pattern")
    if pattern is None:
        r.missing("hybrid_override_pattern")
    if set(pattern) - set(letters) or len(pattern) != num_layers:
        r.invalid(
            "hybrid_override_pattern",
            pattern,
            f"letters M, E, * and -, one for each of {num_layers}",
        )
    return tuple(letters[letter] for letter in pattern)


def zamba2(r: Reader) -> Layers:
    """Zamba2: Mamba-2 everywhere, a shared attention block before some, cached at each."""
    waive_kernel_choices(r)
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (LINEAR, HYBRID), "layers_block_type")
    if types is None:
        types = _zamba2_default(r, num_layers)
    r.waive(
        "num_mem_blocks", "use_shared_attention_adapter", "use_shared_mlp_adapter", "adapter_rank",
        "use_mem_rope", "kv_channels", "num_query_groups", "hybrid_layer_ids", "mamba_headdim",
        "attention_head_dim", "attention_hidden_size", "add_bias_linear", "use_long_context",
        "ffn_hidden_size", "layer_types", "head_dim",
    )  # fmt: skip
    num_heads, hidden = r.count("num_attention_heads"), r.count("hidden_size")
    kv_heads = r.count_or_none("num_key_value_heads") or num_heads
    check_divides(r, kv_heads, num_heads)
    if 2 * hidden % num_heads:
        r.invalid("hidden_size", hidden, "twice it to be a multiple of num_attention_heads")
    attention = Heads(kv_heads, 2 * hidden // num_heads).full()
    r.derived("head_dim", "2 × hidden_size / num_attention_heads")
    inner, mamba_heads = r.count("mamba_expand") * hidden, r.count("n_mamba_heads")
    check_product(r, inner // mamba_heads * mamba_heads, inner)
    names = ("mamba_d_state", "mamba_ngroups", "mamba_d_conv")
    state = Mamba2("mamba2", mamba_heads, inner // mamba_heads, *map(r.count, names))
    return by_type(types, {LINEAR: lambda: (state,), HYBRID: lambda: (attention, state)})


def _zamba2_default(r: Reader, num_layers: int) -> tuple[str, ...]:
    pattern = "L" + "LLLLLH" * 7 + "LLLLH" + "LLLH" + "LL"
    if num_layers != len(pattern):
        r.missing("layers_block_type")
    origin = f"default of model type {r.model_type}"
    r.derived("layers_block_type", origin)
    r.assume(f"layers_block_type is not in the configuration: the {origin}.")
    return tuple(HYBRID if letter == "H" else LINEAR for letter in pattern)


def lfm2(r: Reader) -> Layers:
    """LFM2: full attention in the layers listed, short convolutions in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, CONV))
    chosen = r.counts("full_attn_idxs")
    if types is None:
        indices = set(range(num_layers) if chosen is None else chosen)
        types = tuple(FULL if i in indices else CONV for i in range(num_layers))
    r.waive("conv_dim", "conv_dim_out", "block_dim", "block_ff_dim", "block_mlp_init_scale",
            "block_multiple_of", "block_ffn_dim_multiplier", "block_auto_adjust_ff_dim",
            "conv_use_xavier_init", "block_use_swiglu", "block_use_xavier_init", "full_attn_idxs",
            "block_norm_eps", "num_heads", "conv_L_cache", "use_pos_enc")  # fmt: skip

    def convolution() -> tuple[ShortConvolution, ...]:
        return (
            ShortConvolution("short_convolution", r.count("hidden_size"), r.count("conv_L_cache")),
        )

    return by_type(types, {FULL: lambda: (heads.full(),), CONV: convolution})
