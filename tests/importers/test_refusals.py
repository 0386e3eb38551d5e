"""Never a confident wrong number: what is refused, and in which words."""

import pytest

from calculator.errors import CalculatorError, InvalidInput, UnsupportedModel
from calculator.importers.hf_config import model_from_config
from tests.importers.configs import config, counted, model

NOT_A_COUNT = [-32, 0, True, "32", 32.0, float("nan"), float("inf"), 1e30, 10**30, [32], {}]


@pytest.mark.parametrize("value", NOT_A_COUNT, ids=str)
@pytest.mark.parametrize(
    "field", ["num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size"]
)
def test_a_count_is_a_positive_whole_number(field, value):
    with pytest.raises(InvalidInput, match=field):
        model(**{field: value})


@pytest.mark.parametrize("model_type", ["llama", "gpt2", "gemma3_text", "mamba2", "zamba2"])
def test_the_number_of_layers_is_never_a_default(model_type):
    with pytest.raises(InvalidInput, match="num_hidden_layers is missing"):
        model(model_type=model_type, num_hidden_layers=...)


def test_key_value_heads_must_divide_heads():
    with pytest.raises(InvalidInput, match="num_key_value_heads is 3; it does not divide the 8"):
        model(num_key_value_heads=3)


@pytest.mark.parametrize("model_type", [..., None, ""])
def test_no_model_type_no_number(model_type):
    with pytest.raises(UnsupportedModel, match="model_type is missing"):
        model(model_type=model_type)


@pytest.mark.parametrize("model_type", ["lla\u202ema", "llama\x1b[31m", 7])
def test_a_model_type_is_a_name(model_type):
    with pytest.raises(UnsupportedModel, match="expected the name of an architecture") as caught:
        model(model_type=model_type)
    assert str(caught.value).isprintable()


def test_an_unknown_type_of_the_plain_kind_is_computed_as_an_assumption():
    spec = model(model_type="acme", rms_norm_eps=1e-5, rope_theta=5e5, vocab_size=1000)
    assert counted(spec) == {"full_attention": 4}
    assert any("acme is not known here" in sentence for sentence in spec.assumptions)


TOUCHING = {
    "memory_slots": 4096, "kv_merge_every": 3, "sliding_window": 4096, "ssm_state_magic": 128,
    "attention_chunk_size": 8192, "kv_lora_rank": 512, "conv_kernel": 4, "num_kv_shared_layers": 8,
    "layer_types": ["full_attention"] * 4, "index_topk": 2048, "compress_ratios": [4, 4, 4, 4],
    "linear_num_key_heads": 16, "cla_share_factor": 2, "global_attn_every_n_layers": 4,
    "block_configs": [{"attention": {"n_heads_in_group": 8}}], "use_mqa": True,
    "attn_cfg": {"type": "mla"}, "recurrent_width": 2560, "hybrid_override_pattern": "M*M*",
}  # fmt: skip


@pytest.mark.parametrize("key", TOUCHING)
def test_an_unknown_type_with_a_key_that_could_touch_the_cache_is_refused(key):
    with pytest.raises(UnsupportedModel) as caught:
        model(model_type="nova_hybrid", **{key: TOUCHING[key]})
    error = caught.value
    assert any(unknown.startswith(key) for unknown in error.unknown_keys)
    assert (error.model_type, "num_hidden_layers") == ("nova_hybrid", error.keys_read[0][0])


@pytest.mark.parametrize("value", [None, False, 0, [], {}])
def test_a_key_that_is_off_touches_nothing(value):
    assert model(model_type="acme", sliding_window=value).num_hidden_layers == 4


@pytest.mark.parametrize("key", ["memory_slots", "sliding_window", "kv_lora_rank", "layer_stride"])
def test_a_known_type_with_a_key_it_does_not_understand_is_refused(key):
    with pytest.raises(UnsupportedModel, match=f"{key} could change the size"):
        model(**{key: 8})


def test_a_wrapper_is_watched_as_well():
    with pytest.raises(UnsupportedModel, match="memory_slots"):
        model_from_config({"model_type": "acme_vl", "text_config": config(), "memory_slots": 8})


def test_a_layer_type_nobody_knows_is_named():
    with pytest.raises(UnsupportedModel, match="layer_types is 'moonlight'"):
        model(model_type="gemma2", layer_types=["moonlight"] * 4, sliding_window=8)


def test_layer_types_must_name_each_layer():
    with pytest.raises(InvalidInput, match="layer_types has 3 entries for 4 layers"):
        model(model_type="gemma2", layer_types=["full_attention"] * 3)


@pytest.mark.parametrize("given", [None, 5, "text", [], [("a", 1)], {1: 2}])
def test_what_is_no_mapping_is_refused(given):
    with pytest.raises(CalculatorError):
        model_from_config(given)


@pytest.mark.parametrize(
    "key", ["spatial_merge_size", "downsample_ratio", "projection_dim", "image_token_index"]
)
def test_how_an_image_becomes_tokens_is_not_the_caches_business(key):
    assert model_from_config({"model_type": "acme_vl", "text_config": config(), key: 2})


@pytest.mark.parametrize("key", ["prompt_length", "num_init_tokens", "kv_residual_length"])
def test_a_harmless_word_does_not_excuse_one_about_the_cache(key):
    with pytest.raises(UnsupportedModel, match=key):
        model(model_type="acme", **{key: 32})


def test_an_unknown_way_to_quantise_a_cache_is_refused():
    with pytest.raises(InvalidInput, match="kv_cache_bits is 3"):
        model(quantization_config={"kv_cache_bits": 3})


@pytest.mark.parametrize("inner", [{1: 2}, [1], "text", 3])
def test_a_nested_object_is_an_object(inner):
    with pytest.raises(InvalidInput, match="attn_config is"):
        model(model_type="mpt", attn_config=inner)
