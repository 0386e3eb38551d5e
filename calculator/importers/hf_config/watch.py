"""Keys of a configuration → those that could change the size of the cache and that nothing read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from calculator.importers.hf_config.reader import Reader

# Words that a key which touches the cache is made of.
_WORDS = """
    window chunk rank state conv layer_?types? block_?types? blocks?_type block_?conf pattern shar
    reuse compress index ssm mamba linear lightning memory memories cache recur sparse sparsity
    stride latent lora hybrid retention delta slot merge local global cross swa nope attn
    attention multi_query group every_n interval period offset kernel channels key_length
    value_length head landmark evict keep_ sink loop depth stack repeat ngram expand num_.*layers
    layer_ids layer_ind _layers$ _idxs?$ quant prefix prompt prun hash dtype tokens segment buffer
    budget dilat region skip top_?k register anchor bank pool queue history past downsampl pyramid
    yoco init_len
    (^|_)(kv|mem|d|n|dim|mla|mta|gqa|mqa|cla|rnn|lru|lstm|moba|nsa|dsa|kda|gdn|ratio)(_|$)
"""
# Words that are about the cache whatever else stands in the key.
_ALWAYS = """
    (^|_)kv(_|$) window ssm memory slots recurr state_size compress(?!ion_config)
    (?<!use_)cache(?!_implementation)
"""
# Keys made of such words that say nothing about the cache, whatever the model type.
_HARMLESS = """
    _.* .*_token_id .*_token_index .*_token_ids .*dropout.* .*_eps .*epsilon .*layer_?norm.*
    .*_bias use_cache dtype torch_dtype .*initializer.* .*init_std.* .*init_range init_method.*
    init_device init_config .*xavier_init .*init_scale rope.* .*rotary.* .*_rope .*rope_theta
    moe_.* .*experts?.* .*router.* .*mtp.* num_nextn_predict_layers n_group topk_group
    .*topk_method first_k_dense_replace mlp_layer_types mlp_only_layers decoder_sparse_step
    interleave_moe_layer_step n_shared_experts num_dense_layers q_lora_rank qk_head_dim
    o_lora_rank o_groups .*hidden_act.* .*activation.* hidden_states output_attentions
    output_hidden_states output_scores output_.*logits return_dict.* scale_.* .*_scale
    .*_multiplier.* .*scaling.* reorder_.* chunk_size_feed_forward chunk_size_lm_head num_channels
    patch_size n_positions n_ctx n_inner d_model n_embd d_ff hc_.* parallel_attn dim_model_base
    anyres_.* use_grouped_topk use_unified_vision_chunk cross_attention_hidden_size
    no_repeat_ngram_size encoder_no_repeat_ngram_size num_beam_groups pruned_heads id2label
    label2id architectures auto_map task_specific_params transformers_version use_bfloat16 fp16
    bf16 fp32 quantization_config compression_config cache_implementation .*attn_implementation.*
    position_embedding_type max_position_embeddings type_vocab_size .*vocab.* pretraining_tp
    gradient_checkpointing ignore_index summary_.* unsloth.* prefix prune_.* head_dtype lm_head.*
    .*intermediate_size ffn.* .*_ffn_.* mlp_.* (use_)?qk_norm.* .*residual.* .*resid_pdrop
    embd_pdrop .*logit.* tie_.* model_dtype hidden_size_per_layer_input attn_pdrop
    attention_probs.* .*attention_softmax.* top_k top_p typical_p suppress_tokens
    begin_suppress_tokens remove_invalid_values bad_words_ids norm_topk.* use_qkv_bias qkv_bias
    add_qkv_bias attn_temperature_tuning attn_scale floor_scale query_pre_attn_scalar
    attention_multiplier tokenizer_class pooler_.* attention_in_fp32 num_logits_to_keep
    attn_output_gate attention_output_gate residual_.* num_labels use_flash_attn.*
"""
_MEDIA = "(vision|audio|image|video|mm)_.*|num_image_tokens|use_bidirectional_attention"
# Keys of a wrapper: how its towers' output becomes tokens of the sequence.
_ADAPTERS = re.compile(
    r"(spatial|projector|projection|downsample|merge|merger|merged|adapter)_.*|num_query_tokens"
)


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile("|".join(words.split()), re.IGNORECASE)


_TOUCHES, _SURELY, _EXCUSED = _any_of(_WORDS), _any_of(_ALWAYS), _any_of(_HARMLESS)
_TOWERS = re.compile(
    r".*(encoder|vision|audio|image|video|speech|vit|visual|talker|vq|code2wav|projector|qformer"
    r"|perceiver|resampler|adapter|adaptor|codec|acoustic|semantic|connector).*"
)
_OFF: tuple[object, ...] = (None, False, 0, "", "none", "None")


def touching_keys(r: Reader) -> tuple[str, ...]:
    """Keys nothing read that could change the size, with the path to each."""
    found = list(_touching(dict(r.unread()), r.prefix))
    for inner in r.inners:
        found += touching_keys(inner)
    return tuple(found)


def touching_names(around: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys of a wrapper, around the text model's own, that could change the size."""
    return tuple(name for name in _touching(around, "") if not _ADAPTERS.fullmatch(name))


def _touching(config: Mapping[str, Any], prefix: str, levels: int = 2) -> Iterator[str]:
    for key, value in config.items():
        if _is_off(value) or _is_harmless(key):
            continue
        if isinstance(value, Mapping):
            if _TOWERS.fullmatch(key):
                continue
            inside = {k: v for k, v in value.items() if isinstance(k, str)}
            if levels and not _TOUCHES.search(key):
                yield from _touching(inside, f"{prefix}{key}.", levels - 1)
                continue
        if _TOUCHES.search(key) or _holds_objects(value):
            yield prefix + key


def _holds_objects(value: object) -> bool:
    """A list of objects, such as a description of each layer."""
    return isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value[:256])


def _is_harmless(key: str) -> bool:
    if re.fullmatch(_MEDIA, key):
        return True
    return bool(_EXCUSED.fullmatch(key)) and (key[0] == "_" or not _SURELY.search(key))


def _is_off(value: object) -> bool:
    if isinstance(value, float):
        return value == 0.0
    return value in _OFF if isinstance(value, str | int | None) else value in ([], {}, ())
