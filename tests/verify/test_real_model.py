"""The transformers engine's prediction against transformers' own model code, preset by preset."""

import os
import time

import pytest

import calculator as kv

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from calculator.importers.hf_config import model_from_config  # noqa: E402
from calculator.verify.hf_config_of import config_of, given_config  # noqa: E402
from calculator.verify.real_model import measured_only, real_model  # noqa: E402

# one of each way to cache; KVCALC_FULL=1 runs them all, in 3 to 10 minutes
SAMPLE = (
    "llama-3-8b", "gemma-3-4b", "gemma-3n-e4b", "gpt-oss-20b", "llama-4-scout", "deepseek-v2-lite",
    "deepseek-v3.2", "jamba-v0.1", "nemotron-nano-9b-v2", "zamba2-2.7b", "falcon-h1-7b",
    "lfm2-1.2b", "mamba-2.8b", "qwen3.5-27b", "flan-t5-xxl", "gpt2", "qwen3-vl-2b", "falcon-7b",
    "falcon-40b",
    "llama-3.2-11b-vision", "mimo-v2-flash",
)  # fmt: skip
EVERY = tuple(m.id for m in kv.presets())


def without_class() -> set[str]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return {m.id for m in kv.presets() if m.model_type not in CONFIG_MAPPING}


@pytest.mark.parametrize("preset", EVERY if os.environ.get("KVCALC_FULL") else SAMPLE)
def test_the_real_code_keeps_what_was_predicted(preset):
    if preset in without_class():
        pytest.skip("transformers has no such class, tested below")
    described = kv.load_model(preset)
    asked = kv.Request(70, 2, encoder_seq_len=9 if described.has_encoder else None)
    found = real_model(described, asked)
    assert found.predicted_bytes == found.measured.num_bytes > 0
    assert found.equal


@pytest.mark.parametrize("preset", EVERY)
def test_a_preset_is_rebuilt_as_itself_or_refused_by_name(preset):
    described = kv.load_model(preset)
    if preset in without_class():
        with pytest.raises(kv.UnsupportedModel, match="has no class"):
            config_of(described)
        return
    config = config_of(described)
    assert str(config.dtype).removeprefix("torch.") in ("bfloat16", "float16", "float32")


def test_at_most_a_dozen_presets_have_no_class():
    assert len(without_class()) == 11


def test_a_sliding_layer_still_holds_the_prompt_after_one_pass():
    """The cache reports W − 1 tokens; the storage they are a view of is the whole prompt."""
    found = real_model(kv.load_model("mistral-7b-v0.1"), kv.Request(8192))
    assert found.measured.num_bytes == 536_739_840  # 4,095 of 131,072 B
    assert found.measured.storage_bytes == 1_073_741_824  # 8,192 of them


def test_a_loop_over_tokens_is_run_shorter_and_said():
    found = real_model(kv.load_model("jamba-v0.1"), kv.Request(4096))
    assert (found.seq_len, found.equal) == (24, True)
    assert "24 tokens and not 4,096" in " ".join(found.notes)


def test_ragged_sequences_are_one_padded_batch():
    found = real_model(kv.load_model("smollm2-135m"), kv.Request(seq_lens=(10, 50)))
    assert (found.seq_len, found.batch_size, found.equal) == (50, 2, True)


TINY = {
    "model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 99, "torch_dtype": "float16",
}  # fmt: skip


def test_a_pasted_configuration_is_used_as_it_is():
    config = given_config(TINY)
    assert (config.hidden_size, config.intermediate_size, config.vocab_size) == (64, 96, 99)
    found = real_model(model_from_config(TINY), kv.Request(40), config=TINY)
    assert found.measured.num_bytes == 3 * 2 * 40 * 2 * 16 * 2 == found.predicted_bytes


def test_a_configuration_the_importer_refuses_is_measured_beside_no_rule():
    refused = {**TINY, "kv_share_every": 2}
    with pytest.raises(kv.UnsupportedModel):
        model_from_config(refused)
    found = measured_only(refused, 40, 2)
    assert (found.predicted_bytes, found.equal) == (None, None)
    assert found.measured.num_bytes == 2 * 3 * 2 * 40 * 2 * 16 * 2
    assert f"transformers {transformers.__version__}, not from a rule" in found.notes[0]


def test_falcons_newer_form_caches_every_query_head():
    """Its code copies two cached heads to the four query heads before it caches them."""
    config = {
        "model_type": "falcon", "num_hidden_layers": 3, "hidden_size": 64, "vocab_size": 99,
        "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": True,
        "dtype": "bfloat16",
    }  # fmt: skip
    found = real_model(model_from_config(config), kv.Request(40), config=config)
    assert found.measured.num_bytes == 3 * 2 * 40 * 4 * 16 * 2
    assert found.equal


def test_falcon_40b_caches_8_heads_and_in_transformers_128():
    falcon = kv.load_model("falcon-40b")
    assert kv.footprint(falcon, kv.Request(9)).num_bytes == 2 * 60 * 9 * 8 * 64 * 2
    found = kv.footprint(falcon, kv.Request(9), kv.engine("transformers"))
    assert found.num_bytes == 2 * 60 * 9 * 128 * 64 * 2


def test_code_that_looks_at_values_runs_as_a_twin_on_cpu():
    config = {
        "model_type": "jetmoe", "num_hidden_layers": 2, "hidden_size": 64, "kv_channels": 16,
        "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
        "intermediate_size": 5632, "vocab_size": 32000, "dtype": "bfloat16",
    }  # fmt: skip
    found = measured_only(config, 10)
    assert found.device == "cpu"
    # measured_only says what the code kept: top-k key-value projections, each head width 16
    assert found.measured.num_bytes % (2 * 2 * 10 * 16 * 2) == 0
    assert "A twin on CPU" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "no_such"}, "has no class for model type no_such"),
        ({}, "has no class for model type None"),
        ({**TINY, "num_hidden_layers": "many"}, "refuses this file"),
        ({**TINY, "num_attention_heads": 0}, "refuses this file|does not run"),
        ({"model_type": "blt"}, "cannot be measured: bytes are grouped"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(config, reason):
    with pytest.raises(kv.UnsupportedModel, match=reason):
        measured_only(config, 10)


@pytest.mark.skipif(not os.environ.get("KVCALC_FULL"), reason="timed; KVCALC_FULL=1 runs it")
def test_llama_3_1_405b_takes_less_than_20_seconds():
    start = time.process_time()
    assert real_model(kv.load_model("llama-3.1-405b"), kv.Request(8192)).equal
    assert time.process_time() - start < 20
