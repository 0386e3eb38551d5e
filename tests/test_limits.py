"""What an engine's own options forbid is no fit, and searches stay true where sizes jump."""

import pytest

import calculator as kv
from calculator.charts.crossing import outgrows_weights
from calculator.charts.curves import against_context
from calculator.charts.grid import grid
from calculator.errors import InvalidInput
from calculator.fixes import fixes
from calculator.verdict import limits_text, verdict_sentence

LLAMA = kv.load_model("llama-3.1-8b")


def on(device, model, tokens, sequences=1, engine="ideal", parallelism=None, **options):
    return kv.capacity(
        kv.load_model(model), device=device, engine=kv.engine(engine, **options),
        request=kv.Request(seq_len=tokens, batch_size=sequences), parallelism=parallelism,
    )  # fmt: skip


FORBIDDEN = [
    # engine, model, tokens, sequences, options, what the sentence names
    ("llama.cpp", "gemma-3-4b", 100_000, 1, {"n_ctx": 32_768}, "more than the 32,768 cells"),
    ("llama.cpp", "llama-3.1-8b", 1_000, 64, {"n_seq_max": 4}, "more than n_seq_max, 4"),
    ("vllm", "llama-3.1-8b", 32_768, 1, {"num_gpu_blocks_override": 1_000}, "2,048 blocks"),
    ("vllm", "llama-3.1-8b", 32_768, 1, {"max_model_len": 4_096}, "more than max_model_len"),
    ("vllm", "llama-3.1-8b", 64, 10_000, {}, "max_num_batched_tokens, 8,192"),
]


@pytest.mark.parametrize(("engine", "model", "tokens", "sequences", "options", "named"), FORBIDDEN)
def test_what_options_forbid_does_not_fit(engine, model, tokens, sequences, options, named):
    found = on("h100-sxm-80gb", model, tokens, sequences, engine, **options)
    assert found.verdict == "does-not-fit"
    assert named in verdict_sentence(found)
    assert found.to_dict()["limit"]
    assert found.decided_by[0] == "engine's options"
    assert (found.max_batch_size.high or 0) < sequences or (found.max_seq_len.high or 0) < tokens


def test_a_map_forbids_what_the_options_forbid():
    found = on("h100-sxm-80gb", "gemma-3-4b", 100_000, engine="llama.cpp", n_ctx=32_768)
    chart = grid(found.footprint, found)
    for row in range(len(chart.batches)):
        for column, tokens in enumerate(chart.contexts):
            if tokens > 32_768:
                assert chart.verdict(row, column) == "does-not-fit"


def test_what_does_not_run_outgrows_nothing():
    found = on("h100-sxm-80gb", "gemma-3-4b", 100_000, engine="llama.cpp", n_ctx=32_768)
    crossing = outgrows_weights(found)
    assert crossing.tokens is None
    assert crossing.sequences is None or crossing.sequences > 1


def test_an_override_is_what_is_needed():
    found = on("h100-sxm-80gb", "llama-3.1-8b", 8_192, engine="vllm", num_gpu_blocks_override=9_000)
    assert found.needed_bytes_per_device == 9_000 * 2_097_152
    assert found.max_batch_size.low == found.max_batch_size.high == 8_999 // 512


@pytest.mark.parametrize("sequences", [1, 64])
@pytest.mark.parametrize("tokens", [8_192, 8_193, 16_384, 16_385, 20_000])
def test_a_chunk_counts_before_it_is_given_back(tokens, sequences):
    p = kv.Parallelism(tensor_parallel_size=4)
    shorter, found = (
        on("h200-sxm-141gb", "llama-4-scout", n, sequences, "vllm", p) for n in (tokens - 1, tokens)
    )
    assert shorter.needed_bytes_per_device <= found.needed_bytes_per_device
    assert found.max_seq_len.low <= found.max_seq_len.high


@pytest.mark.parametrize("tokens", [8_192, 16_384, 20_000])
def test_one_more_token_is_what_the_next_block_adds(tokens):
    engine, model = kv.engine("vllm"), kv.load_model("llama-4-scout")
    now, later = (kv.footprint(model, kv.Request(seq_len=n), engine) for n in (tokens, tokens + 16))
    assert later.num_bytes - now.num_bytes == 16 * now.bytes_per_token
    assert later.fixed_bytes == now.fixed_bytes


@pytest.mark.parametrize(
    "options",
    [
        {"axis_key": -1},
        {"axis_value": -1},
        {"q_group_size": 96},
        {"backend": "fp8"},
    ],
)
def test_groups_that_divide_only_some_lengths_have_a_verdict(options):
    tokens = 9_216
    found = on(
        "h100-sxm-80gb", "llama-3.1-8b", tokens, 1, "transformers", cache="quantized", **options
    )
    assert found.verdict == "fits"
    assert found.max_seq_len.low >= tokens
    assert found.max_batch_size.low > 1


def test_a_longer_maximum_than_asked_can_be_taken_back():
    found = on("rtx-4090-24gb", "llama-3.1-8b", 4_096, engine="vllm", max_model_len=131_072)
    assert found.verdict == "does-not-fit"
    assert "one request at its most" in limits_text(found)
    assert "--max-model-len 4096" in [fix.change for fix in fixes(found)]


def test_static_caches_draw_what_runs():
    found = on(
        "h100-sxm-80gb",
        "llama-3.1-8b",
        8_192,
        engine="transformers",
        cache="static",
        max_cache_len=65_536,
    )
    chart = against_context(found.footprint, found)
    own = next(line for line in chart.lines if line.own)
    assert all(tokens <= 65_536 for tokens, _ in own.points)


def test_offloaded_caches_have_no_verdict():
    with pytest.raises(InvalidInput, match="lies in host memory"):
        on("rtx-4090-24gb", "llama-3.1-8b", 8_192, engine="transformers", cache="offloaded")


@pytest.mark.parametrize(
    ("engine", "device", "said"),
    [
        ("vllm", "m3-max-64gb", "vLLM has no GPU engine"),
        ("vllm", "rtx-4090-24gb", "Hopper"),
        ("llama.cpp", "rtx-4090-24gb", "only a guide"),
        ("transformers", "h100-sxm-80gb", "only a guide"),
    ],
)
def test_what_a_device_changes_is_said(engine, device, said):
    found = on(device, "llama-3.1-8b", 8_192, engine=engine)
    assert said in " ".join(found.to_dict()["assumptions"])


def test_vllm_on_hopper_needs_no_word():
    found = on("h100-sxm-80gb", "llama-3.1-8b", 8_192, engine="vllm")
    assert not kv.engine("vllm").device_notes(found.budget.device)
