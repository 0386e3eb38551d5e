"""Shared by the tests of the llama.cpp engine: a model and options → a footprint."""

import calculator as kv
from calculator.layers import layer_cache
from calculator.model import ModelSpec

LLAMA, GEMMA, DEEPSEEK, QWEN = "llama-3-8b", "gemma-3-27b", "deepseek-v3", "qwen3-next-80b"


def sized(model, seq_len=8192, batch_size=1, parallelism=None, **options):
    model = kv.load_model(model) if isinstance(model, str) else model
    return kv.footprint(
        model,
        kv.Request(seq_len=seq_len, batch_size=batch_size),
        engine=kv.engine("llama.cpp", **options),
        parallelism=parallelism or kv.Parallelism(),
    )


def described(model_type="llama", layers=4, **caches):
    """A model with layers of one type, `caches` being the fields of each of its caches."""
    return ModelSpec(
        id="described",
        name="Described",
        model_type=model_type,
        num_hidden_layers=layers,
        layer_types=("layer",),
        caches=(("layer", tuple(layer_cache(kind=kind, **c) for kind, c in caches.items())),),
    )
