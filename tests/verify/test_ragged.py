"""Sequences of different lengths: states of their own, released when done, never mixed up."""

import pytest

torch = pytest.importorskip("torch")

import calculator as kv  # noqa: E402
from calculator.verify.generation import generate_with_cache, random_prompt  # noqa: E402
from calculator.verify.ragged import State, advance, generate_ragged  # noqa: E402
from calculator.verify.reference_model import decoder, empty_cache  # noqa: E402
from tests.verify.test_generation import SMALL  # noqa: E402

MODEL = decoder(SMALL)
LENGTHS, NEW = [5, 17, 9], [3, 6, 1]
PROMPTS = [random_prompt(MODEL, n, seed) for seed, n in enumerate(LENGTHS)]


def test_every_sequence_says_what_it_says_alone():
    together, _ = generate_ragged(MODEL, PROMPTS, NEW)
    alone = [
        generate_with_cache(MODEL, prompt, n).tokens[0].tolist()
        for prompt, n in zip(PROMPTS, NEW, strict=True)
    ]
    assert together == alone


def test_positions_follow_the_tokens_and_ended_sequences_are_released():
    _, steps = generate_ragged(MODEL, PROMPTS, NEW)
    assert [step.positions for step in steps] == [
        {0: 5, 1: 17, 2: 9}, {0: 6, 1: 18}, {0: 7, 1: 19}, {1: 20}, {1: 21}, {1: 22},
    ]  # fmt: skip


def test_bytes_of_a_step_are_the_formula_of_the_live_lengths():
    _, steps = generate_ragged(MODEL, PROMPTS, NEW)
    for step in steps:
        asked = kv.Request(seq_lens=tuple(step.positions.values()))
        assert step.cache_bytes == kv.footprint(SMALL.spec(), asked).num_bytes


def continued(prompt: int, cache_of: int) -> list[int]:
    """Six tokens after `prompt`, from the third on with the cache of sequence `cache_of`."""
    states = [State(p, 8, empty_cache(MODEL)) for p in PROMPTS]
    for state in states:
        for _ in range(2):
            advance(MODEL, state)
    chosen = states[prompt]
    chosen.cache = states[cache_of].cache
    if cache_of != prompt:  # go on with the last token alone, as the right cache would
        last = chosen.tokens[:, -1:]
        chosen.tokens = torch.cat((states[cache_of].tokens[:, :-1], last), dim=1)
    for _ in range(6):
        advance(MODEL, chosen)
    return chosen.picked


def test_the_wrong_cache_gives_other_tokens():
    right = generate_with_cache(MODEL, PROMPTS[0], 8).tokens[0].tolist()
    assert continued(0, cache_of=0) == right
    assert continued(0, cache_of=2) != right
