"""A GGUF file on the Hub → ModelSpec, of whose file only the header is asked for."""

from __future__ import annotations

import io
from dataclasses import replace

from calculator.errors import InvalidInput, SourceUnavailable
from calculator.importers.gguf.files import part_name, split_of
from calculator.importers.gguf.header import Header, Tensor, read_header
from calculator.importers.gguf.model import model_from_header
from calculator.importers.hub.client import Client
from calculator.model import ModelSpec

CHUNK_BYTES = 4 * 2**20
MAX_HEADER_BYTES = 64 * 2**20


class RemoteFile(io.RawIOBase):
    """A file on the Hub, read from where it was sought to, some megabytes at a time."""

    def __init__(self, client: Client, commit: str, path: str):
        self.client, self.commit, self.path = client, commit, path
        first = client.file(path, commit, limit=CHUNK_BYTES, span=(0, CHUNK_BYTES))
        self.size = first.size or len(first.body)
        self.start, self.buffer, self.at, self.asked = 0, first.body, 0, len(first.body)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        """As many bytes as asked for, fewer at the end of the file."""
        end = min(self.at + size, self.size)
        if not self.start <= self.at <= end <= self.start + len(self.buffer):
            self._fetch(self.at, min(max(end, self.at + CHUNK_BYTES), self.size))
        found = self.buffer[self.at - self.start : end - self.start]
        self.at += len(found)
        return found

    def _fetch(self, start: int, end: int) -> None:
        self.asked += end - start
        if self.asked > MAX_HEADER_BYTES:
            raise SourceUnavailable(f"The header of {self.path} does not end.", field="model")
        answer = self.client.file(self.path, self.commit, limit=end - start, span=(start, end))
        self.start, self.buffer = start, answer.body


def model_from_remote_gguf(
    client: Client, commit: str, path: str, files: tuple[str, ...]
) -> ModelSpec:
    """The model in a GGUF file of a repository; of a split one any part may be given."""
    header = _header(client, commit, path)
    number, count = split_of(header)
    first = part_name(path, 0, count, given=number) if number else path
    if first != path:
        header = _header(client, commit, first)
    parts = [part_name(first, n, count) for n in range(1, count)]
    tensors, why = _tensors(client, commit, header, parts, files)
    title = first.rsplit("/", 1)[-1].removesuffix(".gguf")
    source = f"{client.hub.endpoint}/{client.name}/blob/{commit}/{path}"
    model = model_from_header(header, id=f"{client.name}/{title}", source=source, tensors=tensors)
    notes = model.assumptions if tensors else (*model.assumptions, why)
    return replace(model, revision=commit, assumptions=notes)


def _header(client: Client, commit: str, path: str) -> Header:
    remote = RemoteFile(client, commit, path)
    header = read_header(remote, remote.size)  # type: ignore[arg-type]
    if header.cut_at:
        raise InvalidInput(
            f"{path} ends inside {header.cut_at}: it is not complete.", field="model"
        )
    return header


def _tensors(
    client: Client, commit: str, header: Header, parts: list[str], files: tuple[str, ...]
) -> tuple[tuple[Tensor, ...] | None, str]:
    """Tensors of all parts, or why they are not known."""
    headers = [header]
    for part in parts:
        if part not in files:
            return None, f"The size of the weights is not known: {part} is not there."
        headers.append(_header(client, commit, part))
    if any(found.tensors is None for found in headers):
        return None, "The size of the weights is not known: a file ends inside its list of tensors."
    return tuple(tensor for found in headers for tensor in found.tensors or ()), ""
