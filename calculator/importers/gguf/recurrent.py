"""SSM, WKV and convolution keys of a GGUF file → layers whose state does not grow with tokens."""

from __future__ import annotations

from collections.abc import Callable

from calculator.errors import InvalidInput
from calculator.importers.gguf.attention import layers, plain
from calculator.importers.gguf.layers import HYBRID, Layer, Rule
from calculator.importers.gguf.metadata import Metadata
from calculator.importers.hf_config.layers import CONV, LINEAR, NOTHING
from calculator.layers import LayerCache
from calculator.layers.recurrent import (
    GatedDeltaNet,
    LightningAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
    Wkv,
)


def mamba1(m: Metadata) -> Mamba1:
    m.value("ssm.group_count")  # PLaMo 2 writes 0: its convolution runs over x alone
    return Mamba1(
        "mamba1",
        m.count("ssm.inner_size", "intermediate_size"),
        m.count("ssm.state_size", "state_size"),
        m.count("ssm.conv_kernel", "conv_kernel"),
    )


def mamba2(m: Metadata) -> Mamba2:
    heads = m.count("ssm.time_step_rank", "num_heads")
    return Mamba2(
        "mamba2",
        heads,
        share(m, "ssm.inner_size", heads, "head_dim"),
        m.count("ssm.state_size", "state_size"),
        m.count("ssm.group_count", "n_groups"),
        m.count("ssm.conv_kernel", "conv_kernel"),
    )


def gated_delta_net(m: Metadata) -> GatedDeltaNet:
    value_heads = m.count("ssm.time_step_rank", "linear_num_value_heads")
    return GatedDeltaNet(
        "gated_delta_net",
        m.count("ssm.group_count", "linear_num_key_heads"),
        m.count("ssm.state_size", "linear_key_head_dim"),
        value_heads,
        share(m, "ssm.inner_size", value_heads, "linear_value_head_dim"),
        m.count("ssm.conv_kernel", "linear_conv_kernel_dim"),
    )


def short_convolution(m: Metadata) -> ShortConvolution:
    return ShortConvolution(
        "short_convolution",
        m.count("embedding_length", "hidden_size"),
        m.count("shortconv.l_cache", "conv_L_cache"),
    )


def share(m: Metadata, key: str, heads: int, figure: str) -> int:
    """A width ÷ the heads that share it, which must come out even."""
    width = m.count(key, figure)
    if width % heads:
        raise InvalidInput(
            f"{m.architecture}.{key} is {width:,}, no multiple of its {heads:,} heads.",
            field="model",
        )
    return width // heads


def every_layer(state: Callable[[Metadata], LayerCache]) -> Rule:
    """The same state in every layer, and no attention."""

    def rule(m: Metadata) -> list[Layer]:
        m.value("attention.head_count_kv")
        return [(LINEAR, (state(m),))] * m.num_layers

    return rule


def where_no_heads(state: Callable[[Metadata], LayerCache], kind: str = LINEAR) -> Rule:
    """Attention in the layers that have cached heads, a state in those that have none."""

    def rule(m: Metadata) -> list[Layer]:
        found = plain(m)
        if not any(layer[0] == NOTHING for layer in found):
            return found  # a file of the attention-only members of such a family
        other: Layer = (kind, (state(m),))
        return [other if layer[0] == NOTHING else layer for layer in found]

    return rule


def lfm2(m: Metadata) -> list[Layer]:
    """Short convolutions in the layers without heads; newer ones have a window on the others."""
    window = m.window()
    found = layers(m, [bool(window)] * m.num_layers, window)
    convolution: Layer = (CONV, (short_convolution(m),))
    return [convolution if layer[0] == NOTHING else layer for layer in found]


def full_attention_interval(state: Callable[[Metadata], LayerCache], default: int) -> Rule:
    """Attention in every n-th layer, or where the file's list says no; a state in the others."""

    def rule(m: Metadata) -> list[Layer]:
        recurrent = m.flags("attention.recurrent_layers", "layer_types")
        n = m.count_or_none("full_attention_interval", at_most=1024) or default
        if recurrent is None:
            recurrent = [bool((i + 1) % n) for i in range(m.num_layers)]
            m.provenance["layer_types"] = f"{m.architecture}.full_attention_interval, or {default}"
        other: Layer = (LINEAR, (state(m),))
        return [
            other if is_recurrent else layer
            for is_recurrent, layer in zip(recurrent, plain(m), strict=True)
        ]

    return rule


def falcon_h1(m: Metadata) -> list[Layer]:
    """Attention and Mamba-2 side by side in every layer."""
    state = mamba2(m)
    return [(HYBRID, (*caches, state)) for _, caches in plain(m)]


def nemotron_h(m: Metadata) -> list[Layer]:
    """Mamba-2 in layers without heads and without feed-forward; those with one keep nothing."""
    wide = m.per_layer("feed_forward_length", "layer_types")
    if wide is None:
        m.missing("feed_forward_length")
    other: Layer = (LINEAR, (mamba2(m),))
    nothing: Layer = ("moe" if m.architecture.endswith("_moe") else NOTHING, ())
    return [
        nothing if n else other if layer[0] == NOTHING else layer
        for n, layer in zip(wide, plain(m), strict=True)
    ]


def minimax_01(m: Metadata) -> list[Layer]:
    """Full attention in every eighth layer, lightning attention in the others."""

    def lightning(m: Metadata) -> LightningAttention:
        heads = m.count("attention.head_count", "num_attention_heads")
        return LightningAttention(
            "lightning_attention", heads, m.count("attention.key_length", "head_dim")
        )

    return full_attention_interval(lightning, 8)(m)


def wkv(m: Metadata) -> Wkv:
    """RWKV: two shifted tokens a layer, one where the feed-forward part has none."""
    return Wkv(
        "wkv",
        m.count("embedding_length", "hidden_size"),
        m.count("wkv.head_size", "head_size"),
        m.count_or_none("token_shift_count", "token_shift_count") or 2,
    )
