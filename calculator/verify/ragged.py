"""Prompts of different lengths and ends → tokens, each sequence with a state of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from calculator.verify.generation import greedy
from calculator.verify.reference_model import (
    Cache,
    Decoder,
    cache_bytes,
    empty_cache,
    forward,
)

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True)
class State:
    """A sequence that is being generated: its text so far, and its cache and nobody else's.

    Slot i of the cache holds the token at position i, so the next position is the cache's length.
    """

    tokens: Tensor
    new_tokens: int
    cache: Cache
    picked: list[int] = field(default_factory=list)

    @property
    def position(self) -> int:
        return int(self.cache[0][0].shape[2])


class Step(NamedTuple):
    """After a step: position of every live sequence, by its number, and bytes of all caches."""

    positions: dict[int, int]
    cache_bytes: int


def generate_ragged(
    model: Decoder, prompts: list[Tensor], new_tokens: list[int]
) -> tuple[list[list[int]], list[Step]]:
    """Greedy tokens of every sequence, and what was held after every step.

    A step gives each live sequence a token; one that has all of its own is released at once.
    """
    live = {
        i: State(prompt, count, empty_cache(model))
        for i, (prompt, count) in enumerate(zip(prompts, new_tokens, strict=True))
    }
    done: dict[int, list[int]] = {}
    steps: list[Step] = []
    while live:
        for state in live.values():
            advance(model, state)
        held = sum(cache_bytes(state.cache) for state in live.values())
        steps.append(Step({i: state.position for i, state in live.items()}, held))
        for i in [i for i, state in live.items() if len(state.picked) == state.new_tokens]:
            done[i] = live.pop(i).picked  # the cache goes with the state
    return [done[i] for i in range(len(prompts))], steps


def advance(model: Decoder, state: State) -> None:
    """One forward pass over what the cache has not seen, and a token more."""
    import torch

    logits, state.cache = forward(model, state.tokens[:, state.position :], state.cache)
    picked = greedy(logits)
    state.picked.append(int(picked))
    state.tokens = torch.cat((state.tokens, picked), dim=1)
