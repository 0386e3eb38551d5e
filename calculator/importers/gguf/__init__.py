"""A GGUF file, its first megabytes, or a dump of its metadata → ModelSpec."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from calculator.errors import InvalidInput
from calculator.importers.gguf.files import first_part, header_of, tensors_of_all
from calculator.importers.gguf.header import Header, Tensor, read_header
from calculator.importers.gguf.model import model_from_header
from calculator.model import ModelSpec

# Converters write what describes the architecture before the tokenizer, whose size is megabytes.
_AFTER_THE_ARCHITECTURE = "tokenizer."


def model_from_gguf(path: str | Path) -> ModelSpec:
    """The model in a GGUF file, of which only the header is read.

    Of a model split into several files any may be given.
    """
    path = Path(path)
    header = header_of(path)
    first = first_part(path, header)
    if first != path:
        header = header_of(first)
        first_part(first, header)
    tensors, why = tensors_of_all(first, header)
    return _model(header, _stem(first.name), str(path), tensors, why)


def model_from_gguf_bytes(head: bytes, *, name: str = "upload.gguf", source: str = "") -> ModelSpec:
    """The model whose GGUF file starts with `head`: all of it, or its first megabytes."""
    return model_from_gguf_upload(io.BytesIO(head), name=name, source=source)


def model_from_gguf_upload(
    file: BinaryIO, *, name: str = "upload.gguf", source: str = ""
) -> ModelSpec:
    """The model in an uploaded GGUF file, or in its first megabytes; only the header is read.

    The bytes may end within the tokenizer, which follows what describes the architecture; that
    nothing of the sort comes after it is then an assumption. Raises InvalidInput if they end
    before.
    """
    size = file.seek(0, io.SEEK_END)
    header = read_header(file, size)
    why = "the upload ends before the list of tensors"
    if header.cut_at and not header.cut_at.startswith(_AFTER_THE_ARCHITECTURE):
        raise InvalidInput(
            f"The first {size:,} bytes of {name} end inside {header.cut_at}; "
            "more of the file is needed.",
            field="model",
        )
    if header.values.get("split.count"):
        header, why = replace(header, tensors=None), "the file is one of several"
    model = _model(header, _stem(name), source or f"the upload {name}", header.tensors, why)
    if not header.cut_at:
        return model
    note = (
        f"The upload ends inside {header.cut_at}: keys after the tokenizer were not seen, where "
        "converters write none that describe the cache."
    )
    return replace(model, assumptions=(*model.assumptions, note))


def model_from_gguf_dump(text: str, *, source: str = "a pasted dump of GGUF metadata") -> ModelSpec:
    """The model that pasted metadata describes.

    Read are the lines that llama.cpp logs while it loads a model (`llama_model_loader: - kv …`),
    the output of gguf-dump, plain or with --json, and what `gguf_as_json` made.
    """
    from calculator.importers.gguf.dump import read_dump

    header, note = read_dump(text)
    why = "the dump does not list the tensors"
    model = _model(header, "gguf-dump", source, header.tensors, why)
    return replace(model, assumptions=(*model.assumptions, note)) if note else model


def gguf_as_json(given: BinaryIO | str, *, name: str = "upload.gguf") -> str:
    """A GGUF upload, or a pasted dump, as a short text that a page or a link can carry.

    `model_from_gguf_dump` makes the model of it. Refused is what the model would be refused for.
    """
    from calculator.importers.gguf.dump import read_dump, written

    if isinstance(given, str):
        model_from_gguf_dump(given)
        return written(read_dump(given)[0])
    model_from_gguf_upload(given, name=name)
    return written(read_header(given, given.seek(0, io.SEEK_END)))


def _model(
    header: Header, id: str, source: str, tensors: tuple[Tensor, ...] | None, why: str
) -> ModelSpec:
    model = model_from_header(header, id=id, source=source, tensors=tensors)
    if tensors is not None:
        return model
    note = f"The size of the weights is not known: {why}."
    return replace(model, assumptions=(*model.assumptions, note))


def _stem(name: str) -> str:
    return name.removesuffix(".gguf").removesuffix("-00001-of-00001")[:96] or "gguf"
