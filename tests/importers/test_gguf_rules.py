"""What llama.cpp hard-codes for an architecture, and what old or unusual files leave open."""

import pytest

from calculator.errors import InvalidInput, UnsupportedModel
from calculator.importers.gguf import model_from_gguf
from calculator.layers.latent import LatentAttention
from calculator.layers.recurrent import Mamba1, Wkv
from tests.importers.gguf_files import LLAMA, write

F, S, C = "full_attention", "sliding_attention", "chunked_attention"
WINDOW = {"attention.sliding_window": 512}


def model(tmp_path, architecture, figures, **more):
    return model_from_gguf(write(tmp_path / "model.gguf", architecture, figures, **more))


def types(spec):
    return "".join({F: "F", S: "S", C: "C"}.get(t, t[0]) for t in spec.every_layer_type())


@pytest.mark.parametrize(
    ("architecture", "figures", "expected"),
    [
        ("gemma2", {}, "SFSFSFSF"),
        ("gemma3", WINDOW, "SSSSSFSS"),
        ("gemma3", {}, "FFFFFFFF"),
        ("gemma3n", WINDOW, "SSSSFSSS"),
        ("gpt-oss", WINDOW, "SFSFSFSF"),
        ("cohere2", WINDOW, "SSSFSSSF"),
        ("cohere2moe", WINDOW, "FSSSFSSS"),
        ("smallthinker", WINDOW, "FSSSFSSS"),
        ("smallthinker", {}, "FFFFFFFF"),
        ("olmo2", {}, "FFFFFFFF"),
        ("olmo2", WINDOW, "SSSFSSSF"),
        ("plamo3", WINDOW, "SSSSSSSF"),
        ("exaone-moe", {}, "SSSFSSSF"),
        ("exaone4", {}, "FFFFFFFF"),
        ("llama4", {}, "CCCFCCCF"),
        ("llama4", {"attention.sliding_window": 0}, "FFFFFFFF"),
        ("phi3", WINDOW, "SSSSSSSS"),
        ("phi3", {"attention.sliding_window": 0}, "FFFFFFFF"),
    ],
)
def test_patterns_that_llama_cpp_hard_codes(tmp_path, architecture, figures, expected):
    assert types(model(tmp_path, architecture, LLAMA | {"block_count": 8} | figures)) == expected


@pytest.mark.parametrize("pattern", [[True, False, False, True], 2])
def test_a_pattern_in_the_file_goes_before_the_hard_coded_one(tmp_path, pattern):
    figures = LLAMA | WINDOW | {"attention.sliding_window_pattern": pattern}
    expected = "SFFS" if isinstance(pattern, list) else "SFSF"
    assert types(model(tmp_path, "gemma3", figures)) == expected


def test_a_list_of_windows_shorter_than_the_layers_is_refused(tmp_path):
    figures = LLAMA | WINDOW | {"attention.sliding_window_pattern": [True, False]}
    with pytest.raises(InvalidInput, match="has 2 entries for 4 layers"):
        model(tmp_path, "gemma3", figures)


def test_an_architecture_whose_pattern_must_be_listed_is_refused_without(tmp_path):
    with pytest.raises(InvalidInput, match="sliding_window_pattern is missing"):
        model(tmp_path, "mimo2", LLAMA | WINDOW)


def test_a_window_that_the_file_does_not_carry_is_an_assumption(tmp_path):
    spec = model(tmp_path, "starcoder2", LLAMA)
    assert any("names no sliding window" in note for note in spec.assumptions)


def test_layers_that_only_predict_further_tokens_keep_nothing(tmp_path):
    spec = model(tmp_path, "glm4moe", LLAMA | {"nextn_predict_layers": 1})
    assert spec.num_hidden_layers == 3


def test_shared_layers_keep_nothing(tmp_path):
    figures = LLAMA | WINDOW | {"attention.shared_kv_layers": 2}
    spec = model(tmp_path, "gemma3n", figures)
    assert dict(spec.caches)["shared"] == ()
    assert spec.every_layer_type().count("shared") == 2


def test_windowed_layers_may_have_widths_of_their_own(tmp_path):
    figures = LLAMA | WINDOW | {
        "attention.sliding_window_pattern": [True, False, True, False],
        "attention.key_length": 64, "attention.value_length": 64,
        "attention.key_length_swa": 32, "attention.value_length_swa": 32,
    }  # fmt: skip
    caches = dict(model(tmp_path, "gemma4", figures).caches)
    assert (caches[F][0].head_dim, caches[S][0].head_dim) == (64, 32)


MLA = LLAMA | {"attention.kv_lora_rank": 512, "rope.dimension_count": 64}
LATENT = LatentAttention("latent_attention", 512, 64, 8, 128, 128)


def test_latent_keys_of_new_and_of_old_files_describe_the_same_cache(tmp_path):
    new = MLA | {
        "attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512,
        "attention.key_length_mla": 192, "attention.value_length_mla": 128,
    }  # fmt: skip
    old = MLA | {
        "attention.head_count_kv": 8,
        "attention.key_length": 192,
        "attention.value_length": 128,
    }
    assert dict(model(tmp_path, "deepseek2", new).caches)[F] == (LATENT,)
    spec = model(tmp_path, "deepseek2", old)
    assert dict(spec.caches)[F] == (LATENT,)
    assert any("8 expanded heads" in note for note in spec.assumptions)


def test_a_latent_of_another_width_than_its_rank_and_rope_is_refused(tmp_path):
    figures = MLA | {"attention.key_length": 500, "attention.key_length_mla": 192}
    with pytest.raises(UnsupportedModel, match=r"key_length is 500; expected 512 \+ 64"):
        model(tmp_path, "deepseek2", figures)


@pytest.mark.parametrize(
    ("architecture", "shift", "expected"),
    [("rwkv6", {}, 2), ("rwkv7", {}, 2), ("arwkv7", {"token_shift_count": 1}, 1)],
)
def test_wkv_keeps_a_matrix_a_head_and_shifted_tokens(tmp_path, architecture, shift, expected):
    figures = {"block_count": 2, "embedding_length": 256, "wkv.head_size": 64,
               "attention.head_count": 0} | shift  # fmt: skip
    spec = model(tmp_path, architecture, figures)
    assert dict(spec.caches)["linear_attention"] == (Wkv("wkv", 256, 64, expected),)
    # shift_count × 256 × 2 B (fp16) + 4 heads × 64² × 4 B a layer
    assert sum(t.heads * t.width for t in spec.caches[0][1][0].tensors()) == 256 + 4 * 64 * 64


def test_plamo2_convolves_over_x_alone(tmp_path):
    figures = {
        "block_count": 2, "embedding_length": 256, "attention.head_count": [0, 8],
        "attention.head_count_kv": [0, 2], "attention.key_length": 32, "attention.value_length": 32,
        "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.conv_kernel": 4,
        "ssm.time_step_rank": 8, "ssm.group_count": 0,
    }  # fmt: skip
    spec = model(tmp_path, "plamo2", figures)
    assert dict(spec.caches)["linear_attention"] == (Mamba1("mamba1", 512, 16, 4),)


def test_compressed_layers_by_their_ratios(tmp_path):
    figures = LLAMA | WINDOW | {
        "attention.head_count_kv": 1, "attention.key_length": 64,
        "attention.indexer.key_length": 32, "attention.compress_ratios": [0, 4, 128, 4, 0],
    }  # fmt: skip
    spec = model(tmp_path, "deepseek4", figures)
    ratios = [dict(spec.caches)[t][0].compress_ratio for t in spec.every_layer_type()]
    assert ratios == [None, 4, 128, 4]
    with pytest.raises(UnsupportedModel, match="0, 4 and 128"):
        model(tmp_path, "deepseek4", figures | {"attention.compress_ratios": [0, 4, 8, 4]})


@pytest.mark.parametrize("listed", [True, False])
def test_early_deepseek4_files_name_blocks_that_they_do_not_have(tmp_path, listed):
    figures = LLAMA | WINDOW | {
        "attention.head_count_kv": 1, "attention.key_length": 64, "nextn_predict_layers": 1,
        "attention.indexer.key_length": 32, "attention.compress_ratios": [0, 4, 128, 4],
    }  # fmt: skip
    tensors = {"blk.3.nextn.eh_proj.weight": ((4, 32), "F16")} if listed else {}
    spec = model(tmp_path, "deepseek4", figures, tensors=tensors)
    assert spec.num_hidden_layers == (3 if listed else 4)


def test_openelm_differs_by_layer(tmp_path):
    figures = LLAMA | {
        "attention.head_count": [8, 12, 8, 8], "attention.head_count_kv": [2, 3, 2, 2],
        "attention.key_length": 32, "attention.value_length": 32,
    }  # fmt: skip
    spec = model(tmp_path, "openelm", figures)
    heads = [dict(spec.caches)[t][0].num_key_value_heads for t in spec.every_layer_type()]
    assert heads == [2, 3, 2, 2]


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"attention.head_count_kv": 3}, "does not divide the 8 attention heads"),
        ({"attention.head_count_kv": 0}, "0 in every layer"),
        ({"attention.head_count_kv": [2, 2]}, "has 2 entries for 4 layers"),
        ({"embedding_length": 100}, "no multiple of the 8"),
        ({"attention.key_length": 0}, "expected 1 to"),
        ({"block_count": 0}, "block_count is 0"),
        ({"block_count": 2_000_000}, "block_count is 2000000"),
        ({"nextn_predict_layers": 4}, "nothing but a draft model"),
        ({"block_count": 4.0}, "expected a whole number"),
        ({"block_count": True}, "expected a whole number"),
        ({"attention.head_count": "8"}, "expected a whole number"),
    ],
)
def test_figures_that_cannot_be_right_are_named(tmp_path, figures, message):
    with pytest.raises((InvalidInput, UnsupportedModel), match=message):
        model(tmp_path, "llama", LLAMA | figures)


@pytest.mark.parametrize("key", ["block_count", "embedding_length", "attention.head_count"])
def test_a_missing_figure_is_named(tmp_path, key):
    figures = {name: value for name, value in LLAMA.items() if name != key}
    figures.pop("attention.head_count_kv")
    with pytest.raises(InvalidInput, match=rf"llama\.{key} is missing"):
        model(tmp_path, "llama", figures)
