"""A seed → random settings of llama.cpp, alike in name to the engine's own options."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.llamacpp.models import TWINS, Twin
from tests.conformance.llamacpp.native import TYPES
from tests.conformance.llamacpp.shapes import shaped

_UBATCHES = (1, 32, 128, 256, 512, 512, 512, 1000, 1024, 2048, 4096)
_ROUND_CONTEXTS = (256, 1000, 2048, 4096, 8192, 32_768, 131_072)


def cases(count: int, seed: int) -> list[tuple[Twin, dict[str, Any]]]:
    """`count` cases spread evenly over published models and random shapes."""
    rng, twins = Random(seed), (*TWINS, *shaped(seed))
    return [(twin, options(twin, rng)) for twin in (twins[i % len(twins)] for i in range(count))]


def options(twin: Twin, rng: Random) -> dict[str, Any]:
    type_k = rng.choice(list(TYPES))
    return {
        "n_ctx": context(rng),
        "n_seq_max": min(rng.choice((1, 1, 2, 3, 4, 5, 8, 16, 31, 64)), twin.max_sequences),
        "n_batch": rng.choice((2048, 2048, 2048, 512, 4096)),
        "n_ubatch": rng.choice(_UBATCHES),
        "type_k": type_k,
        "type_v": type_k if rng.random() < 0.6 else rng.choice(list(TYPES)),
        "swa_full": rng.random() < 0.3,
        "kv_unified": rng.random() < 0.5,
        "flash_attn": rng.random() < 0.8,
    }


def context(rng: Random) -> int:
    """From one token to 256 Ki, half of them at or beside a round number."""
    if rng.random() < 0.5:
        return max(1, rng.choice(_ROUND_CONTEXTS) + rng.choice((-1, 0, 0, 0, 1)))
    return int(2 ** rng.uniform(0, 18))
