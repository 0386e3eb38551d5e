"""What each family's configuration says of its layers, with the source of each rule."""

import pytest

from calculator.errors import UnsupportedModel
from calculator.importers.hf_config import model_from_config
from tests.importers.configs import cache_of, counted, model


def test_llama_shares_cached_heads():
    cache = cache_of(model(), "full_attention")
    assert (cache.num_key_value_heads, cache.head_dim) == (2, 64)


@pytest.mark.parametrize("head_dim", [None, ...])
def test_head_dim_null_or_absent_is_hidden_size_over_heads(head_dim):
    assert cache_of(model(head_dim=head_dim), "full_attention").head_dim == 64


def test_head_dim_in_the_file_wins():  # Qwen3-4B: head_dim 128, not 2560 / 32
    assert cache_of(model(model_type="qwen3", head_dim=128), "full_attention").head_dim == 128


def test_without_key_value_heads_each_head_is_cached():
    assert cache_of(model(num_key_value_heads=...), "full_attention").num_key_value_heads == 8


PATTERNS = {
    # configuration_mistral.py: a window on all layers, or none
    "mistral": ({"model_type": "mistral", "sliding_window": 128}, {"sliding_attention": 4}),
    "mistral v0.2": ({"model_type": "mistral", "sliding_window": None}, {"full_attention": 4}),
    # configuration_qwen2.py: off unless use_sliding_window, and then from max_window_layers on
    "qwen2, window off": (
        {"model_type": "qwen2", "sliding_window": 128, "max_window_layers": 2},
        {"full_attention": 4},
    ),
    "qwen2, window on": (
        {
            "model_type": "qwen2",
            "sliding_window": 128,
            "use_sliding_window": True,
            "max_window_layers": 3,
        },
        {"full_attention": 3, "sliding_attention": 1},
    ),
    # configuration_gemma2.py: every other layer
    "gemma2": (
        {"model_type": "gemma2", "sliding_window": 128},
        {"sliding_attention": 2, "full_attention": 2},
    ),
    # configuration_gemma3.py: every sixth layer is full, or every sliding_window_pattern-th
    "gemma3": (
        {"model_type": "gemma3_text", "num_hidden_layers": 12, "sliding_window": 128},
        {"sliding_attention": 10, "full_attention": 2},
    ),
    "gemma3, pattern 3": (
        {
            "model_type": "gemma3_text",
            "num_hidden_layers": 12,
            "sliding_window": 128,
            "sliding_window_pattern": 3,
        },
        {"sliding_attention": 8, "full_attention": 4},
    ),
    # configuration_gemma3n.py: the last num_kv_shared_layers keep nothing
    "gemma3n": (
        {
            "model_type": "gemma3n_text",
            "num_hidden_layers": 10,
            "num_kv_shared_layers": 5,
            "sliding_window": 64,
        },
        {"sliding_attention": 4, "full_attention": 1, "shared": 5},
    ),
    # configuration_llama4.py: chunks where there are rotary positions, three layers of four
    "llama4": (
        {"model_type": "llama4_text", "attention_chunk_size": 8192},
        {"chunked_attention": 3, "full_attention": 1},
    ),
    # configuration_gpt_oss.py: every other layer
    "gpt_oss": (
        {"model_type": "gpt_oss", "sliding_window": 128},
        {"sliding_attention": 2, "full_attention": 2},
    ),
    # configuration_olmo3.py: three of four
    "olmo3": (
        {"model_type": "olmo3", "sliding_window": 128},
        {"sliding_attention": 3, "full_attention": 1},
    ),
}


@pytest.mark.parametrize(("changes", "layers"), PATTERNS.values(), ids=PATTERNS)
def test_layer_pattern(changes, layers):
    assert counted(model(**changes)) == layers


def test_listed_layer_types_win_over_the_pattern():
    types = ["full_attention"] * 3 + ["sliding_attention"]
    spec = model(model_type="gemma2", sliding_window=128, layer_types=types)
    assert counted(spec) == {"full_attention": 3, "sliding_attention": 1}


def test_the_text_model_of_a_wrapper_is_read_and_never_the_vision_tower():
    vision = {"model_type": "siglip_vision_model", "num_hidden_layers": 27, "hidden_size": 1152}
    text = {
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "sliding_window": 128,
        "head_dim": 256,
    }
    spec = model_from_config({"model_type": "gemma3", "text_config": text, "vision_config": vision})
    assert (spec.model_type, spec.num_hidden_layers) == ("gemma3", 6)


def test_gemma_3_4b_publishes_no_head_counts():
    # google/gemma-3-4b-it; configuration_gemma3.py: 8 heads, 4 of them cached, of 256
    text = {"num_hidden_layers": 34, "hidden_size": 2560, "sliding_window": 1024}
    text["sliding_window_pattern"] = 6
    spec = model_from_config({"model_type": "gemma3", "text_config": text})
    cache = cache_of(spec, "full_attention")
    assert (cache.num_key_value_heads, cache.head_dim) == (4, 256)
    assert sum("default of model type gemma3_text" in a for a in spec.assumptions) == 3


def test_falcon_7b_caches_one_head_of_71():  # config.json of tiiuae/falcon-7b: multi_query
    spec = model(
        model_type="falcon",
        num_attention_heads=71,
        hidden_size=4544,
        multi_query=True,
        num_key_value_heads=...,
    )
    assert cache_of(spec, "full_attention").num_key_value_heads == 1


def test_starcoder_caches_one_head():  # configuration_gpt_bigcode.py: multi_query
    spec = model(
        model_type="gpt_bigcode", n_layer=40, n_head=48, n_embd=6144, num_hidden_layers=...,
        num_attention_heads=..., num_key_value_heads=..., hidden_size=...,
    )  # fmt: skip
    cache = cache_of(spec, "full_attention")
    assert (cache.num_key_value_heads, cache.head_dim) == (1, 128)


MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3", "kimi_k2"])
def test_latent_attention_keeps_one_latent_and_one_rope_key(model_type):
    cache = cache_of(model(model_type=model_type, **MLA), "full_attention")
    assert [t.width for t in cache.tensors()] == [512, 64]


def test_deepseek_v32_keeps_index_keys_too():
    spec = model(model_type="deepseek_v32", index_head_dim=128, index_topk=2048, **MLA)
    assert cache_of(spec, "indexed_attention", 1).index_head_dim == 128


def test_glm_5_keeps_index_keys_only_where_the_indexer_is_its_own():
    kinds = ["full", "shared", "shared", "full"]
    spec = model(model_type="glm_moe_dsa", index_head_dim=128, indexer_types=kinds, **MLA)
    assert counted(spec) == {"indexed_attention": 2, "shared_indexer": 2}


def test_deepseek_v4_compresses_by_ratio():  # compress_ratios: 0, 4 and 128 tokens an entry
    spec = model(
        model_type="deepseek_v4", num_attention_heads=64, num_key_value_heads=1, head_dim=512,
        sliding_window=128, index_head_dim=128, compress_ratios=[0, 4, 128, 4, 0],
    )  # fmt: skip
    assert counted(spec) == {
        "sliding_attention": 1,
        "compressed_sparse_attention": 2,
        "heavily_compressed_attention": 1,
    }


GATED = {
    "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 32,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip


def test_qwen3_next_has_full_attention_in_every_fourth_layer():
    spec = model(model_type="qwen3_next", head_dim=256, full_attention_interval=4, **GATED)
    assert counted(spec) == {"linear_attention": 3, "full_attention": 1}


def test_jamba_has_attention_in_one_layer_of_a_period():  # configuration_jamba.py
    spec = model(model_type="jamba", num_hidden_layers=8, attn_layer_period=8, attn_layer_offset=4)
    assert spec.every_layer_type().index("full_attention") == 4
    assert cache_of(spec, "linear_attention").intermediate_size == 1024


def test_nemotron_h_pattern_is_spelled_in_letters():
    spec = model(
        model_type="nemotron_h", hybrid_override_pattern="M*-E", mamba_num_heads=8,
        mamba_head_dim=64, ssm_state_size=128, n_groups=8, conv_kernel=4, head_dim=128,
    )  # fmt: skip
    assert spec.every_layer_type() == ("linear_attention", "full_attention", "mlp", "moe")


def test_kimi_linear_counts_its_layers_from_one():
    linear = {
        "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4,
        "kda_layers": [1, 2, 3], "full_attn_layers": [4],
    }  # fmt: skip
    spec = model(model_type="kimi_linear", linear_attn_config=linear, **MLA)
    assert spec.every_layer_type()[3] == "full_attention"


def test_gemma4_has_wider_heads_in_full_layers():  # google/gemma-4-26B-A4B: 2 heads of 512
    spec = model(
        model_type="gemma4_text", num_hidden_layers=6, head_dim=256, global_head_dim=512,
        num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=1024,
    )  # fmt: skip
    cache = cache_of(spec, "full_attention")
    assert (cache.num_key_value_heads, cache.head_dim) == (1, 512)


def test_whisper_keeps_the_encoder_too():
    spec = model(
        model_type="whisper", decoder_layers=32, decoder_attention_heads=20, d_model=1280,
        encoder_layers=32, encoder_attention_heads=20, num_hidden_layers=32,
        num_attention_heads=..., num_key_value_heads=..., hidden_size=...,
    )  # fmt: skip
    kinds = [cache.kind for cache in dict(spec.caches)["decoder"]]
    assert kinds == ["full_attention", "cross_attention"]


def test_llama_nemotron_says_of_each_layer_how_many_heads_share():
    blocks = [
        {"attention": {"n_heads_in_group": 8, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True}},
    ] * 2
    spec = model(model_type="nemotron-nas", num_key_value_heads=None, block_configs=blocks)
    assert counted(spec) == {"full_attention_of_1": 2, "mlp": 2}


TEXT = {
    "model_type": "qwen3", "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 64,
}  # fmt: skip
TOWER = {"num_hidden_layers": 27, "num_attention_heads": 16, "hidden_size": 1152}
WRAPPERS = {
    "text_config": {"text_config": TEXT},
    "llm_config": {"llm_config": TEXT},  # InternVL
    "language_config": {"language_config": TEXT},  # DeepSeek-VL2
    "thinker_config": {"thinker_config": {"text_config": TEXT, "audio_config": TOWER}},  # Omni
}


@pytest.mark.parametrize("inside", WRAPPERS.values(), ids=WRAPPERS)
def test_a_text_model_is_found_under_each_of_its_names(inside):
    spec = model_from_config({"model_type": "acme_vl", "vision_config": TOWER, **inside})
    assert (spec.num_hidden_layers, cache_of(spec, "full_attention").head_dim) == (4, 64)


def test_what_an_image_counts_as_is_said():  # google/gemma-3-27b-it: 256 tokens an image
    spec = model_from_config(
        {"model_type": "acme_vl", "text_config": TEXT, "vision_config": TOWER}
        | {"mm_tokens_per_image": 256}
    )
    assert "An image counts as 256 tokens of the sequence (mm_tokens_per_image)." in (
        spec.assumptions
    )


def test_an_encoder_keeps_nothing_and_a_decoder_made_of_it_does():
    bert = {"model_type": "bert", "num_key_value_heads": ...}
    assert dict(model(**bert).caches) == {"encoder": ()}
    assert counted(model(**bert, is_decoder=True)) == {"full_attention": 4}


def test_mimo_caches_twice_the_heads_in_its_windows():
    # modeling_mimo_v2_flash.py: num_key_value_heads * 2; configuration: sliding_window_size + 1
    spec = model(
        model_type="mimo_v2_flash", head_dim=192, v_head_dim=128, sliding_window_size=128,
        hybrid_layer_pattern=[0, 1, 1, 0],
    )  # fmt: skip
    cache = cache_of(spec, "sliding_attention")
    assert (cache.num_key_value_heads, cache.v_head_dim, cache.sliding_window) == (4, 128, 129)


@pytest.mark.parametrize("model_type", ["blt", "cpmant", "gemma4_assistant", "xlstm", "rwkv"])
def test_a_type_without_a_size_is_refused_with_the_reason(model_type):
    with pytest.raises(UnsupportedModel, match=f"{model_type} has no size to compute: "):
        model(model_type=model_type)


def test_a_wrapper_written_flat_is_read_as_its_text_model():
    # Qwen/Qwen2.5-VL-7B-Instruct names no text_config; a Gemma 3 so written keeps its pattern
    assert counted(model(model_type="qwen2_5_vl")) == {"full_attention": 4}
    flat = model(model_type="gemma3", num_hidden_layers=6, sliding_window=1024)
    assert counted(flat) == {"sliding_attention": 5, "full_attention": 1}


def test_an_assistant_is_refused_whatever_text_model_it_wraps():
    text = TEXT | {"model_type": "gemma4_unified_text", "num_kv_shared_layers": 2}
    with pytest.raises(UnsupportedModel, match="gemma4_unified_assistant has no size"):
        model_from_config({"model_type": "gemma4_unified_assistant", "text_config": text})
