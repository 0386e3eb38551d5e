"""Decoders that also look at an encoder's output: its keys and values are cached once."""

from __future__ import annotations

from calculator.importers.hf_config.layers import (
    CROSS,
    FULL,
    Heads,
    Layers,
    Makers,
    attention_heads,
    by_type,
    derived_head_dim,
    every_layer,
)
from calculator.importers.hf_config.reader import Reader
from calculator.layers.cross import CrossAttention

DECODER = "decoder"


def bart(r: Reader) -> Layers:
    """BART, Whisper, Marian: each decoder layer keeps its own tokens and the encoder's."""
    num_layers = r.num_hidden_layers("decoder_layers")
    r.waive(
        "encoder_layers", "encoder_attention_heads", "num_hidden_layers", "is_decoder",
        "attention_type", "block_size", "num_random_blocks",
        "decoder_layerdrop", "encoder_layerdrop", "add_cross_attention", "num_mel_bins",
        "max_source_positions", "max_target_positions", "use_weighted_layer_sum",
        "classifier_proj_size", "median_filter_width", "mask_time_prob", "mask_time_length",
        "mask_time_min_masks", "mask_feature_prob", "mask_feature_length",
        "mask_feature_min_masks", "num_attention_heads", "apply_spec_augment",
        "decoder_vocab_size", "share_encoder_decoder_embeddings", "extra_pos_embeddings",
        "encoder_sparse_step",
        "static_position_embeddings", "do_blenderbot_90_layernorm", "normalize_before",
        "normalize_embedding", "add_final_layer_norm", "add_bias_logits",
        "force_bos_token_to_be_generated",
    )  # fmt: skip
    if r.flag("use_prompt"):  # MVP
        r.unsupported("use_prompt", True, "prompts that a model adds itself have no rule here")
    r.waive("prompt_length", "prompt_mid_dim")
    heads = r.count("decoder_attention_heads")
    width = derived_head_dim(r, heads, ("d_model", "hidden_size"))
    return with_cross(num_layers, Heads(heads, width))


def t5(r: Reader) -> Layers:
    """T5: num_decoder_layers, as many as the encoder has where it is not given; heads of d_kv."""
    names = ("num_decoder_layers", "num_layers")
    given = "num_decoder_layers" if r.config.get("num_decoder_layers") is not None else "num_layers"
    num_layers = r.num_hidden_layers(given)
    r.waive(*names, "relative_attention_num_buckets", "relative_attention_max_distance")
    r.waive("is_gated_act", "dense_act_fn", "feed_forward_proj", "is_decoder", "n_positions")
    r.waive("num_hidden_layers", "num_attention_heads", "head_dim", "hidden_size")
    heads = Heads(r.count("num_heads", "num_attention_heads"), r.count("d_kv"))
    return with_cross(num_layers, heads)


def prophetnet(r: Reader) -> Layers:
    """ProphetNet: predicts several tokens ahead, and caches the main stream alone."""
    num_layers = r.num_hidden_layers("num_decoder_layers")
    r.waive("num_encoder_layers", "num_encoder_attention_heads", "is_decoder", "ngram")
    r.waive("add_cross_attention", "num_buckets", "relative_max_distance", "disable_ngram_loss")
    heads = r.count("num_decoder_attention_heads")
    return with_cross(num_layers, Heads(heads, derived_head_dim(r, heads, ("hidden_size",))))


def musicgen(r: Reader) -> Layers:
    """MusicGen: the decoder looks at the encoded text."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r, kv_heads=(), head_dim=())
    r.waive("num_codebooks", "audio_channels", "layerdrop", "ffn_dim", "is_decoder")
    r.waive("add_cross_attention", "cross_attention_hidden_size")
    return with_cross(num_layers, heads)


def musicgen_melody(r: Reader) -> Layers:
    """MusicGen Melody: text and melody stand before the music, as tokens of the sequence."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r, kv_heads=(), head_dim=())
    r.waive("num_codebooks", "audio_channels", "layerdrop", "ffn_dim", "is_decoder")
    return every_layer(FULL, num_layers, heads.full())


def with_cross(num_layers: int, heads: Heads) -> Layers:
    return every_layer(DECODER, num_layers, heads.full(), CrossAttention(CROSS, *heads))


def mllama(r: Reader) -> Layers:
    """Llama 3.2 Vision: some layers look at the image alone, the others at the text."""
    num_layers, heads = r.num_hidden_layers(), attention_heads(r, head_dim=())
    cross = r.counts("cross_attention_layers")
    if cross is None:
        cross = [3, 8, 13, 18, 23, 28, 33, 38]
        r.class_rule("cross_attention_layers", f"layers {cross}")
    chosen = set(cross)
    types = tuple(CROSS if i in chosen else FULL for i in range(num_layers))
    makers: Makers = {
        FULL: lambda: (heads.full(),),
        CROSS: lambda: (CrossAttention(CROSS, *heads),),
    }
    return by_type(types, makers)
