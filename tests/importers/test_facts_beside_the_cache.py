"""Element types, provenance and assumptions."""

import pytest

from calculator.errors import InvalidInput
from calculator.importers.hf_config import model_from_config
from tests.importers.configs import model


def test_each_figure_names_its_key():
    gpt2 = {"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768}
    spec = model_from_config(gpt2)
    found = dict(spec.provenance)
    assert found["num_hidden_layers"] == "n_layer"
    assert found["head_dim"] == "hidden_size / num_attention_heads"


def test_a_nested_figure_names_its_path():
    text = {"model_type": "qwen3_vl_text", "num_hidden_layers": 4, "num_attention_heads": 8,
                "num_key_value_heads": 2, "head_dim": 64}  # fmt: skip
    spec = model_from_config({"model_type": "qwen3_vl", "text_config": text})
    assert dict(spec.provenance)["head_dim"] == "text_config.head_dim"


def test_a_default_is_named_and_assumed():
    spec = model(model_type="gemma2", sliding_window=..., head_dim=256)
    assert dict(spec.provenance)["sliding_window"] == "default of model type gemma2"
    assert (
        "sliding_window is not in the configuration: 4096, the default of model type gemma2."
        in (spec.assumptions)
    )


def test_a_complete_file_needs_no_assumption():
    assert model().assumptions == ()


@pytest.mark.parametrize("missing", [..., None, "auto"])
def test_without_a_dtype_bf16_is_assumed(missing):
    spec = model(torch_dtype=missing)
    assert (spec.dtype, spec.assumptions) == (
        "bf16",
        ("The configuration names no dtype: bf16 is assumed.",),
    )


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
@pytest.mark.parametrize(
    ("name", "ours"), [("float16", "fp16"), ("torch.bfloat16", "bf16"), ("float32", "fp32")]
)
def test_dtype_under_either_key(key, name, ours):
    assert model(**({"torch_dtype": ...} | {key: name})).dtype == ours


def test_a_dtype_nobody_computes_in_is_refused():
    with pytest.raises(InvalidInput, match="torch_dtype is 'int3'"):
        model(torch_dtype="int3")


EIGHT_BIT = {"num_bits": 8, "type": "float", "dynamic": False}


@pytest.mark.parametrize(
    ("quantization", "cache"),
    [
        ({"kv_cache_scheme": EIGHT_BIT, "quant_algo": "NVFP4"}, "fp8"),  # Kimi-K2.6-NVFP4
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_scheme": None, "quant_method": "compressed-tensors"}, None),
        ({"quant_method": "fp8"}, None),
    ],
)
def test_the_checkpoint_may_name_its_caches_type(quantization, cache):
    assert model(quantization_config=quantization).kv_cache_dtype == cache


def test_a_cache_type_nobody_knows_is_refused():
    with pytest.raises(InvalidInput, match="kv_cache_quant_algo"):
        model(quantization_config={"kv_cache_quant_algo": "INT3"})


FOUR_BIT = {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}


@pytest.mark.parametrize(
    ("quantization", "weights"),
    [
        ({"quant_method": "fp8"}, "fp8"),  # DeepSeek-V3
        ({"quant_method": "mxfp4"}, "mxfp4"),  # gpt-oss
        ({"quant_algo": "NVFP4", "quant_method": "modelopt"}, "nvfp4"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": FOUR_BIT}}, "int4"),
        ({"quant_algo": "MIXED_PRECISION", "quant_method": "modelopt"}, None),
        ({}, None),
    ],
)
def test_weights_are_typed_where_it_is_unambiguous(quantization, weights):
    assert model(quantization_config=quantization).weights_dtype == weights


def test_experts_of_another_type_are_most_of_the_weights():  # deepseek-ai/DeepSeek-V4-Flash
    spec = model(quantization_config={"quant_method": "fp8"}, expert_dtype="fp4")
    assert spec.weights_dtype == "mxfp4"
