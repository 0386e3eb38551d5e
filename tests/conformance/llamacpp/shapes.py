"""A seed → architectures in shapes that nobody has published: heads, widths, windows, patterns."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.conformance.llamacpp.models import EXPERTS, Twin, ssm, twin, window

_WIDTHS = (32, 40, 64, 80, 96, 112, 128, 192, 256)
_HEADS = (1, 2, 3, 4, 5, 8, 12, 16)


def shaped(seed: int, each: int = 2) -> tuple[Twin, ...]:
    """`each` random shapes of every architecture here."""
    rng = Random(f"shapes {seed}")
    return tuple(make(f"{make.__name__}-{seed}-{i}", rng) for make in _MAKERS for i in range(each))


def llama(name: str, rng: Random) -> Twin:
    heads, width = rng.choice(_HEADS), rng.choice(_WIDTHS)
    layers, group = rng.randint(1, 40), rng.choice((1, 2, 4))
    return twin(
        name, "llama", layers, heads * group, heads, width, values={"rope.dimension_count": width}
    )


def gemma3(name: str, rng: Random) -> Twin:
    heads, width, layers = rng.choice(_HEADS), rng.choice(_WIDTHS), rng.randint(2, 40)
    found = window(rng.choice((1, 100, 128, 512, 1000, 1024, 4096)))
    pattern = {"attention.sliding_window_pattern": rng.randint(2, 7)}
    return twin(name, "gemma3", layers, heads, heads, width, values=found | pattern)


def deci(name: str, rng: Random) -> Twin:
    layers, width = rng.randint(2, 12), rng.choice(_WIDTHS)
    cached = [rng.choice((1, 2, 4, 8)) for _ in range(layers)]
    values = {"attention.head_count": [8] * layers, "rope.dimension_count": width}
    return twin(name, "deci", layers, 8, cached, width, embedding=8 * width, values=values)


def mimo2(name: str, rng: Random) -> Twin:
    """Keys wider than values, more heads in the layers with a window."""
    layers = rng.randint(3, 20)
    slides = [bool((i + 1) % rng.randint(2, 5)) for i in range(layers)]
    slides[0] = True
    values = {
        "attention.key_length": rng.choice((64, 128, 192)),
        "attention.value_length": rng.choice((64, 96, 128)),
        "attention.sliding_window_pattern": slides,
        "rope.dimension_count": 64,
        **EXPERTS,
        **window(rng.choice((100, 128, 512))),
    }
    cached = [8 if slide else 4 for slide in slides]
    return twin(name, "mimo2", layers, 16, cached, values=values)


def deepseek2(name: str, rng: Random) -> Twin:
    rank, rope = rng.choice((128, 256, 512)), rng.choice((32, 64, 80))
    values = {
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "attention.key_length_mla": 128 + rope,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": rank,
        "attention.q_lora_rank": 32,
        "rope.dimension_count": rope,
        "leading_dense_block_count": 1,
        "expert_shared_count": 1,
        **EXPERTS,
    }
    return twin(name, "deepseek2", rng.randint(2, 30), 16, 1, values=values)


def mamba2(name: str, rng: Random) -> Twin:
    embedding = rng.choice((256, 512, 1024))
    inner, state = 2 * embedding, rng.choice((16, 64, 128))
    values = {"feed_forward_length": 0, **ssm(rng.randint(2, 5), inner, state, inner // 64, 1)}
    return twin(name, "mamba2", rng.randint(1, 6), 0, 0, embedding=embedding, values=values)


def qwen3next(name: str, rng: Random) -> Twin:
    groups, wide = rng.choice((2, 4, 8)), rng.choice((64, 128))
    heads, width = groups * rng.choice((1, 2)), rng.choice((64, 128, 256))
    values = {
        "rope.dimension_count": width,
        "full_attention_interval": rng.randint(2, 4),
        **ssm(4, heads * wide, wide, heads, groups),
        **EXPERTS,
        "expert_shared_feed_forward_length": 32,
    }
    return twin(name, "qwen3next", rng.randint(4, 9), 8, 2, width, max_sequences=16, values=values)


def lfm2(name: str, rng: Random) -> Twin:
    layers, width = rng.randint(2, 16), rng.choice((64, 80, 128))
    cached = [rng.choice((0, 2)) for _ in range(layers)]
    cached[rng.randrange(layers)] = 2
    values = {"shortconv.l_cache": rng.randint(2, 5)}
    return twin(name, "lfm2", layers, 8, cached, width, embedding=8 * width, values=values)


_MAKERS: tuple[Callable[[str, Random], Twin], ...] = (
    llama, gemma3, deci, mimo2, deepseek2, mamba2, qwen3next, lfm2,
)  # fmt: skip
