"""Multi-head latent attention, its indexers, and what came of them in later models."""

from __future__ import annotations

from collections.abc import Mapping

from calculator.importers.hf_config.layers import (
    FULL,
    SLIDING,
    Heads,
    Layers,
    Makers,
    attention_heads,
    by_type,
    every_layer,
    listed_layer_types,
    ordinal,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention, SparseIndexer

INDEXED = "indexed_attention"
# a layer i has an indexer of its own where max(i − offset + 1, 0) is a multiple of every
_INDEXER_SCHEDULE = {"glm_moe_dsa": (1, 2), "hy_v4": (4, 2)}
SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"


def latent(r: Reader) -> Layers:
    """One latent and one rope key a token in every layer."""
    num_layers = r.num_hidden_layers()
    listed_layer_types(r, num_layers, (FULL,))
    return every_layer(FULL, num_layers, latent_cache(r))


def latent_with_indexer(r: Reader) -> Layers:
    """DeepSeek-V3.2: the latent, and an index key a token, in every layer."""
    num_layers = r.num_hidden_layers()
    listed_layer_types(r, num_layers, (INDEXED,))
    r.waive("gated_norm_rank")
    return every_layer(INDEXED, num_layers, latent_cache(r), indexer_cache(r))


def glm_moe_dsa(r: Reader) -> Layers:
    """GLM-5: as DeepSeek-V3.2, but layers of indexer type "shared" keep no index keys."""
    num_layers = r.num_hidden_layers()
    listed_layer_types(r, num_layers, (INDEXED,))
    r.waive("index_topk_freq", "index_skip_topk_offset", "index_topk_pattern", "indexer_types")
    r.waive("index_share_for_mtp_iteration", "indexer_rope_interleave", "mla_use_nope")
    kinds = _indexer_types(r, num_layers)
    cache, indexer = latent_cache(r), indexer_cache(r)
    types = tuple(INDEXED if kind == "full" else "shared_indexer" for kind in kinds)
    makers = {INDEXED: lambda: (cache, indexer), "shared_indexer": lambda: (cache,)}
    return by_type(types, makers)


def _indexer_types(r: Reader, num_layers: int) -> tuple[str, ...]:
    """Which layers compute their own index: listed, as letters F and S, or by a schedule."""
    listed = r.list_or_none("indexer_types")
    pattern = r.raw("index_topk_pattern")
    if listed is None and pattern is not None:
        if not isinstance(pattern, str | list):
            r.invalid("index_topk_pattern", pattern, "letters F and S, one a layer")
        listed = [{"F": "full", "S": "shared"}.get(x, x) for x in pattern if isinstance(x, str)]
    if listed is None:
        every, offset = _INDEXER_SCHEDULE.get(r.model_type, (1, 2))
        if r.config.get("index_topk_freq") is None:
            which = "every" if every == 1 else f"every {ordinal(every)}"
            r.class_rule("indexer_types", f"an indexer in {which} layer")
        every = r.count_or_none("index_topk_freq", at_least=0) or every
        skipped = r.count_or_none("index_skip_topk_offset", at_least=0)
        offset = offset if skipped is None else skipped
        listed = [
            "full" if max(i - offset + 1, 0) % every == 0 else "shared" for i in range(num_layers)
        ]
    if len(listed) != num_layers or any(x not in ("full", "shared") for x in listed):
        r.invalid("indexer_types", listed, f"full or shared, for each of {num_layers} layers")
    return tuple(listed)


def latent_cache(r: Reader) -> LatentAttention:
    """The latent's widths; head counts and per-head widths are noted, they do not change it."""
    r.waive("head_dim", "num_key_value_heads", "v_head_dim", "qk_nope_head_dim", "qk_head_dim")
    r.waive("index_n_heads", "index_topk", "num_attention_heads", "mla_use_nope", "ep_size")
    r.waive("rope_head_dim")
    return LatentAttention(
        "latent_attention",
        kv_lora_rank=r.count("kv_lora_rank"),
        qk_rope_head_dim=r.count("qk_rope_head_dim"),
        num_attention_heads=r.count_or_none("num_attention_heads"),
        qk_nope_head_dim=r.count_or_none("qk_nope_head_dim"),
        v_head_dim=r.count_or_none("v_head_dim"),
    )


def indexer_cache(r: Reader) -> SparseIndexer:
    return SparseIndexer("sparse_indexer", r.count("index_head_dim"))


def longcat_flash(r: Reader) -> Layers:
    """LongCat: two attentions in each of num_layers layers, a latent for each."""
    if r.config.get("num_layers") is not None:
        num_layers = 2 * r.num_hidden_layers("num_layers")
        r.derived("num_hidden_layers", "2 × num_layers")
        r.waive("num_hidden_layers")
    else:
        num_layers = r.num_hidden_layers() // 2 * 2
    r.waive("zero_expert_num", "zero_expert_type")
    return every_layer(FULL, num_layers, latent_cache(r))


def dots3_note(r: Reader) -> Layers:
    """dots3.note: latents with an indexer; those with a window have no rule here."""
    num_layers = r.num_hidden_layers()
    types = listed_layer_types(r, num_layers, (FULL, INDEXED, SLIDING))
    if types is None:
        types = tuple(INDEXED if i < 2 or i % 4 == 1 else SLIDING for i in range(num_layers))
    if SLIDING in types:
        r.unsupported("layer_types", SLIDING, "latent attention with a window has no rule here")
    r.waive("per_layer_config")
    cache = latent_cache(r)
    return by_type(types, {FULL: lambda: (cache,), INDEXED: lambda: (cache, indexer_cache(r))})


def minimax_m3(r: Reader) -> Layers:
    """MiniMax-M3: every key and value is kept; layers with sparse attention keep index keys too."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r)
    r.waive("shared_intermediate_size", "num_mtp_modules", "qk_norm_type", "index_n_heads")
    r.waive("index_block_size", "index_topk_blocks", "index_local_blocks", "index_head_dim")
    listed = listed_layer_types(r, num_layers, (FULL, "minimax_m3_sparse"))
    if listed is not None:
        r.waive("sparse_attention_config")
        return _with_index_keys(r, listed, heads)
    sparse = r.inner("sparse_attention_config")
    if sparse is None or not _is_on(sparse):
        if sparse:
            sparse.waive(*sparse.config)
        return every_layer(FULL, num_layers, heads.full())
    chosen = sparse.counts("sparse_attention_freq") or []
    if len(chosen) != num_layers:
        sparse.invalid("sparse_attention_freq", chosen, f"{num_layers} entries, one a layer")
    sparse.waive(
        "sparse_disable_index_value", "sparse_block_size",
        "sparse_init_block", "sparse_local_block", "sparse_num_index_heads", "sparse_score_type",
        "sparse_topk_blocks",
    )  # fmt: skip
    types = tuple("sparse_attention" if x else FULL for x in chosen)
    return by_type(
        types,
        {
            FULL: lambda: (heads.full(),),
            "sparse_attention": lambda: (
                heads.full(),
                SparseIndexer("sparse_indexer", sparse.count("sparse_index_dim")),
            ),
        },
    )


def _is_on(sparse: Reader) -> bool:
    """On unless it is switched off: an absent switch is on."""
    return sparse.config.get("use_sparse_attention") is None or sparse.flag("use_sparse_attention")


def _with_index_keys(r: Reader, types: tuple[str, ...], heads: Heads) -> Layers:
    makers: Makers = {
        FULL: lambda: (heads.full(),),
        "minimax_m3_sparse": lambda: (heads.full(), indexer_cache(r)),
    }
    return by_type(types, makers)


def deepseek_v4(r: Reader) -> Layers:
    """DeepSeek-V4: a window of single-headed keys, and on most layers compressed ones beside it."""
    num_layers = r.num_hidden_layers()
    heads = r.count("num_key_value_heads")
    if heads != 1:
        r.unsupported("num_key_value_heads", heads, "deepseek_v4 has a single cached head")
    types = _v4_layer_types(r, num_layers)
    rates = _v4_rates(r)
    r.waive(
        "index_n_heads", "index_topk", "num_attention_heads", "qk_rope_head_dim", "num_hash_layers",
        "compress_rope_theta", "compress_ratios", "index_head_dim",
    )  # fmt: skip
    head_dim, window = r.count("head_dim"), r.tokens("sliding_window")

    def cache(ratio: int | None, index: int | None) -> tuple[CompressedAttention, ...]:
        return (CompressedAttention("compressed_attention", 1, head_dim, window, ratio, index),)

    makers = {
        SLIDING: lambda: cache(None, None),
        SPARSE: lambda: cache(rates[SPARSE], r.count("index_head_dim")),
        HEAVY: lambda: cache(rates[HEAVY], None),
    }
    return by_type(types, makers)


def _v4_layer_types(r: Reader, num_layers: int) -> tuple[str, ...]:
    """Listed by name, else by ratio (entries past the last layer are for speculative ones)."""
    ratios = r.counts("compress_ratios")
    listed = r.list_or_none("layer_types")
    names = {0: SLIDING, 4: SPARSE, 128: HEAVY}
    if listed is None and ratios is not None:
        for ratio in ratios:
            if ratio not in names:
                r.unsupported("compress_ratios", ratio, "the ratios of deepseek_v4 are 0, 4, 128")
        listed = [names[ratio] for ratio in ratios]
    if listed is None:
        r.class_rule("layer_types", "heavily compressed and sparse layers by turns")
        listed = [HEAVY] * 2 + [SPARSE if i % 2 else HEAVY for i in range(num_layers - 2)]
    types = tuple(listed[:num_layers])
    if len(types) != num_layers or any(t not in names.values() for t in types):
        r.invalid("layer_types", listed, f"{', '.join(names.values())}, one a layer")
    return types


def _v4_rates(r: Reader) -> dict[str, int]:
    """Tokens a compressed entry stands for."""
    rates = {SPARSE: 4, HEAVY: 128}
    given = r.raw("compress_rates")
    if given is not None:
        if not isinstance(given, Mapping) or not set(given) <= set(rates):
            r.invalid("compress_rates", given, f"an object with {SPARSE} and {HEAVY}")
        inner = Reader(given, r.model_type, {}, f"{r.prefix}compress_rates.")
        rates |= {name: inner.count(name) for name in given}
    for name, key in ((SPARSE, "compress_rate_csa"), (HEAVY, "compress_rate_hca")):
        rates[name] = r.count_or_none(key) or rates[name]
    return rates
