"""A seed and two lengths → the reference decoder with its cache and without, and the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calculator.errors import InvalidInput
from calculator.footprint import footprint
from calculator.request import Request
from calculator.units import checked_int
from calculator.verify.allocate import Progress
from calculator.verify.device import chosen_device, device_name, versions
from calculator.verify.generation import (
    Generated,
    generate_no_cache,
    generate_with_cache,
    greedy,
    random_prompt,
    sampled,
)
from calculator.verify.lossy import ROUNDINGS, Loss, loss
from calculator.verify.reference_model import Shape, decoder

if TYPE_CHECKING:
    from calculator.verify.reference_model import Decoder

MAX_TOKENS = 2**14
TOLERANCE = 1e-3
WHY = (
    "Keys and values are computed for {cached:,} tokens instead of {uncached:,}, {ratio:,.0f} × "
    "fewer. The time falls less: a step with a cache still reads every weight and every cached "
    "key for a single token, so memory and the start of each operation decide it and not "
    "arithmetic, and attention goes over the whole text either way."
)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Two runs over one prompt, the first with a cache, and what a smaller cache changes."""

    model: Decoder
    prompt_tokens: int
    temperature: float | None
    seed: int
    device: str
    cached: Generated
    uncached: Generated
    predicted: tuple[int, ...]
    losses: tuple[Loss, ...]

    @property
    def tokens_equal(self) -> bool:
        return bool((self.cached.tokens == self.uncached.tokens).all())

    @property
    def max_abs_logit_difference(self) -> float:
        """Over the steps before the texts part, if they do."""
        other = (self.cached.tokens != self.uncached.tokens).any(0).nonzero()
        end = int(other[0]) + 1 if len(other) else self.cached.tokens.shape[1]
        difference = self.cached.logits[:, :end] - self.uncached.logits[:, :end]
        return float(difference.abs().max())

    @property
    def equal(self) -> bool:
        """The cache's bytes are the formula's after every step, and the tokens are the same."""
        return self.cached.cache_bytes == self.predicted and self.tokens_equal

    def to_dict(self) -> dict[str, Any]:
        new = self.cached.tokens.shape[1]
        decode_s = self.cached.total_s - self.cached.first_token_s
        return {
            "predicted_bytes": self.predicted[-1],
            "measured_bytes": self.cached.cache_bytes[-1],
            "equal": self.equal,
            "method": "generate",
            "device": self.device,
            "device_name": device_name(self.device),
            "versions": versions(self.device),
            "ttft_ms": milliseconds(self.cached.first_token_s),
            "prefill_ms": milliseconds(self.cached.prefill_s),
            "decode_ms": milliseconds(decode_s),
            "decode_tokens_per_second": ratio(new - 1, decode_s),
            "uncached_ms": milliseconds(self.uncached.total_s),
            "speedup": ratio(self.uncached.total_s, self.cached.total_s),
            "tokens_equal": self.tokens_equal,
            "max_abs_logit_difference": self.max_abs_logit_difference,
            "tolerance": TOLERANCE,
            "within_tolerance": self.max_abs_logit_difference <= TOLERANCE,
            "seed": self.seed,
            **self._work(new),
            "bytes_after_step": list(self.cached.cache_bytes),
            "lossy": [found._asdict() for found in self.losses],
            "reproducibility": self._reproducibility(new),
            "tokens": self.cached.tokens[0].tolist(),
        }

    def _work(self, new: int) -> dict[str, Any]:
        """Tokens whose keys and values are computed, with the cache and without."""
        cached, uncached = projected_tokens(self.prompt_tokens, new)
        share = ratio(uncached, cached)
        return {
            "projections": {"cached": cached, "uncached": uncached, "ratio": share},
            "why": WHY.format(cached=cached, uncached=uncached, ratio=share),
        }

    def _reproducibility(self, new: int) -> dict[str, Any]:
        kind = "greedy" if self.temperature is None else f"sampled at {self.temperature}"
        return {
            "model_version": self.model.version,
            "tokens_in": f"{self.prompt_tokens} random tokens under the seed",
            "decoding": f"{kind}, {new} new tokens",
            "seed": self.seed,
            "tolerance": TOLERANCE,
            "device_and_versions": {"device": self.device, **versions(self.device)},
        }


def demonstration(
    prompt_tokens: int = 512,
    new_tokens: int = 256,
    *,
    seed: int = 0,
    temperature: float | None = None,
    device: str = "auto",
    shape: Shape | None = None,
    progress: Progress = lambda done, total, text: None,
) -> Demonstration:
    """Generate twice under one seed, then with the cache in smaller element types."""
    checked_int("prompt_tokens", prompt_tokens, at_most=MAX_TOKENS)
    checked_int("new_tokens", new_tokens, at_least=2, at_most=MAX_TOKENS)
    if temperature is not None and not 0 < temperature <= 100:
        raise InvalidInput(
            f"temperature is {temperature}; expected more than 0, at most 100.", field="temperature"
        )
    device = chosen_device(device)
    model = decoder(shape or Shape(), seed, device)
    prompt = random_prompt(model, prompt_tokens, seed)
    generate_with_cache(model, prompt, 2)  # the first pass also pays for the start of everything
    total = 2 * new_tokens + len(ROUNDINGS)

    def picks() -> Any:
        return greedy if temperature is None else sampled(temperature, seed)

    cached = generate_with_cache(
        model, prompt, new_tokens, picks(),
        on_step=lambda step: progress(step + 1, total, "with the cache"),
    )  # fmt: skip
    uncached = generate_no_cache(
        model, prompt, new_tokens, picks(),
        on_step=lambda step: progress(new_tokens + step + 1, total, "without it"),
    )  # fmt: skip
    exact = cached if temperature is None else generate_with_cache(model, prompt, new_tokens)
    losses = []
    for i, dtype in enumerate(ROUNDINGS):
        progress(2 * new_tokens + i + 1, total, f"with a {dtype} cache")
        losses.append(loss(model, prompt, exact, dtype))
    return Demonstration(
        model, prompt_tokens, temperature, seed, device, cached, uncached,
        predicted_bytes(model.shape, prompt_tokens, new_tokens), tuple(losses),
    )  # fmt: skip


def predicted_bytes(shape: Shape, prompt_tokens: int, new_tokens: int) -> tuple[int, ...]:
    """The calculator's formula after the prompt and after each further step [bytes]."""
    spec = shape.spec()
    lengths = range(prompt_tokens, prompt_tokens + new_tokens)
    return tuple(footprint(spec, Request(seq_len=n)).num_bytes for n in lengths)


def projected_tokens(prompt_tokens: int, new_tokens: int) -> tuple[int, int]:
    """Tokens put through the key and value projections: (with a cache, without).

    With it, each token once; the last new token is never put in. Without it, step i puts in the
    prompt and the i tokens before it.

    >>> cached, uncached = projected_tokens(512, 256)
    >>> cached, uncached, uncached // cached
    (767, 163712, 213)
    """
    cached = prompt_tokens + new_tokens - 1
    uncached = new_tokens * prompt_tokens + new_tokens * (new_tokens - 1) // 2
    return cached, uncached


def milliseconds(seconds: float) -> float:
    return seconds * 1000


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0
