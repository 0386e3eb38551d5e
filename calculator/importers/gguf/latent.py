"""Latent-attention keys of a GGUF file → latents, index keys, compressed keys of each layer."""

from __future__ import annotations

from calculator.importers.gguf.attention import derived_width, plain
from calculator.importers.gguf.layers import HEAVY, INDEXED, SHARED_INDEXER, SPARSE, Layer
from calculator.importers.gguf.metadata import Metadata
from calculator.importers.hf_config.layers import FULL, LINEAR, SLIDING
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.layers.recurrent import KimiDeltaAttention


def latent(m: Metadata) -> list[Layer]:
    """One latent and one rope key a token in every layer."""
    return [(FULL, (latent_cache(m),))] * m.num_layers


def latent_with_indexer(m: Metadata) -> list[Layer]:
    """DeepSeek-V3.2: the latent, and an index key a token, in every layer."""
    return [(INDEXED, (latent_cache(m), indexer(m)))] * m.num_layers


def glm_dsa(m: Metadata) -> list[Layer]:
    """GLM-5: layers whose indexer is not their own reuse an earlier layer's choice."""
    own = m.flags("attention.indexer.types", "indexer_types")
    if own is None:
        own = [True] * m.num_layers
        if m.count("context_length") >= 2**20:
            own = [max(i - 2, 0) % 4 == 0 for i in range(m.num_layers)]
        m.provenance["indexer_types"] = "llama.cpp, glm-dsa.cpp: rule for files without the list"
    cache, index = latent_cache(m), indexer(m)
    return [(INDEXED, (cache, index)) if x else (SHARED_INDEXER, (cache,)) for x in own]


def kimi_linear(m: Metadata) -> list[Layer]:
    """Latent attention in the layers that have a cached head, delta attention in the others."""
    cached = m.per_layer("attention.head_count_kv", "layer_types")
    if cached is None:
        m.missing("attention.head_count_kv")
    cache = latent_cache(m)
    delta = KimiDeltaAttention(
        "kimi_delta_attention",
        m.count("attention.head_count", "num_heads"),
        m.count("kda.head_dim", "head_dim"),
        m.count("ssm.conv_kernel", "short_conv_kernel_size"),
    )
    return [(FULL, (cache,)) if n else (LINEAR, (delta,)) for n in cached]


def minimax_m3(m: Metadata) -> list[Layer]:
    """Every key and value is kept; layers with sparse attention keep index keys too."""
    dense = m.count_or_none("leading_dense_block_count", at_least=0) or 0
    index = indexer(m)
    return [
        layer if i < dense else ("sparse_attention", (*layer[1], index))
        for i, layer in enumerate(plain(m))
    ]


def deepseek4(m: Metadata) -> list[Layer]:
    """DeepSeek-V4: a window of single-headed keys, and on most layers compressed ones beside it."""
    ratios = m.per_layer("attention.compress_ratios", "compress_ratios")
    if ratios is None:
        m.missing("attention.compress_ratios")
    if m.count("attention.head_count_kv", "num_key_value_heads") != 1:
        m.refuse("attention.head_count_kv", "this architecture has a single cached head")
    head_dim = m.count("attention.key_length", "head_dim")
    window = m.window() or m.missing("attention.sliding_window")
    index = m.count("attention.indexer.key_length", "index_head_dim")
    m.value("attention.value_length")

    def layer(kind: str, ratio: int | None, index: int | None) -> Layer:
        return kind, (
            CompressedAttention("compressed_attention", 1, head_dim, window, ratio, index),
        )

    kinds = {
        0: layer(SLIDING, None, None),
        4: layer(SPARSE, 4, index),
        128: layer(HEAVY, 128, None),
    }
    if not set(ratios) <= set(kinds):
        m.refuse("attention.compress_ratios", "the ratios of this architecture are 0, 4 and 128")
    return [kinds[ratio] for ratio in ratios]


def latent_cache(m: Metadata) -> LatentAttention:
    """The latent's widths, and those of the heads it expands to.

    Files of llama.cpp since April 2025 describe the stored latent (`key_length` is rank + rope,
    the heads are in `key_length_mla`); older ones, and MiniCPM3 and PLM to this day, describe the
    heads, and llama.cpp stores those.
    """
    rank = m.count("attention.kv_lora_rank", "kv_lora_rank")
    rope = m.count("rope.dimension_count", "qk_rope_head_dim", at_least=0)
    heads = m.count("attention.head_count", "num_attention_heads")
    stored = m.count_or_none("attention.key_length")
    key = m.count_or_none("attention.key_length_mla", "qk_nope_head_dim")
    value = m.count_or_none("attention.value_length_mla", "v_head_dim")
    if key is None:
        key = stored
        value = m.count_or_none("attention.value_length", "v_head_dim") or derived_width(m)
        m.assumptions.append(
            f"The latent is counted, as the model is published; of this file llama.cpp itself "
            f"stores {heads:,} expanded heads."
        )
    elif stored is not None and stored != rank + rope:
        m.refuse("attention.key_length", f"expected {rank} + {rope}, the latent and its rope key")
    if key is not None and key <= rope:
        m.refuse("attention.key_length", f"a head is wider than its rope part of {rope}")
    m.value("attention.value_length")
    m.value("attention.head_count_kv")
    return LatentAttention(
        "latent_attention",
        kv_lora_rank=rank,
        qk_rope_head_dim=rope,
        num_attention_heads=heads,
        qk_nope_head_dim=None if key is None else key - rope,
        v_head_dim=value,
    )


def indexer(m: Metadata) -> SparseIndexer:
    width = m.count("attention.indexer.key_length", "index_head_dim")
    return SparseIndexer("sparse_indexer", width)
