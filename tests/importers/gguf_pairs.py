"""GGUF architectures of which no published header is at hand → small figures in both forms.

Each entry is (what a GGUF file says, what the config.json of the same model says).
"""

from __future__ import annotations

GGUF = {
    "block_count": 8,
    "context_length": 8192,
    "embedding_length": 256,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 32,
    "attention.value_length": 32,
}
CONFIG = {
    "num_hidden_layers": 8,
    "hidden_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 8192,
    "dtype": "float16",
}

# Full attention in every layer, both forms with the figures above.
_PLAIN = """
    apertus arcee arctic bailingmoe bailingmoe2 bitnet chameleon codeshell cogvlm deepseek
    deepseek2-ocr dots1 ernie4_5 exaone gemma glm4 granite granitemoe grok grovemoe
    hunyuan-dense hunyuan_vl hy_v3 jais jais2 llama maincoder minicpm nemotron olmo olmoe openelm
    orion paddleocr pangu-embedded phimoe plamo qwen2moe qwen2vl refact talkie xverse
"""
PLAIN = _PLAIN.split()

SSM = {
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 512,
    "ssm.state_size": 16,
    "ssm.time_step_rank": 8,
    "ssm.group_count": 2,
}
WINDOW = {"attention.sliding_window": 512}
LATENT = {
    "attention.head_count_kv": 8,
    "attention.kv_lora_rank": 64,
    "attention.q_lora_rank": 96,
    "attention.key_length": 48,
    "rope.dimension_count": 16,
}
_MOST = {key: CONFIG[key] for key in ("max_position_embeddings", "dtype")}


def _windowed(pattern: int, **more: object) -> dict:
    types = ["sliding_attention" if (i + 1) % pattern else "full_attention" for i in range(8)]
    return CONFIG | {"sliding_window": 512, "layer_types": types} | more


PAIRS: dict[str, tuple[dict, dict]] = {
    "gptj": (
        {**GGUF, "attention.head_count_kv": 8},
        _MOST | {"model_type": "gptj", "n_layer": 8, "n_head": 8, "n_embd": 256},
    ),
    "gptneox": (
        {**GGUF, "attention.head_count_kv": 8},
        _MOST | {"model_type": "gpt_neox", "num_hidden_layers": 8, "num_attention_heads": 8,
                 "hidden_size": 256},
    ),
    "mpt": (
        {**GGUF, "attention.head_count_kv": 8, "attention.max_alibi_bias": 8.0},
        _MOST | {"model_type": "mpt", "n_layers": 8, "n_heads": 8, "d_model": 256},
    ),
    "chatglm": (
        GGUF,
        _MOST | {"model_type": "chatglm", "num_layers": 8, "num_attention_heads": 8,
                 "hidden_size": 256, "multi_query_attention": True, "kv_channels": 32,
                 "multi_query_group_num": 2},
    ),
    "deci": (
        GGUF | {"attention.head_count": [8, 8, 0, 8] * 2,
                "attention.head_count_kv": [2, 8, 0, 4] * 2},
        _MOST | {"model_type": "nemotron-nas", "num_hidden_layers": 8, "num_attention_heads": 8,
                 "hidden_size": 256, "block_configs": [
                     {"attention": {"n_heads_in_group": n, "no_op": n is None,
                                    "replace_with_linear": False}}
                     for n in [4, 1, None, 2] * 2]},
    ),
    "phi3": (GGUF | WINDOW, CONFIG | {"model_type": "phi3", "sliding_window": 512}),
    "cohere2": (GGUF | WINDOW, _windowed(4, model_type="cohere2")),
    "olmo2": (GGUF | WINDOW, _windowed(4, model_type="olmo3")),
    "gpt-oss": (GGUF | WINDOW, _windowed(2, model_type="gpt_oss")),
    "gemma2": (GGUF | WINDOW, _windowed(2, model_type="gemma2")),
    "gemma3": (GGUF | WINDOW, _windowed(6, model_type="gemma3_text")),
    "minicpm3": (
        LATENT | {"block_count": 8, "embedding_length": 256, "attention.head_count": 8},
        CONFIG | {"model_type": "minicpm3", "num_key_value_heads": 8, "kv_lora_rank": 64,
                  "q_lora_rank": 96, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
                  "v_head_dim": 32},
    ),
    "mamba2": (
        {"block_count": 8, "embedding_length": 256, "attention.head_count": 0} | SSM,
        _MOST | {"model_type": "mamba2", "num_hidden_layers": 8, "hidden_size": 256, "expand": 2,
                 "num_heads": 8, "head_dim": 64, "state_size": 16, "n_groups": 2,
                 "conv_kernel": 4},
    ),
    "lfm2moe": (
        GGUF | {"attention.head_count_kv": [0, 0, 2, 0] * 2, "shortconv.l_cache": 3},
        CONFIG | {"model_type": "lfm2_moe", "conv_L_cache": 3,
                  "layer_types": ["conv", "conv", "full_attention", "conv"] * 2},
    ),
    "minimax-m3": (
        GGUF | {"leading_dense_block_count": 3, "attention.indexer.key_length": 64,
                "attention.indexer.head_count": 2, "attention.indexer.top_k": 4},
        CONFIG | {"model_type": "minimax_m3", "sparse_attention_config": {
            "use_sparse_attention": True, "sparse_attention_freq": [0, 0, 0, 1, 1, 1, 1, 1],
            "sparse_index_dim": 64}},
    ),
    "minimax-01": (
        GGUF | {"full_attention_interval": 8},
        CONFIG | {"model_type": "minimax_text_01", "attn_type_list": [0] * 7 + [1]},
    ),
}  # fmt: skip
