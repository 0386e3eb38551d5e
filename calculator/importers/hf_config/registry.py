"""model_type → the function that reads its layers, as "module:function", imported on first use.

One line a model type. Types whose configurations mean the same share a function.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any


def _family(module: str, **functions: str) -> dict[str, str]:
    """{function: "type type …"} of one module → {type: "module:function"}."""
    path = f"calculator.importers.hf_config.families.{module}"
    return {t: f"{path}:{name}" for name, types in functions.items() for t in types.split()}


FAMILIES: dict[str, str] = {
    **_family(
        "attention",
        plain="""
            apertus arcee aria_text baichuan bitnet cohere diffllama emu3_text_model ernie4_5
            ernie4_5_moe ernie4_5_vl_moe_text flex_olmo gemma git glm glm4 glm4v_text granite
            granitemoe granitemoeshared helium hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax
            internlm2 internlm3 iquestcoder jais2 llama mistral3 nanochat nemotron olmo olmo2
            olmoe phi qwen3_vl_moe_text qwen3_vl_text seed_oss solar_open stablelm
        """,
        sliding_if_set="""
            ministral ministral3 mistral mixtral phi3 phi4_multimodal phimoe starcoder2
        """,
        qwen2="mimo qwen2 qwen2_5_omni_text qwen2_5_vl_text qwen2_vl_text qwen3",
        qwen2_moe="qwen2_moe",
        qwen3_moe="qwen3_moe qwen3_omni_moe_text",
        smollm3="smollm3",
        every_fourth="olmo3 cohere2 exaone4 exaone_moe",
        alternating="gpt_oss",
        glm4_moe="glm4_moe glm4v_moe_text",
        llama4="llama4_text",
        hrm_text="hrm_text",
        minimax_m2="minimax_m2",
        step3p7="step3p7",
    ),
    **_family("per_layer", mimo_v2_flash="mimo_v2_flash", nemotron_nas="nemotron-nas"),
    **_family(
        "windowed",
        afmoe="afmoe",
        beam="beam",
        cohere2_moe="cohere2_moe",
        listed_or_full="cohere_compass_text laguna mellum",
        cwm="cwm granite_swa granitemoe_swa",
        doge="doge",
        dots1="dots1",
        every_fifth="kolibri1",
        flint="flint",
        lfm3="lfm3",
        modernbert_decoder="modernbert-decoder",
        moshi="moshi",
        inkling="inkling_text inkling2_text",
    ),
    **_family(
        "encoder_only",
        bert="""
            bert bert-generation big_bird camembert data2vec-text electra ernie megatron-bert
            rembert roberta roberta-prelayernorm roc_bert roformer xlm-roberta xlm-roberta-xl xmod
        """,
        no_cache="openai-gpt xlm",
    ),
    **_family(
        "refused",
        refused="""
            blt cpmant gemma4_assistant gemma4_unified_assistant qwen4_exp_text recurrent_gemma
            reformer rwkv xlnet xlstm zaya
        """,
    ),
    **_family(
        "classic",
        dbrx="dbrx",
        hunyuan="hunyuan",
        jetmoe="jetmoe",
        gpt="""
            biogpt bloom codegen ctrl gpt-sw3 gpt2 gpt_neox gpt_neox_japanese gptj opt persimmon
            xglm
        """,
        mpt="mpt",
        falcon="falcon",
        gpt_bigcode="gpt_bigcode",
        gpt_neo="gpt_neo",
        chatglm="chatglm",
        qwen="qwen",
    ),
    **_family(
        "gemma",
        gemma2="gemma2 vaultgemma",
        gemma3="gemma3_text",
        gemma3n="gemma3n_text",
        gemma4="gemma4_text gemma4_unified_text",
    ),
    **_family(
        "latent",
        latent="deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite minicpm3 mistral4 youtu axk1",
        latent_with_indexer="axk2 deepseek_v32",
        glm_moe_dsa="glm_moe_dsa hy_v4",
        longcat_flash="longcat_flash",
        dots3_note="dots3_note_text",
        minimax_m3="minimax_m3 minimax_m3_vl_text",
        deepseek_v4="deepseek_v4",
    ),
    **_family(
        "linear",
        gated_delta_net="qwen3_next qwen3_5_text qwen3_5_moe_text",
        kimi_linear="kimi_linear",
        bailing_hybrid="bailing_hybrid",
        olmo_hybrid="olmo_hybrid",
        minimax="minimax",
        minimax_01="minimax_text_01 minimax_m1",
    ),
    **_family(
        "hybrid",
        jamba="jamba",
        bamba="bamba",
        granite_hybrid="granitemoehybrid",
        nemotron_h="nemotron_h",
        falcon_h1="falcon_h1",
        zamba="zamba",
        zamba2="zamba2",
        lfm2="lfm2 lfm2_moe",
    ),
    **_family("recurrent", mamba="mamba falcon_mamba", mamba2="mamba2"),
    **_family(
        "encoder_decoder",
        bart="""
            bart bigbird_pegasus blenderbot blenderbot-small m2m_100 marian mbart mvp nllb-moe
            pegasus plbart trocr whisper
        """,
        t5="t5 mt5 umt5",
        prophetnet="prophetnet",
        musicgen="musicgen_decoder",
        musicgen_melody="musicgen_melody_decoder",
        mllama="mllama_text_model",
    ),
}


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    path = Path(__file__).with_name("class_defaults.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def class_defaults(model_type: str) -> dict[str, Any]:
    """What a published file of this model type may leave out (tools/class_defaults.py)."""
    found: dict[str, Any] = _data()["types"].get(model_type, {})
    return found


def text_type_of(model_type: str) -> str | None:
    """The text model's type in a wrapper whose text_config does not name one."""
    found: str | None = _data()["text_types"].get(model_type)
    return found
