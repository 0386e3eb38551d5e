"""Architectures, at the size of a published model where it costs nothing → header-only GGUF files.

What does not change the cache is small (experts, feed-forward, embedding where it may be). States
are really allocated even with `no_alloc`, so recurrent models have fewer layers than published, and
`max_sequences` keeps them under a few hundred megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf

EXPERTS = {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32}
MLA = {
    "attention.key_length": 576, "attention.value_length": 512,
    "attention.key_length_mla": 192, "attention.value_length_mla": 128,
    "attention.kv_lora_rank": 512, "attention.q_lora_rank": 32, "rope.dimension_count": 64,
}  # fmt: skip
INDEXER = {
    "attention.indexer.head_count": 64, "attention.indexer.key_length": 128,
    "attention.indexer.top_k": 2048,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Twin:
    """A model's metadata, without the architecture's prefix."""

    name: str
    architecture: str
    values: dict[str, Any]
    max_sequences: int = 64

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name}.gguf"
        writer = gguf.GGUFWriter(path, self.architecture)
        for key, value in self.values.items():
            _add(writer, f"{self.architecture}.{key}", value)
        writer.add_tokenizer_model("no_vocab")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case _:
            writer.add_array(key, value)


def twin(
    name: str,
    architecture: str,
    layers: int,
    heads: int,
    kv_heads: int | list[int],
    head_dim: int | None = None,
    *,
    embedding: int = 64,
    max_sequences: int = 64,
    **others: Any,
) -> Twin:
    values: dict[str, Any] = {
        "vocab_size": 32, "context_length": 131_072, "embedding_length": embedding,
        "block_count": layers, "feed_forward_length": 32,
        "attention.head_count": heads, "attention.head_count_kv": kv_heads,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }  # fmt: skip
    if head_dim:
        values |= {"attention.key_length": head_dim, "attention.value_length": head_dim}
    for key, value in others.pop("values", {}).items():
        values[key] = value
    assert not others
    return Twin(name, architecture, values, max_sequences)


def ssm(
    kernel: int, inner: int, state: int, heads: int, groups: int | None = None
) -> dict[str, Any]:
    found = {
        "ssm.conv_kernel": kernel, "ssm.inner_size": inner, "ssm.state_size": state,
        "ssm.time_step_rank": heads,
    }  # fmt: skip
    return found | ({} if groups is None else {"ssm.group_count": groups})


def window(tokens: int) -> dict[str, int]:
    return {"attention.sliding_window": tokens}


_NEMOTRON = "M-M*-M-M*-"
_JAMBA = [8 if i % 8 == 4 else 0 for i in range(16)]
_LFM2 = [8 if i in (2, 5, 8, 10, 12, 14) else 0 for i in range(16)]
_GRANITE = [4 if i in (2, 5) else 0 for i in range(6)]
_DECI = [8, 4, 8, 4, 2, 8, 8, 4]
_KIMI = [1 if (i + 1) % 4 == 0 else 0 for i in range(8)]

TWINS = (
    twin("llama-3-8b", "llama", 32, 32, 8, 128, values={"rope.dimension_count": 128}),
    twin("qwen3-4b", "qwen3", 36, 32, 8, 128),
    twin("phi-3-mini", "phi3", 32, 32, 32, 96, embedding=3072, values={
        "rope.dimension_count": 96, "rope.scaling.original_context_length": 4096, **window(2047)}),
    twin("phi-2-head-80", "phi2", 32, 32, 32, embedding=2560, values={
        "rope.dimension_count": 32, "attention.layer_norm_epsilon": 1e-5}),
    twin("decilm", "deci", 8, 8, _DECI, 128, embedding=1024, values={
        "attention.head_count": [8] * 8, "rope.dimension_count": 128}),
    twin("gemma-2-9b", "gemma2", 42, 16, 8, 256, values=window(4096)),
    twin("gemma-3-27b", "gemma3", 62, 32, 16, 128, values=window(1024)),
    twin("gemma-3n-e4b", "gemma3n", 35, 8, 2, 256, embedding=2048, values={
        "embedding_length_per_layer_input": 32, "altup.num_inputs": 4, "altup.active_idx": 0,
        "attention.shared_kv_layers": 15, **window(512),
        "attention.sliding_window_pattern": [(i + 1) % 5 != 0 for i in range(35)]}),
    twin("gpt-oss-20b", "gpt-oss", 24, 64, 8, 64, values={**EXPERTS, **window(128)}),
    twin("cohere2-7b", "cohere2", 32, 32, 8, 128, embedding=4096, values={
        "attention.layer_norm_epsilon": 1e-5, "logit_scale": 0.25, "rope.dimension_count": 128,
        **window(4096)}),
    twin("llama-4-scout", "llama4", 48, 40, 8, 128, values={
        **EXPERTS, "expert_used_count": 1, "rope.dimension_count": 128,
        "interleave_moe_layer_step": 1}),
    twin("deepseek-v3", "deepseek2", 61, 128, 1, values={
        **MLA, **EXPERTS, "leading_dense_block_count": 3, "expert_shared_count": 1}),
    twin("deepseek-v2-old", "deepseek2", 27, 16, 16, embedding=2048, values={
        "attention.key_length": 192, "attention.value_length": 128, "rope.dimension_count": 64,
        "attention.kv_lora_rank": 512, "attention.q_lora_rank": 32, **EXPERTS,
        "leading_dense_block_count": 1, "expert_shared_count": 1}),
    twin("deepseek-v3.2", "deepseek32", 61, 128, 1, embedding=512, values={
        **MLA, **EXPERTS, **INDEXER, "leading_dense_block_count": 3, "expert_shared_count": 1,
        "expert_gating_func": 2, "expert_weights_scale": 2.5}),
    twin("qwen3-next", "qwen3next", 8, 16, 2, 256, max_sequences=16, values={
        "rope.dimension_count": 64, "full_attention_interval": 4, **ssm(4, 4096, 128, 32, 16),
        **EXPERTS, "expert_shared_feed_forward_length": 32}),
    twin("mamba-2.8b", "mamba", 6, 0, 0, embedding=2560, values={
        "feed_forward_length": 0, **ssm(4, 5120, 16, 160)}),
    twin("mamba2-2.7b", "mamba2", 4, 0, 0, max_sequences=16, values={
        "feed_forward_length": 0, **ssm(4, 5120, 128, 80, 1)}),
    twin("jamba", "jamba", 16, 32, _JAMBA, 128, embedding=4096, values={
        **EXPERTS, **ssm(4, 8192, 16, 256)}),
    twin("nemotron-h", "nemotron_h", 10, 32, [8 * (x == "*") for x in _NEMOTRON], 128,
         max_sequences=16, values={
             "feed_forward_length": [32 * (x == "-") for x in _NEMOTRON],
             "attention.layer_norm_epsilon": 1e-5, **ssm(4, 8192, 128, 128, 8)}),
    twin("falcon-h1", "falcon-h1", 4, 12, 2, 128, max_sequences=16, values={
        "rope.dimension_count": 128, **ssm(4, 3072, 256, 24, 1)}),
    twin("granite-4-h", "granitehybrid", 6, 12, _GRANITE, 128, embedding=1536, max_sequences=16,
         values={"rope.dimension_count": 128, **ssm(4, 3072, 128, 48, 1)}),
    twin("lfm2-1.2b", "lfm2", 16, 32, _LFM2, 64, embedding=2048, values={"shortconv.l_cache": 3}),
    twin("kimi-linear", "kimi-linear", 8, 32, _KIMI, embedding=512, max_sequences=16, values={
        **MLA, **EXPERTS, "leading_dense_block_count": 1, "expert_shared_count": 1,
        "kda.head_dim": 128, "ssm.conv_kernel": 4, "expert_gating_func": 2}),
    twin("deepseek-v4", "deepseek4", 8, 64, 1, 512, embedding=512, max_sequences=8, values={
        **EXPERTS, **INDEXER, **window(128), "rope.dimension_count": 64,
        "attention.q_lora_rank": 64, "expert_shared_count": 1, "expert_weights_scale": 1.5,
        "expert_weights_norm": True, "expert_gating_func": 4, "swiglu_clamp_exp": 10.0,
        "attention.output_group_count": 8, "attention.output_lora_rank": 64,
        "attention.compress_rope_freq_base": 160000.0, "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 20, "hyper_connection.epsilon": 1e-6,
        "hash_layer_count": 0, "attention.compress_ratios": [0, 0, 4, 128, 4, 128, 4, 128]}),
    twin("minimax-m3", "minimax-m3", 8, 64, 4, 128, embedding=512, values={
        **EXPERTS, **INDEXER, "leading_dense_block_count": 2, "expert_shared_count": 1,
        "rope.dimension_count": 64, "expert_gating_func": 2,
        "attention.indexer.head_count": 4, "attention.indexer.block_size": 64,
        "attention.indexer.local_blocks": 1}),
    twin("minimax-01", "minimax-01", 4, 64, 8, 128, embedding=8192, max_sequences=16, values={
        **EXPERTS, "rope.dimension_count": 64, "full_attention_interval": 2,
        "residual_scale": 3.5}),
    twin("rwkv-7", "rwkv7", 4, 0, 0, embedding=2048, values={
        "attention.layer_norm_epsilon": 1e-5, "wkv.head_size": 64, "attention.decay_lora_rank": 64,
        "attention.iclr_lora_rank": 64, "attention.value_residual_mix_lora_rank": 32,
        "attention.gate_lora_rank": 128}),
    twin("gemma-4", "gemma4", 12, 16, [8 if (i + 1) % 6 else 2 for i in range(12)], 512,
         embedding=512, values={
             "attention.key_length_swa": 256, "attention.value_length_swa": 256,
             "attention.sliding_window_pattern": [(i + 1) % 6 != 0 for i in range(12)],
             "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0,
             "rope.dimension_count": 512, "rope.dimension_count_swa": 256, **window(1024)}),
    twin("glm-5", "glm-dsa", 12, 64, 1, embedding=512, values={
        **MLA, **EXPERTS, **INDEXER, "leading_dense_block_count": 3, "expert_shared_count": 1,
        "expert_gating_func": 2, "attention.indexer.types": [i % 4 == 0 for i in range(12)]}),
    twin("olmo-3-7b", "olmo2", 32, 32, 32, 128, embedding=4096, values=window(4096)),
    twin("minicpm3-4b", "minicpm3", 62, 40, 40, embedding=2560, values={
        "attention.key_length": 96, "attention.value_length": 64, "rope.dimension_count": 32,
        "attention.q_lora_rank": 768, "attention.kv_lora_rank": 256}),
)  # fmt: skip
