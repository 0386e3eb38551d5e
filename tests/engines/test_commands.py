"""The command that starts an engine for a scenario."""

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
