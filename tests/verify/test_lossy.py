"""A cache in a smaller element type changes what comes out, the more the smaller it is."""

import pytest

torch = pytest.importorskip("torch")

from calculator.verify.generation import generate_with_cache, random_prompt  # noqa: E402
from calculator.verify.lossy import ROUNDINGS, loss  # noqa: E402
from calculator.verify.reference_model import decoder  # noqa: E402
from tests.verify.test_generation import SMALL  # noqa: E402

MODEL = decoder(SMALL)
PROMPT = random_prompt(MODEL, 40, 0)
EXACT = generate_with_cache(MODEL, PROMPT, 40)


@pytest.mark.parametrize("dtype", ROUNDINGS)
def test_a_lossy_cache_changes_logits(dtype):
    assert loss(MODEL, PROMPT, EXACT, dtype).max_abs_logit_change > 1e-3


def test_four_bits_change_more_than_eight_and_other_tokens_follow():
    found = {dtype: loss(MODEL, PROMPT, EXACT, dtype) for dtype in ("q8_0", "q4_0")}
    assert found["q4_0"].max_abs_logit_change > 2 * found["q8_0"].max_abs_logit_change
    assert 0 < found["q4_0"].tokens_until_divergence < 40


def test_no_rounding_changes_nothing():
    along = generate_with_cache(MODEL, PROMPT, 40, rounding=lambda t: t, forced=EXACT.tokens)
    assert (along.logits - EXACT.logits).abs().max() == 0


@pytest.mark.parametrize(("dtype", "steps"), [("int8", 127), ("q8_0", 127), ("q4_0", 8)])
def test_the_error_is_half_a_step_of_the_largest_magnitude(dtype, steps):
    rows = torch.randn(1, 2, 50, 32, generator=torch.Generator().manual_seed(0))
    error = (ROUNDINGS[dtype](rows) - rows).abs().amax(-1)
    # q4_0 has no +8: the value opposite its largest may be a whole step off; scales are fp16
    worst = rows.abs().amax(-1) / steps * (1.01 if dtype == "q4_0" else 0.57)
    assert (error <= worst).all()


def test_q8_0_and_q4_0_are_ggmls_own():
    gguf = pytest.importorskip("gguf")
    import numpy as np

    rows = torch.randn(64, 32, generator=torch.Generator().manual_seed(1))
    for dtype, kind in (("q8_0", gguf.GGMLQuantizationType.Q8_0),
                        ("q4_0", gguf.GGMLQuantizationType.Q4_0)):  # fmt: skip
        packed = gguf.quants.quantize(rows.numpy(), kind)
        expected = gguf.quants.dequantize(packed, kind)
        assert np.array_equal(ROUNDINGS[dtype](rows).numpy(), expected)
