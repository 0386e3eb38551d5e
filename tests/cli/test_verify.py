"""`kvcalc verify` as a process."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from calculator.cli.verify import exit_status
from tests.cli.test_cli import kvcalc

needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)


@needs_torch
def test_allocate_in_words():
    out = kvcalc("verify", "gemma-3-4b", "--context", "2k", "--device", "cpu").stdout
    assert "predicted 163,577,856 B · allocated 163,577,856 B: equal" in out
    assert "(1, 4, 1024, 256)" in out
    assert "Engine ideal" in out


@needs_torch
def test_generate_json_is_the_contract():
    words = ("--method", "generate", "--device", "cpu", "--prompt-tokens", "16", "--json")
    found = json.loads(kvcalc("verify", "llama-3-8b", *words, "--new-tokens", "8").stdout)
    contract = {
        "predicted_bytes", "measured_bytes", "equal", "method", "device", "versions", "ttft_ms",
        "prefill_ms", "decode_ms", "decode_tokens_per_second", "uncached_ms", "speedup",
        "tokens_equal", "max_abs_logit_difference", "seed",
    }  # fmt: skip
    assert contract <= set(found)
    assert found["equal"] and found["tokens_equal"] and found["seed"] == 0


@pytest.mark.parametrize(("equal", "status"), [(True, 0), (None, 0), (False, 1)])
def test_a_difference_exits_1(equal, status):
    assert exit_status({"equal": equal}) == status


@pytest.mark.skipif(not find_spec("transformers"), reason="transformers is not installed")
def test_a_refused_configuration_is_measured_beside_no_rule(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({
        "model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "vocab_size": 99,
        "num_attention_heads": 4, "num_key_value_heads": 2, "kv_share_every": 2,
    }))  # fmt: skip
    assert kvcalc("estimate", str(path)).returncode == 2
    words = ("verify", str(path), "--method", "real-model", "--context", "40", "--json")
    done = kvcalc(*words)
    found = json.loads(done.stdout)
    assert (done.returncode, found["predicted_bytes"], found["equal"]) == (0, None, None)
    assert found["measured_bytes"] == 3 * 2 * 40 * 2 * 16 * 2
    assert "not from a rule" in found["notes"][0]


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "guess"),
        ("--device", "tpu"),
        ("--slice", "half"),
        ("--memory", "much"),
        ("--memory", ""),
        ("--memory", "8"),
        ("--time-limit", ""),
        ("--threads", ""),
        ("--time-limit", "soon"),
        ("--method", "generate", "--seed", "-1"),
        ("--method", "generate", "--temperature", "hot"),
        ("--seed", "1"),
        ("--method", "real-model", "--slice", "layers"),
        ("--context", "nan"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(words):
    found = kvcalc("verify", "llama-3-8b", *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("error: ") and found.stderr.count("\n") == 1


def test_without_torch_it_names_the_extra():
    """-S leaves out site-packages, where torch lies."""
    found = python("-S", "-m", "calculator", "verify", "llama-3-8b")
    assert (found.returncode, found.stdout) == (2, "")
    assert "kv-cache-calculator[verify]" in found.stderr


def test_the_asking_process_never_imports_torch():
    code = (
        "import sys, calculator.cli.verify, calculator.verify.child, calculator.verify.jobs\n"
        "import calculator.verify.switch, calculator.verify.allocate, calculator.verify.measure\n"
        "import calculator.verify.real_model, calculator.verify.demonstration\n"
        "print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    )
    assert python("-c", code).stdout == "[]\n"
