"""The command that starts an engine for a scenario."""

import pytest

import calculator as kv


def command(model: str, engine: kv.engine, request: kv.Request, **spread) -> str:
    return engine.command(kv.load_model(model), request, kv.Parallelism(**spread), 0.92)


def test_vllm_serve_has_the_flags_of_the_scenario():
    engine = kv.engine("vllm", block_size=32, enable_prefix_caching=False)
    request = kv.Request(32_768, 6, key_dtype="fp8", value_dtype="fp8")
    assert command("gemma-3-27b", engine, request, tensor_parallel_size=2) == (
        "vllm serve google/gemma-3-27b-it --max-model-len 32768 --max-num-seqs 6"
        " --tensor-parallel-size 2 --kv-cache-dtype fp8 --gpu-memory-utilization 0.92"
        " --max-num-batched-tokens 8192 --block-size 32 --no-enable-prefix-caching"
    )


def test_llama_server_counts_the_context_of_all_sequences():
    engine = kv.engine("llama.cpp", type_k="q8_0", type_v="q4_0", swa_full=True)
    assert command("llama-3-8b", engine, kv.Request(8_192, 4)) == (
        "llama-server -m model.gguf -c 32768 -np 4 -ctk q8_0 -ctv q4_0 -ub 512 -fa on --swa-full"
    )


def test_ideal_is_no_program():
    assert command("llama-3-8b", kv.engine("ideal"), kv.Request(1)) == ""


# vLLM 0.33.0: config/cache.py:CacheDType, `float16` and `bfloat16` but no short names; auto is what
# the checkpoint says of its cache (utils/torch_utils.py:resolve_kv_cache_dtype_string)
@pytest.mark.parametrize(
    ("model", "flags", "asked", "flag"),
    [
        ("llama-3-8b", {"kv_cache_dtype": "bf16"}, None, "bfloat16"),
        ("llama-2-7b", {"kv_cache_dtype": "fp16"}, None, "float16"),
        ("llama-3-8b", {"kv_cache_dtype": "fp8_e4m3"}, None, "fp8_e4m3"),
        ("llama-2-7b", {}, "fp16", None),
        ("llama-3-8b", {}, "fp8", "fp8"),
        ("llama-3-8b", {}, "bf16", None),
        ("qwen3.6-27b-nvfp4", {}, "bf16", "bfloat16"),
        ("qwen3.6-27b-nvfp4", {}, "fp8", None),
    ],
)
def test_vllms_own_name_of_the_cache_type(model, flags, asked, flag):
    request = kv.Request(16, key_dtype=asked, value_dtype=asked)
    words = command(model, kv.engine("vllm", **flags), request).split()
    assert ("--kv-cache-dtype" in words) == (flag is not None)
    assert flag is None or words[words.index("--kv-cache-dtype") + 1] == flag


# vLLM 0.33.0, config/model.py:_get_and_verify_max_len raises above the configuration's maximum
@pytest.mark.parametrize(
    ("model", "engine", "tokens", "allowed"),
    [
        ("llama-3-8b", {}, 8_192, False),
        ("llama-3-8b", {}, 8_193, True),
        ("llama-3-8b", {"max_model_len": 16_384}, 16, True),
        ("mamba-2.8b", {}, 1_000_000, False),  # its configuration names no maximum
    ],
)
def test_a_context_above_the_models_maximum_needs_a_variable(model, engine, tokens, allowed):
    printed = command(model, kv.engine("vllm", **engine), kv.Request(tokens))
    start = "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve " if allowed else "vllm serve "
    assert printed.startswith(start)


# vLLM 0.33.0, engine/arg_utils.py:EngineArgs.add_cli_args; a switch is also --no-… there
# (`_compute_kwargs`: BooleanOptionalAction)
OF_THE_PARSER = {
    "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--kv-cache-dtype",
    "--gpu-memory-utilization", "--tensor-parallel-size", "--pipeline-parallel-size",
    "--data-parallel-size", "--decode-context-parallel-size", "--block-size",
    "--enable-prefix-caching", "--attention-backend", "--mamba-cache-dtype",
    "--mamba-ssm-cache-dtype", "--gdn-prefill-backend", "--disable-hybrid-kv-cache-manager",
    "--num-gpu-blocks-override", "--async-scheduling",
}  # fmt: skip
SWITCHES = {"--enable-prefix-caching", "--disable-hybrid-kv-cache-manager", "--async-scheduling"}


def test_every_flag_is_one_of_vllms_parser():
    engine = kv.engine(
        "vllm", block_size=32, kv_cache_dtype="fp8", max_num_batched_tokens=2_048,
        enable_prefix_caching=False, attention_backend="flashinfer", mamba_cache_dtype="float16",
        mamba_ssm_cache_dtype="float32", gdn_prefill_backend="triton", async_scheduling=False,
        disable_hybrid_kv_cache_manager=True, num_gpu_blocks_override=512, version="0.31.0",
        max_model_len=64,
    )  # fmt: skip
    spread = kv.Parallelism(8, 2, 2, 2)
    printed = engine.command(kv.load_model("llama-3-8b"), kv.Request(16, 2), spread, 0.9)
    found = {word for word in printed.split() if word.startswith("--")}
    negated = {f"--no-{flag.removeprefix('--')}" for flag in SWITCHES}
    assert found <= OF_THE_PARSER | negated
    assert len(found) == len(OF_THE_PARSER)
