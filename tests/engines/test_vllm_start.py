"""What vLLM must find to start, which is more than a running request holds, decides what fits."""

import re

import pytest

import calculator as kv
from calculator.charts.bar import memory_bar
from calculator.charts.grid import grid
from calculator.errors import DoesNotFit
from calculator.fixes import fixes
from calculator.verdict import limits_text
from tests.engines.vllm_models import named

VLLM = kv.engine("vllm")
GEMMA = named("gemma-3-27b")


def on_h100(tokens: int, sequences: int = 1, engine=VLLM):
    request = kv.Request(seq_len=tokens, batch_size=sequences)
    return kv.capacity(GEMMA, device="h100-sxm-80gb", request=request, engine=engine)


def test_what_would_not_start_is_no_fit():
    """Windows are reckoned with the tokens in flight: 18 GiB to start, 10.5 GiB held."""
    found = on_h100(131_072)
    assert found.cache_bytes_per_device < found.budget.available.low
    assert found.budget.available.low < found.needed_bytes_per_device
    assert found.verdict == "marginal"
    assert "To start, vllm must find 18.0 GiB" in limits_text(found)


@pytest.mark.parametrize("available", [8_000_000_000, 15_000_000_000, 19_302_973_440])
def test_the_longest_is_the_one_vllm_names(available):
    found = kv.capacity(
        GEMMA, kv_bytes_per_device=available, request=kv.Request(seq_len=1), engine=VLLM
    )
    longest = found.max_seq_len.low
    assert VLLM.plan(GEMMA, available, longest).blocks_per_request
    with pytest.raises(DoesNotFit) as refused:
        VLLM.plan(GEMMA, available, longest + 100_000)
    assert re.findall(r"fits is ([\d,]+) tokens", str(refused.value)) == [f"{longest:,}"]


def test_fewer_tokens_in_flight_are_a_way_to_make_it_fit():
    found = on_h100(131_072)
    flag = next(fix for fix in fixes(found) if fix.change.startswith("--max-num-batched-tokens"))
    assert not flag.changes_outputs
    tokens = int(flag.change.rpartition(" ")[2])
    again = on_h100(131_072, engine=kv.engine("vllm", max_num_batched_tokens=tokens))
    assert (again.verdict, again.spare) == ("fits", flag.spare)


@pytest.mark.parametrize(("tokens", "sequences"), [(131_072, 1), (8192, 1), (8192, 4), (300, 64)])
def test_map_and_bar_say_what_the_verdict_says(tokens, sequences):
    found = on_h100(tokens, sequences)
    chart = grid(found.footprint, found)
    row, column = chart.batches.index(sequences), chart.contexts.index(tokens)
    assert chart.sizes[row][column] == found.cache_bytes_per_device
    assert chart.needs[row][column] == found.needed_bytes_per_device
    assert chart.verdict(row, column) == found.verdict
    bar = memory_bar(found)
    assert sum(s.num_bytes for s in bar.segments) == bar.scale_bytes
    started = [s for s in bar.segments if s.role == "start"]
    assert [s.in_key for s in started] == [bool(found.needs_more)]


def test_the_null_block_is_never_used():
    found = kv.capacity(
        named("llama-3-8b"), kv_bytes_per_device=513 * 2_097_152, engine=VLLM,
        request=kv.Request(seq_len=8192),
    )  # fmt: skip
    assert (found.verdict, found.spare.low) == ("fits", 0)
    assert found.needs_more == 0


# refused in a sentence, as `footprint` refuses them
@pytest.mark.parametrize(
    ("engine", "model", "field", "says"),
    [
        ("ideal", "llama-3-8b", "engine", "plan is asked of engine ideal"),
        ("llama.cpp", "llama-3-8b", "engine", "makes no pool of blocks"),
        ("vllm", None, "model", "expected load_model('llama-3-8b')"),
    ],
)
def test_a_plan_of_what_has_none_is_refused(engine, model, field, says):
    asked = kv.load_model(model) if model else "llama-3-8b"
    with pytest.raises(kv.InvalidInput) as refused:
        kv.engine(engine).plan(asked, available_bytes=40_000_000_000, max_model_len=8192)
    assert refused.value.field == field
    assert says in str(refused.value)
