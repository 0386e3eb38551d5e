"""Names of GGUF architectures → the model type elsewhere and the rule that reads its layers.

What an architecture hard-codes is in llama.cpp, `src/models/<architecture>.cpp`,
`load_arch_hparams`; what it stores in `llama_model::create_memory`.
"""

from __future__ import annotations

from typing import NamedTuple

from calculator.importers.gguf import attention as a
from calculator.importers.gguf import latent as l
from calculator.importers.gguf import recurrent as r
from calculator.importers.gguf.layers import Rule


class Architecture(NamedTuple):
    """`model_type` as a config.json of the same model has it."""

    model_type: str
    rule: Rule


def _all(rule: Rule, names: str) -> dict[str, Architecture]:
    """Each of "name" or "name=model_type" under one rule; a type is the name in snake case."""
    found = {}
    for word in names.split():
        name, _, model_type = word.partition("=")
        found[name] = Architecture(model_type or name.replace("-", "_"), rule)
    return found


ARCHITECTURES: dict[str, Architecture] = {
    **_all(
        a.plain,
        """
        apertus arcee arctic baichuan bailingmoe=bailing_moe bailingmoe2=bailing_moe_v2 bitnet bloom
        chameleon chatglm codeshell cogvlm command-r=cohere dbrx deepseek
        deepseek2-ocr=deepseek_ocr dots1 ernie4_5 ernie4_5-moe exaone gemma glm4
        glm4moe=glm4_moe gpt2 gptj gptneox=gpt_neox granite granitemoe grok grovemoe
        hrm_text hunyuan-dense=hunyuan_v1_dense hunyuan-moe=hunyuan_v1_moe hunyuan_vl hy_v3
        internlm2 jais jais2 maincoder minicpm minimax-m2 mistral3=ministral3 mpt nemotron olmo
        olmoe openelm orion paddleocr=paddleocr_vl pangu-embedded phi2=phi plamo qwen qwen2
        qwen2moe=qwen2_moe qwen2vl=qwen2_vl qwen3 qwen3moe=qwen3_moe qwen3vl=qwen3_vl
        qwen3vlmoe=qwen3_vl_moe refact=gpt_refact seed_oss smollm3 stablelm
        starcoder=gpt_bigcode talkie xverse
        """,
    ),
    **_all(a.heads_by_layer, "deci=nemotron-nas"),
    **_all(a.no_window_kept, "llama phimoe starcoder2"),
    **_all(a.window_everywhere, "phi3"),
    **_all(a.full_every(2, window=4096), "gemma2"),
    **_all(a.full_every(2), "gpt-oss"),
    **_all(a.full_every(4), "cohere2"),
    **_all(a.full_every(4, full_first=True), "cohere2moe"),
    **_all(a.full_every(4, window=128), "exaone-moe"),
    **_all(a.exaone4, "exaone4"),
    **_all(a.full_every_if_window(4), "afmoe mellum muse-glimmer olmo2"),
    **_all(a.full_every_if_window(4, full_first=True), "laguna smallthinker"),
    **_all(a.full_every_if_window(6), "gemma3"),
    **_all(a.full_every_if_window(8), "plamo3"),
    **_all(a.as_listed, "granite_swa maple mimo2=mimo_v2_flash spark2_5 step35=step3p5"),
    **_all(a.falcon, "falcon"),
    **_all(a.gemma3n, "gemma3n"),
    **_all(a.gemma4, "gemma4"),
    **_all(a.llama4, "llama4"),
    **_all(a.t5, "t5"),
    **_all(l.latent, "deepseek2=deepseek_v2 minicpm3 mistral4 plm"),
    **_all(l.latent_with_indexer, "deepseek32=deepseek_v32"),
    **_all(l.glm_dsa, "glm-dsa=glm_moe_dsa"),
    **_all(l.deepseek4, "deepseek4=deepseek_v4"),
    **_all(l.minimax_m3, "minimax-m3"),
    **_all(l.kimi_linear, "bailingmoe3=bailing_moe_v3 kimi-k3 kimi-linear"),
    **_all(r.every_layer(r.mamba1), "mamba"),
    **_all(r.every_layer(r.mamba2), "mamba2"),
    **_all(r.every_layer(r.wkv), "arwkv7 rwkv6 rwkv6qwen2 rwkv7"),
    **_all(r.where_no_heads(r.mamba1), "jamba plamo2"),
    **_all(r.where_no_heads(r.mamba2), "granitehybrid=granitemoehybrid"),
    **_all(r.lfm2, "lfm2 lfm2moe=lfm2_moe"),
    **_all(r.falcon_h1, "falcon-h1"),
    **_all(r.nemotron_h, "nemotron_h nemotron_h_moe=nemotron_h"),
    **_all(
        r.full_attention_interval(r.gated_delta_net, 4),
        "qwen3next=qwen3_next qwen35=qwen3_5 qwen35moe=qwen3_5_moe",
    ),
    **_all(r.minimax_01, "minimax-01=minimax_text_01"),
}

_ENCODER = "an encoder: it reads its whole input at once and keeps no cache"
_DIFFUSION = "a diffusion model: it rewrites its whole text in each step and keeps no cache"
_NO_TEXT = "no model that generates text"
_DRAFT = "a draft model, whose cache is part of another model's"
_REASONS = {
    _ENCODER: """
        bert eurobert gemma-embedding jina-bert-v2 jina-bert-v3 llama-embed modern-bert neo-bert
        nomic-bert nomic-bert-moe t5encoder
        """,
    _DIFFUSION: "dream llada llada-moe rnd1",
    _NO_TEXT: "clip wavtokenizer-dec",
    _DRAFT: "dflash eagle3 gemma4-assistant",
}
REFUSED = {name: reason for reason, names in _REASONS.items() for name in names.split()}
