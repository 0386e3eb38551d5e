"""The head of a GGUF file → its metadata and the sizes of its tensors; nothing after it is read.

The gguf package's own reader is not used at run time: it trusts every length in the file, builds an
array object for every word of a vocabulary, which takes seconds, and would be the core's only
dependency. The tests write their files with it and take the names of keys from it.
Source: ggml/include/gguf.h; ggml/docs/gguf.md (versions 1 to 3).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from calculator.errors import InvalidInput, shown
from calculator.importers.gguf.cursor import Cursor, EndOfBytes
from calculator.importers.gguf.types import TENSOR_TYPES

MAGIC = b"GGUF"
MAX_KEYS = 1024
MAX_TENSORS = 2**14
MAX_DIMENSIONS = 8
MAX_STORED = 1024
MAX_SKIPPED_TEXTS = 1_200_000

# value type → struct code, by its number in the file; 8 is text, 9 an array
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
TEXT, ARRAY = 8, 9


class Skipped(NamedTuple):
    """A value too long to be a figure of the architecture, such as a vocabulary."""

    length: int


Value = int | float | bool | str | tuple[int | float | bool, ...] | Skipped


class Tensor(NamedTuple):
    """A tensor of the file: its elements, and its bytes, None where the type is not known."""

    name: str
    elements: int
    type_name: str
    num_bytes: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """What the head of a file says.

    `cut_at` is where the bytes ended within the metadata, empty where it is all there; `tensors` is
    None where their list is not.
    """

    values: Mapping[str, Value]
    tensors: tuple[Tensor, ...] | None
    cut_at: str = ""


def read_header(file: BinaryIO, size: int) -> Header:
    """The header of a GGUF file of `size` bytes.

    Where the bytes end inside it: what was read so far.
    Raises InvalidInput for anything that is no GGUF header of version 1 to 3.
    """
    cursor = Cursor(file, size)
    values: dict[str, Value] = {}
    key = "its first 24 bytes"
    try:
        num_tensors, num_keys = _counts(cursor)
        texts_left = MAX_SKIPPED_TEXTS
        for _ in range(num_keys):
            key = f"metadata key {len(values) + 1:,} of {num_keys:,}"
            key = cursor.name(f"The name of metadata key {len(values) + 1:,}")
            if key in values:
                raise InvalidInput(f"The GGUF file has the key {shown(key)} twice.", field="model")
            kind = cursor.integer()
            if kind == ARRAY:
                values[key], texts_left = _array(cursor, key, texts_left)
            else:
                values[key] = _scalar(cursor, key, kind)
    except EndOfBytes:
        return Header(values, None, key if key.isprintable() else shown(key))
    try:
        return Header(values, tuple(_tensor(cursor, i) for i in range(num_tensors)))
    except EndOfBytes:
        return Header(values, None)


def _counts(cursor: Cursor) -> tuple[int, int]:
    """(tensors, metadata keys), after setting the cursor's byte order and width of counts."""
    magic = cursor.take(4)
    if magic != MAGIC:
        raise InvalidInput(
            f"The file starts with {shown(magic)}, not with GGUF; it is no GGUF file.",
            field="model",
        )
    version = cursor.integer()
    if not version & 0xFFFF:  # written on a machine of the other byte order
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in (1, 2, 3):
        raise InvalidInput(
            f"The GGUF file is of version {version:,}; versions 1 to 3 are known.", field="model"
        )
    cursor.wide = version > 1
    num_tensors, num_keys = cursor.count(), cursor.count()
    for what, count, limit in (("tensors", num_tensors, MAX_TENSORS), ("keys", num_keys, MAX_KEYS)):
        if count > limit:
            raise InvalidInput(
                f"The GGUF file claims {shown(count)} {what}; at most {limit:,} make sense.",
                field="model",
            )
    return num_tensors, num_keys


def _scalar(cursor: Cursor, key: str, kind: int) -> Value:
    if kind == TEXT:
        text = cursor.text_or_skip()
        return Skipped(1) if text is None else text
    if kind not in SCALARS:
        raise InvalidInput(
            f"{shown(key)} in the GGUF file is of value type {kind:,}; 0 to 12 are known.",
            field="model",
        )
    return cursor.values(SCALARS[kind])[0]


def _array(cursor: Cursor, key: str, texts_left: int) -> tuple[Value, int]:
    """A short list of numbers as a tuple, else how many were stepped over; texts still allowed."""
    kind, count = cursor.integer(), cursor.count()
    if kind == TEXT:
        if count > texts_left:
            raise InvalidInput(
                f"{shown(key)} in the GGUF file claims {shown(count)} texts; at most "
                f"{MAX_SKIPPED_TEXTS:,} in a file make sense.",
                field="model",
            )
        cursor.skip_texts(count)
        return Skipped(count), texts_left - count
    if kind not in SCALARS:
        what = "lists" if kind == ARRAY else f"value type {kind:,}"
        raise InvalidInput(
            f"{shown(key)} in the GGUF file is a list of {what}; expected numbers or texts.",
            field="model",
        )
    if count > MAX_STORED:
        cursor.skip(count * struct.calcsize(f"={SCALARS[kind]}"))
        return Skipped(count), texts_left
    return cursor.values(SCALARS[kind], count), texts_left


def _tensor(cursor: Cursor, index: int) -> Tensor:
    name = cursor.name(f"The name of tensor {index + 1:,}")
    dimensions = cursor.integer()
    if dimensions > MAX_DIMENSIONS:
        raise InvalidInput(
            f"Tensor {shown(name)} of the GGUF file has {dimensions:,} dimensions; at most "
            f"{MAX_DIMENSIONS} make sense.",
            field="model",
        )
    shape = [cursor.count() for _ in range(dimensions)]
    number = cursor.integer()
    cursor.skip(8)  # its offset
    elements = 1
    for length in shape:
        elements *= length
    found = TENSOR_TYPES.get(number)
    if elements >= 2**63:
        raise InvalidInput(
            f"Tensor {shown(name)} of the GGUF file claims {shown(elements)} elements.",
            field="model",
        )
    if found is None:
        return Tensor(name, elements, f"type {number}", None)
    row = shape[0] if shape else 1
    if row % found.block_elements:
        raise InvalidInput(
            f"Tensor {shown(name)} of the GGUF file has rows of {row:,} elements; {found.name} "
            f"stores {found.block_elements} together.",
            field="model",
        )
    return Tensor(name, elements, found.name, elements // found.block_elements * found.block_bytes)
