"""GGUF headers built byte by byte: other versions, other byte orders, and lies."""

from __future__ import annotations

import struct
from typing import Any

SCALARS = {"u16": (2, "H"), "u32": (4, "I"), "i32": (5, "i"), "bool": (7, "?"), "u64": (10, "Q")}
TEXT, ARRAY = 8, 9


class Bytes:
    """Writes values in one byte order, with counts of the version's width."""

    def __init__(self, version: int = 3, order: str = "<"):
        self.version, self.order = version, order

    def count(self, n: int) -> bytes:
        return struct.pack(self.order + ("I" if self.version == 1 else "Q"), n)

    def text(self, value: str) -> bytes:
        raw = value.encode()
        return self.count(len(raw)) + raw

    def number(self, kind: str, value: Any) -> bytes:
        return struct.pack(self.order + SCALARS[kind][1], value)

    def u32(self, value: int) -> bytes:
        return struct.pack(self.order + "I", value)

    def entry(self, key: str, value: Any, kind: str = "u32") -> bytes:
        head = self.text(key)
        if isinstance(value, str):
            return head + self.u32(TEXT) + self.text(value)
        if isinstance(value, list) and value and isinstance(value[0], str):
            texts = b"".join(map(self.text, value))
            return head + self.u32(ARRAY) + self.u32(TEXT) + self.count(len(value)) + texts
        if isinstance(value, list):
            numbers = b"".join(self.number(kind, x) for x in value)
            return (
                head
                + self.u32(ARRAY)
                + self.u32(SCALARS[kind][0])
                + self.count(len(value))
                + numbers
            )
        return head + self.u32(SCALARS[kind][0]) + self.number(kind, value)

    def tensor(self, name: str, shape: tuple[int, ...], kind: int) -> bytes:
        lengths = b"".join(map(self.count, shape))
        offset = struct.pack(self.order + "Q", 0)
        return self.text(name) + self.u32(len(shape)) + lengths + self.u32(kind) + offset

    def file(self, entries: list[bytes], tensors: list[bytes] = (), **claim: int) -> bytes:
        """`claim` may say another number of `keys` and of `weights` than there are."""
        head = b"GGUF" + self.u32(self.version)
        counts = claim.get("weights", len(tensors)), claim.get("keys", len(entries))
        return head + b"".join(map(self.count, counts)) + b"".join(entries) + b"".join(tensors)


def llama(b: Bytes | None = None, architecture: str = "llama") -> list[bytes]:
    """The entries of a four-layer model."""
    b = b or Bytes()
    figures = {
        "block_count": 4, "context_length": 8192, "embedding_length": 256,
        "attention.head_count": 8, "attention.head_count_kv": 2,
    }  # fmt: skip
    named = b.entry("general.architecture", architecture)
    return [named, *(b.entry(f"{architecture}.{key}", x) for key, x in figures.items())]
