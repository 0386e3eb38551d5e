"""Steps from the ideal footprint to an engine's."""

import pytest

import calculator as kv
from calculator.differences import differences, ideal_of

REQUEST = kv.Request(20_005, 2)


def of(model: str, engine: str, **options):
    return kv.footprint(kv.load_model(model), REQUEST, kv.engine(engine, **options))


@pytest.mark.parametrize("engine", ["transformers", "vllm", "llama.cpp"])
@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "gemma-3-27b", "deepseek-v3", "qwen3-next-80b", "gpt-oss-20b"]
)
def test_steps_add_up_to_both_totals(model, engine):
    found = of(model, engine)
    steps = differences(found)
    assert sum(step.engine_bytes for step in steps) == found.num_bytes
    assert sum(step.ideal_bytes for step in steps) == ideal_of(found).num_bytes
    assert all(step.why for step in steps)


def test_ideal_has_no_step():
    assert differences(of("gemma-3-27b", "ideal")) == ()


def test_a_window_kept_in_blocks_says_so():
    sliding = differences(of("gemma-3-27b", "vllm"))[0]
    assert sliding.label == "Sliding window"
    assert "blocks × 16" in sliding.why
    assert "phantom layers" in sliding.why


def test_a_window_one_token_short_says_so():
    sliding = differences(of("gemma-3-27b", "transformers"))[0]
    assert sliding.why == "min(T, 1,023) = 1,023 slots instead of min(T, 1,024) = 1,024"


def test_types_are_compared_as_the_engine_decides_them():
    full = differences(of("llama-3.1-8b", "llama.cpp", type_k="q8_0", type_v="q4_0"))[0]
    assert ideal_of(of("llama-3.1-8b", "llama.cpp", type_k="q8_0", type_v="q4_0")).dtypes == (
        "q8_0",
        "q4_0",
    )
    assert "instead of" in full.why


def test_slots_of_all_sequences_together_read_as_such():
    request = kv.Request(seq_lens=(40, 80))
    padded = kv.footprint(kv.load_model("llama-3.1-8b"), request, kv.engine("transformers"))
    assert differences(padded)[0].why == "160 slots in all instead of 120"
