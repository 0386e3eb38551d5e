"""The transformers engine: numbers that its real model code gave, and what it refuses."""

from __future__ import annotations

import pytest

import calculator as kv
from calculator.layers import layer_cache
from calculator.model import ModelSpec

ENGINE = kv.engine("transformers")


def model(*caches: dict[str, object], model_type: str = "test", dtype: str = "bf16") -> ModelSpec:
    return ModelSpec(
        id="test",
        name="Test",
        model_type=model_type,
        num_hidden_layers=1,
        layer_types=("layer",),
        caches=(("layer", tuple(layer_cache(**c) for c in caches)),),
        dtype=dtype,
    )


def num_bytes(spec: ModelSpec, seq_len: int, engine: object = ENGINE, **request: object) -> int:
    asked = kv.Request(seq_len=seq_len, **request)
    return kv.footprint(spec, asked, engine).num_bytes


# transformers 5.23.0 on the meta device: every model built at full size, prefill and one more token
MEASURED = [
    ("llama-3-8b", 8193, 1_073_872_896),
    ("llama-3-70b", 8193, 2_684_682_240),
    ("llama-3.1-405b", 8193, 4_228_374_528),
    ("mistral-7b-v0.1", 8193, 536_739_840),
    ("gemma-3-27b", 8193, 1_106_952_192),
    ("gpt-oss-20b", 8193, 204_472_320),
    ("deepseek-v3", 8193, 575_738_496),
    ("qwen3-next-80b", 8192, 279_183_360),
    ("qwen3-next-80b", 8193, 279_207_936),
]


@pytest.mark.parametrize(("preset", "seq_len", "expected"), MEASURED)
def test_presets_take_what_the_real_code_left_in_the_cache(preset, seq_len, expected):
    assert num_bytes(kv.load_model(preset), seq_len) == expected


SLIDING = {
    "kind": "sliding_attention",
    "num_key_value_heads": 1,
    "head_dim": 1,
    "sliding_window": 10,
}


@pytest.mark.parametrize(("seq_len", "slots"), [(1, 1), (8, 8), (9, 9), (10, 9), (500, 9)])
def test_a_window_keeps_one_token_less(seq_len, slots):
    assert num_bytes(model(SLIDING), seq_len) == 2 * slots * 2


def test_a_window_of_one_keeps_everything():
    # full[:, :, -1 + 1:, :] starts at 0
    assert num_bytes(model(SLIDING | {"sliding_window": 1}), 500) == 2 * 500 * 2


def test_a_chunk_is_kept_like_a_window():
    chunked = {
        "kind": "chunked_attention",
        "num_key_value_heads": 1,
        "head_dim": 1,
        "attention_chunk_size": 10,
    }
    assert num_bytes(model(chunked), 500) == 2 * 9 * 2


MAMBA2 = {
    "kind": "mamba2",
    "num_heads": 80,
    "head_dim": 64,
    "state_size": 128,
    "n_groups": 1,
    "conv_kernel": 4,
}


def test_mamba2_keeps_all_columns_in_its_type_and_states_in_fp32():
    # mamba2-2.7b: 170,524,672 B measured for 64 layers
    assert num_bytes(model(MAMBA2), 8192) * 64 == 170_524_672


def test_lightning_states_follow_minimax():
    lightning = {"kind": "lightning_attention", "num_attention_heads": 32, "head_dim": 128}
    assert num_bytes(model(lightning, model_type="minimax"), 5) == 32 * 128 * 128 * 2


@pytest.mark.parametrize(
    "cache",
    [
        {"kind": "lightning_attention", "num_attention_heads": 32, "head_dim": 128},
        {"kind": "wkv", "hidden_size": 128, "head_size": 64},
    ],
)
def test_layers_that_transformers_has_no_code_for_are_refused(cache):
    with pytest.raises(kv.UnsupportedModel, match="no model code"):
        num_bytes(model(cache), 5)


LATENT = {
    "kind": "latent_attention",
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "num_attention_heads": 128,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("5.14.1", 81_920), ("5.0.0", 81_920), ("5.15.0", 1152), ("5.23.0", 1152), (None, 1152)],
)
def test_mla_kept_every_head_before_5_15(version, expected):
    assert num_bytes(model(LATENT), 1, kv.engine("transformers", version=version)) == expected


@pytest.mark.parametrize("version", ["5.24.0", "4.57.1", "5", "five", "5.23.0.1", ""])
def test_versions_that_nobody_checked_are_refused(version):
    with pytest.raises(kv.InvalidInput, match="version"):
        kv.engine("transformers", version=version)


def test_an_older_version_refuses_kinds_whose_history_is_not_recorded():
    engine = kv.engine("transformers", version="5.20.0")
    with pytest.raises(kv.UnsupportedModel, match=r"5\.20\.0 keeps of mamba2"):
        num_bytes(model(MAMBA2), 8, engine)


def test_a_cache_it_does_not_have_is_refused_by_name():
    with pytest.raises(kv.InvalidInput, match="dynamite"):
        kv.engine("transformers", cache="dynamite")


def test_the_type_of_the_model_is_the_type_of_the_cache():
    full = model({"kind": "full_attention", "num_key_value_heads": 8, "head_dim": 64}, dtype="fp16")
    assert num_bytes(full, 10, key_dtype="fp16", value_dtype="fp16") == num_bytes(full, 10)
    with pytest.raises(kv.InvalidInput, match="value_dtype is fp8"):
        num_bytes(full, 10, value_dtype="fp8")


def test_a_quantised_cache_in_the_checkpoint_is_ignored_aloud():
    from dataclasses import replace

    spec = replace(kv.load_model("llama-3-8b"), kv_cache_dtype="fp8")
    fp = kv.footprint(spec, kv.Request(seq_len=8193), ENGINE)
    assert fp.num_bytes == 1_073_872_896
    assert any("fp8" in sentence for sentence in fp.assumptions)


def test_ragged_lengths_are_one_padded_batch():
    llama = kv.load_model("llama-3-8b")
    ragged = kv.footprint(llama, kv.Request(seq_lens=(5, 90, 7)), ENGINE)
    assert ragged.num_bytes == num_bytes(llama, 90, batch_size=3)
    assert any("padded" in sentence for sentence in ragged.assumptions)


@pytest.mark.parametrize("name", ["tensor_parallel_size", "pipeline_parallel_size"])
def test_devices_are_refused_until_they_are_computed(name):
    with pytest.raises(kv.InvalidInput, match=name):
        kv.footprint(
            kv.load_model("llama-3-8b"),
            kv.Request(seq_len=10),
            ENGINE,
            kv.Parallelism(**{name: 2}),
        )


def test_a_shared_prefix_is_refused():
    with pytest.raises(kv.InvalidInput, match="shared_prefix_len"):
        num_bytes(kv.load_model("llama-3-8b"), 10, batch_size=2, shared_prefix_len=5)


COMPRESSED = {
    "kind": "compressed_attention",
    "num_key_value_heads": 1,
    "head_dim": 512,
    "sliding_window": 128,
}


def test_deepseek_v4_keeps_the_group_it_is_filling():
    """23 layers with groups of 128, 20 with groups of 4 and an indexer: 59,882,496 B at 8,193."""
    heavy = num_bytes(model(COMPRESSED | {"compress_ratio": 128}), 8193)
    sparse = num_bytes(model(COMPRESSED | {"compress_ratio": 4, "index_head_dim": 128}), 8193)
    assert 23 * heavy + 20 * sparse == 59_882_496


def test_deepseek_v4_without_compression_keeps_its_keys_twice():
    assert num_bytes(model(COMPRESSED), 300) == 2 * 127 * 512 * 2


def test_every_number_names_where_it_was_read():
    assumed = kv.footprint(kv.load_model("gemma-3-27b"), kv.Request(seq_len=10), ENGINE).assumptions
    assert any("DynamicSlidingWindowLayer" in sentence for sentence in assumed)


def test_a_model_type_without_a_class_is_said_to_be_unchecked():
    found = kv.footprint(kv.load_model("kimi-k2"), kv.Request(8), kv.engine("transformers"))
    assert any("no class for model type kimi_k2" in a for a in found.assumptions)


def test_the_model_types_without_a_class_are_those_the_release_lacks():
    auto = pytest.importorskip("transformers.models.auto.configuration_auto")
    from calculator.engines.transformers import WITHOUT_CLASS
    from calculator.importers.hf_config.registry import FAMILIES

    read = set(FAMILIES) | {preset.model_type for preset in kv.presets()}
    assert read - set(auto.CONFIG_MAPPING_NAMES) == WITHOUT_CLASS
