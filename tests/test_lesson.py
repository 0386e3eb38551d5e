"""The lesson's arithmetic, held against loops that really count, and the figures it teaches."""

from fractions import Fraction
from math import prod

import pytest

from calculator.catalog import load_model, presets
from calculator.claims import claims, large, small
from calculator.engines import ENGINES, engine
from calculator.footprint import footprint
from calculator.lesson import (
    attention_pairs,
    growing_apart,
    layer_tensors,
    passes,
    positions_of_a_loop,
    projections,
    questions,
)
from calculator.request import Request
from calculator.units import MAX_TOKENS
from calculator.verify.demonstration import projected_tokens

LENGTHS = [(1, 1), (1, 2), (5, 1), (7, 9), (100, 33), (1, 256)]


def counted(prompt: int, new: int) -> tuple[int, int, int, int]:
    """Positions and (query, key) pairs, without a cache and with one, one at a time."""
    positions = cached_positions = pairs = cached_pairs = 0
    for step in range(new):
        length = prompt + step
        first_new = 0 if step == 0 else length - 1
        positions += length
        pairs += sum(query + 1 for query in range(length))
        cached_positions += length - first_new
        cached_pairs += sum(query + 1 for query in range(first_new, length))
    return positions, cached_positions, pairs, cached_pairs


@pytest.mark.parametrize(("prompt", "new"), LENGTHS)
def test_work_is_what_a_loop_counts(prompt, new):
    work = (*projections(prompt, new)[2:], *attention_pairs(prompt, new)[2:])
    assert work == counted(prompt, new)


@pytest.mark.parametrize(("prompt", "new"), [*LENGTHS, (512, 256)])
def test_the_lesson_counts_as_the_demonstration_does(prompt, new):
    assert projected_tokens(prompt, new) == (
        projections(prompt, new).cached,
        projections(prompt, new).without,
    )


def test_figures_of_the_lesson():
    assert positions_of_a_loop(4096) == 8_390_656
    assert projections(1000, 1000).without == 1_499_500
    assert round(projections(1000, 1000).ratio) == 750
    assert projections(4000, 1000).without == 4_499_500
    assert round(projections(4000, 1000).ratio) == 900
    assert round(projections(512, 256).ratio) == 213


def test_doubling_makes_linear_twice_quadratic_four_times_and_cubic_eight_times_as_much():
    (few, few_pairs), (many, many_pairs) = growing_apart(2**20)[-2:]
    assert many.new_tokens == 2 * few.new_tokens == 2**20
    assert many.cached / few.cached == pytest.approx(2, rel=1e-4)
    assert many.without / few.without == pytest.approx(4, rel=1e-4)
    assert many_pairs.cached / few_pairs.cached == pytest.approx(4, rel=1e-4)
    assert many_pairs.without / few_pairs.without == pytest.approx(8, rel=1e-4)


@pytest.mark.parametrize("name", ["llama-3-8b", "gemma-3-27b", "deepseek-v3", "qwen3-next-80b"])
def test_each_pass_adds_up_to_the_footprint_after_it(name):
    model = load_model(name)
    made = passes(footprint(model, Request(seq_len=1500, batch_size=2)), 5)
    assert sum(p.added_bytes for p in made) == made[-1].cache_bytes
    assert made[-1].cache_bytes == footprint(model, Request(seq_len=1505, batch_size=2)).num_bytes
    assert [p.tokens_in for p in made] == [1500, 1, 1, 1, 1, 1]


def test_passes_end_at_the_longest_text_there_is():
    found = footprint(load_model("llama-3-8b"), Request(seq_len=MAX_TOKENS - 1))
    assert [p.tokens_seen for p in passes(found)] == [MAX_TOKENS - 1, MAX_TOKENS]


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_tensors_a_layer_times_layers_is_the_footprint(name):
    found = footprint(load_model("llama-3-8b"), Request(seq_len=1000), engine(name))
    rows = layer_tensors(found)
    assert sum(row.num_bytes for row in rows) == found.num_bytes
    assert all(row.bytes_a_layer * row.layers == row.num_bytes for row in rows)


# Llama-3-8B keeps 8 heads of 128; a block of 32 values is 34 B in q8_0, 18 in q4_0 (ggml-common.h)
@pytest.mark.parametrize(
    ("dtype", "value_bytes", "a_layer"),
    [("bf16", "2", 2_048_000), ("q8_0", "34/32", 1_088_000), ("q4_0", "18/32", 576_000)],
)
def test_a_shape_counts_values_and_a_value_may_be_part_of_a_block(dtype, value_bytes, a_layer):
    asked = Request(seq_len=1000, key_dtype=dtype, value_dtype=dtype)
    row = layer_tensors(footprint(load_model("llama-3-8b"), asked))[0]
    assert row.shape == (1, 8, 1000, 128)
    assert (row.value_bytes, row.bytes_a_layer) == (value_bytes, a_layer)


@pytest.mark.parametrize("name", sorted(ENGINES))
@pytest.mark.parametrize("model", ["llama-3-8b", "gemma-3-27b", "mamba-2.8b", "deepseek-v3"])
def test_values_times_their_bytes_are_the_layer(model, name):
    found = footprint(load_model(model), Request(seq_len=1000), engine(name))
    for row in layer_tensors(found):
        if row.num_shapes == 1:
            assert prod(row.shape) * Fraction(row.value_bytes) == row.bytes_a_layer


@pytest.mark.parametrize("model", presets(), ids=lambda m: m.id)
def test_every_preset_has_a_list_of_tensors(model):
    encoder = 1500 if model.has_encoder else None
    found = footprint(model, Request(seq_len=100, encoder_seq_len=encoder))
    assert sum(row.num_bytes for row in layer_tensors(found)) == found.num_bytes


def test_answers_are_the_formulas():
    doubled, one_pass, four = questions()
    assert doubled.steps[0].endswith("= 1,073,741,824 B")
    assert doubled.steps[1].endswith("= 1,073,741,824 B")
    assert one_pass.answer.startswith("No")
    assert "256 new tokens take 256 passes" in one_pass.steps[1]
    assert four.answer == "102,400 B (100 KiB)."


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("larger than the weights", ("42.9 GB", "141.1 GB")),
        ("80–120 ms", ("197 ms",)),
        ("8 × as long", ("12.0 ×",)),
        ("few hundred million", ("21.5 GFLOP", "8 FLOP a byte")),
        ("0.1 % of the compute", ("5.2 % in attention", "0.7 % in the whole step")),
        ("40–60 tokens/s", ("31.5 % to 47.3 % of 127 tokens/s",)),
        ("mostly the cache", ("6.3 % of the bytes at 8,192 tokens",)),
    ],
)
def test_each_claim_stands_beside_our_figure(said, figures):
    (claim,) = [c for c in claims() if said in c.said]
    assert all(figure in claim.ours for figure in figures)
    assert claim.formula


def test_cache_and_weights_are_equal_where_the_claim_says():
    (claim,) = [c for c in claims() if "mostly the cache" in c.said]
    assert "122,532 tokens" in claim.why
    m = small()
    assert m.cache_bytes(122_532) <= m.weight_bytes < m.cache_bytes(122_533)


def test_four_sequences_make_the_first_claim_true():
    (claim,) = [c for c in claims() if "larger than the weights" in c.said]
    assert "from 4 such sequences" in claim.why
    m = large()
    assert 3 * m.cache_bytes(131_072) <= m.weight_bytes < 4 * m.cache_bytes(131_072)


@pytest.mark.parametrize("m", [small(), large()], ids=lambda m: m.model.id)
def test_parameters_are_those_of_the_published_shape(m):
    """The figures kept beside a preset, multiplied out to its number of parameters."""
    inner = {"llama-3.1-8b": 14_336, "llama-3.1-70b": 28_672}[m.model.id]  # intermediate_size
    h, width = m.hidden_size, m.num_key_value_heads * m.head_dim
    layer = 2 * h * m.num_attention_heads * m.head_dim + 2 * h * width + 3 * h * inner + 2 * h
    assert 2 * m.vocab_size * h + m.num_layers * layer + h == m.num_parameters
