"""A scenario → the `llama-server` command that allocates it."""

from __future__ import annotations

import shlex

from calculator.engines.llamacpp.cells import Cells

GGML_NAMES = {"fp32": "f32", "fp16": "f16"}


def llama_server(
    cells: Cells, types: tuple[str, str], flash_attn: bool, model: str = "model.gguf"
) -> str:
    """The flags of common/arg.cpp; `-c` is the whole context, all sequences together.

    >>> cells = Cells(16384, 2, 2048, 512, unified=False, swa_full=False)
    >>> llama_server(cells, ("q8_0", "fp16"), True)
    'llama-server -m model.gguf -c 16384 -np 2 -ctk q8_0 -ctv f16 -ub 512 -fa on'
    """
    key, value = (GGML_NAMES.get(name, name) for name in types)
    words = ["llama-server", "-m", model, "-c", str(cells.n_ctx), "-np", str(cells.n_seq_max)]
    words += ["-ctk", key, "-ctv", value, "-ub", str(cells.n_ubatch)]
    words += ["-fa", "on" if flash_attn else "off"]
    if cells.unified:
        words.append("--kv-unified")
    if cells.swa_full:
        words.append("--swa-full")
    return shlex.join(words)
