"""A path → the header of its GGUF file, and the tensors of all files of a split model."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from calculator.errors import InvalidInput, SourceUnavailable, shown
from calculator.importers.gguf.header import Header, Tensor, read_header

MAX_PARTS = 1000
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL | re.ASCII)


def header_of(path: Path) -> Header:
    """The header of a file of any size, of which a megabyte at a time is read."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SourceUnavailable(f"{shown(path.name)} is not a regular file.", field="model")
            header = read_header(file, status.st_size)
    except OSError as error:
        raise SourceUnavailable(
            f"{shown(path.name)} cannot be read: {error.strerror or 'it failed'}.", field="model"
        ) from None
    if header.cut_at:
        raise InvalidInput(
            f"{path.name} ends inside {header.cut_at}: the file is not complete.", field="model"
        )
    return header


def first_part(path: Path, header: Header) -> Path:
    """The file of a split model that holds its metadata: `path` itself where it is not split."""
    number, count = split_of(header)
    return path.with_name(part_name(path.name, 0, count, given=number)) if number else path


def part_name(name: str, number: int, count: int, *, given: int = 0) -> str:
    """The name of another part of a split model, after the name of the part that was given."""
    found = _PART.fullmatch(name)
    if not found or int(found[3]) != count or int(found[2]) != given + 1:
        raise InvalidInput(
            f"{shown(name)} is part {given + 1:,} of {count:,} of a split model and not named so; "
            "give the first part, which holds its metadata.",
            field="model",
        )
    return f"{found[1]}-{number + 1:05}-of-{found[3]}.gguf"


def split_of(header: Header) -> tuple[int, int]:
    """(number of this part from 0, how many parts there are)."""
    number, count = header.values.get("split.no", 0), header.values.get("split.count", 0)
    if not isinstance(number, int) or not isinstance(count, int) or not 0 <= count <= MAX_PARTS:
        raise InvalidInput(
            f"split.count is {shown(count)}; expected 1 to {MAX_PARTS:,}.", field="model"
        )
    if not 0 <= number < max(count, 1):
        raise InvalidInput(
            f"split.no is {shown(number)}; expected less than split.count, {count:,}.",
            field="model",
        )
    return int(number), max(int(count), 1)


def tensors_of_all(path: Path, header: Header) -> tuple[tuple[Tensor, ...] | None, str]:
    """(tensors of all parts, ""), or (None, why they are not known)."""
    if header.tensors is None:
        return None, f"{path.name} ends inside its list of tensors"
    _, count = split_of(header)
    if count == 1:
        return header.tensors, ""
    if not _PART.fullmatch(path.name):
        return None, f"{path.name} is not named as the first of its {count:,} parts"
    tensors = list(header.tensors)
    for number in range(1, count):
        part = path.with_name(part_name(path.name, number, count))
        if not part.is_file():
            return None, f"{part.name} is not beside it"
        more = header_of(part)
        if split_of(more) != (number, count):
            raise InvalidInput(
                f"{shown(part.name)} says that it is part {split_of(more)[0] + 1:,} of "
                f"{split_of(more)[1]:,}.",
                field="model",
            )
        if more.tensors is None:
            return None, f"{part.name} ends inside its list of tensors"
        tensors += more.tensors
    return tuple(tensors), ""
