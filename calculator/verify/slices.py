"""A footprint too large for the memory → the largest part of it that is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from calculator.footprint import Footprint, footprint
from calculator.model import ModelSpec, shortest_pattern
from calculator.request import Request

Kind = Literal["layers", "tokens"]
KINDS: tuple[Kind, ...] = ("layers", "tokens")


@dataclass(frozen=True, slots=True)
class Slice:
    """The first `count` layers with all tokens, or all layers with at most `count` tokens."""

    kind: Kind
    count: int
    of: int
    footprint: Footprint

    @property
    def text(self) -> str:
        """
        >>> Slice("layers", 8, 32, None).text
        '8 of 32 layers'
        """
        return f"{self.count:,} of {self.of:,} {self.kind}"


def largest_slice(found: Footprint, kind: Kind, budget_bytes: int) -> Slice | None:
    """The largest slice of a kind within the budget, or None where not even one fits.

    >>> from calculator.catalog import load_model
    >>> found = footprint(load_model("llama-3-8b"), Request(seq_len=8192))
    >>> [largest_slice(found, kind, 2**28).text for kind in ("layers", "tokens")]
    ['8 of 32 layers', '2,048 of 8,192 tokens']
    """
    model, request = found.model, found.request
    if kind == "layers":
        of = model.num_hidden_layers

        def part(count: int) -> Footprint:
            return footprint(_first_layers(model, count), request, found.engine, found.parallelism)
    else:
        of = request.longest

        def part(count: int) -> Footprint:
            return footprint(model, _at_most(request, count), found.engine, found.parallelism)

    count = _largest(lambda n: part(n).num_bytes <= budget_bytes, of)
    return Slice(kind, count, of, part(count)) if count else None


def _first_layers(model: ModelSpec, count: int) -> ModelSpec:
    first = model.every_layer_type()[:count]
    return replace(model, num_hidden_layers=count, layer_types=shortest_pattern(first))


def _at_most(request: Request, count: int) -> Request:
    prefix = min(request.shared_prefix_len, count)
    if request.seq_lens is None:
        shorter = min(request.longest, count)
        return replace(request, seq_len=shorter, shared_prefix_len=prefix)
    lengths = tuple(min(n, count) for n in request.seq_lens)
    return replace(request, seq_lens=lengths, shared_prefix_len=prefix)


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest n from 1 to `most` that fits, 0 if none does; sizes grow with n."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
