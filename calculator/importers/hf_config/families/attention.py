"""Decoders that keep keys and values a head: all of them full, or some with a window or chunk."""

from __future__ import annotations

from calculator.importers.hf_config.layers import (
    CHUNKED,
    FULL,
    SLIDING,
    Heads,
    Layers,
    attention_by_type,
    attention_heads,
    check_divides,
    class_pattern,
    every_layer,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader


def plain(r: Reader) -> Layers:
    """Llama and all that cache like it."""
    r.waive("max_window_layers", "use_sliding_window")
    num_layers = r.num_hidden_layers()
    listed_layer_types(r, num_layers, (FULL,))
    return every_layer(FULL, num_layers, attention_heads(r).full())


def glm4_moe(r: Reader) -> Layers:
    """GLM-4.5: a head's width is rounded down where heads do not divide hidden_size."""
    num_layers, num_heads = r.num_hidden_layers(), r.count("num_attention_heads")
    kv_heads = r.count_or_none("num_key_value_heads") or num_heads
    check_divides(r, kv_heads, num_heads)
    width = r.count_or_none("head_dim")
    if width is None:
        width = max(1, r.count("hidden_size") // num_heads)
        r.derived("head_dim", "hidden_size / num_attention_heads, rounded down")
    return every_layer(FULL, num_layers, Heads(kv_heads, width).full())


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
            types = _every_fourth_or_pattern(r, num_layers)
    else:
        r.waive("sliding_window_pattern", "sliding_window")
    return attention_by_type(r, types, heads)


def alternating(r: Reader) -> Layers:
    """gpt-oss: a window in every other layer, from the first on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING)) or class_pattern(r, num_layers, 2)
    r.waive("initial_context_length", "sliding_window")
    return attention_by_type(r, types, heads)


def minimax_m2(r: Reader) -> Layers:
    """MiniMax-M2: full attention everywhere, as attn_type_list says where it is given."""
    num_layers = r.num_hidden_layers()
    listed = r.counts("attn_type_list")
    if listed is not None and listed != [1] * num_layers:
        r.unsupported("attn_type_list", listed, "the rule for minimax_m2 covers softmax layers, 1")
    return every_layer(FULL, num_layers, attention_heads(r).full())


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


def _every_fourth_or_pattern(r: Reader, num_layers: int) -> tuple[str, ...]:
    """sliding_window_pattern as a number, or as letters such as LLLG (the last layer is global)."""
    value = r.raw("sliding_window_pattern")
    if value is None:
        return class_pattern(r, num_layers, 4)
    if isinstance(value, str) and value and set(value[:-1]) <= {"L"} and value[-1] == "G":
        return full_every(num_layers, len(value))
    return full_every(num_layers, r.count("sliding_window_pattern"))


def _layers_with_rope(r: Reader, num_layers: int) -> list[int]:
    listed = r.counts("no_rope_layers")
    if listed:
        if len(listed) != num_layers:
            r.invalid("no_rope_layers", listed, f"{num_layers} entries, one a layer")
        return listed
    interval = r.count("no_rope_layer_interval")
    return [int((i + 1) % interval != 0) for i in range(num_layers)]
