"""Which model types there are, and the fixed sample of them that every CI run compares."""

from __future__ import annotations

from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

SAMPLE = (
    "bart", "bert", "bloom", "cohere2", "deepseek_v2", "deepseek_v3", "deepseek_v32",
    "deepseek_v4", "falcon_h1", "gemma2", "gemma3", "gemma3n_text", "gemma4_text",
    "glm4_moe", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_oss", "jamba", "kimi_linear", "lfm2",
    "llama", "llama4", "mamba", "mamba2", "minimax", "mistral", "mllama", "nemotron_h",
    "olmo_hybrid", "opt", "phi3", "qwen2", "qwen3_moe", "qwen3_next", "whisper", "zamba2",
)  # fmt: skip
"""One of each way to store a cache, and what people run most."""


def all_types() -> list[str]:
    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
