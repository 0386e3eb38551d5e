"""A small share of `python -m tests.fuzz --count 100000`, in every run."""

import json
from random import Random
from time import process_time

import pytest

from tests.fuzz.__main__ import LIMIT_S, outcome
from tests.fuzz.mutations import CONFIGS, damaged

ANSWERS = {"answer", "InvalidInput", "UnsupportedModel"}


@pytest.mark.parametrize("block", range(10))
def test_a_damaged_configuration_gives_an_answer_or_an_error_of_ours(block):
    found = {outcome(damaged(Random(f"ci {block} {i}"))) for i in range(50)}
    assert found <= ANSWERS


def test_it_takes_less_than_a_tenth_of_a_second():
    texts = [damaged(Random(f"time {i}")) for i in range(50)]
    start = process_time()
    for text in texts:
        outcome(text)
    assert process_time() - start < LIMIT_S * len(texts)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c["model_type"])
def test_an_undamaged_configuration_is_answered(config):
    assert outcome(json.dumps(config).encode()) == "answer"
