"""A binary file of any size → its next few values; a megabyte is held at a time."""

from __future__ import annotations

import struct
from typing import BinaryIO

from calculator.errors import InvalidInput, shown

CHUNK_BYTES = 2**20
MAX_NAME_BYTES = 1024
MAX_TEXT_BYTES = 4096


class EndOfBytes(Exception):
    """There are fewer bytes than a value needs."""


class Cursor:
    """Reads forwards only. `order` is the byte order, `wide` whether counts take 8 bytes or 4."""

    def __init__(self, file: BinaryIO, size: int):
        self.file, self.size = file, size
        self.order, self.wide = "<", True
        self.buffer, self.start, self.at = b"", 0, 0

    @property
    def offset(self) -> int:
        return self.start + self.at

    def need(self, num_bytes: int) -> None:
        """See that so many bytes lie in the buffer from the current position on."""
        if len(self.buffer) - self.at >= num_bytes:
            return
        offset = self.offset
        if num_bytes > self.size - offset:
            raise EndOfBytes
        self.file.seek(offset)
        self.buffer = self.file.read(max(num_bytes, CHUNK_BYTES))
        self.start, self.at = offset, 0
        if len(self.buffer) < num_bytes:
            raise EndOfBytes

    def skip(self, num_bytes: int) -> None:
        if num_bytes > self.size - self.offset:
            raise EndOfBytes
        self.at += num_bytes

    def take(self, num_bytes: int) -> bytes:
        self.need(num_bytes)
        self.at += num_bytes
        return self.buffer[self.at - num_bytes : self.at]

    def values(self, code: str, count: int = 1) -> tuple[int | float | bool, ...]:
        """`count` numbers of one struct code."""
        layout = f"{self.order}{count}{code}"
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def integer(self, code: str = "I") -> int:
        return int(self.values(code)[0])

    def count(self) -> int:
        """A length or a number of things: 4 bytes in version 1, 8 since."""
        return self.integer("Q" if self.wide else "I")

    def name(self, what: str) -> str:
        """The name of a key or a tensor."""
        length = self.count()
        if length > MAX_NAME_BYTES:
            raise InvalidInput(
                f"{what} of the GGUF file is {shown(length)} bytes long; at most "
                f"{MAX_NAME_BYTES:,} make sense.",
                field="model",
            )
        raw = self.take(length)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise InvalidInput(
                f"{what} of the GGUF file is {shown(raw, 40)}, no UTF-8 text.", field="model"
            ) from None

    def text_or_skip(self) -> str | None:
        """A text that is stored if it is short and UTF-8, else stepped over."""
        length = self.count()
        if length > MAX_TEXT_BYTES:
            self.skip(length)
            return None
        return self.take(length).decode(errors="replace")

    def skip_texts(self, count: int) -> None:
        """Step over `count` texts; the loop runs half a million times for a large vocabulary."""
        layout = struct.Struct(self.order + ("Q" if self.wide else "I"))
        unpack, width = layout.unpack_from, layout.size
        while count:
            self.need(width)
            buffer, at, done = self.buffer, self.at, 0
            try:
                for done in range(1, count + 1):  # noqa: B007 (how far it came)
                    at += width + unpack(buffer, at)[0]
            except (struct.error, OverflowError, IndexError):
                done -= 1  # the next length lies past what the buffer holds
            count -= done
            if at > self.size - self.start:
                raise EndOfBytes
            self.at = at
