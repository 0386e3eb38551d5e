"""What vLLM's assumptions say, and that they say it only where it is so; sources are 0.33.0's."""

import pytest

import calculator as kv
from calculator.catalog import presets
from calculator.engines.llamacpp.notes import device_notes as llamacpp_notes
from calculator.engines.transformers.notes import device_notes as transformers_notes
from calculator.engines.vllm.items import PHANTOM, UNUSED
from calculator.engines.vllm.notes import device_notes
from tests.engines.vllm_models import named
from tests.models import full, model

LEFT = "leaves part of its blocks unused"


def assumed(name, flags=None, spread=None, seq_len=8_192, **request):
    preset, asked = named(name) if isinstance(name, str) else name, kv.Request(seq_len, **request)
    engine, ranks = kv.engine("vllm", **flags or {}), spread or kv.Parallelism()
    return " ".join(kv.footprint(preset, asked, engine, ranks).assumptions)


# config/vllm.py:max_in_flight_tokens = max_concurrent_batches × max_num_batched_tokens; the first
# is the pipeline's stages, one more with asynchronous scheduling
@pytest.mark.parametrize(
    ("name", "flags", "stages", "says"),
    [
        ("gemma-3-27b", {}, 1, "16,384 tokens in flight on top, 2 × max_num_batched_tokens"),
        ("gemma-3-27b", {"async_scheduling": False}, 1, "8,192 tokens in flight on top, 1 ×"),
        ("gemma-3-27b", {"max_num_batched_tokens": 2_048}, 2, "6,144 tokens in flight on top, 3 ×"),
        ("llama-4-scout", {}, 1, "16,384 tokens in flight on top"),
        ("deepseek-v4-flash", {}, 1, "16,384 tokens in flight on top"),
    ],
)
def test_tokens_in_flight_stand_beside_windows_and_chunks(name, flags, stages, says):
    text = assumed(name, flags, kv.Parallelism(pipeline_parallel_size=stages))
    assert says in text
    assert ("2,048 is as asked" in text) == ("max_num_batched_tokens" in flags)


@pytest.mark.parametrize(
    ("name", "flags"),
    [("llama-3-8b", {}), ("gemma-3-27b", {"disable_hybrid_kv_cache_manager": True})],
)
def test_tokens_in_flight_are_not_named_where_they_count_nothing(name, flags):
    assert "in flight" not in assumed(name, flags)


# Llama: 512 blocks of 2 MiB for 8,192 tokens, held and reckoned; of 25,600 the null block is none.
# Gemma: 512 blocks of its full layers and in 6 groups of windows 64 held, 513 reckoned, of 1.25 MiB
@pytest.mark.parametrize(
    ("name", "num_blocks", "block_bytes", "logged", "most", "in_flight"),
    [
        ("llama-3.1-8b", 25_600, 2**21, 50.0, 49, False),
        ("gemma-3-27b", 35_900, 1_310_720, 10.0, 40, True),
    ],
)
def test_the_logged_concurrency_is_told_from_the_sequences_that_fit(
    name, num_blocks, block_bytes, logged, most, in_flight
):
    found = kv.capacity(
        kv.load_model(name), request=kv.Request(8_192), engine=kv.engine("vllm"),
        kv_bytes_per_device=num_blocks * block_bytes,
    )  # fmt: skip
    assert found.pool_of_blocks()["max_concurrency"] == logged
    assert found.max_batch_size == (most, most)
    (said,) = (text for text in found.footprint.assumptions if "max_batch_size" in text)
    assert "the logged maximum concurrency divides all blocks" in said
    assert ("in flight" in said) == in_flight


def test_encoder_tokens_are_reckoned_at_a_batch():
    # kv_cache_interface.py:CrossAttentionSpec.max_memory_usage_bytes
    text = assumed("whisper-large-v3", seq_len=448, encoder_seq_len=1_500)
    assert "cross attention counts 8,192 encoder tokens" in text
    assert "encoder tokens" not in assumed("llama-3-8b")


# kv_cache_planning.py:get_kv_cache_groups: DeepSeek-V4's go to _get_packed_kv_cache_groups
@pytest.mark.parametrize(
    ("name", "source", "unused"),
    [
        ("deepseek-v4-flash", "_get_packed_kv_cache_groups", True),
        ("gemma-3-27b", "_get_kv_cache_groups_uniform_page_size", True),  # 10 and 52 layers
        ("gpt-oss-20b", "_get_kv_cache_groups_uniform_page_size", False),  # 12 and 12
        ("gpt-oss-120b", "_get_kv_cache_groups_uniform_page_size", False),  # 18 and 18
        ("qwen3-next-80b", "_get_kv_cache_groups_uniform_page_size", False),  # 12, three times 12
    ],
)
def test_groups_say_where_they_come_from_and_what_is_unused(name, source, unused):
    text = assumed(name)
    assert f"kv_cache_planning.py:{source})" in text
    assert (LEFT in text) == unused


def test_unused_blocks_are_named_exactly_where_they_are_items():
    engine, asked = kv.engine("vllm"), kv.Request(64)
    for preset in presets():
        try:
            fp = kv.footprint(preset, asked, engine)
        except kv.CalculatorError:
            continue
        unused = any(item.row.tensor in (PHANTOM, UNUSED) for item in fp.items)
        assert (LEFT in " ".join(fp.assumptions)) == unused, preset.id


# v1/core/kv_cache_utils.py:get_request_block_hasher: "We only hash full blocks"
@pytest.mark.parametrize(
    ("name", "prefix", "says"),
    [
        ("llama-3-8b", 50, "Of the 50 tokens that are the same, vLLM shares whole blocks of 16 "
         "only: 48 tokens"),
        ("llama-3-8b", 15, "whole blocks of 16 only: 0 tokens"),
        ("qwen3-next-80b", 1_000, "whole blocks of 576 only: 576 tokens"),
        ("llama-3-8b", 48, None),
        ("llama-3-8b", 0, None),
    ],
)  # fmt: skip
def test_a_shared_prefix_is_whole_blocks(name, prefix, says):
    text = assumed(name, batch_size=2, shared_prefix_len=prefix)
    assert says is None or says in text
    assert ("whole blocks of" in text) == (says is not None)


def test_a_shared_prefix_is_what_the_bytes_are():
    preset, engine = named("llama-3-8b"), kv.engine("vllm")
    sizes = {
        kv.footprint(preset, kv.Request(64, 2, shared_prefix_len=n), engine).num_bytes
        for n in (48, 50, 63)
    }
    assert len(sizes) == 1


# platforms/__init__.py:builtin_platform_plugins are tpu, cuda, rocm, xpu and cpu, which is macOS's
@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("m3-max-64gb", "vLLM has no GPU engine for"),
        ("t4-16gb", "platforms/cuda.py"),
        ("rtx-4090-24gb", "platforms/cuda.py"),
        ("a100-sxm-80gb", "platforms/cuda.py"),
        ("b200-sxm-180gb", "platforms/cuda.py"),
        ("mi300x-192gb", "platforms/rocm.py"),
        ("arc-pro-b60-24gb", "platforms/xpu.py"),
        ("gaudi-3-128gb", "only a package beside it"),
        ("tpu-v6e-32gb", "only a package beside it"),
        ("trainium2-96gb", "only a package beside it"),
    ],
)
def test_a_device_that_is_no_hopper_gpu_says_so(device, says):
    found = kv.load_device(device)
    (sentence,) = device_notes(found)
    assert says in sentence
    assert found.name in sentence
    assert "NVIDIA Hopper GPU" in sentence


# compute capability 9.0
@pytest.mark.parametrize(
    "device", ["h100-sxm-80gb", "h100-pcie-80gb", "h100-nvl-94gb", "h200-sxm-141gb", "gh200-96gb"]
)
def test_a_hopper_gpu_needs_no_note(device):
    assert device_notes(kv.load_device(device)) == ()


def test_a_typed_memory_is_taken_for_a_hopper_gpu():
    assert device_notes(kv.load_device("64 GB")) == ()
    assert "as on an NVIDIA Hopper GPU" in assumed(model(full=full()))


def test_vllms_budget_is_a_guide_for_other_engines():
    # config/cache.py:CacheConfig.gpu_memory_utilization is 0.92
    for notes, program in ((llamacpp_notes, "llama.cpp"), (transformers_notes, "transformers")):
        (sentence,) = notes(kv.load_device("h100"))
        assert "--gpu-memory-utilization, 0.92" in sentence
        assert f"for {program} they are only a guide" in sentence
        (sentence,) = notes(kv.load_device("m3-max-64gb"))
        assert "0.92" not in sentence  # its share is its own (presets/devices.toml)
