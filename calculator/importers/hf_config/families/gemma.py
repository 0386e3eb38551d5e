"""Gemma 2, 3, 3n and 4: windows between full layers; the later ones share caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculator.errors import InvalidInput
from calculator.importers.hf_config.layers import (
    FULL,
    SHARED,
    SLIDING,
    Heads,
    Layers,
    attention_by_type,
    attention_heads,
    by_type,
    check_divides,
    class_pattern,
    full_every,
    listed_layer_types,
)
from calculator.importers.hf_config.reader import Reader


def gemma2(r: Reader) -> Layers:
    """A window in every other layer, from the first on."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING)) or class_pattern(r, num_layers, 2)
    r.waive("sliding_window", "sliding_window_size", "query_pre_attn_scalar")
    return attention_by_type(r, types, heads)


def gemma3(r: Reader) -> Layers:
    """Full attention in every sixth layer, or every sliding_window_pattern-th."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING))
    if types is None:
        period = r.count_or_none("sliding_window_pattern")
        types = full_every(num_layers, period) if period else class_pattern(r, num_layers, 6)
    r.waive("sliding_window", "sliding_window_pattern", "rope_local_base_freq")
    both_ways = r.flag("use_bidirectional_attention")
    return _windows(r, types, heads, heads, both_ways)


def gemma3n(r: Reader) -> Layers:
    """Full attention in every fifth layer; the last num_kv_shared_layers keep nothing."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING)) or class_pattern(r, num_layers, 5)
    r.waive("activation_sparsity_pattern", "hidden_size_per_layer_input", "laurel_rank")
    r.waive("sliding_window", "rope_local_base_freq")
    return _windows(r, _with_shared(r, types), heads, heads, False)


def gemma4(r: Reader) -> Layers:
    """Gemma 3's pattern; full layers have wider heads, and fewer where keys are values too."""
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r)
    types = listed_layer_types(r, num_layers, (FULL, SLIDING)) or class_pattern(r, num_layers, 6)
    if types[-1] != FULL:
        types = (*types[:-1], FULL)  # the last layer is forced to full attention
    both_ways = r.raw("use_bidirectional_attention")
    r.image_prefix = both_ways == "vision" or None
    r.waive("sliding_window", "hidden_size_per_layer_input", "global_head_dim", "attention_k_eq_v")
    r.waive("num_global_key_value_heads")
    full = _global_heads(r, types, heads)
    return _windows(r, _with_shared(r, types), heads, full, both_ways == "all")


def _global_heads(r: Reader, types: tuple[str, ...], heads: Heads) -> Heads:
    """Heads of the full layers: from per_layer_config where it is, else the global_… keys."""
    per_layer = r.raw("per_layer_config")
    if per_layer == {}:
        return heads
    if per_layer is not None:
        return _per_layer_heads(r, per_layer, types, heads)
    width = r.count_or_none("global_head_dim")
    if width is None:
        width = 512
        r.class_rule("global_head_dim", "512")
    kv_heads = None
    if r.model_type != "gemma4_text" or r.flag("attention_k_eq_v"):
        kv_heads = r.count_or_none("num_global_key_value_heads")
    if kv_heads is not None:
        check_divides(r, kv_heads, r.count("num_attention_heads"))
    return Heads(kv_heads or heads.num_key_value_heads, width)


def _per_layer_heads(r: Reader, per_layer: Any, types: tuple[str, ...], heads: Heads) -> Heads:
    """The same override for every full layer and none for the others, else refused."""
    full = {i for i, t in enumerate(types) if t == FULL}
    if not isinstance(per_layer, Mapping) or {_layer_index(key) for key in per_layer} != full:
        r.unsupported("per_layer_config", per_layer, "expected an entry for each full layer")
    first = next(iter(per_layer.values()))
    known = ("head_dim", "num_key_value_heads")
    if not isinstance(first, Mapping) or any(v != first for v in per_layer.values()):
        r.unsupported("per_layer_config", per_layer, "expected the same for every full layer")
    if any(key not in known for key in first):
        r.unsupported("per_layer_config", first, f"expected {' and '.join(known)} alone")
    inner = Reader(first, r.model_type, {}, f"{r.prefix}per_layer_config.")
    r.provenance["global_head_dim"] = f"{r.prefix}per_layer_config"
    return Heads(
        inner.count_or_none("num_key_value_heads") or heads.num_key_value_heads,
        inner.count_or_none("head_dim") or heads.head_dim,
    )


def _layer_index(key: object) -> object:
    """Layers are named by number, padded with zeros: "05"."""
    return int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 9 else key


def _with_shared(r: Reader, types: tuple[str, ...]) -> tuple[str, ...]:
    """The last num_kv_shared_layers reuse the cache of an earlier layer of their kind."""
    shared = r.count_or_none("num_kv_shared_layers", at_least=0) or 0
    if shared >= len(types):
        raise InvalidInput(
            f"{r.prefix}num_kv_shared_layers is {shared:,}; expected fewer than the "
            f"{len(types):,} layers there are.",
            field="num_kv_shared_layers",
        )
    first = len(types) - shared
    if set(types[:first]) != set(types):
        r.unsupported("num_kv_shared_layers", shared, "some layer would have no cache to reuse")
    return types[:first] + (SHARED,) * shared


def _windows(
    r: Reader, types: tuple[str, ...], heads: Heads, full: Heads, both_ways: bool
) -> Layers:
    def sliding() -> tuple[Any, ...]:
        window = r.tokens("sliding_window")
        # a window that looks both ways is stored as half of it, and the token itself
        return (heads.sliding(window // 2 + 1 if both_ways else window),)

    makers = {FULL: lambda: (full.full(),), SLIDING: sliding, SHARED: tuple}
    return by_type(types, makers)
