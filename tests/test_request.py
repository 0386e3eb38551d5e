"""Requests that cannot be, and those that can."""

import math

import pytest

import calculator as kv
from tests.models import full, model, plain


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "seq_len is missing"),
        ({"seq_len": 0}, "seq_len is 0"),
        ({"seq_len": -5}, "seq_len is -5"),
        ({"seq_len": math.nan}, "seq_len is nan"),
        ({"seq_len": 1.5}, "seq_len is 1.5"),
        ({"seq_len": "8192"}, "seq_len is '8192'"),
        ({"seq_len": True}, "seq_len is True"),
        ({"seq_len": 10**30}, "seq_len is 1000000"),
        ({"seq_len": 10**5000}, "more than 60 digits"),
        ({"seq_len": 1, "batch_size": 0}, "batch_size is 0"),
        ({"seq_lens": ()}, "seq_lens is empty"),
        ({"seq_lens": (1, -1)}, "seq_lens is -1"),
        ({"seq_lens": (1, 2), "seq_len": 3}, "beside"),
        ({"seq_len": 8, "key_dtype": "q9"}, "key_dtype is 'q9'"),
        ({"seq_len": 8, "shared_prefix_len": 9}, "shared_prefix_len is 9"),
        ({"seq_len": 8, "shared_prefix_len": -1}, "shared_prefix_len is -1"),
        ({"seq_len": 8, "encoder_seq_len": 0}, "encoder_seq_len is 0"),
    ],
)
def test_an_impossible_request_names_field_and_value(fields, named):
    with pytest.raises(kv.InvalidInput, match=named):
        kv.Request(**fields)


def test_a_context_beyond_the_maximum_is_computed_and_marked():
    model_8k = kv.load_model("llama-3-8b")
    found = kv.footprint(model_8k, kv.Request(16_384))
    assert found.num_bytes == 2 * 1_073_741_824
    assert any("beyond the model's trained maximum of 8,192" in a for a in found.assumptions)


def test_auto_type_is_the_models_and_said_so():
    found = kv.footprint(plain(1, 1, 8, dtype="fp32"), kv.Request(1))
    assert found.num_bytes == 2 * 8 * 4
    assert found.assumptions[0].startswith("Cache type auto: fp32")


def test_a_type_asked_for_is_no_assumption():
    found = kv.footprint(plain(1, 1, 8), kv.Request(1, key_dtype="fp8", value_dtype="fp8"))
    assert not any("auto" in a for a in found.assumptions)


def test_a_shared_prefix_is_stored_once():
    request = kv.Request(seq_lens=(100, 150, 200), shared_prefix_len=60)
    found = kv.footprint(model(full=full(1, 1)), request)
    assert found.num_bytes == 2 * 2 * (60 + 40 + 90 + 140)


def test_a_window_shares_of_the_prefix_what_the_shortest_sequence_still_sees():
    window = {"kind": "sliding_attention", "num_key_value_heads": 1, "head_dim": 1}
    request = kv.Request(seq_lens=(100, 110), shared_prefix_len=95)
    found = kv.footprint(model(w=window | {"sliding_window": 20}), request)
    assert found.num_bytes == 2 * 2 * (20 + 20 - 5)  # tokens 90 to 94 are in both windows


def test_bytes_per_token_of_a_stride_is_the_average():
    cache = {
        "kind": "compressed_attention", "num_key_value_heads": 1, "head_dim": 512,
        "sliding_window": 128, "compress_ratio": 4, "index_head_dim": 128,
    }  # fmt: skip
    found = kv.footprint(model(c=cache), kv.Request(1_000))
    assert found.bytes_per_token == (512 + 128) * 2 // 4


MODEL, ASKED = kv.load_model("llama-3-8b"), kv.Request(8192)
CALLS = [
    (kv.footprint, ("llama-3-8b", ASKED), {}, "model", "load_model('llama-3-8b')"),
    (kv.footprint, (MODEL, 8192), {}, "request", "Request(8192)"),
    (kv.footprint, (MODEL, ASKED), {"engine": "vllm"}, "engine", "engine('vllm')"),
    (kv.footprint, (MODEL, ASKED), {"parallelism": 8}, "parallelism", "Parallelism(8)"),
    (kv.footprint, (MODEL, ASKED), {"engine": None}, "engine", "engine(…)"),
    (kv.sweep, ("llama-3-8b", [1], [1]), {}, "model", "load_model('llama-3-8b')"),
    (kv.sweep, (MODEL, [1], [1]), {"request": 5}, "request", "Request(5)"),
    (kv.sweep, (MODEL, [1], [1]), {"engine": "vllm"}, "engine", "engine('vllm')"),
    (kv.sweep, (MODEL, 8192, [1]), {}, "seq_lens", "a list of numbers"),
    (kv.explain, ("llama-3-8b",), {}, "footprint", "footprint(model, request)"),
    (kv.engine, ("llama.cpp",), {"profile": ["ollama"]}, "profile", "ollama"),
]


@pytest.mark.parametrize(("function", "args", "options", "field", "expected"), CALLS)
def test_an_argument_of_another_kind_is_named(function, args, options, field, expected):
    with pytest.raises(kv.InvalidInput) as refusal:
        function(*args, **options)
    assert refusal.value.field == field
    assert expected in str(refusal.value)
