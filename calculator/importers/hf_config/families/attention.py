"""Decoders that keep keys and values a head: all of them full, or some with a window or chunk."""

from __future__ import annotations

from collections.abc import Mapping

from calculator.importers.hf_config.layers import (
    CHUNKED,
    FULL,
    NOTHING,
    SLIDING,
    Heads,
    Layers,
    attention_by_type,
    attention_heads,
    by_type,
    check_divides,
    derived_head_dim,
    every_layer,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers.attention import FullAttention


def plain(r: Reader) -> Layers:
    """Llama and all that cache like it."""
    r.waive("max_window_layers", "use_sliding_window")
    num_layers = r.num_hidden_layers()
    listed_layer_types(r, num_layers, (FULL,))
    return every_layer(FULL, num_layers, attention_heads(r).full())


def sliding_if_set(r: Reader) -> Layers:
    """Mistral: a window on every layer, or on none where sliding_window is null."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    window = r.tokens_or_none("sliding_window")
    listed = listed_layer_types(r, num_layers, (FULL, SLIDING))
    uniform = (SLIDING if window else FULL,) * num_layers
    return attention_by_type(r, listed or uniform, heads)


def qwen2(r: Reader) -> Layers:
    """A window from layer max_window_layers on, if use_sliding_window is on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        types = (FULL,) * num_layers
        if _window(r):
            first = r.count("max_window_layers", at_least=0)
            types = tuple(SLIDING if i >= first else FULL for i in range(num_layers))
    return _windowed(r, types, heads)


def qwen2_vl(r: Reader) -> Layers:
    """Qwen2's rule, with a class whose window is off by default."""
    return qwen2(r)


def qwen2_moe(r: Reader) -> Layers:
    """A window on every other layer below max_window_layers, if use_sliding_window is on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        types = (FULL,) * num_layers
        if _window(r):
            end = r.count("max_window_layers", at_least=0)
            types = tuple(SLIDING if (i + 1) % 2 and i < end else FULL for i in range(num_layers))
    return _windowed(r, types, heads)


def qwen3_moe(r: Reader) -> Layers:
    """A window on every layer, if use_sliding_window is on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    r.waive("max_window_layers")
    uniform = (SLIDING if _window(r) else FULL,) * num_layers
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    return _windowed(r, types or uniform, heads)


def smollm3(r: Reader) -> Layers:
    """A window on the layers without rotary positions, if use_sliding_window is on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    r.waive("max_window_layers", "no_rope_layers", "no_rope_layer_interval")
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        has_rope = _layers_with_rope(r, num_layers) if _window(r) else [1] * num_layers
        types = tuple(FULL if rope else SLIDING for rope in has_rope)
    return _windowed(r, types, heads)


def every_fourth(r: Reader) -> Layers:
    """OLMo 3, Cohere 2, EXAONE 4: full attention in every fourth layer, a window in the others."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        if r.tokens_or_none("sliding_window") is None:
            types = (FULL,) * num_layers
            r.waive("sliding_window_pattern")
        else:
            types = full_every(num_layers, _pattern(r, 4))
    else:
        r.waive("sliding_window_pattern", "sliding_window")
    return attention_by_type(r, types, heads)


def alternating(r: Reader) -> Layers:
    """gpt-oss: a window in every other layer, from the first on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING)) or full_every(num_layers, 2)
    r.waive("initial_context_length", "sliding_window")
    return attention_by_type(r, types, heads)


def minimax_m2(r: Reader) -> Layers:
    """MiniMax-M2: full attention everywhere, as attn_type_list says where it is given."""
    num_layers = r.num_hidden_layers()
    listed = r.counts("attn_type_list")
    if listed is not None and listed != [1] * num_layers:
        r.unsupported("attn_type_list", listed, "the rule for minimax_m2 covers softmax layers, 1")
    return every_layer(FULL, num_layers, attention_heads(r).full())


def hunyuan(r: Reader) -> Layers:
    """Hunyuan as first published; its sharing of caches between layers (CLA) has no rule here."""
    if r.flag("use_cla"):
        r.unsupported("use_cla", True, "layers that share a cache have no rule for hunyuan")
    if r.flag("use_mla"):
        r.unsupported("use_mla", True, "latent attention has no rule for hunyuan")
    r.waive(
        "cla_share_factor", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "v_head_dim",
        "qk_nope_head_dim", "head_dim", "org_vocab_size", "pool_type", "group_limited_greedy",
    )  # fmt: skip
    heads = attention_heads(r, head_dim=("attention_head_dim", "head_dim"))
    return every_layer(FULL, r.num_hidden_layers(), heads.full())


def nemotron_nas(r: Reader) -> Layers:
    """Llama-Nemotron: block_configs says of each layer how many heads share a cached one."""
    num_layers, num_heads = r.num_hidden_layers(), r.count("num_attention_heads")
    blocks = r.list_or_none("block_configs") or []
    r.waive("num_key_value_heads", "head_dim", "hidden_size")
    if len(blocks) != num_layers:
        r.invalid("block_configs", len(blocks), f"{num_layers} entries, one a layer")
    width = derived_head_dim(r, num_heads, ("hidden_size",))
    caches: dict[str, tuple[FullAttention, ...]] = {}
    types = []
    for block in blocks:
        shared = _heads_in_group(r, block)
        layer_type = f"full_attention_of_{num_heads // shared}" if shared else NOTHING
        if shared:
            check_divides(r, num_heads // shared, num_heads)
            caches[layer_type] = (Heads(num_heads // shared, width).full(),)
        else:
            caches[layer_type] = ()
        types.append(layer_type)
    return Layers(tuple(types), caches)


def _heads_in_group(r: Reader, block: object) -> int | None:
    """Query heads that share a cached one; None for a layer without attention."""
    attention = block.get("attention") if isinstance(block, Mapping) else None
    if not isinstance(attention, Mapping):
        r.invalid("block_configs", block, "an object with attention")
    inner = Reader(attention, r.model_type, {}, f"{r.prefix}block_configs.attention.")
    if inner.flag("no_op") or inner.flag("replace_with_linear"):
        return None
    for key, value in attention.items():
        if value and key not in ("n_heads_in_group", "no_op", "replace_with_linear"):
            inner.unsupported(key, value, "the rule for nemotron-nas does not cover it")
    return inner.count("n_heads_in_group")


def dbrx(r: Reader) -> Layers:
    """DBRX: the number of cached heads is attn_config.kv_n_heads."""
    num_layers, num_heads = r.num_hidden_layers(), r.count("num_attention_heads", "n_heads")
    attention = r.inner("attn_config")
    kv_heads = attention.count_or_none("kv_n_heads") if attention else None
    if attention:
        attention.waive("clip_qkv", "attn_pdrop", "rope_theta")
    if kv_heads is None:
        origin = f"default of model type {r.model_type}"
        kv_heads = 1
        r.derived("num_key_value_heads", origin)
        r.assume(f"attn_config.kv_n_heads is not in the configuration: 1, the {origin}.")
    check_divides(r, kv_heads, num_heads)
    r.waive("num_key_value_heads", "ffn_config", "max_seq_len")
    width = derived_head_dim(r, num_heads, ("hidden_size", "d_model"))
    return every_layer(FULL, num_layers, Heads(kv_heads, width).full())


def jetmoe(r: Reader) -> Layers:
    """JetMoE: experts share the num_key_value_heads keys and values of kv_channels."""
    r.waive("num_attention_heads", "head_dim")
    heads = Heads(r.count("num_key_value_heads"), r.count("kv_channels", "head_dim"))
    return every_layer(FULL, r.num_hidden_layers(), heads.full())


def hrm_text(r: Reader) -> Layers:
    """HRM: a stack runs H_cycles × (L_cycles + 1) times, and each run keeps a cache of its own.

    num_hidden_layers is that product where num_layers_per_stack is given, else the stack alone.
    """
    num_layers = r.num_hidden_layers()
    if r.count_or_none("num_layers_per_stack") is None:
        num_layers *= r.count("H_cycles") * (r.count("L_cycles") + 1)
        r.derived("num_hidden_layers", "num_hidden_layers × H_cycles × (L_cycles + 1)")
    r.waive("H_cycles", "L_cycles", "L_bp_cycles", "prefix_lm")
    return every_layer(FULL, num_layers, attention_heads(r).full())


def llama4(r: Reader) -> Layers:
    """Chunks on the layers with rotary positions, full attention on those without."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, CHUNKED))
    if types is None:
        types = tuple(CHUNKED if rope else FULL for rope in _layers_with_rope(r, num_layers))
    r.waive("no_rope_layers", "no_rope_layer_interval", "attention_chunk_size")
    return attention_by_type(r, types, heads)


def step3p7(r: Reader) -> Layers:
    """Step 3.7: layer types as listed, one head geometry."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        r.missing("layer_types")
    r.waive("share_expert_dim")
    return attention_by_type(r, types, heads)


def mimo_v2_flash(r: Reader) -> Layers:
    """MiMo-V2-Flash: layers with a window have head counts and widths of their own."""
    num_layers = r.num_hidden_layers()
    full = _with_value_width(r, "")
    if r.config.get("layer_types") is None and r.config.get("hybrid_layer_pattern") is None:
        r.missing("layer_types")
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        pattern = r.counts("hybrid_layer_pattern") or []
        if len(pattern) != num_layers:
            r.invalid("hybrid_layer_pattern", pattern, f"{num_layers} entries, one a layer")
        types = tuple(SLIDING if windowed else FULL for windowed in pattern)
    r.waive(
        "hybrid_layer_pattern", "hybrid_block_size", "sliding_window_size", "sliding_window",
        "attention_chunk_size", "swa_num_attention_heads", "attention_value_scale",
        "add_swa_attention_sink_bias", "add_full_attention_sink_bias", "swa_rope_theta",
    )  # fmt: skip
    return by_type(
        types,
        {
            FULL: lambda: (full.full(),),
            SLIDING: lambda: (_with_value_width(r, "swa_").sliding(r.tokens("sliding_window")),),
        },
    )


def _with_value_width(r: Reader, prefix: str) -> Heads:
    own = prefix and r.config.get(f"{prefix}num_key_value_heads") is not None
    prefix = prefix if own else ""
    heads = attention_heads(
        r,
        heads=(f"{prefix}num_attention_heads",),
        kv_heads=(f"{prefix}num_key_value_heads",),
        head_dim=(f"{prefix}head_dim",),
    )
    return heads._replace(v_head_dim=r.count_or_none(f"{prefix}v_head_dim"))


def _window(r: Reader) -> int | None:
    """The window if it is switched on; a window that is off is not read."""
    if r.flag("use_sliding_window"):
        return r.tokens_or_none("sliding_window")
    r.waive("sliding_window", "max_window_layers")
    return None


def _windowed(r: Reader, types: tuple[str, ...], heads: Heads) -> Layers:
    if SLIDING in types and not r.flag("use_sliding_window"):
        r.unsupported("layer_types", SLIDING, "use_sliding_window is off")
    r.waive("sliding_window", "max_window_layers", "use_sliding_window")
    return attention_by_type(r, types, heads)


def _pattern(r: Reader, default: int) -> int:
    """sliding_window_pattern as a number, or as letters such as LLLG (the last layer is global)."""
    value = r.raw("sliding_window_pattern")
    if isinstance(value, str) and value and set(value[:-1]) <= {"L"} and value[-1] == "G":
        return len(value)
    if value is None:
        r.derived("sliding_window_pattern", f"default of model type {r.model_type}")
        return default
    return r.count("sliding_window_pattern")


def _layers_with_rope(r: Reader, num_layers: int) -> list[int]:
    listed = r.counts("no_rope_layers")
    if listed:
        if len(listed) != num_layers:
            r.invalid("no_rope_layers", listed, f"{num_layers} entries, one a layer")
        return listed
    interval = r.count("no_rope_layer_interval")
    return [int((i + 1) % interval != 0) for i in range(num_layers)]
