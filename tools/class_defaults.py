"""The installed transformers' configuration classes → defaults that published files leave out.

A published config.json omits what equals its class's default: Gemma-3-4B names no head counts.
Those defaults belong to the model type, so they are kept beside the importer. After a new release:

    python tools/class_defaults.py
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[1] / "calculator/importers/hf_config/class_defaults.json"
KEYS = """
hidden_size n_embd d_model dim emb_dim num_attention_heads n_head n_heads num_heads
decoder_attention_heads
num_decoder_attention_heads attention_heads num_key_value_heads num_kv_heads head_dim d_kv dim_head
d_head kv_channels v_head_dim
multi_query new_decoder_architecture attn_config is_decoder add_cross_attention
sliding_window sliding_window_size attention_window_size window_size local_attention
use_sliding_window max_window_layers sliding_window_pattern global_attn_every_n_layers
attention_chunk_size no_rope_layers no_rope_layer_interval layer_types layers_block_type
block_types attention_types use_bidirectional_attention num_kv_shared_layers attention_k_eq_v
global_head_dim num_global_key_value_heads swa_num_attention_heads swa_num_key_value_heads
swa_head_dim local_layer_ids num_attention_heads_per_layer
kv_lora_rank qk_rope_head_dim qk_nope_head_dim index_head_dim index_topk indexer_types
compress_rates index_topk_freq index_block_size indexer_head_dim indexer_kv_heads
indexer_compress_ratio
state_size ssm_state_size expand conv_kernel conv_kernel_size n_groups num_heads mamba_num_heads
mamba_head_dim mamba_n_heads mamba_d_head mamba_n_groups mamba_d_state mamba_d_conv mamba_expand
mamba_d_ssm mamba_ngroups mamba_headdim n_mamba_heads attn_layer_period attn_layer_offset
attn_layer_indices conv_L_cache full_attn_idxs conv1d_width lru_width attention_hidden_size
linear_num_key_heads linear_key_head_dim linear_num_value_heads linear_value_head_dim
linear_conv_kernel_dim linear_head_dim linear_num_heads layer_group_size short_conv_kernel_size
attention_head_dim cross_attention_layers number_of_conv_states ple_conv_kernel_size
prefix_dense_sliding_window_pattern num_layers_per_stack embedding_dim num_blocks
H_cycles L_cycles dense_mlp_idx attn_layers local_attn_chunk_length num_mem_blocks hybrid_layer_ids
""".split()  # noqa: SIM905


def main() -> None:
    warnings.filterwarnings("ignore")
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types: dict[str, Any] = {}
    text_types: dict[str, str] = {}
    for model_type in sorted(generating_types()):
        config_class = CONFIG_MAPPING[model_type]
        if defaults := class_defaults(config_class):
            types[model_type] = defaults
        inner = getattr(config_class, "sub_configs", {}).get("text_config")
        inner = inner or getattr(config_class, "sub_configs", {}).get("decoder")
        if inner is not None and getattr(inner, "model_type", ""):
            text_types[model_type] = inner.model_type
            types.setdefault(inner.model_type, class_defaults(inner))
        elif text_type := default_text_type(config_class):
            text_types[model_type] = text_type
    rows = ",\n".join(f"  {json.dumps(t)}: {json.dumps(types[t])}" for t in sorted(types))
    OUTPUT.write_text(
        f'{{\n "generated_by": "tools/class_defaults.py, transformers {__version__}",\n'
        f' "text_types": {json.dumps(text_types, sort_keys=True)},\n "types": {{\n{rows}\n }}\n}}\n'
    )


def default_text_type(config_class: type) -> str | None:
    """What a wrapper whose text model may be of any type holds when it is left to its defaults."""
    try:
        text = config_class().get_text_config(decoder=True)
    except Exception:  # some classes do not stand on their defaults
        return None
    return None if isinstance(text, config_class) else text.model_type


def generating_types() -> set[str]:
    """Model types that generate text, and so have a cache."""
    from transformers.models.auto import modeling_auto as auto

    return {
        *auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        *auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        *auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
        *auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    }


def class_defaults(config_class: type) -> dict[str, Any]:
    """Defaults as the class states them, before it works out one from another."""
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    found = {}
    for key in KEYS:
        value = default_of(fields.get(key))
        if value is not None and not isinstance(value, property) and is_plain(value):
            found[key] = value
    return found


def default_of(field: Any) -> Any:
    if field is None:
        return None
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()


def is_plain(value: Any) -> bool:
    return isinstance(value, int | str | float | list | tuple | dict)


if __name__ == "__main__":
    main()
