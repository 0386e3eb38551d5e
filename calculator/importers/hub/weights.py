"""Headers of safetensors files, by range request → bytes the checkpoint holds of each type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod
from typing import Any

from calculator.errors import SourceUnavailable
from calculator.importers.hub.client import Client

FIRST_BYTES = 2**16
MAX_HEADER_BYTES = 32 * 2**20
MAX_FILES = 400

_WHOLE = re.compile(r"model\.safetensors")
_PART = re.compile(r"model-(\d{5})-of-(\d{5})\.safetensors")

# Names in safetensors headers → our own.
TYPES = {
    "F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16",
    "F8_E4M3": "fp8", "F8_E5M2": "fp8", "F8_E8M0": "e8m0",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
FLOATS = ("fp64", "fp32", "fp16", "bf16")


@dataclass
class Held:
    """What a checkpoint holds: bytes and elements by element type."""

    num_bytes: dict[str, int] = field(default_factory=dict)
    elements: dict[str, int] = field(default_factory=dict)

    def add(self, dtype: str, elements: int, num_bytes: int) -> None:
        self.num_bytes[dtype] = self.num_bytes.get(dtype, 0) + num_bytes
        self.elements[dtype] = self.elements.get(dtype, 0) + elements

    @property
    def total_bytes(self) -> int:
        return sum(self.num_bytes.values())

    @property
    def num_parameters(self) -> int | None:
        """Elements, where each is a parameter: in packed types they are not."""
        return sum(self.elements.values()) if set(self.elements) <= set(FLOATS) else None


def checkpoint_files(files: Iterable[str]) -> list[str]:
    """model.safetensors, or all of its parts; none where a part is not there.

    >>> checkpoint_files(["README.md", "model-00001-of-00001.safetensors"])
    ['model-00001-of-00001.safetensors']
    """
    names = sorted(files)
    if any(_WHOLE.fullmatch(name) for name in names):
        return ["model.safetensors"]
    parts = [found for name in names if (found := _PART.fullmatch(name))]
    counts = {int(part[2]) for part in parts}
    if len(counts) != 1 or [int(part[1]) for part in parts] != list(range(1, max(counts) + 1)):
        return []
    return [part[0] for part in parts]


def held(client: Client, commit: str, files: list[str]) -> Held:
    """What these files hold together, eight headers at a time."""
    if len(files) > MAX_FILES:
        raise SourceUnavailable(f"its weights lie in {len(files):,} files.")
    total = Held()
    pool = ThreadPoolExecutor(max_workers=8)
    try:
        for header in pool.map(lambda name: _header(client, commit, name), files):
            for name, tensor in header.items():
                if name != "__metadata__":
                    _count(total, tensor)
    finally:
        pool.shutdown(cancel_futures=True)
    return total


def _header(client: Client, commit: str, file: str) -> dict[str, Any]:
    """8 bytes of length, then JSON: https://huggingface.co/docs/safetensors#format"""
    first = client.file(file, commit, limit=FIRST_BYTES, span=(0, FIRST_BYTES)).body
    length = int.from_bytes(first[:8], "little")
    if len(first) < 8 or not 2 <= length <= MAX_HEADER_BYTES:
        raise SourceUnavailable(f"{file} has no safetensors header.")
    text = first[8 : 8 + length]
    if len(text) < length:
        rest = (8 + len(text), 8 + length)
        text += client.file(file, commit, limit=MAX_HEADER_BYTES, span=rest).body
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if len(text) != length or not isinstance(found, dict):
        raise SourceUnavailable(f"{file} has a broken safetensors header.")
    return found


def _count(total: Held, tensor: Any) -> None:
    try:
        start, end = tensor["data_offsets"]
        dtype, shape = tensor["dtype"], tensor["shape"]
        sound = all(isinstance(n, int) and 0 <= n < 2**48 for n in (start, end, *shape))
        sound = sound and start <= end and len(shape) <= 8
    except (TypeError, KeyError, ValueError):
        sound = False
    if not sound or not isinstance(dtype, str):
        raise SourceUnavailable("a safetensors header describes a tensor wrongly.")
    total.add(TYPES.get(dtype, dtype[:16]), prod(shape), end - start)
