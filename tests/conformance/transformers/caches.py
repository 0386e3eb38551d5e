"""A model type, a kind of cache and lengths → the bytes that transformers' own classes hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache, EncoderDecoderCache, QuantizedCache, StaticCache
from transformers.modeling_outputs import BaseModelOutput

import calculator as kv
from tests.conformance.transformers import geometry, measure
from tests.conformance.transformers.compare import ATTEMPTS, _windows
from tests.conformance.transformers.overrides import Override, override


class Held(NamedTuple):
    """Bytes that the tensors say they have, and bytes of the storages behind them."""

    tensors: int
    storage: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """Options of the engine, and one padded batch: tokens of the first pass, and one by one."""

    options: dict[str, Any]
    first: int
    decoded: int
    batch_size: int
    encoder_seq_len: int = 0

    @property
    def text(self) -> str:
        return f"{self.options} {self.first}+{self.decoded} × {self.batch_size}"


def cache_of(config: Any, scenario: Scenario, *, cross: bool) -> Any:
    """The cache that `generate` would make (generation/utils.py:_prepare_cache_for_generation)."""
    options = scenario.options
    match options["cache"]:
        case "static":
            found: Any = StaticCache(config=config, max_cache_len=options["max_cache_len"])
            other: Any = StaticCache(config=config, max_cache_len=scenario.encoder_seq_len or 1)
        case "quantized":
            given = {k: v for k, v in options.items() if k not in ("cache", "backend")}
            return QuantizedCache(options["backend"], config, **given)
        case _:
            found, other = DynamicCache(config=config), DynamicCache(config=config)
    return EncoderDecoderCache(found, other) if cross else found


def run(model: Any, how: Override, scenario: Scenario) -> Held:
    """The first pass, then a pass for every token that comes alone."""
    config = model.config.get_text_config(decoder=True)
    # mllama's decoder has a single cache, for what it is shown as well
    cross = bool(how.encoder) and config.model_type != "mllama_text_model"
    name = "cache_params" if "mamba" in type(model).__name__.lower() else "past_key_values"
    with torch.device(how.device), torch.no_grad(), measure.searches(how):
        cache = cache_of(config, scenario, cross=cross)
        for step, seq_len in enumerate((scenario.first, *[1] * scenario.decoded)):
            inputs = _inputs(model, how, scenario, seq_len)
            if step:  # mllama would cache what it is shown a second time
                inputs.pop("cross_attention_states", None)
            model(use_cache=True, **inputs, **{name: cache})
    return held(cache)


def _inputs(model: Any, how: Override, scenario: Scenario, seq_len: int) -> dict[str, Any]:
    batch, inputs = scenario.batch_size, {}
    whole = how.encoder == "encoder_outputs"
    if how.encoder:
        width = model.config.get_text_config(decoder=True).hidden_size
        states = torch.zeros((batch, scenario.encoder_seq_len, width), dtype=model.dtype)
        inputs[how.encoder] = BaseModelOutput(states) if whole else states
    ids = torch.zeros((batch, seq_len), dtype=torch.long)
    inputs["decoder_input_ids" if whole else "input_ids"] = ids
    return inputs | {k: v(batch, seq_len) for k, v in how.inputs.items()}


def held(cache: Any) -> Held:
    """Every floating-point or quantised tensor of a cache, and each storage once."""
    kept = [t for t in _plain(measure.tensors_of(cache)) if t.dtype not in (torch.long, torch.bool)]
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in kept}
    return Held(sum(t.numel() * t.element_size() for t in kept), sum(storages.values()))


def _plain(tensors: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The tensors that quanto's wrappers are made of."""
    for tensor in tensors:
        if type(tensor) is not torch.Tensor and hasattr(tensor, "__tensor_flatten__"):
            yield from _plain([getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]])
        else:
            yield tensor


def predict(model: Any, scenario: Scenario) -> Held:
    """The same by the calculator."""
    request = kv.Request(
        scenario.first + scenario.decoded,
        scenario.batch_size,
        encoder_seq_len=scenario.encoder_seq_len or None,
    )
    engine = kv.engine("transformers", decoded_tokens=scenario.decoded, **scenario.options)
    found = kv.footprint(model, request, engine)
    return Held(found.num_bytes, found.storage_bytes)


def random_scenario(shape: geometry.Geometry, how: Override, cache: str, rng: Random) -> Scenario:
    """Lengths on both sides of the windows, one sequence or three, a few tokens decoded or none."""
    windows = sorted(set(_windows(shape.full))) or [16]
    longest = min(how.max_tokens, 300)
    total = rng.choice([max(1, rng.choice(windows) + rng.randint(-3, 3)), rng.randint(2, 40)])
    total = min(total, longest)
    decoded = min(rng.choice((0, 0, 1, 2, 5)), total - 1)
    options: dict[str, Any] = {"cache": cache}
    if cache == "static":
        options["max_cache_len"] = total + rng.choice((0, 1, 7, 40))
    if cache == "quantized":
        options["backend"] = "fp8"
    encoder = rng.randint(1, total) if how.encoder else 0
    return Scenario(options, total - decoded, decoded, rng.choice((1, 3)), encoder)


def compared(model_type: str, cache: str, seed: str) -> tuple[str, Held, Held]:
    """The first shape of the seed that the model's own code runs: its name, measured, predicted."""
    how, error = override(model_type), None
    for attempt in range(ATTEMPTS):
        rng = Random(f"{model_type} {cache} {seed} {attempt}")
        try:
            shape = geometry.random(model_type, how, f"{seed}.{attempt}")
            scenario = random_scenario(shape, how, cache, rng)
            measured = run(measure.build(shape.config, how), how, scenario)
        except Exception as failed:  # the class's own code may fail in any way
            error = failed
        else:
            return scenario.text, measured, predict(kv.load_model(shape.full), scenario)
    raise AssertionError(f"{model_type} with a {cache} cache cannot be run") from error
