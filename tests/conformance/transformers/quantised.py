"""A random geometry and options → what the real `QuantizedCache` holds, or that it refuses.

`python -m tests.conformance.transformers.quantised hqq` writes the record of a backend that the
tests do not install, hqq.json beside this file.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
import transformers
from transformers import LlamaConfig, QuantizedCache

import calculator as kv
from calculator.layers import layer_cache
from calculator.model import ModelSpec
from tests.conformance.transformers.caches import Held, held

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
NBITS = {"quanto": (2, 4, 4), "hqq": (1, 2, 3, 4, 8)}
AXES = {"quanto": (0, 0, -1), "hqq": (0, 0, 1)}
RECORD = Path(__file__).with_name("hqq.json")
LAYERS = 2


class Case(NamedTuple):
    """One padded batch in a model of full attention: widths, lengths, the cache's options."""

    heads: int
    head_dim: int
    v_head_dim: int
    dtype: str
    batch_size: int
    first: int
    decoded: int
    options: dict[str, Any]


def random_case(backend: str, rng: Random) -> Case:
    """Widths and lengths that groups divide, and some that they do not."""
    options: dict[str, Any] = {"backend": backend}
    if backend != "fp8":
        nbits = rng.choice(NBITS[backend])
        axes = (0,) if nbits == 3 else AXES[backend]
        options |= {
            "nbits": nbits,
            "axis_key": rng.choice(axes),
            "axis_value": rng.choice(axes),
            "q_group_size": rng.choice((16, 32, 64, 64, 128)),
            "residual_length": rng.choice((1, 4, 8, 128)),
        }
    heads, width = rng.choice((1, 2, 8)), rng.choice((16, 48, 64, 80, 128))
    first = rng.choice((1, 7, 16, 33, 64, 128))
    return Case(
        heads, width, rng.choice((width, 32)), rng.choice(tuple(DTYPES)), rng.choice((1, 3)),
        first, rng.choice((0, 0, 1, 3, 9)), options,
    )  # fmt: skip


def measured(case: Case) -> Held | None:
    """What the real classes hold on CPU; None where they refuse or break."""
    config = LlamaConfig(
        num_hidden_layers=LAYERS, hidden_size=case.heads * case.head_dim, head_dim=case.head_dim,
        num_attention_heads=case.heads, num_key_value_heads=case.heads,
    )  # fmt: skip
    if case.options["backend"] == "quanto":
        _uncompiled()
    generator, dtype = torch.Generator().manual_seed(0), DTYPES[case.dtype]

    def states(seq_len: int, width: int) -> torch.Tensor:
        shape = (case.batch_size, case.heads, seq_len, width)
        return torch.randn(shape, generator=generator).to(dtype)

    try:
        cache = QuantizedCache(case.options["backend"], config, **_own(case))
        for seq_len in (case.first, *[1] * case.decoded):
            for layer in range(LAYERS):
                key, value = states(seq_len, case.head_dim), states(seq_len, case.v_head_dim)
                kept, _ = cache.update(key, value, layer)
                assert kept.shape[-2] >= seq_len
        _readable(cache, case)
    except (AssertionError, RuntimeError, ValueError):
        return None
    return held(cache)


def _uncompiled() -> None:
    """Unpack for quanto what it would compile a C++ extension for, for minutes."""
    from optimum.quanto import library

    def unpack(packed: torch.Tensor, bits: int) -> torch.Tensor:
        return torch.cat([packed >> shift & 2**bits - 1 for shift in range(0, 8, bits)])

    library.extensions.get_extension("quanto_cpp")._lib = SimpleNamespace(unpack=unpack)


def _readable(cache: Any, case: Case) -> None:
    """Whether what was stored can be read again: hqq packs some shapes that it cannot unpack."""
    first = cache.layers[0]
    assert first._dequantize(first._quantized_keys).shape[-1] == case.head_dim
    assert first._dequantize(first._quantized_values).shape[-1] == case.v_head_dim


def _own(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.options.items() if name != "backend"}


def predicted(case: Case) -> Held | None:
    """The same by the calculator; None where it refuses."""
    cache = layer_cache(
        kind="full_attention", num_key_value_heads=case.heads, head_dim=case.head_dim,
        v_head_dim=case.v_head_dim,
    )  # fmt: skip
    model = ModelSpec(
        id="test", name="Test", model_type="test", num_hidden_layers=LAYERS,
        layer_types=("layer",) * LAYERS, caches=(("layer", (cache,)),), dtype=case.dtype,
    )  # fmt: skip
    request = kv.Request(case.first + case.decoded, case.batch_size)
    options = {"cache": "quantized", "decoded_tokens": case.decoded, **case.options}
    try:
        found = kv.footprint(model, request, kv.engine("transformers", **options))
    except kv.InvalidInput:
        return None
    assert sum(item.num_bytes for item in found.items) == found.num_bytes
    return Held(found.num_bytes, found.storage_bytes)


def record(backend: str, number: int = 100) -> dict[str, Any]:
    """Random cases and what the real classes hold, with the versions that said so."""
    rng = Random(f"{backend} record")
    cases = [random_case(backend, rng) for _ in range(number)]
    return {
        "command": f"python -m tests.conformance.transformers.quantised {backend}",
        "versions": {
            backend: version(backend),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "cases": [[case._asdict(), measured(case)] for case in cases],
    }


if __name__ == "__main__":
    found = record(sys.argv[1])
    lines = ",\n".join(json.dumps(case) for case in found.pop("cases"))
    head = json.dumps(found)[1:-1]
    RECORD.write_text(f'{{{head}, "cases": [\n{lines}\n]}}\n')
