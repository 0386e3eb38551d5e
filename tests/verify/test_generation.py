"""What a cache must and must not change, on the reference decoder."""

import pytest

torch = pytest.importorskip("torch")

import calculator as kv  # noqa: E402
from calculator.verify.demonstration import demonstration, predicted_bytes  # noqa: E402
from calculator.verify.generation import (  # noqa: E402
    generate_no_cache,
    generate_with_cache,
    random_prompt,
    sampled,
)
from calculator.verify.reference_model import (  # noqa: E402
    Shape,
    cache_bytes,
    decoder,
    empty_cache,
    forward,
)

SMALL = Shape(
    num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
    intermediate_size=96, vocab_size=256,
)  # fmt: skip
MODEL = decoder(SMALL)


def of_depth(layers: int):
    from dataclasses import replace

    return decoder(replace(SMALL, num_hidden_layers=layers))


@pytest.mark.parametrize("prompt_tokens", [1, 2, 7, 30])
def test_64_random_prompts_give_the_same_tokens_with_and_without(prompt_tokens):
    for seed in range(16):
        prompt = random_prompt(MODEL, prompt_tokens, seed)
        cached = generate_with_cache(MODEL, prompt, 12)
        uncached = generate_no_cache(MODEL, prompt, 12)
        assert cached.tokens.tolist() == uncached.tokens.tolist()
        assert (cached.logits - uncached.logits).abs().max() < 1e-4


def test_the_texts_are_not_one_token_over_and_over():
    texts = [generate_with_cache(MODEL, random_prompt(MODEL, 20, s), 12).tokens for s in range(4)]
    assert all(len(set(text[0].tolist())) > 5 for text in texts)


def test_the_tokens_depend_on_the_cache():
    prompt = random_prompt(MODEL, 20, 1)
    _, cache = forward(MODEL, prompt, empty_cache(MODEL))
    token = torch.tensor([[5]])
    right, _ = forward(MODEL, token, cache)
    wrong, _ = forward(MODEL, token, [(key * 0, value) for key, value in cache])
    assert (right - wrong).abs().max() > 0.1


def test_attention_is_torchs_own_scaled_dot_product_attention():
    """One layer by hand: query heads in groups, rotary positions, causal mask."""
    from calculator.verify.reference_model import _attention, _normed, _rotated, _rotation

    layer, s = MODEL.layers[0], SMALL
    hidden = _normed(MODEL.embedding[random_prompt(MODEL, 9, 3)])
    rotation = _rotation(s, 0, 9)
    found, (key, value) = _attention(layer, hidden, empty_cache(MODEL)[0], rotation, True, s)
    query = _rotated((hidden @ layer.query).view(1, 9, 4, 32).transpose(1, 2), rotation)
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=True
    )
    expected = expected.transpose(1, 2).reshape(1, 9, -1) @ layer.output
    assert (found - expected).abs().max() < 1e-5


def test_rotary_scores_depend_on_the_distance_alone():
    from calculator.verify.reference_model import _rotated, _rotation

    a, b = torch.randn(2, 1, 1, 1, 32, generator=torch.Generator().manual_seed(0))

    def score(i: int, j: int) -> float:
        return float((_rotated(a, _rotation(SMALL, i, 1)) * _rotated(b, _rotation(SMALL, j, 1)))
                     .sum())  # fmt: skip

    assert score(3, 1) == pytest.approx(score(103, 101), abs=1e-3)
    assert score(3, 1) != pytest.approx(score(4, 1), abs=1e-3)


def test_the_cache_is_a_pair_a_layer_that_grows_by_a_position_a_step():
    cache = empty_cache(MODEL, batch_size=3)
    for step, new in enumerate([4, 1, 1, 1]):
        _, cache = forward(MODEL, random_prompt(MODEL, new, step, batch_size=3), cache)
        slots = 4 + step
        assert [tuple(t.shape) for pair in cache for t in pair] == [(3, 2, slots, 32)] * 4
        expected = kv.footprint(SMALL.spec(), kv.Request(slots, 3)).num_bytes
        assert cache_bytes(cache) == expected == 2 * 2 * 3 * slots * 2 * 32 * 4


def test_bytes_after_every_step_are_the_formulas():
    found = generate_with_cache(MODEL, random_prompt(MODEL, 10, 0), 8)
    assert found.cache_bytes == predicted_bytes(SMALL, 10, 8)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_without_the_causal_mask_a_cache_is_wrong_from_two_layers_up(layers):
    """A single layer's keys come from the tokens alone; a second one's from what they attended."""
    model = of_depth(layers)
    prompt = random_prompt(model, 20, 0)
    cached = generate_with_cache(model, prompt, 6, is_causal=False)
    uncached = generate_no_cache(model, prompt, 6, is_causal=False)
    difference = float((cached.logits[:, 1] - uncached.logits[:, 1]).abs().max())
    assert (difference < 1e-4) is (layers == 1)
    assert (cached.tokens.tolist() == uncached.tokens.tolist()) is (layers == 1)


def test_sampling_gives_the_same_tokens_under_a_seed_and_others_under_another():
    prompt = random_prompt(MODEL, 12, 0)
    first, again, other = (
        generate_with_cache(MODEL, prompt, 16, sampled(0.8, seed)).tokens.tolist()
        for seed in (1, 1, 2)
    )
    uncached = generate_no_cache(MODEL, prompt, 16, sampled(0.8, 1)).tokens.tolist()
    assert first == again == uncached
    assert first != other


def test_the_version_changes_with_any_weight():
    assert decoder(SMALL, 0).version == MODEL.version
    assert decoder(SMALL, 1).version != MODEL.version


def test_the_report_holds_the_six_fields_of_reproducibility():
    found = demonstration(24, 12, shape=SMALL, device="cpu").to_dict()
    assert set(found["reproducibility"]) == {
        "model_version", "tokens_in", "decoding", "seed", "tolerance", "device_and_versions",
    }  # fmt: skip
    assert found["equal"] and found["tokens_equal"] and found["within_tolerance"]
    assert found["predicted_bytes"] == found["measured_bytes"] == 35 * 2 * 2 * 2 * 32 * 4
    assert found["prefill_ms"] <= found["ttft_ms"] and found["decode_ms"] > 0
    assert found["projections"]["cached"] == 35
    assert {x["dtype"] for x in found["lossy"]} == {"fp8", "int8", "q8_0", "q4_0"}


def test_projections_saved_are_213_for_512_and_256():
    from calculator.verify.demonstration import projected_tokens

    cached, uncached = projected_tokens(512, 256)
    assert (cached, uncached, round(uncached / cached)) == (767, 163_712, 213)


@pytest.mark.parametrize(
    "wrong", [{"prompt_tokens": 0}, {"new_tokens": 1}, {"temperature": 0.0}, {"prompt_tokens": 1e9}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(kv.InvalidInput):
        demonstration(**{"prompt_tokens": 4, "new_tokens": 4, **wrong}, device="cpu")
