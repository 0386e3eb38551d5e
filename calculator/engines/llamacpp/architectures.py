"""Model types → whether llama.cpp runs them, and which of its architectures do something special.

A window is kept where the architecture's `load_arch_hparams` (src/models/<architecture>.cpp) sets
`hparams.swa_type`; elsewhere every token is, whatever the model's configuration says: Mistral runs
as `llama`, and `phi3.cpp` says "Phi SWA is currently disabled". Which model type runs as which
architecture: conversion/__init__.py:TEXT_MODEL_MAP.
"""

from __future__ import annotations

from calculator.errors import UnsupportedModel, shown
from calculator.model import ModelSpec


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WINDOW_KEPT = _names(
    """
    afmoe cohere2 cohere2moe deepseek_v4 exaone4 exaone_moe gemma2 gemma3 gemma3n gemma4
    gemma4_unified gpt_oss granite_swa laguna lfm2 lfm2_moe lfm2_vl llama4 maple mellum
    mimo_v2_flash muse_glimmer olmo2 olmo3 plamo3 smallthinker spark2_5 step3p5 step3p7
    """
)
_EVERY_TOKEN_KEPT = _names(
    """
    apertus arcee arctic arwkv7 baichuan bailing_moe bailing_moe_v2 bailing_moe_v3 bamba bitnet
    bloom chameleon chatglm codeshell cogvlm cohere dbrx deepseek deepseek_ocr deepseek_v2
    deepseek_v3 deepseek_v32 dots1 ernie4_5 ernie4_5_moe exaone falcon falcon_h1 falcon_mamba gemma
    glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_moe_dsa gpt-sw3 gpt2 gpt_bigcode gpt_neox
    gpt_refact granite granitemoe granitemoehybrid granitemoeshared grok grovemoe hrm hunyuan
    hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl hy_v3 internlm2 internlm3 jais jais2 jamba kimi_k2
    kimi_k25 kimi_k3 kimi_linear kimi_vl llama llava maincoder mamba mamba2 minicpm minicpm3
    minimax_m1 minimax_m2 minimax_m3 minimax_text_01 ministral3 mistral mistral3 mistral4 mixtral
    mpt nemotron nemotron-nas nemotron_h olmo olmoe openelm orion paddleocr_vl pangu_embedded phi
    phi3 phimoe plamo plamo2 plm qwen qwen2 qwen2_5_vl qwen2_moe qwen2_vl qwen3 qwen3_5 qwen3_5_moe
    qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe rwkv6 rwkv6qwen2 rwkv7 seed_oss smollm3 solar_open
    stablelm starcoder2 t5 talkie umt5 voxtral xverse youtu
    """
)

_HEADS_EXPANDED = frozenset({"minicpm3", "plm"})
# llama-kv-cache-msa.cpp: the index cache of a model without MLA has values too, of one head
INDEX_WITH_VALUE = frozenset({"minimax_m3"})
# llama-context.cpp:llama_init_from_model, "flash_attn is not compatible with Grok - forcing off"
FLASH_ATTN_FORCED_OFF = frozenset({"grok"})
# deci.cpp has layers without heads; without flash attention they get a padded value all the same
HEADLESS_LAYERS = frozenset({"nemotron-nas"})
# HunYuanMoEV1ForCausalLM runs; Hunyuan-Large, of the same model_type, shares caches between layers
SHARED_LAYERS_UNKNOWN = frozenset({"hunyuan"})
# kimi-linear.cpp, minimax-01.cpp: their graph fails an assertion for a batch that does not divide
UNEVEN_BATCH_ABORTS = frozenset({"kimi_linear", "minimax_text_01", "minimax_m1"})


def stores_heads(model: ModelSpec) -> bool:
    """Whether a model with a latent is run with every head's key and value stored instead.

    So do minicpm3.cpp and plm.cpp, and deepseek2.cpp for GGUF files from before April 2025, which
    describe the heads and have no `key_length_mla` (llama-hparams.cpp:is_mla).
    """
    if architecture(model.model_type) in _HEADS_EXPANDED:
        return True
    came_from = dict(model.provenance)
    is_gguf = came_from.get("kv_lora_rank", "").endswith(".attention.kv_lora_rank")
    return is_gguf and "qk_nope_head_dim" not in came_from


def architecture(model_type: str) -> str:
    """`model_type` if llama.cpp runs such models, else UnsupportedModel.

    >>> architecture("gemma3_text")
    'gemma3'
    """
    name = model_type.removesuffix("_text")
    if name not in WINDOW_KEPT and name not in _EVERY_TOKEN_KEPT:
        raise UnsupportedModel(
            f"model_type is {shown(model_type)}; llama.cpp is not known to run such models "
            "(calculator/engines/llamacpp/architectures.py).",
            field="model_type",
            model_type=model_type,
        )
    return name
