"""A context and a model → the named steps from the ideal size to the allocated one."""

from __future__ import annotations

from calculator.engines.llamacpp.architectures import WINDOW_KEPT, architecture, stores_heads
from calculator.engines.llamacpp.cells import PAD, Cells
from calculator.model import ModelSpec
from calculator.tensors import CurrentChunk, LastTokens

Lengths = tuple[tuple[int, int], ...]


def beyond_context(cells: Cells, lengths: Lengths) -> str:
    """In a sentence, whether the sequences are too many or too long for the context; else empty."""
    sequences = sum(count for _, count in lengths)
    if sequences > cells.n_seq_max:
        return f"{sequences:,} sequences at once are more than n_seq_max, {cells.n_seq_max:,}."
    if cells.unified:
        tokens, what = sum(tokens * count for tokens, count in lengths), "all sequences"
    else:
        tokens, what = max(tokens for tokens, _ in lengths), "a sequence"
    if tokens <= cells.cells:
        return ""
    return f"{tokens:,} tokens are more than the {cells.cells:,} cells of n_ctx for {what}."


def differences(cells: Cells, model: ModelSpec, lengths: Lengths) -> tuple[str, ...]:
    """A sentence for each step that changes the size."""
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    found = [_context(cells)] if kinds - RECURRENT else []
    found += _windows(cells, model)
    if "latent_attention" in kinds:
        found.append(
            "Every head's key and value are stored, not the latent (llama-hparams.cpp:is_mla)."
            if stores_heads(model)
            else "MLA: one row of latent and rope key a token, no value (llama-hparams.cpp:is_mla)."
        )
    if "compressed_attention" in kinds:
        found.append(
            f"DeepSeek-V4: each of {cells.n_seq_max} streams has {cells.cells:,} cells, shared or "
            "not, and compressor states in fp32 (llama-kv-cache-dsv4.cpp)."
        )
    if kinds & RECURRENT:
        found.append(
            f"States and convolutions in fp32, one row for each of {cells.n_seq_max} sequences "
            "(llama-memory-recurrent.cpp)."
        )
    sequences = sum(count for _, count in lengths)
    if sequences > cells.n_seq_max:
        found.append(
            f"n_seq_max {cells.n_seq_max} is less than the {sequences:,} sequences asked for: the "
            "others wait, and no cells are set aside for them."
        )
    elif beyond_context(cells, lengths):
        found.append(
            f"The sequences asked for do not fit into n_ctx {cells.n_ctx:,}: the size is that of "
            "the context, which llama.cpp allocates whole."
        )
    return tuple(found)


def _context(cells: Cells) -> str:
    """
    >>> _context(Cells(1000, 3, 1000, 512, unified=False, swa_full=False))[:50]
    'n_ctx 1,000 over 3 sequences: 3 streams × 512 cell'
    """
    where = "(llama-context.cpp:llama_context)"
    if cells.unified:
        pool = f"one pool for {cells.n_seq_max} sequences"
        return f"n_ctx {cells.n_ctx:,} padded to {cells.cells:,} cells, {pool} {where}."
    if cells.n_seq_max == 1:
        return f"n_ctx {cells.n_ctx:,} padded to {cells.cells:,} cells {where}."
    return (
        f"n_ctx {cells.n_ctx:,} over {cells.n_seq_max} sequences: {cells.streams} streams × "
        f"{cells.cells:,} cells, each a multiple of {PAD} {where}."
    )


def _windows(cells: Cells, model: ModelSpec) -> list[str]:
    """How many cells a sliding layer has, for each window of the model."""
    growths = (t.growth for g in model.layer_groups for c in g.caches for t in c.tensors())
    windows = {g[0] for g in growths if isinstance(g, LastTokens | CurrentChunk)}
    if windows and architecture(model.model_type) not in WINDOW_KEPT:
        return [
            f"Sliding windows are not used: llama.cpp keeps every token of {model.model_type} "
            "models (src/models, swa_type)."
        ]
    if windows and cells.swa_full:
        return [
            f"swa_full: sliding layers have all {cells.cells:,} cells (llama-kv-cache-iswa.cpp)."
        ]
    own = any(c.kind == "compressed_attention" for g in model.layer_groups for c in g.caches)
    shared = cells.unified and not own
    times = f" × {cells.n_seq_max} sequences" if shared and cells.n_seq_max > 1 else ""
    return [
        f"Sliding layers: window {window:,}{times} + n_ubatch {cells.n_ubatch:,}, at most the "
        f"context, padded to {cells.window_cells(window, shared=shared):,} cells a stream "
        "(llama-kv-cache-iswa.cpp)."
        for window in sorted(windows)
    ]


RECURRENT = {
    "mamba1", "mamba2", "gated_delta_net", "kimi_delta_attention", "lightning_attention",
    "short_convolution", "wkv",
}  # fmt: skip
