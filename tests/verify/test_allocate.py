"""Predicted bytes are the bytes of real tensors, for every preset and for random models."""

import os

import pytest
from hypothesis import given, settings

import calculator as kv
from calculator.units import MIB
from tests.models import full, model
from tests.test_laws import models, requests

torch = pytest.importorskip("torch")

from calculator.verify.allocate import Allocation, _measure, allocate  # noqa: E402
from calculator.verify.tensor_list import tensor_list  # noqa: E402

# KVCALC_FULL=1 allocates up to 2 GB a preset
LARGEST = 2_000_000_000 if os.environ.get("KVCALC_FULL") else 8 * MIB


def request_within(described, budget: int) -> kv.Request:
    """The longest power of two that the budget holds, one token if none does."""
    encoder = 8 if described.has_encoder else None
    fits = [
        kv.Request(2**n, encoder_seq_len=encoder)
        for n in range(18)
        if kv.footprint(described, kv.Request(2**n, encoder_seq_len=encoder)).num_bytes <= budget
    ]
    return fits[-1] if fits else kv.Request(1, encoder_seq_len=encoder)


@pytest.mark.parametrize("preset", [m.id for m in kv.presets()])
def test_every_preset_takes_what_was_predicted(preset):
    described = kv.load_model(preset)
    found = kv.footprint(described, request_within(described, LARGEST))
    if found.num_bytes > 2_000_000_000:
        pytest.skip(f"{found.num_bytes:,} B at one token: more than 2 GB")
    done = allocate(found, "cpu", budget_bytes=found.num_bytes)
    assert done.measured_bytes == found.num_bytes > 0
    assert done.equal


@settings(max_examples=200, deadline=None)
@given(models(), requests())
def test_random_models_and_requests_take_what_was_predicted(described, asked):
    found = kv.footprint(described, asked)
    done = allocate(found, "cpu")
    assert done.equal and done.measured_bytes == found.num_bytes


def llama(seq_len: int = 64) -> kv.Footprint:
    return kv.footprint(kv.load_model("llama-3-8b"), kv.Request(seq_len))


def test_a_single_byte_of_difference_is_found():
    found = llama()
    rows = [tensor_list(found)[0]]
    for off, equal in ((0, True), (1, False), (-1, False)):
        row = rows[0]._replace(predicted_bytes=rows[0].predicted_bytes + off)
        measured, reported = _measure((row,), "cpu", lambda done, total, text: None)
        assert Allocation(found, "cpu", measured, reported, None, 0, 0).equal is equal


def test_too_large_says_what_fits():
    with pytest.raises(kv.DoesNotFit, match=r"8 of 32 layers .* or 16 of 64 tokens"):
        allocate(llama(), "cpu", budget_bytes=2 * MIB)


@pytest.mark.parametrize(("kind", "count"), [("layers", 8), ("tokens", 16)])
def test_a_slice_is_verified_exactly(kind, count):
    done = allocate(llama(), "cpu", budget_bytes=2 * MIB, slice_of=kind).to_dict()
    assert (done["slice"]["count"], done["equal"]) == (count, True)
    assert done["predicted_bytes"] == done["measured_bytes"] == 2 * MIB
    assert done["whole_bytes"] == 8 * MIB


def test_ten_terabytes_are_refused_at_once():
    huge = kv.footprint(kv.load_model("llama-3-8b"), kv.Request(8192, 10_000))
    with pytest.raises(kv.DoesNotFit, match=r"10,000\.00 GiB of cache"):
        allocate(huge, "cpu")


def test_pages_are_really_there():
    from calculator.verify.device import resident_bytes

    if resident_bytes() is None:
        pytest.skip("no /proc")
    reported = allocate(llama(1024), "cpu").reported
    assert reported["resident_bytes"] > 120 * MIB


def test_more_tensors_than_can_be_held_are_refused():
    ragged = kv.Request(seq_lens=tuple(range(1, 3000)))
    found = kv.footprint(model(layers=64, full=full(1, 1)), ragged)
    with pytest.raises(kv.DoesNotFit, match="383,872 tensors"):
        allocate(found, "cpu")


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@cuda
@pytest.mark.parametrize("preset", ["llama-3-8b", "gemma-3-27b", "deepseek-v3", "qwen3-next-80b"])
def test_cuda_is_asked_for_exactly_these_bytes(preset):
    found = kv.footprint(kv.load_model(preset), kv.Request(2048))
    done = allocate(found, "cuda")
    assert done.equal
    assert done.reported["requested_bytes"] == done.measured_bytes == found.num_bytes


@cuda
@pytest.mark.parametrize("tokens", [1, 100, 2048])
def test_cudas_allocator_does_as_its_rule_says(tokens):
    reported = allocate(llama(tokens), "cuda").reported
    assert reported["allocated_bytes"] == reported["allocated_by_rule_bytes"]
    assert reported["reserved_bytes"] == reported["reserved_by_rule_bytes"]


@cuda
def test_cuda_out_of_memory_is_told_and_freed():
    before = torch.cuda.memory_allocated()
    torch.cuda.set_per_process_memory_fraction(0.001)
    try:
        with pytest.raises(kv.DoesNotFit, match="Out of memory on cuda after"):
            allocate(llama(8192), "cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.cuda.memory_allocated() == before


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Metal device")
def test_mps_storage_is_what_was_predicted():
    assert allocate(llama(), "mps").equal


def test_a_device_that_is_not_there_is_named_beside_those_that_are(capsys):
    from calculator.cli import main

    missing = "mps" if torch.cuda.is_available() else "cuda"
    assert main(["verify", "llama-3-8b", "--context", "64", "--device", missing]) == 2
    told = capsys.readouterr().err
    assert f"device is {missing}, which torch {torch.__version__} does not find here" in told
    assert "it finds" in told and "cpu" in told
