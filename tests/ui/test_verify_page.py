"""Verify: what it shows of a check in every state, and one check that really runs."""

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import plotly.graph_objects as go
import pytest

from calculator.charts.steps import StepChart, step_chart
from calculator.errors import DoesNotFit
from calculator.verify.child import Run, Status
from tests.ui.pages import bringing, markup, opened, plain, press, sentence, tag

ROOT = Path(__file__).parents[2]
GIB = 1_073_741_824
VERSIONS = {"kv-cache-calculator": "0", "python": "3", "torch": "2.13.0+cpu", "platform": "x"}
ALLOCATE, REAL, GENERATE = (
    "Allocate real tensors", "Run transformers' own code", "Generate with and without the cache",
)  # fmt: skip
TENSOR = {
    "layer_type": "full_attention", "layers": 32, "tensor": "key", "shapes": [[1, 8, 8192, 128]],
    "dtype": "bf16", "copies": 1, "predicted_bytes": GIB // 2, "measured_bytes": GIB // 2,
}  # fmt: skip
ALLOCATED = {
    "predicted_bytes": GIB, "measured_bytes": GIB, "equal": True, "method": "allocate",
    "device": "cpu", "device_name": "x86_64", "versions": VERSIONS, "num_tensors": 64,
    "tensors": [TENSOR, {**TENSOR, "tensor": "value"}], "slice": None, "whole_bytes": GIB,
    "reported": {"resident_bytes": GIB + 4096, "note": "Resident memory is information."},
}  # fmt: skip
MEASURED = {
    "predicted_bytes": GIB, "measured_bytes": GIB, "equal": True, "method": "real-model",
    "device": "meta", "versions": VERSIONS | {"transformers": "5.23.0"}, "seq_len": 8192,
    "batch_size": 1, "storage_bytes": GIB, "num_tensors": 64, "notes": ["A note."],
    "tensors": ["past_key_values.layers[0].keys (1, 8, 8192, 128) bfloat16"],
}  # fmt: skip
GENERATED = {
    "predicted_bytes": 3 * 2048, "measured_bytes": 3 * 2048, "equal": True, "method": "generate",
    "device": "cpu", "device_name": "x86_64", "versions": VERSIONS, "ttft_ms": 12.5,
    "prefill_ms": 12.0, "decode_ms": 240.0, "decode_tokens_per_second": 1062.0,
    "uncached_ms": 9000.0, "speedup": 35.6, "tokens_equal": True, "tokens": [5, 9, 7],
    "max_abs_logit_difference": 6e-6, "tolerance": 1e-3, "within_tolerance": True, "seed": 0,
    "projections": {"cached": 767, "uncached": 163_712, "ratio": 213.4}, "why": "Memory decides.",
    "bytes_after_step": [2048, 2 * 2048, 3 * 2048], "notes": ["A small decoder in torch."],
    "lossy": [
        {"dtype": "fp8", "max_abs_logit_change": 0.4, "tokens_until_divergence": 8},
        {"dtype": "q8_0", "max_abs_logit_change": 0.1, "tokens_until_divergence": None},
    ],
    "reproducibility": {
        "model_version": "reference-decoder 1", "tokens_in": "512 random tokens under the seed",
        "decoding": "greedy, 3 new tokens", "seed": 0, "tolerance": 1e-3,
        "device_and_versions": {"device": "cpu", **VERSIONS},
    },
}  # fmt: skip
RESULTS = {"allocate": ALLOCATED, "real-model": MEASURED, "generate": GENERATED}


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    """The test runner has no address, so the page takes it for a visitor."""
    monkeypatch.setenv("KVCALC_VERIFY", "on")


class Played(Run):
    """A run that is wherever a test puts it."""

    def __init__(self, job, status):
        super().__init__(job, 1.0, None)
        self.status = status

    def poll(self):
        if self._cancelled.is_set():
            return Status("cancelled", 0, 0, 1, "", None, None)
        return self.status


def status(state, *, ahead=0, done=0, total=1, text="", result=None, error=None):
    return Status(state, ahead, done, total, text, result, error)


@pytest.fixture
def played(monkeypatch):
    """Every check that is started is at once where `played.next` says, by default at its end."""

    class Stage:
        runs: list[Played] = []
        next = None

    stage = Stage()
    stage.runs = []

    def start(job, **limits):
        assert limits["abandon_after_s"]
        found = stage.next or status("done", result=RESULTS[job.method])
        stage.runs.append(Played(job, found))
        return stage.runs[-1]

    monkeypatch.setattr("ui.runs.start", start)
    return stage


def verify(**query):
    page = opened(**({"model": "llama-3-8b"} | query))
    page.switch_page("views/verify.py").run()
    assert not page.exception
    assert not page.error
    return page


def told(page, **inputs):
    """Other inputs of the sidebar, which the test runner does not draw beside this page."""
    for name, value in inputs.items():
        page.session_state[name] = value
    return page.run()


def pressed(page, *labels):
    for label in labels:
        page = press(page, label)
        assert not page.exception
        assert not page.error
    return page


def labels(page):
    return [button.label for button in page.button]


def test_the_prediction_stands_there_before_anything_is_pressed():
    page = verify()
    assert sentence(page) == (
        "Llama-3-8B, 8,192 tokens × 1, bf16 cache, vllm: predicted 1,073,741,824 B."
    )
    assert tag(page) == "Not checked yet"
    assert {ALLOCATE, REAL, GENERATE} <= set(labels(page))
    assert "✓" not in plain(markup(page))


def test_three_figures_one_beside_the_other(played):
    page = pressed(verify(), ALLOCATE, REAL)
    assert sentence(page).endswith(
        "predicted 1,073,741,824 B · allocated 1,073,741,824 B · "
        "transformers’ own code 1,073,741,824 B."
    )
    assert tag(page) == "✓ Equal"
    text = plain(markup(page))
    assert text.count("✓ equal") == 2 + len(ALLOCATED["tensors"])
    assert "transformers 5.23.0" in text
    assert "torch 2.13.0+cpu" in text
    assert [run.job.method for run in played.runs] == ["allocate", "real-model"]


@pytest.mark.parametrize(
    ("measured", "said"), [(GIB + 1024, "✕ 1,024 B more"), (GIB - 512, "✕ 512 B less")]
)
def test_a_difference_is_never_green(played, measured, said):
    half = {**TENSOR, "measured_bytes": measured - GIB // 2}
    wrong = {**ALLOCATED, "measured_bytes": measured, "equal": False, "tensors": [half]}
    played.next = status("done", result=wrong)
    page = pressed(verify(), ALLOCATE)
    assert tag(page) == "✕ Not equal"
    text = plain(markup(page))
    assert text.count(said) == 2  # in the figures and at the tensor
    assert "✓ equal" not in text


def test_what_cuda_reports_is_held_against_its_rule(played):
    reported = {
        "requested_bytes": GIB, "allocated_bytes": GIB + 512, "reserved_bytes": GIB + 2**21,
        "allocated_by_rule_bytes": GIB + 512, "reserved_by_rule_bytes": GIB, "note": "The rule.",
    }  # fmt: skip
    played.next = status("done", result={**ALLOCATED, "device": "cuda", "reported": reported})
    text = plain(markup(pressed(verify(), ALLOCATE)))
    for size in (GIB + 512, GIB + 2**21):
        assert f"{size:,}" in text
    assert "✕ 2,097,152 B more by its rule 1,073,741,824 B" in text
    assert text.count("✓ equal") == 3 + len(ALLOCATED["tensors"])


def test_another_prediction_of_the_transformers_engine_is_shown(played):
    own = {**MEASURED, "predicted_bytes": GIB - 64, "measured_bytes": GIB - 64}
    played.next = status("done", result=own)
    page = pressed(verify(), REAL)
    text = plain(markup(page))
    assert "Predictedengine transformers1,073,741,760" in text
    assert tag(page) == "✓ Equal"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (status("queued", ahead=1), "One check is before this one"),
        (status("queued", ahead=3), "3 checks are before this one"),
        (status("running"), "Starting"),
        (status("running", done=GIB // 4, total=GIB, text="key"), "0.25 GiB of 1.00 GiB"),
    ],
)
def test_a_check_on_its_way_shows_how_far_and_can_be_cancelled(played, found, said):
    played.next = found
    page = pressed(verify(), ALLOCATE)
    assert page.get("progress")[0].proto.text == said
    assert tag(page) == "Checking"
    assert ALLOCATE not in labels(page)
    page = pressed(page, "Cancel the allocation")
    assert played.runs[0]._cancelled.is_set()
    assert "Cancelled; nothing is left of it." in plain(markup(page))
    assert ALLOCATE in labels(page)


def test_what_is_too_large_offers_the_parts_that_fit(played):
    too_large = (
        "976.56 GiB of cache; 8.00 GiB may be used (half). The largest part that fits: 8 of 32 "
        "layers (--slice layers) or 2,048 of 8,192 tokens (--slice tokens)."
    )
    played.next = status("failed", error=DoesNotFit(too_large, field="slice"))
    page = pressed(verify(), ALLOCATE)
    assert "--slice" not in plain(markup(page))
    assert {"Allocate 8 of 32 layers", "Allocate 2,048 of 8,192 tokens"} <= set(labels(page))
    part = {"kind": "layers", "count": 8, "of": 32}
    small = {**ALLOCATED, "predicted_bytes": GIB // 4, "measured_bytes": GIB // 4, "slice": part}
    played.next = status("done", result=small)
    page = pressed(page, "Allocate 8 of 32 layers")
    assert played.runs[-1].job.slice == "layers"
    assert "allocated (8 of 32 layers) 268,435,456 B" in sentence(page)
    assert "Predicted for the part" in plain(markup(page))
    assert tag(page) == "✓ Equal in a part"


def test_a_child_that_ended_is_told_and_can_be_started_again(played):
    played.next = status("failed", error=DoesNotFit("The child was ended by signal 9."))
    page = pressed(verify(), ALLOCATE)
    assert "ended by signal 9" in plain(markup(page))
    assert tag(page) == "No result, see below"
    played.next = None
    assert tag(pressed(page, ALLOCATE)) == "✓ Equal"


def test_a_check_that_nobody_looked_at_says_so_and_not_that_it_was_cancelled(played):
    alone = DoesNotFit("Nobody looked at the page for 15 s, so its check was ended.")
    played.next = status("cancelled", error=alone)
    text = plain(markup(pressed(verify(), ALLOCATE)))
    assert "Nobody looked at the page" in text
    assert "Cancelled" not in text


def test_a_full_queue_is_told(monkeypatch):
    def full(job, **limits):
        raise DoesNotFit("50 checks are waiting already; try again in a few minutes.")

    monkeypatch.setattr("ui.runs.start", full)
    assert "50 checks are waiting" in plain(markup(pressed(verify(), ALLOCATE)))


def test_results_belong_to_their_scenario(played):
    page = pressed(verify(), ALLOCATE)
    told(page, device="a100-sxm-80gb")
    assert tag(page) == "✓ Equal"  # a device to buy changes nothing of the check
    told(page, context="4096")
    assert tag(page) == "Not checked yet"
    told(page, context="8192")
    assert tag(page) == "✓ Equal"
    assert len(played.runs) == 1


def test_another_scenario_ends_what_runs(played):
    played.next = status("running")
    page = pressed(verify(), ALLOCATE)
    told(page, context="4096")
    assert played.runs[0]._cancelled.is_set()


def test_the_result_is_there_to_download(played):
    page = pressed(verify(), ALLOCATE, REAL, GENERATE)
    found = {button.proto.label for button in page.get("download_button")}
    named = ("allocation", "transformers", "generation")
    assert {f"Result as JSON: {name}" for name in named} <= found


def test_generation_shows_both_runs_and_what_repeats_them(played):
    page = pressed(verify(), GENERATE)
    text = plain(markup(page))
    for said in (
        "35.6 ×", "213 ×", "12.5 ms", "240 ms",
        "9,000 ms", "1,062 a second", "6e-06", "after 8 tokens", "not in this text",
        "reference-decoder 1", "512 random tokens under the seed", "Memory decides.",
    ):  # fmt: skip
        assert said in text, said
    assert "✓ within it" in text
    assert tag(page) == "Not checked yet"  # a small decoder is not the scenario
    chart = page.get("plotly_chart")[-1].proto
    assert "6,144 B at the end" in chart.alt
    figure = go.Figure(json.loads(chart.spec))
    assert list(figure.data[0].x) == [765, 766, 767]


def test_the_table_of_steps_is_every_step_or_a_few_with_both_ends():
    rows = step_chart(GENERATED).table()
    assert [row["cache, B"] for row in rows] == GENERATED["bytes_after_step"]
    assert [row["tokens in the cache"] for row in rows] == [765, 766, 767]
    many = StepChart(100, tuple(range(1000, 2000)))
    assert len(many.table()) <= 34
    assert (many.table()[0]["step"], many.table()[-1]["step"]) == (0, 999)


def test_what_has_no_rule_is_measured_and_called_so(played):
    config = {"model_type": "nova_hybrid", "num_hidden_layers": 4, "memory_slots": 8}
    page = bringing(opened(context="1024"))
    page.text_area(key="config_text").set_value(json.dumps(config)).run()
    page = press(page, "Use this configuration")
    page.switch_page("views/verify.py").run()
    assert tag(page) == "✕ No size"
    alone = {**MEASURED, "predicted_bytes": None, "equal": None, "measured_bytes": 4096}
    named = {"model": {"model_type": "nova_hybrid"}, "notes": ["Measured from transformers."]}
    played.next = status("done", result=alone | named)
    page = pressed(page, "Measure it with transformers")
    assert played.runs[0].job.config == config
    text = plain(markup(page))
    assert "not from a rule" in text
    assert "64 tensors in its cache" in text
    assert "✓ equal" not in text.lower()
    (download,) = page.get("download_button")
    assert download.proto.label == "Result as JSON: transformers"


def test_other_tokens_are_never_green(played):
    other = {**GENERATED, "tokens_equal": False, "equal": False, "within_tolerance": False}
    played.next = status("done", result=other)
    page = pressed(verify(), GENERATE)
    assert tag(page) == "✕ Not equal"
    text = plain(markup(page))
    assert "✕ they differ" in text
    assert "✕ more than it" in text


def test_settings_reach_the_job(played):
    page = verify()
    fold = [e for e in page.expander if e.label == "Device, memory, lengths"]
    assert fold
    page.session_state["verify_memory"] = "a lot"
    page = pressed(page, ALLOCATE)
    assert "memory is 'a lot'" in plain(markup(page))
    assert not played.runs
    page.session_state["verify_memory"] = "2 GiB"
    page.session_state["verify_new_tokens"] = 64
    pressed(page, ALLOCATE, GENERATE)
    assert played.runs[0].job.budget_bytes == 2 * GIB
    assert played.runs[1].job.generation["new_tokens"] == 64


@pytest.mark.parametrize(
    ("value", "said"),
    [("off", "switched off on this server"), ("", "off for visitors of this server")],
)
def test_a_server_that_is_switched_off_says_so(monkeypatch, value, said):
    monkeypatch.setenv("KVCALC_VERIFY", value)
    page = verify()
    assert said in plain(markup(page))
    assert "predicted 1,073,741,824 B" in sentence(page)
    assert not {ALLOCATE, REAL, GENERATE} & set(labels(page))


def test_a_brought_configuration_runs_as_it_is(played):
    config = {
        "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "hidden_size": 32, "torch_dtype": "bfloat16",
        "max_position_embeddings": 4096, "vocab_size": 1000,
    }  # fmt: skip
    page = bringing(opened())
    page.text_area(key="config_text").set_value(json.dumps(config)).run()
    page = press(page, "Use this configuration")
    page.switch_page("views/verify.py").run()
    pressed(page, REAL, ALLOCATE)
    assert played.runs[0].job.config == config
    assert played.runs[1].job.config is None


def test_what_cannot_be_computed_is_said_once_and_nothing_is_checked():
    page = verify(model="llama-3-70b", devices="3")
    assert "tensor_parallel_size is 3" in plain(markup(page))
    assert ALLOCATE not in labels(page)


def test_the_command_line_is_there():
    text = plain(markup(verify(context="4096")))
    assert "kvcalc verify llama-3-8b --context 4096" in text
    assert "--method real-model" in text


def test_the_page_never_imports_torch():
    code = (
        "import sys; import ui.runs, ui.verification, ui.blocks.checks, ui.blocks.generated, "
        "ui.blocks.proof, ui.blocks.lesson; print([m for m in sys.modules if m == 'torch'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_tensors_are_really_allocated():
    page = pressed(verify(context="256"), ALLOCATE)
    end = time.monotonic() + 120
    while tag(page) == "Checking" and time.monotonic() < end:
        time.sleep(0.5)
        page = page.run()
        assert not page.exception
    assert sentence(page).endswith("predicted 33,554,432 B · allocated 33,554,432 B.")
    assert tag(page) == "✓ Equal"
