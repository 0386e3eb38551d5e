"""When CUDA's counters are held against the allocator's rule, and when a sentence says why not."""

import pytest

import calculator as kv
from calculator.units import MIB
from calculator.verify.allocate import Allocation, Measured, _of_cuda
from calculator.verify.allocator import Allocator
from calculator.verify.tensor_list import tensor_list

FRESH = Allocator("native", "", True, 0)
FOUND = kv.footprint(kv.load_model("llama-3-8b"), kv.Request(1))  # 64 tensors of 2,048 B
ROWS = tensor_list(FOUND)
COUNTS = {
    "requested_bytes": 64 * 2048, "allocated_bytes": 64 * 2048, "reserved_bytes": 2 * MIB,
}  # fmt: skip


def equal(reported) -> bool:
    rows = tuple(Measured(row, row.predicted_bytes) for row in ROWS)
    return Allocation(FOUND, "cuda", rows, reported, None, 0, 0).equal


def test_a_fresh_process_is_held_against_the_rule():
    reported = _of_cuda(COUNTS, ROWS, FRESH)
    assert reported["allocated_by_rule_bytes"] == reported["allocated_bytes"] == 131_072
    assert reported["reserved_by_rule_bytes"] == reported["reserved_bytes"] == 2 * MIB
    assert equal(reported)


def test_a_byte_more_asked_for_than_predicted_is_not_equal():
    assert not equal(_of_cuda({**COUNTS, "requested_bytes": 131_073}, ROWS, FRESH))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (FRESH._replace(settings="expandable_segments:True"), "settings (expandable_segments:True"),
        (FRESH._replace(settings="roundup_power2_divisions:4"), "change how it rounds"),
        (FRESH._replace(held_bytes=2 * MIB), "held 2,097,152 B for others already"),
    ],
)
def test_what_changes_the_rule_leaves_only_what_was_asked_for(how, reason):
    reported = _of_cuda(COUNTS, ROWS, how)
    assert reason in reported["note"]
    assert set(reported) == {*COUNTS, "requested_equal", "note"}
    assert equal(reported)


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        # its other counters are not kept and read 0: no difference
        (FRESH._replace(backend="cudaMallocAsync"), {"allocated_bytes", "reserved_bytes", "note"}),
        (FRESH._replace(is_caching=False), {"note"}),
    ],
)
def test_what_is_not_counted_is_not_held_against_the_prediction(how, kept):
    reported = _of_cuda(dict.fromkeys(COUNTS, 0), ROWS, how)
    assert set(reported) == kept
    assert equal(reported)
