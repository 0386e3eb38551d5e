"""Models, flags and ranks on which vLLM's planner and our engine are compared.

A case names a preset (what our engine reads) and a published configuration (what vLLM reads), the
latter as `org__name`; `architecture` stands in where a file names none, or takes the text part of a
multimodal one, whose image part the planner does not need.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    preset: str
    configuration: str
    tp: int = 1
    pp: int = 1
    available_bytes: int = 40_000_000_000
    flags: dict[str, Any] = {}
    architecture: str | None = None
    keys: dict[str, Any] = {}
    """Keys that a file does not have and vLLM asks for."""
    part_of: str | None = None
    """The multimodal model type of which the file is the text part."""

    @property
    def name(self) -> str:
        flags = " ".join(f"{k}={v}" for k, v in self.flags.items())
        return f"{self.preset} tp={self.tp} pp={self.pp} {flags}".strip()


QWEN3_NEXT = ("qwen3-next-80b", "Qwen__Qwen3-Next-80B-A3B-Instruct")
QWEN35 = ("qwen3.5-27b", "Qwen__Qwen3.5-27B")
GEMMA3 = ("gemma-3-27b", "google__gemma-3-27b-it")
LLAMA = ("llama-3.1-70b", "meta-llama__Meta-Llama-3.1-70B")
V32 = ("deepseek-v3.2", "deepseek-ai__DeepSeek-V3.2")
V3 = ("deepseek-v3", "deepseek-ai__DeepSeek-V3")
GPT_OSS = ("gpt-oss-120b", "openai__gpt-oss-120b")
NEMOTRON = ("nemotron-3-nano-30b-a3b-bf16", "nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
V4 = ("deepseek-v4-flash", "deepseek-ai__DeepSeek-V4-Flash")
M3 = ("minimax-m3", "MiniMaxAI__MiniMax-M3")
M3_TEXT = {"architecture": "MiniMaxM3SparseForCausalLM", "part_of": "minimax_m3_vl"}
GEMMA4 = ("gemma-4-26b-a4b", "google__gemma-4-26B-A4B")
GEMMA4_TEXT = "Gemma4ForCausalLM"
GEMMA3_TEXT = "Gemma3ForCausalLM"
QWEN35_TEXT = "Qwen3_5ForCausalLM"

CASES = (
    Case(*LLAMA, tp=16),
    Case(*LLAMA, tp=2, pp=3, flags={"max_model_len": 32768}),
    Case(*LLAMA, tp=4, flags={"kv_cache_dtype": "fp8", "block_size": 32}),
    Case(*LLAMA, tp=4, flags={"kv_cache_dtype": "int8_per_token_head"}),
    Case(*LLAMA, tp=4, flags={"kv_cache_dtype": "int4_per_token_head", "max_model_len": 8192}),
    Case(
        "qwen3-235b-a22b", "Qwen__Qwen3-235B-A22B", tp=16, flags={"decode_context_parallel_size": 4}
    ),
    Case("qwen3-235b-a22b", "Qwen__Qwen3-235B-A22B", tp=8, flags={"num_gpu_blocks_override": 5000}),
    Case(*GEMMA3, tp=4, architecture=GEMMA3_TEXT),
    Case(*GEMMA3, tp=8, pp=4, architecture=GEMMA3_TEXT, flags={"max_model_len": 16384}),
    Case(*GEMMA3, tp=2, architecture=GEMMA3_TEXT, flags={"max_num_batched_tokens": 4096}),
    Case(*GEMMA3, tp=2, architecture=GEMMA3_TEXT, flags={"disable_hybrid_kv_cache_manager": True}),
    Case("gemma-3-1b", "google__gemma-3-1b-it", architecture=GEMMA3_TEXT),
    Case("gemma-2-9b", "google__gemma-2-9b-it", tp=2, architecture="Gemma2ForCausalLM"),
    Case("gemma-4-26b-a4b", "google__gemma-4-26B-A4B", architecture="Gemma4ForCausalLM"),
    Case(*GEMMA4, architecture=GEMMA4_TEXT, flags={"kv_cache_dtype": "fp8"}),
    Case(*GEMMA4, architecture=GEMMA4_TEXT, flags={"kv_cache_dtype": "fp8_e5m2"}),
    Case(*GEMMA4, architecture=GEMMA4_TEXT, flags={"kv_cache_dtype": "fp8", "block_size": 32}),
    Case(*GEMMA4, architecture=GEMMA4_TEXT, flags={"kv_cache_dtype": "fp8", "block_size": 16}),
    Case(*GEMMA4, architecture=GEMMA4_TEXT, flags={"kv_cache_dtype": "fp8", "block_size": 192}),
    Case(*GEMMA4, flags={"max_model_len": 65536}),
    Case("gemma-4-31b-it-nvfp4", "nvidia__Gemma-4-31B-IT-NVFP4", tp=2),
    Case(*GPT_OSS, pp=4, available_bytes=20_000_000_000),
    Case(*GPT_OSS, tp=8, flags={"async_scheduling": False}),
    Case(*GPT_OSS, tp=8, flags={"kv_cache_dtype": "fp8", "block_size": 64}),
    Case("olmo-3.1-32b", "allenai__Olmo-3.1-32B-Instruct", tp=4),
    Case("exaone-4.0-32b", "LGAI-EXAONE__EXAONE-4.0-32B", tp=2),
    Case("mimo-v2-flash", "XiaomiMiMo__MiMo-V2-Flash", tp=4),
    Case("mistral-7b-v0.1", "mistralai__Mistral-7B-v0.1", architecture="MistralForCausalLM"),
    Case(
        "llama-4-scout",
        "meta-llama__Llama-4-Scout-17B-16E-Instruct",
        tp=8,
        architecture="Llama4ForCausalLM",
        flags={"max_model_len": 131072},
    ),
    Case(*V3, tp=16, pp=2),
    Case(*V3, tp=8, flags={"decode_context_parallel_size": 8}),
    Case(*V32, tp=8, flags={"decode_context_parallel_size": 2, "kv_cache_dtype": "fp8"}),
    Case(*V4, tp=4),
    Case(*V4, pp=2, flags={"max_model_len": 65536}),
    Case(*V4, tp=8, flags={"max_model_len": 65536, "kv_cache_dtype": "fp8"}),
    Case(
        "deepseek-v4-pro",
        "deepseek-ai__DeepSeek-V4-Pro",
        tp=8,
        flags={"max_model_len": 131072, "async_scheduling": False},
    ),
    Case(*M3, tp=8, **M3_TEXT, flags={"max_model_len": 131072}),
    Case(*M3, tp=2, pp=2, **M3_TEXT, flags={"max_model_len": 65536, "kv_cache_dtype": "fp8"}),
    Case(*QWEN3_NEXT, tp=8, flags={"decode_context_parallel_size": 4}),
    Case(*NEMOTRON, tp=8, flags={"decode_context_parallel_size": 2}),
    Case(*V3, tp=8, flags={"block_size": 32, "kv_cache_dtype": "fp8"}),
    Case(
        "deepseek-v2-lite",
        "deepseek-ai__DeepSeek-V2-Lite",
        architecture="DeepseekV2ForCausalLM",
        keys={"n_group": 1, "topk_group": 1},
        flags={"attention_backend": "TRITON_MLA"},
    ),
    Case(*V32, tp=8),
    Case(*V32, tp=8, flags={"kv_cache_dtype": "fp8"}),
    Case("glm-5.2", "zai-org__GLM-5.2", tp=8, flags={"max_model_len": 131072}),
    Case(*QWEN3_NEXT, tp=8),
    Case(*QWEN3_NEXT, tp=2, pp=2, flags={"kv_cache_dtype": "fp8"}),
    Case(*QWEN3_NEXT, tp=4, flags={"mamba_ssm_cache_dtype": "float32", "max_model_len": 32768}),
    Case(*QWEN35, architecture=QWEN35_TEXT),
    Case(*QWEN35, tp=4, architecture=QWEN35_TEXT, flags={"enable_prefix_caching": False}),
    Case(*NEMOTRON, tp=2),
    Case(*NEMOTRON, tp=8, pp=2, flags={"kv_cache_dtype": "fp8"}),
    Case(
        "nemotron-nano-9b-v2",
        "nvidia__NVIDIA-Nemotron-Nano-9B-v2",
        tp=4,
        architecture="NemotronHForCausalLM",
    ),
    Case("falcon-h1-7b", "tiiuae__Falcon-H1-7B-Instruct", tp=2, architecture="FalconH1ForCausalLM"),
    Case(
        "granite-4.0-h-1b",
        "ibm-granite__granite-4.0-h-1b",
        tp=2,
        architecture="GraniteMoeHybridForCausalLM",
    ),
    Case("zamba2-2.7b", "Zyphra__Zamba2-2.7B", architecture="Zamba2ForCausalLM"),
    Case("jamba-v0.1", "ai21labs__Jamba-v0.1", tp=2, architecture="JambaForCausalLM"),
    Case(
        "lfm2-1.2b",
        "LiquidAI__LFM2-1.2B",
        tp=2,
        architecture="Lfm2ForCausalLM",
        keys={
            "conv_dim": 2048,
            "conv_dim_out": 2048,
            "block_dim": 2048,
            "block_ff_dim": 12288,
            "block_multiple_of": 256,
            "block_auto_adjust_ff_dim": True,
        },
    ),
    Case(
        "mamba-2.8b",
        "state-spaces__mamba-2.8b-hf",
        tp=2,
        architecture="MambaForCausalLM",
        flags={"max_model_len": 2048},
    ),
    Case(
        "kimi-linear-48b-a3b",
        "moonshotai__Kimi-Linear-48B-A3B-Instruct",
        tp=4,
        architecture="KimiLinearForCausalLM",
        keys={"mla_use_nope": True},
        flags={"max_model_len": 131072},
    ),
)
