"""Decoders whose layers with a window follow a pattern of their own."""

from __future__ import annotations

from collections.abc import Callable

from calculator.importers.hf_config.families.attention import sliding_if_set
from calculator.importers.hf_config.layers import (
    CONV,
    FULL,
    SLIDING,
    Layers,
    Makers,
    attention_by_type,
    attention_heads,
    by_type,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers import LayerCache
from calculator.layers.recurrent import ShortConvolution


def _patterned(r: Reader, where: str, is_full: Callable[[int, int], bool]) -> Layers:
    """Listed layer types, else full attention `where` the class has it, and a window elsewhere."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        r.class_rule("layer_types", f"full attention in {where}")
        types = tuple(FULL if is_full(i, num_layers) else SLIDING for i in range(num_layers))
    r.waive("sliding_window")
    return attention_by_type(r, types, heads)


def afmoe(r: Reader) -> Layers:
    """AFMoE: full attention in every global_attn_every_n_layers-th layer."""
    period = r.count("global_attn_every_n_layers")
    return _patterned(r, f"every layer of {period}", lambda i, _: (i + 1) % period == 0)


def beam(r: Reader) -> Layers:
    """Beam: full attention in every sixth layer and in the last."""
    return _patterned(
        r, "every sixth layer and the last", lambda i, n: (i + 1) % 6 == 0 or i == n - 1
    )


def cwm(r: Reader) -> Layers:
    """CWM and Granite with windows: full attention in every fourth layer, from the first on."""
    r.waive("layer_rope_theta")
    return _patterned(r, "every fourth layer from the first on", lambda i, _: i % 4 == 0)


def every_fifth(r: Reader) -> Layers:
    """Kolibri: full attention in every fifth layer."""
    return _patterned(r, "every fifth layer", lambda i, _: (i + 1) % 5 == 0)


def flint(r: Reader) -> Layers:
    """Flint: full attention in the first two layers, every fourth, and the last."""
    return _patterned(
        r,
        "the first two layers, every fourth and the last",
        lambda i, n: i < 2 or i % 4 == 1 or i == n - 1,
    )


def listed_or_full(r: Reader) -> Layers:
    """Cohere Compass, Laguna: full attention throughout unless layer_types says otherwise."""
    r.waive("num_attention_heads_per_layer", "sliding_window_pattern")
    return _patterned(r, "every layer", lambda i, n: True)


def cohere2_moe(r: Reader) -> Layers:
    """Cohere 2 MoE: the dense layers at the start have a pattern of their own."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        dense = min(r.count_or_none("first_k_dense_replace", at_least=0) or 0, num_layers)
        prefix = r.count("prefix_dense_sliding_window_pattern")
        types = full_every(dense, prefix) + full_every(
            num_layers - dense, r.count("sliding_window_pattern")
        )
    r.waive("sliding_window", "sliding_window_pattern", "prefix_dense_sliding_window_pattern")
    return attention_by_type(r, types, heads)


def doge(r: Reader) -> Layers:
    """Doge: a window on every layer or none; its mask looks at some tokens but all are stored."""
    r.waive("keep_window_size")
    return sliding_if_set(r)


def dots1(r: Reader) -> Layers:
    """dots.llm1: a window from layer max_window_layers on, where there is one."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        types = (FULL,) * num_layers
        if r.tokens_or_none("sliding_window"):
            first = r.count("max_window_layers", at_least=0)
            types = tuple(SLIDING if i >= first else FULL for i in range(num_layers))
    r.waive("sliding_window", "max_window_layers")
    return attention_by_type(r, types, heads)


def lfm3(r: Reader) -> Layers:
    """LFM3: short convolutions, windows and full attention, by fours."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING, CONV))
    if types is None:
        r.class_rule("layer_types", "convolution, window and full attention by fours")
        by_position = (SLIDING, CONV, FULL, CONV)
        types = tuple(CONV if i == 0 else by_position[i % 4] for i in range(num_layers))
    r.waive("sliding_window", "conv_L_cache", "use_attention_gate")
    return by_type(
        types,
        {
            FULL: lambda: (heads.full(),),
            SLIDING: lambda: (heads.sliding(r.tokens("sliding_window")),),
            CONV: lambda: (_convolution(r, r.count("hidden_size"), "conv_L_cache"),),
        },
    )


def _convolution(r: Reader, channels: int, *kernel: str) -> ShortConvolution:
    return ShortConvolution("short_convolution", channels, r.count(*kernel))


def modernbert_decoder(r: Reader) -> Layers:
    """ModernBERT decoder: full attention in every third layer; a window is half local_attention."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r, kv_heads=(), head_dim=())
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        period = r.count_or_none("global_attn_every_n_layers")
        if period is None:
            period = 3
            r.class_rule("layer_types", "full attention in every third layer, from the first on")
        types = tuple(SLIDING if i % period else FULL for i in range(num_layers))
    r.waive("global_attn_every_n_layers", "decoder_bias", "local_attention")
    window = r.tokens_or_none("sliding_window")
    if window is None:
        window = r.tokens("local_attention") // 2 or r.tokens("sliding_window")
        r.derived("sliding_window", "local_attention / 2")
    makers: Makers = {FULL: lambda: (heads.full(),), SLIDING: lambda: (heads.sliding(window),)}
    return by_type(types, makers)


def moshi(r: Reader) -> Layers:
    """Moshi: the main model's window; the depth decoder starts anew at every step."""
    r.waive("depth_decoder_config", "audio_encoder_config", "num_codebooks", "ffn_dim")
    return sliding_if_set(r)


HYBRID, HYBRID_SLIDING = "hybrid", "hybrid_sliding"


def inkling(r: Reader) -> Layers:
    """Inkling: each layer convolves keys, values, and what enters and leaves its attention."""
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (HYBRID, HYBRID_SLIDING))
    if types is None:
        local = r.counts("local_layer_ids")
        if local is None:
            r.class_rule("layer_types", "full attention in every sixth layer")
            local = [i for i in range(num_layers) if (i + 1) % 6]
        chosen = set(local)
        types = tuple(HYBRID_SLIDING if i in chosen else HYBRID for i in range(num_layers))
    r.waive("local_layer_ids", "number_of_conv_states", "n_layers_per_attn_res_block", "d_rel")
    r.waive("rel_extent", "shared_expert_sink", "swa_num_attention_heads", "sliding_window_size")
    r.waive("num_attention_heads", "num_key_value_heads", "head_dim")
    r.waive(
        "swa_num_key_value_heads", "swa_head_dim", "chain_hidden_post_norm", "log_scaling_n_floor"
    )
    return by_type(
        types,
        {HYBRID: lambda: _inkling_layer(r, ""), HYBRID_SLIDING: lambda: _inkling_layer(r, "swa_")},
    )


def _inkling_layer(r: Reader, prefix: str) -> tuple[LayerCache, ...]:
    """Attention, and four convolutions: of keys, of values, and two of the whole width."""
    heads = attention_heads(
        r,
        heads=(f"{prefix}num_attention_heads",),
        kv_heads=(f"{prefix}num_key_value_heads",),
        head_dim=(f"{prefix}head_dim",),
    )
    keys, hidden = heads.num_key_value_heads * heads.head_dim, r.count("hidden_size")
    kernel = ("conv_kernel_size", "sconv_kernel_size")
    convolutions = tuple(_convolution(r, n, *kernel) for n in (keys, keys, hidden, hidden))
    if not prefix:
        return (heads.full(), *convolutions)
    return (heads.sliding(r.tokens("sliding_window_size", "sliding_window")), *convolutions)
