"""Option texts → scenario → link and command, and back."""

from urllib.parse import parse_qsl

import pytest

import calculator as kv
from calculator.scenario import parse_range, scenario

OPTIONS = {
    "model": "llama-3.1-8b",
    "context": "32k",
    "sequences": "6",
    "kv_dtype": "fp8",
    "device": "h100-sxm-80gb",
    "devices": "2",
    "weights_dtype": "fp8",
    "overhead": "1GiB..6GiB",
    "share": "0.9",
}


def test_a_link_reproduces_the_scenario():
    first = scenario(OPTIONS)
    query = dict(parse_qsl(first.query()))
    assert query.pop("v") == "1"
    assert query.pop("engine") == "ideal"  # the page's own is vllm
    assert scenario(query) == first


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {"engine": "ideal"}),
        ({"engine": "vllm"}, {"engine": "vllm"}),
        ({"k_dtype": "fp8", "v_dtype": "fp8"}, {"kv_dtype": "fp8", "engine": "ideal"}),
        ({"k_dtype": "fp8", "v_dtype": "bf16"},
         {"k_dtype": "fp8", "v_dtype": "bf16", "engine": "ideal"}),
        ({"device_memory": "80GiB"}, {"device": "80GiB", "engine": "ideal"}),
    ],
)  # fmt: skip
def test_a_link_says_what_the_page_takes(given, told):
    first = scenario({"model": "llama-3.1-8b", **given})
    query = dict(parse_qsl(first.query()))
    assert query == {"model": "llama-3.1-8b", **told, "v": "1"}
    del query["v"]
    again = scenario(query)
    assert again._replace(options=()) == first._replace(options=())


def test_the_command_says_the_same():
    import shlex

    from calculator.cli import main

    words = shlex.split(scenario(OPTIONS).command("capacity"))
    assert words[:3] == ["kvcalc", "capacity", "llama-3.1-8b"]
    assert main(words[1:]) == 0


def test_devices_without_parallel_sizes_are_one_tensor_parallel_group():
    assert scenario(OPTIONS).parallelism.tensor_parallel_size == 2


def test_devices_with_context_ranks():
    found = scenario({**OPTIONS, "model": "deepseek-v3", "engine": "vllm", "devices": "8",
                      "dcp": "8"})  # fmt: skip
    assert found.parallelism == kv.Parallelism(8, decode_context_parallel_size=8)
    assert "--tensor-parallel-size 8 --decode-context-parallel-size 8" in found.serve_command()
    assert "--dcp 8" in found.command("capacity")
    assert scenario(dict(found.options)) == found


def test_a_default_context_is_said():
    found = scenario({"model": "llama-3.1-8b"})
    assert found.request.longest == 8_192
    assert "8,192 tokens, since none was given" in found.notes[0]


@pytest.mark.parametrize("text", ["8192", "8,192", "8_192", "8k", "8 k", "8K", " 8192 "])
def test_a_context_as_people_type_it(text):
    assert scenario({"model": "llama-3.1-8b", "context": text}).request.longest == 8_192


def test_large_numbers_have_groups():
    found = scenario({"model": "llama-3.1-8b", "context": "1,048,576", "sequences": "1_000_000"})
    assert (found.request.longest, found.request.num_sequences) == (1_048_576, 1_000_000)


def test_max_is_the_models_maximum():
    assert scenario({"model": "llama-3.1-8b", "context": "max"}).request.longest == 131_072


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"model": None}, "model is missing"),
        ({"context": "-5"}, "context is '-5'"),
        ({"context": "8,19,2"}, "context is '8,19,2'"),
        ({"context": "8__192"}, "context is '8__192'"),
        ({"context": "8,192_000"}, "context is '8,192_000'"),
        ({"context": "1,5k"}, "context is '1,5k'"),
        ({"sequences": "1,2"}, "sequences is '1,2'"),
        ({"device": "1,5GB"}, "device is '1,5GB'"),
        ({"overhead": "1,5GiB..6GiB"}, r"overhead is '1,5GiB\.\.6GiB'"),
        ({"context": "1e30"}, "context is '1e30'"),
        ({"context": "9" * 35}, "context is"),
        ({"sequences": "0"}, "sequences is 0"),
        ({"sequences": "½"}, "sequences is"),
        ({"sequences": "٣"}, "sequences is"),
        ({"kv_dtype": "q9"}, "key_dtype is 'q9'"),
        ({"k_dtype": "fp8"}, "beside"),
        ({"engine": "nope"}, "engine is 'nope'"),
        ({"engine": "ollama"}, r"did you mean llama\.cpp with profile=ollama\?"),
        ({"engine": "llamacpp"}, r"did you mean llama\.cpp\?"),
        ({"engine": "VLLM"}, r"did you mean vllm\? Known engines: "),
        ({"engine": "LM Studio"}, r"did you mean llama\.cpp with profile=lm-studio\?"),
        ({"engine": "transformer"}, r"did you mean transformers\?"),
        ({"model": "llama3-8bb"}, r"did you mean llama3-8b\?$"),
        ({"set": ["nope=1"]}, "'nope' is no option"),
        ({"set": ["nope"]}, "expected FLAG=VALUE"),
        ({"set": ""}, "set is empty"),
        ({"set": ","}, "set is ''; expected FLAG=VALUE"),
        ({"context": ""}, "context is empty; give a value or leave it out"),
        ({"set": ["block_size=16", "block-size=32"]}, "'block_size' is given twice"),
        (
            {"engine": "transformers", "kv_dtype": None, "set": ["decoded_tokens=50000"]},
            "of 32,768 tokens at most 32,767 come one by one",
        ),
        ({"device": "h1000"}, r"device is 'h1000'.*did you mean h100-sxm-80gb\?$"),
        ({"device_memory": "80GB"}, "choose one"),
        ({"devices": "-2"}, "devices is '-2'"),
        ({"devices": "3"}, "tensor_parallel_size is 3"),
        ({"devices": "4", "tp": "2"}, "num_devices is 4, but the parallel sizes multiply to 2"),
        ({"devices": "4", "tp": "1"}, "num_devices is 4, but the parallel sizes multiply to 1"),
        ({"weights_dtype": "q77"}, "weights_dtype is 'q77'"),
        ({"weights_dtype": "q77", "weights_bytes": "9GB"}, "weights_dtype is 'q77'"),
        ({"weights_dtype": "q77", "kv_bytes_per_device": "9GB"}, "weights_dtype is 'q77'"),
        ({"overhead": "6GiB..1GiB"}, "overhead is '6GiB..1GiB'; put the smaller first"),
        (
            {"overhead": "1..6"},
            r"'1\.\.6'; 1 without a unit is bytes: write 1GiB for GiB, 1B for",
        ),
        ({"overhead": "6..1"}, r"overhead is '6\.\.1'; 6 without a unit is bytes"),
        ({"overhead": "1..6GiB"}, "1 without a unit"),
        ({"overhead": "0.5"}, r"0\.5 without a unit"),
        ({"weights_bytes": "15"}, "weights_bytes is '15'; 15 without a unit"),
        ({"weights_bytes": "1048575"}, "write 1048575GiB"),
        ({"kv_bytes_per_device": "40"}, "40 without a unit"),
        ({"device": None, "device_memory": "80"}, "device is '80'.* such as 64 GB"),
        ({"overhead": "1GiB.."}, "LOW..HIGH"),
        ({"share": "nan"}, "share is 'nan'"),
        ({"share": "92"}, "share is '92'"),
        ({"colour": "red"}, "'colour' is no option"),
    ],
)
def test_a_bad_option_is_named_with_its_value(changed, named):
    with pytest.raises(kv.CalculatorError, match=named):
        scenario({**OPTIONS, **changed}).capacity()


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1GiB..6GiB", (2**30, 6 * 2**30)),
        ("2e9", (2 * 10**9,) * 2),
        ("0..1kB", (0, 1000)),
        ("0", (0, 0)),
        ("1B..6B", (1, 6)),
        ("1048576..2,097,152", (2**20, 2**21)),
    ],
)
def test_ranges(text, sizes):
    assert parse_range("overhead", text) == sizes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"kv_bytes_per_device": "40GB"},
            "Not used: device, overhead, share, weights_dtype, since",
        ),
        ({"weights_bytes": "9GB"}, "Not used: weights_dtype, since weights_bytes says"),
        ({"encoder_context": "9"}, "Not used: encoder_context, since Llama-3.1-8B has no encoder."),
        (
            {"device": None, "weights_bytes": "9GB", "typical_context": "5"},
            "Not used: weights_bytes, overhead, share, typical_context, weights_dtype, since no "
            "device is given.",
        ),
        (
            {"device": None, "engine": "vllm"},  # whose command says the share
            "Not used: overhead, weights_dtype, since no device is given.",
        ),
    ],
)
def test_an_option_without_use_is_said(given, said):
    assert scenario({**OPTIONS, **given}).notes[0].startswith(said)


@pytest.mark.parametrize(
    "given",
    [{"weights_dtype": "zz"}, {"devices": "3", "tp": "2"}, {"share": "2"}, {"overhead": "x"},
     {"typical_context": "0"}, {"weights_bytes": "much"}],
)  # fmt: skip
def test_an_option_is_checked_where_it_has_no_use(given):
    with pytest.raises(kv.InvalidInput):
        scenario({"model": "llama-3.1-8b", **given})


def test_the_command_leaves_out_what_has_no_use():
    command = scenario({**OPTIONS, "weights_bytes": "9GB"}).command("capacity")
    assert "--weights-bytes 9GB" in command
    assert "--weights-dtype" not in command
