"""Prompt and new tokens → the work with and without a cache, a pass at a time, and questions."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from calculator.explain import value_bytes
from calculator.footprint import Footprint, footprint
from calculator.items import Row
from calculator.textbook import textbook
from calculator.units import MAX_TOKENS, format_bytes
from calculator.verify.tensor_list import tensor_list


class Work(NamedTuple):
    """The same tokens generated twice: how often something is done without a cache, and with."""

    prompt_tokens: int
    new_tokens: int
    without: int
    cached: int

    @property
    def ratio(self) -> float:
        """How many times more is done without a cache."""
        return self.without / self.cached


def projections(prompt_tokens: int, new_tokens: int) -> Work:
    """Token positions that go through the projections of a layer, keys and values among them.

    Without a cache every pass projects all positions again, P + (P + 1) + … + (P + N − 1);
    with one each position is projected once, P + N − 1: the last new token is not put in.

    >>> projections(1000, 1000)[2:], round(projections(1000, 1000).ratio)
    ((1499500, 1999), 750)
    >>> projections(4000, 1000)[2:], round(projections(4000, 1000).ratio)
    ((4499500, 4999), 900)
    """
    P, N = prompt_tokens, new_tokens
    return Work(P, N, N * P + N * (N - 1) // 2, P + N - 1)


def attention_pairs(prompt_tokens: int, new_tokens: int) -> Work:
    """(query, key) pairs a head scores under a causal mask: n positions make n (n + 1) / 2.

    Without a cache every pass scores all pairs again, cubic in tokens; with one, each pair once.

    >>> attention_pairs(1000, 1000)[2:]
    (1166666500, 1999000)
    """
    P, N = prompt_tokens, new_tokens
    return Work(P, N, _pairs_of_passes(P + N - 1) - _pairs_of_passes(P - 1), _pairs(P + N - 1))


def _pairs(n: int) -> int:
    return n * (n + 1) // 2


def _pairs_of_passes(n: int) -> int:
    """Pairs of all passes over 1, 2, …, n positions, the sum of n (n + 1) / 2."""
    return n * (n + 1) * (n + 2) // 6


def positions_of_a_loop(num_tokens: int) -> int:
    """Positions that a loop without a cache processes for N tokens: 1 + 2 + … + N, about N²/2.

    >>> positions_of_a_loop(4096)
    8390656
    """
    return _pairs(num_tokens)


def growing_apart(largest: int = 2**15) -> tuple[tuple[Work, Work], ...]:
    """Projections and attention pairs at 2, 4, 8 … new tokens, for a picture of both."""
    lengths = [2**i for i in range(1, largest.bit_length())]
    return tuple((projections(1, n), attention_pairs(1, n)) for n in lengths)


class Pass(NamedTuple):
    """One forward pass of a sequence: the positions it computes, and the cache after it."""

    name: str
    tokens_in: int
    tokens_seen: int
    cache_bytes: int
    added_bytes: int


def passes(found: Footprint, num_decode: int = 3) -> tuple[Pass, ...]:
    """Prefill of the request's tokens, then decode steps of one token each.

    >>> from calculator.catalog import load_model
    >>> from calculator.request import Request
    >>> [p[1:] for p in passes(footprint(load_model("llama-3-8b"), Request(seq_len=100)), 1)]
    [(100, 100, 13107200, 13107200), (1, 101, 13238272, 131072)]
    """
    request = found.request
    made = [Pass("prefill", request.longest, request.longest, found.num_bytes, found.num_bytes)]
    for i in range(1, min(num_decode, MAX_TOKENS - request.longest) + 1):
        longer = replace(request, seq_len=request.longest + i)
        after = footprint(found.model, longer, found.engine, found.parallelism).num_bytes
        made.append(Pass(f"decode {i}", 1, longer.longest, after, after - made[-1].cache_bytes))
    return tuple(made)


class LayerTensors(NamedTuple):
    """A tensor that layers of a type keep: its shape in values, what one of them takes, and bytes.

    `value_bytes` is a text, a fraction where values are stored in blocks: 34/32 of q8_0.
    """

    layer_type: str
    layers: int
    tensor: str
    shape: tuple[int, ...]
    num_shapes: int
    dtype: str
    value_bytes: str
    bytes_a_layer: int
    num_bytes: int


def layer_tensors(found: Footprint) -> tuple[LayerTensors, ...]:
    """The list of tensors per layer; `bytes_a_layer` × layers is `num_bytes`: linear in depth."""
    return tuple(
        LayerTensors(
            row.layer_type,
            row.layers * row.copies,
            row.tensor,
            _in_values(row.shapes[0], item.row) if row.shapes else (),
            len(row.shapes),
            row.dtype.name,
            value_bytes(item.row),
            row.predicted_bytes // (row.layers * row.copies),
            row.predicted_bytes,
        )
        for row, item in zip(tensor_list(found), found.items, strict=True)
    )


def _in_values(shape: tuple[int, ...], row: Row) -> tuple[int, ...]:
    """The last dimension in values, where blocks are allocated as bytes; a row has all heads."""
    return (*shape[:-1], row.width if len(shape) == 4 else row.heads * row.width)


class Question(NamedTuple):
    """A question, its answer in a word or number, and the steps that lead there."""

    question: str
    answer: str
    steps: tuple[str, ...]


def questions() -> tuple[Question, ...]:
    """Three questions of the lesson, worked by the same functions as every number here."""
    return (_doubled_and_halved(), _one_pass(), _four_layers())


def _doubled_and_halved() -> Question:
    L, T, H, D, b = 32, 8192, 8, 128, 2
    before, after = textbook(L, T, H, D, b), textbook(L, 2 * T, H // 2, D, b)
    assert before == after
    return Question(
        "Twice the positions and half the KV heads: what becomes of the cache?",
        "Nothing: it keeps its size.",
        (
            f"2 × {L} × {T:,} × {H} × {D} × {b} = {before:,} B",
            f"2 × {L} × {2 * T:,} × {H // 2} × {D} × {b} = {after:,} B",
            "Positions are an input. KV heads are trained into the model: halving them makes it "
            "another model.",
        ),
    )


def _one_pass() -> Question:
    P, N = 512, 256
    return Question(
        "Can all new tokens be chosen in one pass?",
        "No: each one is an input of the next.",
        (
            f"A prompt of {P:,} tokens is known beforehand, so one pass computes all {P:,} "
            "positions and chooses the first new token.",
            f"{N:,} new tokens take {N:,} passes: that one, and {N - 1:,} of one position each.",
            "Speculative decoding checks several guessed tokens in one pass. It keeps the guesses "
            "that the model would have chosen, and chooses after them as before.",
        ),
    )


def _four_layers() -> Question:
    L, T, H, D, b = 4, 200, 2, 16, 2
    size = textbook(L, T, H, D, b)
    return Question(
        f"{L} layers, {T} positions, {H} KV heads of width {D}, {b} bytes a value: how large is "
        "the cache?",
        f"{size:,} B ({format_bytes(size)}).",
        (
            f"2 × {L} × {T} × {H} × {D} × {b} = {size:,} B; the 2 is keys and values.",
            f"One more position adds 2 × {L} × {H} × {D} × {b} = {textbook(L, 1, H, D, b):,} B.",
        ),
    )
