"""What vLLM's planner answered, as recorded, is what our engine computes from presets."""

import json
from pathlib import Path

import pytest

import calculator as kv
from tests.conformance.vllm.cases import CASES

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())


def test_every_case_is_recorded_with_the_verified_version():
    assert RECORDED["vllm"] == kv.engine("vllm").verified_with
    assert [case["name"] for case in RECORDED["cases"]] == [case.name for case in CASES]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_recorded(case):
    planned, flags = case["planned"], dict(case["flags"])
    flags.pop("max_model_len", None)
    spread = kv.Parallelism(
        case["tensor_parallel_size"],
        case["pipeline_parallel_size"],
        decode_context_parallel_size=flags.pop("decode_context_parallel_size", 1),
    )
    engine, model = kv.engine("vllm", **flags), kv.load_model(case["preset"])
    plan = engine.plan(model, case["available_bytes"], planned["max_model_len"], spread)
    ours = (plan.num_blocks, plan.num_tokens, plan.max_concurrency, plan.block_size)
    keys = ("num_blocks", "num_tokens", "max_concurrency", "block_size")
    assert ours == tuple(planned[key] for key in keys)
    allocated = [plan.num_blocks * each for each in plan.bytes_per_block_of_stages]
    assert allocated == planned["allocated_bytes"]
    assert sorted(map(of_ours, plan.groups)) == sorted(map(of_theirs, planned["groups"]))
    in_flight = engine.in_flight_tokens(spread.pipeline_parallel_size)
    assert in_flight == planned["in_flight_tokens"]


def of_ours(group) -> tuple[int, int, int, int]:
    return (group.layers, group.block_size, group.block_bytes, group.blocks_per_request)


def of_theirs(group) -> tuple[int, int, int, int]:
    """The page of a group whose layers differ is already that of all of them."""
    page, layers = group["page_bytes"], group["layers"]
    block_bytes = page if group["spec"] == "UniformTypeKVCacheSpecs" else page * layers
    return (layers, group["block_size"], block_bytes, group["request_bytes"] // page)
