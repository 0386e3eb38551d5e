"""GGUF files for tests: headers of a few hundred bytes, written by the gguf package."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from calculator.model import ModelSpec

LITTLE, BIG = gguf.GGUFEndian.LITTLE, gguf.GGUFEndian.BIG


def write(
    path: Path,
    architecture: str = "llama",
    figures: dict | None = None,
    *,
    other: dict | None = None,
    tensors: dict | None = None,
    endian: gguf.GGUFEndian = LITTLE,
) -> Path:
    """A file with `<architecture>.<figure>` keys, `other` keys, and tensors without their data."""
    writer = gguf.GGUFWriter(path, architecture, endianess=endian)
    for name, value in (figures or {}).items():
        add(writer, f"{architecture}.{name}", value)
    for name, value in (other or {}).items():
        add(writer, name, value)
    for name, (shape, kind) in (tensors or {}).items():
        add_tensor(writer, name, shape, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return path


def add(writer: gguf.GGUFWriter, name: str, value: object) -> None:
    match value:
        case bool():
            writer.add_bool(name, value)
        case int():
            writer.add_uint32(name, value)
        case float():
            writer.add_float32(name, value)
        case str():
            writer.add_string(name, value)
        case list():
            writer.add_array(name, value)


def add_tensor(writer: gguf.GGUFWriter, name: str, shape: tuple[int, ...], kind: str) -> None:
    quantized = gguf.GGMLQuantizationType[kind]
    block, size = gguf.GGML_QUANT_SIZES[quantized]
    stored = (*shape[:-1], shape[-1] // block * size)
    writer.add_tensor_info(
        name, stored, np.dtype(np.uint8), int(np.prod(stored)), raw_dtype=quantized
    )


LLAMA = {
    "block_count": 4,
    "context_length": 8192,
    "embedding_length": 256,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
}


def geometry(model: ModelSpec) -> list:
    """(layer type, caches) of every layer: what two ways to the same model must agree on."""
    caches = dict(model.caches)
    return [(layer_type, caches[layer_type]) for layer_type in model.every_layer_type()]
