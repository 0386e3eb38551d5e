"""Broken GGUF headers by the thousand, made from sound ones with a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.importers.gguf_bytes import Bytes, llama

HUGE = (2**63, 2**64 - 1, 2**63 - 1, 2**32, 2**31, 2**20, 0)


def sound() -> list[bytes]:
    """Headers of all versions and byte orders, with vocabulary, lists, tensors and a split."""
    found = []
    for version, order in ((1, "<"), (2, "<"), (3, "<"), (3, ">")):
        b = Bytes(version, order)
        entries = [
            *llama(b, "gemma3"),
            b.entry("general.name", "A model"),
            b.entry("gemma3.attention.sliding_window", 512),
            b.entry("gemma3.attention.sliding_window_pattern", [True, False] * 2, "bool"),
            b.entry("gemma3.rope.dimension_sections", [16, 8, 8, 0], "i32"),
            b.entry("tokenizer.ggml.tokens", [f"word {i}" for i in range(40)]),
            b.entry("tokenizer.ggml.scores", list(range(40)), "i32"),
            b.entry("split.count", 1, "u16"),
        ]
        tensors = [b.tensor(f"blk.{i}.attn_k.weight", (256, 10), kind) for i, kind in
                   enumerate((0, 1, 8, 12, 14))]  # fmt: skip
        found.append(b.file(entries, tensors))
    return found


def mutations(count: int, seed: int) -> Iterator[bytes]:
    """`count` headers: flipped bits, foreign bytes, absurd lengths, cuts, doublings, shuffles."""
    chance = random.Random(seed)
    heads = sound()
    changes = (_flip, _flip, _bytes, _length, _length, _cut, _double, _swap)
    for _ in range(count):
        data = bytearray(chance.choice(heads))
        for _ in range(chance.randint(1, 3)):
            chance.choice(changes)(data, chance)
        yield bytes(data)


def _flip(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _bytes(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at : at + chance.randint(1, 8)] = chance.randbytes(chance.randint(0, 8))


def _length(data: bytearray, chance: random.Random) -> None:
    """A length of 2⁶³ and the like, in either byte order, wherever it lands."""
    at, order = chance.randrange(len(data) + 1), chance.choice(("little", "big"))
    data[at : at + 8] = chance.choice(HUGE).to_bytes(8, order)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _double(data: bytearray, chance: random.Random) -> None:
    a, b = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    data[a:a] = data[a:b]


def _swap(data: bytearray, chance: random.Random) -> None:
    a, b = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    data[a:b] = reversed(data[a:b])
