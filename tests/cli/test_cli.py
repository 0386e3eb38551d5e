"""The command line as a process: output, exit status, one line for every mistake."""

import json
import subprocess
import sys

import pytest

import calculator as kv


def kvcalc(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calculator", *words], capture_output=True, text=True, timeout=60
    )


def test_estimate_json_is_the_contract():
    found = json.loads(kvcalc("estimate", "llama-3-8b", "--context", "8k", "--json").stdout)
    assert found["num_bytes"] == 1_073_741_824
    assert found["model"]["id"] == "llama-3-8b"
    assert found["request"]["seq_lens"] == [8192]
    assert (found["request"]["key_dtype"], found["request"]["value_dtype"]) == ("bf16", "bf16")
    assert found["bytes_per_device"] == [1_073_741_824]
    assert (found["bytes_per_token"], found["fixed_bytes"]) == (131_072, 0)
    assert found["items"][0] | {} == found["items"][0]
    assert {"layer_type", "layers", "tensor", "slots", "slot_bytes", "num_bytes"} <= set(
        found["items"][0]
    )
    assert sum(item["num_bytes"] for item in found["items"]) == found["num_bytes"]
    assert found["schema_version"] == 1


def test_estimate_text_holds_number_and_formula():
    out = kvcalc("estimate", "gemma-3-27b", "--context", "128k").stdout
    assert "Gemma-3-27B, 131,072 tokens × 1, bf16 cache, ideal: 10.41 GiB (11.17 GB)." in out
    assert "min(T, 1,024) = 1,024" in out
    assert "10,737,418,240" in out


def test_context_not_given_is_said():
    assert "8,192 tokens, since none was given" in kvcalc("estimate", "llama-3-8b").stdout


def test_capacity_json_is_the_contract():
    words = ("llama-3-8b", "--device", "h100-sxm-80gb", "--context", "8k", "--json")
    found = json.loads(kvcalc("capacity", *words).stdout)
    assert found["verdict"] == "fits"
    for name in ("available_bytes_per_device", "max_seq_len", "max_batch_size"):
        assert found[name]["low"] < found[name]["high"]
    assert found["decided_by"] == "weights"
    assert found["fixes"] == []


def test_capacity_says_that_no_single_change_suffices():
    # 405 billion × 2 B of weights on 16 GB
    out = kvcalc("capacity", "llama-3.1-405b", "--device", "t4-16gb").stdout
    assert "\nTo be certain that it fits: no single change found.\n" in out


def test_capacity_check_exits_1_unless_certain():
    words = ("capacity", "llama-3.1-70b", "--device", "h100", "--context", "8k")
    assert kvcalc(*words).returncode == 0
    assert kvcalc(*words, "--check").returncode == 1


def test_presets_and_devices_have_sources():
    presets = json.loads(kvcalc("presets", "--json").stdout)["presets"]
    assert all(p["source"].startswith("https://") and p["checked"] for p in presets)
    devices = json.loads(kvcalc("devices", "--json").stdout)["devices"]
    assert len(devices) >= 50
    assert all(d["source"] and d["checked"] for d in devices)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("estimate",),
        ("estimate", "no-such-model"),
        ("estimate", ""),
        ("estimate", "../../etc/passwd"),
        ("estimate", "/nonexistent/config.json"),
        ("estimate", "llama-3-8b", "--context", "nan"),
        ("estimate", "llama-3-8b", "--colour", "red"),
        ("estimate", "llama-3-8b", "more"),
        ("estimate", "llama-3-8b", "--context"),
        ("capacity", "llama-3-8b"),
        ("capacity", "llama-3-8b", "--device", "nope"),
        ("app", "--port", "0"),
        ("nope",),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(words):
    found = kvcalc(*words)
    if not words:
        assert found.returncode == 0
        assert "usage: kvcalc" in found.stdout
        return
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("error: ")
    assert found.stderr.count("\n") == 1


def test_help_of_every_command():
    from calculator.cli import COMMANDS

    for command in COMMANDS:
        assert "usage: kvcalc" in kvcalc(command, "--help").stdout


# words → what stands in the line: the field's own name, and the option that sets it
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("estimate", "flan-t5-xxl"), "encoder_seq_len (--encoder-context) is missing"),
        (("estimate", "llama-3-8b", "--kv-dtype", "q9"), "key_dtype (--kv-dtype) is 'q9'"),
        (("estimate", "llama-3-8b", "--k-dtype=q9"), "key_dtype (--k-dtype) is 'q9'"),
        (("estimate", "llama-3-8b", "--tp", "3"), "tensor_parallel_size (--tp) is 3"),
        (("estimate", "llama-3-8b", "--tp", "3"), "2 and 4 would do"),
        (("estimate", "deepseek-v3", "--tp", "8", "--dcp", "3"),
         "decode_context_parallel_size (--dcp) is 3"),
        (("capacity", "llama-3-8b", "--device", "h100", "--devices", "2", "--engine", "llama.cpp"),
         "tensor_parallel_size (--devices) is 2"),
        (("capacity", "llama-3-8b", "--device", "h100", "--devices", "4", "--tp", "2"),
         "num_devices (--devices) is 4"),
    ],
)  # fmt: skip
def test_an_error_names_the_option_that_was_typed(words, said, capsys):
    from calculator.cli import main

    assert main(list(words)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--context", "8k", "--context=16k"), "--context is given twice"),
        (("--engine", "vllm", "--set", "block_size=16", "--set", "block-size=32"),
         "'block_size' is given twice"),
    ],
)  # fmt: skip
def test_what_is_given_twice_is_refused(words, said, capsys):
    from calculator.cli import main

    assert main(["estimate", "llama-3-8b", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--encoder-context", "9"), "encoder_context is 9, but Llama-3-8B has no encoder"),
        (("--weights-dtype", "fp8", "--weights-bytes", "9GB"), "not allowed with"),
    ],
)
def test_an_option_without_use_is_refused(words, said, capsys):
    from calculator.cli import main

    assert main(["capacity", "llama-3-8b", "--device", "h100", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_model_may_be_more_than_a_preset():
    found = kvcalc("estimate", "--help").stdout
    assert all(word in found for word in ("preset", "config.json", "GGUF", ".toml", "Hub"))


# mistral-7b-v0.1 has a window of 4,096 in every layer; phi-3.5-mini one of 262,144, beyond its
# maximum of 131,072 tokens: 2 × layers × heads × head_dim × 2 B
@pytest.mark.parametrize(
    ("model", "first", "lasting"),
    [
        ("llama-3-8b", 131_072, 131_072),
        ("gemma-3-27b", 62 * 8_192, 10 * 8_192),
        ("mistral-7b-v0.1", 131_072, 0),
        ("phi-3.5-mini", 393_216, 393_216),
    ],
)
def test_a_token_costs_what_it_does_while_windows_fill(model, first, lasting):
    from calculator.cli.presets import document

    (found,) = document((kv.load_model(model),))["presets"]
    assert (found["first_bytes_per_token"], found["bytes_per_token"]) == (first, lasting)
