"""Static, quantised and dynamic caches, and the memory behind them, against the real classes.

Models at random shapes on the `meta` device, lengths on both sides of their windows; quantised
caches on CPU, where the values decide nothing but must be there.
"""

from __future__ import annotations

import json
from random import Random

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import DynamicCache, LlamaConfig, StaticCache

import calculator as kv
from tests.conformance.transformers import geometry, quantised
from tests.conformance.transformers.caches import cache_of, compared, random_scenario
from tests.conformance.transformers.overrides import override

pytestmark = pytest.mark.slow
EVERY = (
    "bart", "bloom", "deepseek_v2", "deepseek_v3", "deepseek_v32", "falcon_h1", "gemma2",
    "gemma3_text", "gemma3n_text", "gemma4_text", "gpt_oss", "kimi_linear", "lfm2", "llama",
    "llama4_text", "mamba2", "mistral", "mllama", "musicgen", "qwen3_next", "trocr", "whisper",
    "zamba2",
)  # fmt: skip
"""MLA, indexers, windows, chunks, states beside and inside attention layers, shared layers, and
every way to keep an encoder's keys."""
WITHOUT_STATIC = ("deepseek_v4",)
FULL = ("bloom", "deepseek_v3", "gpt2", "llama", "qwen2")
SEEDS = ("caches-0", "caches-1")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("model_type", "cache"),
    [
        *((model_type, "dynamic") for model_type in (*EVERY, *WITHOUT_STATIC)),
        *((model_type, "static") for model_type in EVERY),
        *((model_type, "quantized") for model_type in FULL),
    ],
)
def test_tensors_and_the_memory_behind_them_have_the_bytes_predicted(model_type, cache, seed):
    scenario, measured, predicted = compared(model_type, cache, seed)
    assert predicted == measured, scenario


QUANTO = [quantised.random_case("quanto", Random(f"quanto {n}")) for n in range(60)]
RECORD = json.loads(quantised.RECORD.read_text())


@pytest.mark.parametrize("number", range(len(QUANTO)))
def test_quanto_holds_or_refuses_what_is_predicted(number):
    pytest.importorskip("optimum.quanto")
    case = QUANTO[number]
    assert quantised.predicted(case) == quantised.measured(case), case


def test_hqq_held_or_refused_what_is_predicted():
    for recorded, measured in RECORD["cases"]:
        case = quantised.Case(**recorded)
        assert quantised.predicted(case) == (measured and tuple(measured)), case


def test_the_record_of_hqq_is_of_this_release_and_of_both_outcomes():
    from calculator.engines.transformers import Transformers

    assert RECORD["versions"]["transformers"] == Transformers.verified_with
    held = sum(measured is not None for _, measured in RECORD["cases"])
    assert held >= 50 and len(RECORD["cases"]) - held >= 10


@pytest.mark.parametrize("model_type", ["gemma3_text", "deepseek_v32", "falcon_h1", "mamba2"])
def test_the_real_code_refuses_to_quantise_what_is_refused_here(model_type):
    how, rng = override(model_type), Random("refused")
    shape = geometry.default(model_type, how)
    scenario = random_scenario(shape, how, "quantized", rng)
    with pytest.raises(ValueError, match="only supported for models with only full attention"):
        cache_of(shape.config.get_text_config(decoder=True), scenario, cross=False)
    with pytest.raises(kv.UnsupportedModel, match="full attention layers only"):
        _footprint(shape, cache="quantized", backend="fp8")


def test_the_real_code_has_no_static_cache_for_compressed_layers():
    shape = geometry.default("deepseek_v4", override("deepseek_v4"))
    with pytest.raises(KeyError, match="attention"):
        StaticCache(config=shape.config, max_cache_len=8)
    with pytest.raises(kv.UnsupportedModel, match="no static cache"):
        _footprint(shape, cache="static")


def test_a_static_cache_that_is_too_short_fails_in_the_real_code():
    cache = StaticCache(config=LlamaConfig(num_hidden_layers=1), max_cache_len=4)
    states = torch.zeros(1, 1, 5, 8)
    with pytest.raises((IndexError, RuntimeError)):
        cache.update(states, states, 0)


@pytest.mark.parametrize(
    ("cache", "stay", "fetched"),
    [("offloaded", [], 0), ("offloaded_static", [0, 2], 1)],
)
def test_what_offloading_leaves_on_the_device(monkeypatch, cache, stay, fetched):
    """Layers sliding, full, sliding, full: the first one that was sent away is fetched again."""
    from transformers import Gemma3TextConfig

    kinds = ["sliding_attention", "full_attention"] * 2
    config = Gemma3TextConfig(num_hidden_layers=4, layer_types=kinds)
    real = _without_streams(monkeypatch, cache, config)
    away: set[int] = set()
    for index, layer in enumerate(real.layers):
        monkeypatch.setattr(layer, "offload", lambda index=index: away.add(index))
        monkeypatch.setattr(layer, "prefetch", lambda index=index: away.discard(index))
    states = torch.zeros(1, 1, 3, 8)
    for index in range(4):
        real.update(states, states, index)
    assert sorted({0, 1, 2, 3} - away) == sorted({*stay, fetched})


def _without_streams(monkeypatch, cache, config):
    """The real cache on CPU, which has no streams to wait for."""
    monkeypatch.setattr(torch, "Stream", _Stream)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: _Stream())
    if cache == "offloaded":
        return DynamicCache(config=config, offloading=True)
    return StaticCache(config=config, max_cache_len=8, offloading=True)


class _Stream:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def wait_stream(self, other):
        return None


def _footprint(shape, **options):
    model = kv.load_model(shape.full)
    return kv.footprint(model, kv.Request(20), kv.engine("transformers", **options))
