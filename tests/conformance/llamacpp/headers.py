"""Small figures for every GGUF architecture, enough for llama.cpp to make a context of them.

Keys an architecture does not read do no harm, so all get the same fill, and its own keys beside it.
"""

from __future__ import annotations

from typing import Any

LAYERS = 12
# What llama.cpp makes no context of at these sizes, or our engine computes no size of.
LEFT_OUT = {
    "deepseek4": "its graph does not work out at this size; held by its published twin",
    "glm4moe": "its last block needs weights to be there; held by its published twin",
    "gptj": "llama.cpp knows the name and cannot load it",
    "plm": "its graph does not work out at this size",
    "rwkv6qwen2": "its graph does not work out at this size",
}

_EVERY_OTHER = [2 if i % 4 == 3 else 0 for i in range(LAYERS)]
_FILL: dict[str, Any] = {
    "vocab_size": 32, "context_length": 131_072, "embedding_length": 256, "block_count": LAYERS,
    "feed_forward_length": 32, "attention.head_count": 8, "attention.head_count_kv": 2,
    "attention.layer_norm_rms_epsilon": 1e-6, "attention.layer_norm_epsilon": 1e-6,
    "expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32,
    "expert_shared_feed_forward_length": 32, "expert_shared_count": 1, "expert_gating_func": 2,
    "expert_weights_scale": 1.0, "expert_group_scale": 1.0, "experts_per_group": 2,
    "expert_chunk_feed_forward_length": 32, "leading_dense_block_count": 1,
    "interleave_moe_layer_step": 1, "rope.dimension_count": 32,
    "rope.dimension_sections": [8, 4, 4, 0], "rope.scaling.original_context_length": 4096,
    "use_parallel_residual": True, "attention.clamp_kqv": 1.0, "attention.max_alibi_bias": 1.0,
    "attention.q_lora_rank": 32, "attention.relative_buckets_count": 32,
    "decoder_start_token_id": 0, "logit_scale": 1.0, "residual_scale": 1.0,
    "embedding_scale": 1.0, "swin_norm": True, "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0, "embedding_length_per_layer_input": 32,
    "altup.num_inputs": 4, "altup.active_idx": 0, "time_mix_extra_dim": 16,
    "time_decay_extra_dim": 16, "attention.decay_lora_rank": 16, "attention.iclr_lora_rank": 16,
    "attention.value_residual_mix_lora_rank": 16, "attention.gate_lora_rank": 16,
    "rescale_every_n_layers": 6,
}  # fmt: skip
_XIELU = {f"xielu.{name}": [1.0] * LAYERS for name in ("alpha_n", "alpha_p", "beta", "eps")}

_WINDOW = {"attention.sliding_window": 512}
_LISTED = _WINDOW | {"attention.sliding_window_pattern": [i % 3 != 2 for i in range(LAYERS)]}
_EQUAL_WIDTHS = {"attention.key_length": 32, "attention.value_length": 32}
_ALL_HEADS = {"attention.head_count_kv": 8}
_NO_HEADS = {"attention.head_count": 0, "attention.head_count_kv": 0}
_LATENT = {
    "attention.key_length": 144, "attention.value_length": 128, "attention.key_length_mla": 48,
    "attention.value_length_mla": 32, "attention.kv_lora_rank": 128, "attention.head_count_kv": 1,
    "rope.dimension_count": 16,
}  # fmt: skip
_INDEXER = {
    "attention.indexer.head_count": 4, "attention.indexer.key_length": 64,
    "attention.indexer.top_k": 32,
}  # fmt: skip
_SSM = {
    "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.time_step_rank": 8,
    "ssm.group_count": 2,
}  # fmt: skip
_SHORT = {"attention.head_count_kv": _EVERY_OTHER, "shortconv.l_cache": 3}
_DELTA = _SSM | {"ssm.state_size": 64, "ssm.group_count": 4}
_KIMI = _LATENT | {
    "attention.head_count_kv": [min(n, 1) for n in _EVERY_OTHER],
    "kda.head_dim": 32,
    "ssm.conv_kernel": 4,
}
_MORE_IN_WINDOWS = {"attention.head_count_kv": [4 if i % 3 != 2 else 2 for i in range(LAYERS)]}

_OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        ("afmoe", "cohere2", "cohere2moe", "exaone-moe", "gemma2", "gemma3", "gpt-oss", "laguna",
         "mellum", "muse-glimmer", "olmo2", "plamo3"),
        _WINDOW,
    ),
    **dict.fromkeys(("granite_swa", "spark2_5"), _LISTED),
    **dict.fromkeys(("chameleon", "deepseek2-ocr", "olmoe"), _ALL_HEADS),
    **dict.fromkeys(("deepseek2", "mistral4"), _LATENT),
    **dict.fromkeys(("rwkv6", "rwkv7"), _NO_HEADS | {"wkv.head_size": 32}),
    **dict.fromkeys(("mamba", "mamba2"), _NO_HEADS | _SSM),
    **dict.fromkeys(("granitehybrid", "jamba"), _SSM | {"attention.head_count_kv": _EVERY_OTHER}),
    **dict.fromkeys(("lfm2", "lfm2moe"), _SHORT),
    **dict.fromkeys(
        ("nemotron_h", "nemotron_h_moe"),
        _SSM | {"attention.head_count_kv": _EVERY_OTHER,
                "feed_forward_length": [32 if i % 4 == 1 else 0 for i in range(LAYERS)]},
    ),
    **dict.fromkeys(("qwen35", "qwen3next"), _DELTA | {"full_attention_interval": 4}),
    "arwkv7": _NO_HEADS | {"wkv.head_size": 32, "token_shift_count": 1},
    "bailingmoe3": _KIMI | {"kda.gate_lower_bound": -5.0},
    "deci": {"attention.head_count": [8, 8, 0, 8] * 3, "attention.head_count_kv": [2, 4, 0, 8] * 3},
    "deepseek32": _LATENT | _INDEXER,
    "dots1": _ALL_HEADS | _EQUAL_WIDTHS,
    "exaone4": _WINDOW | {"block_count": 64},
    "falcon-h1": _SSM,
    "gemma3n": _WINDOW | {"block_count": 24, "attention.shared_kv_layers": 4,
                          "activation_sparsity_scale": [0.0] * 24},
    "gemma4": _LISTED | {"attention.shared_kv_layers": 3,
                         "attention.key_length": 64, "attention.value_length": 64,
                         "attention.key_length_swa": 32, "attention.value_length_swa": 32},
    "glm-dsa": _LATENT | _INDEXER | {
        "attention.indexer.types": [i < 3 or i % 4 == 2 for i in range(LAYERS)]
    },
    "hrm_text": {"hrm.layers_per_stack": 2, "hrm.h_cycles": 2, "hrm.l_cycles": 2},
    "kimi-k3": _KIMI | {"attn_res.block_size": 2, "activation.situ_beta": 1.0,
                        "activation.situ_linear_beta": 1.0},
    "kimi-linear": _KIMI,
    "maple": _LISTED | {"swiglu_clamp_exp": [1.0] * LAYERS},
    "mimo2": _LISTED | _MORE_IN_WINDOWS | {"attention.key_length": 48,
                                           "attention.value_length": 32},
    "minicpm3": _ALL_HEADS | {"attention.kv_lora_rank": 128, "attention.key_length": 48,
                              "rope.dimension_count": 16},
    "minimax-01": _EQUAL_WIDTHS | {"full_attention_interval": 8},
    "minimax-m3": _INDEXER | {"attention.indexer.head_count": 2,
                              "attention.indexer.block_size": 16,
                              "attention.indexer.local_blocks": 1},
    "openelm": _EQUAL_WIDTHS | {"attention.head_count": [8, 12, 16] * 4,
                                "attention.head_count_kv": [2, 3, 4] * 4},
    "plamo2": _SSM | _EQUAL_WIDTHS | {
        "attention.head_count": [8 if n else 0 for n in _EVERY_OTHER],
        "attention.head_count_kv": _EVERY_OTHER, "ssm.group_count": 0,
    },
    "qwen35moe": _DELTA | {"attention.recurrent_layers": [i % 3 != 0 for i in range(LAYERS)]},
    "smallthinker": {"attention.sliding_window": 4096},
    "step35": _LISTED | _EQUAL_WIDTHS | {
        "attention.head_count": [16 if i % 3 != 2 else 8 for i in range(LAYERS)]
    },
}  # fmt: skip


def figures(architecture: str) -> dict[str, Any]:
    """Keys of the architecture, without its prefix."""
    found = _FILL | _OWN.get(architecture, {})
    if architecture == "chameleon":
        found["vocab_size"] = 65_536  # it masks its image tokens
    if architecture == "t5":
        del found["attention.head_count_kv"]
    return found


def other_keys(architecture: str) -> dict[str, Any]:
    """Keys without a prefix."""
    no_vocabulary = {"tokenizer.ggml.model": "no_vocab"}
    return no_vocabulary | (_XIELU if architecture == "apertus" else {})
