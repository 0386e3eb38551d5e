"""Decoders whose layers differ in how many heads they cache, or how wide."""

from __future__ import annotations

from collections.abc import Mapping

from calculator.importers.hf_config.layers import (
    FULL,
    NOTHING,
    SLIDING,
    Heads,
    Layers,
    Makers,
    attention_heads,
    by_type,
    check_divides,
    derived_head_dim,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers.attention import FullAttention


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


def mimo_v2_flash(r: Reader) -> Layers:
    """MiMo-V2-Flash: layers with a window cache twice as many heads as the full ones."""
    num_layers = r.num_hidden_layers()
    types = _mimo_layer_types(r, num_layers)
    heads = attention_heads(r)._replace(v_head_dim=r.count("v_head_dim"))
    sliding = heads._replace(num_key_value_heads=2 * heads.num_key_value_heads)
    for key, value in (
        ("swa_num_key_value_heads", sliding.num_key_value_heads),
        ("swa_head_dim", sliding.head_dim),
        ("swa_v_head_dim", sliding.v_head_dim),
    ):
        if r.count_or_none(key) not in (None, value):
            r.unsupported(key, r.config[key], f"mimo_v2_flash has {value:,} there")
    r.waive(
        "sliding_window_size", "sliding_window", "attention_chunk_size", "swa_num_attention_heads",
        "attention_value_scale", "add_swa_attention_sink_bias", "add_full_attention_sink_bias",
        "swa_rope_theta", "hybrid_block_size",
    )  # fmt: skip
    makers: Makers = {
        FULL: lambda: (heads.full(),),
        SLIDING: lambda: (sliding.sliding(_mimo_window(r)),),
    }
    return by_type(types, makers)


def _mimo_window(r: Reader) -> int:
    """sliding_window_size counts the tokens before the present one, sliding_window that one too."""
    before = r.tokens_or_none("sliding_window_size")
    if before is None:
        return r.tokens("sliding_window")
    r.derived("sliding_window", "sliding_window_size + 1")
    return before + 1


def _mimo_layer_types(r: Reader, num_layers: int) -> tuple[str, ...]:
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    pattern = r.counts("hybrid_layer_pattern")
    if types is None and pattern is not None:
        if len(pattern) != num_layers:
            r.invalid("hybrid_layer_pattern", pattern, f"{num_layers} entries, one a layer")
        types = tuple(SLIDING if windowed else FULL for windowed in pattern)
    if types is None:
        r.class_rule("layer_types", "full attention in the first and every sixth layer")
        types = tuple(SLIDING if i and (i + 1) % 6 else FULL for i in range(num_layers))
    return types
