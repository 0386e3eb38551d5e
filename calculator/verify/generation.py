"""A decoder and a prompt → new tokens, with the cache and without it, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from calculator.verify.device import synchronize
from calculator.verify.reference_model import (
    Cache,
    Decoder,
    cache_bytes,
    empty_cache,
    forward,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    Pick = Callable[[Tensor], Tensor]
    """Logits (batch, vocabulary) → a token each, (batch, 1)."""


class Generated(NamedTuple):
    """New tokens, the logits each was picked from, what the cache held, and when."""

    tokens: Tensor
    logits: Tensor
    cache_bytes: tuple[int, ...]
    """After the prompt and after every further step; empty without a cache."""
    first_token_s: float
    total_s: float
    prefill_s: float


def greedy(logits: Tensor) -> Tensor:
    """The likeliest token."""
    return logits.argmax(-1, keepdim=True)


def sampled(temperature: float, seed: int) -> Pick:
    """Tokens drawn by their probability at a temperature, the same ones for the same seed."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def pick(logits: Tensor) -> Tensor:
        chances = logits.cpu().div(temperature).softmax(-1)
        return torch.multinomial(chances, 1, generator=generator).to(logits.device)

    return pick


def generate_with_cache(
    model: Decoder,
    prompt: Tensor,
    new_tokens: int,
    pick: Pick | None = None,
    *,
    is_causal: bool = True,
    rounding: Callable[[Tensor], Tensor] | None = None,
    forced: Tensor | None = None,
    on_step: Callable[[int], None] = lambda step: None,
) -> Generated:
    """Prompt once, then one token a step: each step computes one key and value a layer.

    `rounding` is done to every new key and value as it is stored. `forced` are the tokens to go on
    with whatever is picked, so that logits can be compared along one text.
    """
    pick = pick or greedy
    start = _now(model)
    cache = empty_cache(model, prompt.shape[0])
    step_tokens, picked, logits, sizes = prompt, [], [], []
    prefill = first = start
    for step in range(new_tokens):
        stored = cache[0][0].shape[2]
        found, cache = forward(model, step_tokens, cache, is_causal=is_causal)
        if rounding:
            cache = _rounded(cache, stored, rounding)
        if not step:
            prefill = _now(model)
        picked.append(pick(found))
        logits.append(found)
        if not step:
            first = _now(model)
        step_tokens = picked[-1] if forced is None else forced[:, step : step + 1]
        sizes.append(cache_bytes(cache))
        on_step(step)
    return _generated(picked, logits, sizes, start, first, prefill, _now(model))


def generate_no_cache(
    model: Decoder,
    prompt: Tensor,
    new_tokens: int,
    pick: Pick | None = None,
    *,
    is_causal: bool = True,
    on_step: Callable[[int], None] = lambda step: None,
) -> Generated:
    """Every step computes every token again, and forgets it."""
    import torch

    pick = pick or greedy
    start = first = _now(model)
    text, picked, logits = prompt, [], []
    for step in range(new_tokens):
        found, _ = forward(model, text, empty_cache(model, text.shape[0]), is_causal=is_causal)
        picked.append(pick(found))
        logits.append(found)
        if not step:
            first = _now(model)
        text = torch.cat((text, picked[-1]), dim=1)
        on_step(step)
    return _generated(picked, logits, [], start, first, first, _now(model))


def random_prompt(model: Decoder, num_tokens: int, seed: int, batch_size: int = 1) -> Tensor:
    """Tokens drawn alike, under a seed."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    size = (batch_size, num_tokens)
    found = torch.randint(model.shape.vocab_size, size, generator=generator)
    return found.to(model.embedding.device)


def _rounded(cache: Cache, stored: int, rounding: Callable[[Tensor], Tensor]) -> Cache:
    """What was added since `stored` slots, rounded; what was there has been already."""
    import torch

    def one(tensor: Tensor) -> Tensor:
        return torch.cat((tensor[:, :, :stored], rounding(tensor[:, :, stored:])), dim=2)

    return [(one(key), one(value)) for key, value in cache]


def _now(model: Decoder) -> float:
    """The clock, once the device has done what it was given."""
    synchronize(model.embedding.device.type)
    return time.perf_counter()


def _generated(
    picked: list[torch.Tensor],
    logits: list[torch.Tensor],
    sizes: list[int],
    start: float,
    first: float,
    prefill: float,
    end: float,
) -> Generated:
    import torch

    return Generated(
        torch.cat(picked, dim=1),
        torch.stack(logits, dim=1),
        tuple(sizes),
        first - start,
        end - start,
        prefill - start,
    )
