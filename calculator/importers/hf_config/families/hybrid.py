"""Decoders that mix attention layers with state-space or short convolution ones."""

from __future__ import annotations

from calculator.importers.hf_config.families.linear import with_linear
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
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers.recurrent import (
    Mamba1,
    Mamba2,
    ShortConvolution,
)

HYBRID = "hybrid"


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
    listed = r.counts("attn_layer_indices")
    if listed is None:
        r.class_rule("attn_layer_indices", "none")
    chosen = set(listed or [])
    types = tuple(FULL if i in chosen else LINEAR for i in range(num_layers))
    return with_linear(r, types, heads, _mamba2(r))


def granite_hybrid(r: Reader) -> Layers:
    """Granite 4: layers as listed, all Mamba-2 where no list is given."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    r.waive("shared_intermediate_size", "layers_block_type", "layer_types")
    types = listed_layer_types(r, num_layers, (FULL, LINEAR)) or listed_layer_types(
        r, num_layers, (FULL, LINEAR), "layers_block_type"
    )
    if types is None:
        r.class_rule("layer_types", "Mamba-2 in every layer")
        types = (LINEAR,) * num_layers
    return with_linear(r, types, heads, _mamba2(r))


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
    r.waive(
        "mamba_expand",
        "ssm_multipliers",
        "ssm_in_multiplier",
        "ssm_out_multiplier",
        "attn_layer_indices",
        "key_multiplier",
    )
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


def zamba(r: Reader) -> Layers:
    """Zamba: Mamba-1 everywhere, a shared attention block before some, cached at each."""
    waive_kernel_choices(r)
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (LINEAR, HYBRID), "layers_block_type")
    if types is None:
        period, offset = r.count("attn_layer_period"), r.count("attn_layer_offset", at_least=0)
        first = (LINEAR, LINEAR, HYBRID)[:num_layers]
        rest = (HYBRID if i % period == offset else LINEAR for i in range(num_layers - 3))
        types = (*first, *rest)
    r.waive("n_mamba_heads", "attn_layer_period", "attn_layer_offset", "attention_hidden_size")
    r.waive("layer_types", "head_dim")
    num_heads, hidden = r.count("num_attention_heads"), r.count("hidden_size")
    kv_heads = r.count_or_none("num_key_value_heads") or num_heads
    check_divides(r, kv_heads, num_heads)
    width = r.count_or_none("attention_head_dim") or 2 * hidden // num_heads
    attention = Heads(kv_heads, width).full()
    inner = r.count("mamba_expand") * hidden
    state = Mamba1("mamba1", inner, r.count("mamba_d_state"), r.count("mamba_d_conv"))
    return by_type(types, {LINEAR: lambda: (state,), HYBRID: lambda: (attention, state)})


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
    r.class_rule("layers_block_type", "layers 6, 12, 18, 24, 30, 36, 42, 47 and 51 hybrid, from 0")
    return tuple(HYBRID if letter == "H" else LINEAR for letter in pattern)


def lfm2(r: Reader) -> Layers:
    """LFM2: full attention in the layers listed, short convolutions in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, CONV))
    chosen = r.counts("full_attn_idxs")
    if types is None:
        if chosen is None:
            r.class_rule("full_attn_idxs", "full attention in every layer")
            chosen = list(range(num_layers))
        indices = set(chosen)
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
