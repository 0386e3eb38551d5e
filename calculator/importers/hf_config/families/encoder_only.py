"""BERT and its kin: encoders that keep nothing, or decoders if the configuration says so."""

from __future__ import annotations

from calculator.importers.hf_config.families.encoder_decoder import with_cross
from calculator.importers.hf_config.layers import FULL, Layers, attention_heads, every_layer
from calculator.importers.hf_config.reader import Reader

ENCODER = "encoder"


def no_cache(r: Reader) -> Layers:
    """XLM and the first GPT: their model code has no cache at all."""
    r.waive(*r.config)
    r.assume(f"Model type {r.model_type} keeps no cache: it sees all tokens at every step.")
    return every_layer(ENCODER, r.num_hidden_layers())


def bert(r: Reader) -> Layers:
    """A cache where is_decoder is on: of every token, and of an encoder's if it looks at one."""
    r.waive("embedding_size", "position_embedding_type", "summary_type", "block_size")
    r.waive("num_random_blocks", "attention_type", "pronunciation_embed_dim", "shape_embed_dim")
    r.waive("adapter_reduction_factor", "ln_before_adapter", "default_language", "languages")
    r.waive("adapter_layer_norm", "adapter_reuse_layer_norm", "rotary_value", "concat_input")
    r.waive("input_embedding_size", "output_embedding_size", "add_cross_attention")
    r.waive("enable_pronunciation", "enable_shape", "task_id", "use_task_id")
    num_layers = r.num_hidden_layers()
    heads = attention_heads(r, kv_heads=(), head_dim=())
    if not r.flag("is_decoder"):
        r.assume("is_decoder is off: an encoder sees all tokens at once and keeps no cache.")
        return every_layer(ENCODER, num_layers)
    if r.flag("add_cross_attention"):
        return with_cross(num_layers, heads)
    return every_layer(FULL, num_layers, heads.full())
