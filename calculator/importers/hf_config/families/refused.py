"""Model types that are known, and known to have no size that a configuration could give."""

from __future__ import annotations

from typing import NoReturn

from calculator.errors import UnsupportedModel
from calculator.importers.hf_config.reader import Reader

REASONS = {
    "blt": "it groups bytes into patches by what the text says, so its cache depends on the text",
    "cpmant": "it puts a prompt of its own before every sequence, for which there is no rule here",
    "gemma4_assistant": "it reads the cache of the model it assists and keeps none of its own",
    "gemma4_unified_assistant": "it reads the cache of the model it assists and keeps none",
    "qwen4_exp_text": "its indexer, n-grams and per-layer embeddings have no rule here",
    "recurrent_gemma": "its layers hold their states themselves, outside any cache",
    "reformer": "it hashes tokens into buckets, for which there is no rule here",
    "rwkv": "RWKV-4 keeps five vectors a layer, for which there is no rule here",
    "xlnet": "its memory keeps hidden states of mem_len tokens, for which there is no rule here",
    "xlstm": "its matrix memories have no rule here",
    "zaya": "its compressed convolutional attention has no rule here",
}


def refused(r: Reader, outer_type: str = "") -> NoReturn:
    """`outer_type` is the wrapper's, where that is what cannot be sized."""
    model_type = outer_type if outer_type in REASONS else r.model_type
    raise UnsupportedModel(
        f"Model type {model_type} has no size to compute: {REASONS[model_type]}.",
        field="model_type",
        model_type=model_type,
        keys_read=tuple(r.keys_read.items()),
    )
