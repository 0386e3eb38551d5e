"""The blocks a request holds are those vLLM's own block manager left it, length by length."""

import json
from pathlib import Path

import pytest

import calculator as kv
from calculator.engines.vllm.blocks import held
from calculator.engines.vllm.spec import Spec

RECORDED = json.loads(Path(__file__).with_name("recorded_running.json").read_text())
STATES = {"none": 1, "align": 2}


def test_the_recording_is_of_the_verified_version():
    assert RECORDED["vllm"] == kv.engine("vllm").verified_with


@pytest.mark.parametrize(
    "case",
    RECORDED["specs"],
    ids=lambda case: " ".join(str(v) for k, v in case.items() if k != "held"),
)
def test_blocks_held(case):
    block, states = case.get("block_size", RECORDED["block_size"]), STATES.get(case.get("mode"), 0)
    spec = Spec(case["rule"], (), block, block, block, case.get("reach", 0), states)
    ranks = case.get("context_ranks", 1)
    ours = [[tokens, held(spec, tokens, 0, ranks)] for tokens, _ in case["held"]]
    assert ours == case["held"]
