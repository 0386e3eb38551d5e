"""Lines vLLM printed elsewhere: some byte count that rounds to the GiB logged gives the rest."""

import pytest

import calculator as kv

TRITON = {"gdn_prefill_backend": "triton"}  # before 0.33 and on other GPUs: no checkpoint blocks
OFF = {"enable_prefix_caching": False}
FP8 = {"kv_cache_dtype": "fp8"}
# one engine of August 2026, its start-up logs at different settings
QWEN38 = "github.com/malaiwah/qwen38-27b-exl3, receipts"

LOGGED = [
    # model, flags, tp, GiB available, max_model_len, tokens, concurrency, source
    ("qwen3.8-27b", TRITON, 1, 6.63, 8_192, 66_499, "8.12", QWEN38),
    ("qwen3.8-27b", TRITON, 1, 5.97, 8_192, 59_753, "7.29", QWEN38),
    ("qwen3.8-27b", OFF, 1, 6.63, 8_192, 80_749, "9.86", QWEN38),
    ("qwen3.8-27b", OFF, 1, 5.97, 8_192, 72_557, "8.86", QWEN38),
    ("qwen3.8-27b", OFF | FP8, 1, 4.08, 45_056, 119_680, "2.66", QWEN38),
    ("qwen3.8-27b", OFF | FP8, 1, 2.60, 45_056, 76_032, "1.69", QWEN38),
    ("qwen3.8-27b", TRITON | FP8, 1, 64.12, 262_144, 2_018_810, "7.70", QWEN38),
    ("qwen3.8-27b", TRITON | FP8, 1, 64.12, 1_000_000, 2_080_745, "2.08", QWEN38),
    ("qwen3.8-27b", TRITON | FP8, 1, 63.75, 1_000_000, 2_068_322, "2.07", QWEN38),
    ("qwen3.8-27b", TRITON, 2, 2.26, 2_048, 21_390, "10.44", "two T4, public log"),
    ("nemotron-3-nano-30b-a3b-bf16", OFF, 1, 34.32, 262_144, 5_769_184, "22.01", "public log"),
    ("qwen3-30b-a3b", FP8, 1, 10.55, 100_000, 230_528, "2.31", "vllm issue 25350"),
    ("glm-5", {}, 8, 32.11, 202_752, 344_192, "1.70", "eight H200, public log"),
    ("glm-5", {}, 8, 34.86, 202_752, 373_696, "1.84", "eight H200, public log"),
    ("gemma-4-e2b", {"max_num_batched_tokens": 1_024}, 1, 9.92, 8_192, 1_062_157, "129.66",
     "public log, 2,048 tokens in flight"),
    ("gemma-4-e2b", {"max_num_batched_tokens": 2_048}, 1, 4.66, 16_384, 519_681, "31.72",
     "public log, 4,096 tokens in flight"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "flags", "tp", "gib", "length", "tokens", "concurrency", "source"), LOGGED
)
def test_logged_lines(name, flags, tp, gib, length, tokens, concurrency, source):
    engine, model = kv.engine("vllm", **flags), kv.load_model(name)
    spread = kv.Parallelism(tensor_parallel_size=tp)
    low, high = (round((gib + side * 0.005) * 2**30) for side in (-1, 1))
    block = engine.plan(model, high, length, spread).bytes_per_block
    possible = {
        (plan.num_tokens, f"{plan.max_concurrency:.2f}")
        for num_bytes in (low, *range(low // block * block + block, high + 1, block))
        for plan in [engine.plan(model, num_bytes, length, spread)]
    }
    assert (tokens, concurrency) in possible, source
