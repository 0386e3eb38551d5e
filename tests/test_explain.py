"""What the sentences about a footprint say."""

import calculator as kv
from calculator.explain import answer
from tests.models import plain

SMALL = kv.footprint(plain(2, 2, 32), kv.Request(1))  # 2 × 2 layers × 2 heads × 32 × 2 B


def test_a_size_is_not_repeated_in_brackets():
    assert answer(SMALL).endswith(": 512 B.")
    assert kv.explain(SMALL).marginal == "One more token of a sequence adds 512 B."


def test_a_larger_size_stands_in_both_units():
    large = kv.footprint(plain(2, 2, 64), kv.Request(1))
    assert answer(large).endswith(": 1 KiB (1,024 B).")
    assert kv.explain(large).marginal == "One more token of a sequence adds 1,024 B (1 KiB)."
