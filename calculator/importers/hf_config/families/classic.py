"""Decoders that write their counts under names of their own, before Llama's became common."""

from __future__ import annotations

from dataclasses import replace

from calculator.importers.hf_config.families.encoder_decoder import with_cross
from calculator.importers.hf_config.layers import (
    FULL,
    Heads,
    Layers,
    attention_heads,
    check_divides,
    derived_head_dim,
    every_layer,
)
from calculator.importers.hf_config.reader import Reader

_HIDDEN = ("hidden_size", "n_embd", "d_model")
_QUERY_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")


def gpt(r: Reader) -> Layers:
    """GPT-2, GPT-J, GPT-NeoX, OPT, BLOOM: as many cached heads as query heads."""
    hidden = ("hidden_size", "n_embed", *_HIDDEN) if r.model_type == "bloom" else _HIDDEN
    r.waive("n_ctx", "n_inner", "word_embed_proj_dim", "ffn_dim", "is_decoder")
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r, heads=_QUERY_HEADS, kv_heads=(), head_dim=(), hidden=hidden)
    if r.flag("add_cross_attention"):
        return with_cross(num_layers, heads)
    return every_layer(FULL, num_layers, heads.full())


def mpt(r: Reader) -> Layers:
    """MPT: multi-head attention; its variants with fewer heads are not what transformers runs."""
    attention = r.inner("attn_config")
    if attention:
        kind = attention.text_or_none("attn_type") or "multihead_attention"
        if kind != "multihead_attention":
            attention.unsupported("attn_type", kind, "the rule for mpt covers multihead_attention")
        attention.waive("prefix_lm", "attn_uses_sequence_id", "qk_ln", "softmax_scale", "attn_impl")
    r.waive("expansion_ratio", "init_device", "max_seq_len", "norm_type")
    heads = attention_heads(r, kv_heads=(), head_dim=())
    return every_layer(FULL, r.num_hidden_layers(), heads.full())


def falcon(r: Reader) -> Layers:
    """Falcon: one cached head (multi_query), or num_kv_heads in the new decoder architecture."""
    num_heads = r.count("num_attention_heads", "n_head")
    if r.flag("new_decoder_architecture"):
        kv_heads = r.count_or_none("num_kv_heads", "n_head_kv") or num_heads
        r.waive("multi_query")
    elif r.flag("multi_query"):
        kv_heads = 1
        r.derived("num_key_value_heads", "multi_query")
    else:
        kv_heads = r.count_or_none("num_kv_heads", "n_head_kv") or num_heads
    r.waive("num_kv_heads", "n_head_kv", "multi_query", "num_ln_in_parallel_attn")
    head_dim = derived_head_dim(r, num_heads, ("hidden_size", "n_embed"))
    if r.config.get("head_dim") not in (None, head_dim):
        r.unsupported("head_dim", r.config["head_dim"], "falcon computes it from hidden_size")
    r.waive("head_dim")
    cache = Heads(kv_heads, head_dim).full()
    if r.flag("new_decoder_architecture") or kv_heads > 1:
        cache = replace(cache, num_attention_heads=num_heads)
    return every_layer(FULL, r.num_hidden_layers(), cache)


def gpt_bigcode(r: Reader) -> Layers:
    """StarCoder: one cached head where multi_query is on, else as many as query heads."""
    r.waive("n_inner", "attention_softmax_in_fp32", "inference_runner",
            "max_batch_size", "max_sequence_length", "pad_key_length", "pre_allocate_kv_cache",
            "validate_runner_input", "num_key_value_heads")  # fmt: skip
    num_heads = r.count(*_QUERY_HEADS)
    kv_heads = 1 if r.flag("multi_query") else num_heads
    r.derived("num_key_value_heads", "multi_query")
    head_dim = derived_head_dim(r, num_heads, _HIDDEN)
    return every_layer(FULL, r.num_hidden_layers(), Heads(kv_heads, head_dim).full())


def gpt_neo(r: Reader) -> Layers:
    """GPT-Neo: local layers attend to a window but keep every token (transformers masks only)."""
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r, kv_heads=(), head_dim=())
    r.waive("attention_types", "attention_layers", "window_size")
    return every_layer(FULL, num_layers, heads.full())


def chatglm(r: Reader) -> Layers:
    """ChatGLM 2, 3 and GLM-4: multi_query_group_num cached heads of kv_channels."""
    num_layers = r.num_hidden_layers("num_layers", "num_hidden_layers")
    heads = r.count("num_attention_heads")
    if r.flag("multi_query_attention"):
        kv_heads = r.count("multi_query_group_num")
    else:
        kv_heads = heads
        r.waive("multi_query_group_num")
    r.waive("add_bias_linear", "apply_query_key_layer_scaling", "num_hidden_layers")
    r.waive("padded_vocab_size", "pre_seq_len")
    width = r.count_or_none("kv_channels") or derived_head_dim(r, heads, ("hidden_size",))
    return every_layer(FULL, num_layers, Heads(kv_heads, width).full())


def qwen(r: Reader) -> Layers:
    """Qwen 1: multi-head attention, the width of a head in kv_channels."""
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r, kv_heads=(), head_dim=("kv_channels",))
    r.waive("use_cache_quantization", "use_cache_kernel", "use_dynamic_ntk", "use_logn_attn")
    return every_layer(FULL, num_layers, heads.full())


def dbrx(r: Reader) -> Layers:
    """DBRX: the number of cached heads is attn_config.kv_n_heads."""
    num_layers, num_heads = r.num_hidden_layers(), r.count("num_attention_heads", "n_heads")
    attention = r.inner("attn_config")
    kv_heads = attention.count_or_none("kv_n_heads") if attention else None
    if attention:
        attention.waive("clip_qkv", "attn_pdrop", "rope_theta")
    if kv_heads is None:
        kv_heads = 1
        r.class_rule("attn_config.kv_n_heads", "1")
    check_divides(r, kv_heads, num_heads)
    r.waive("num_key_value_heads", "ffn_config", "max_seq_len")
    width = derived_head_dim(r, num_heads, ("hidden_size", "d_model"))
    return every_layer(FULL, num_layers, Heads(kv_heads, width).full())


def jetmoe(r: Reader) -> Layers:
    """JetMoE: experts share the num_key_value_heads keys and values of kv_channels."""
    r.waive("num_attention_heads", "head_dim")
    heads = Heads(r.count("num_key_value_heads"), r.count("kv_channels", "head_dim"))
    return every_layer(FULL, r.num_hidden_layers(), heads.full())


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
