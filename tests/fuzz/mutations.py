"""A configuration and a seed → the same, damaged: in its values, or in its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

Config = dict[str, Any]

_SIZES = {
    "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 512,
    "head_dim": 64, "vocab_size": 1000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
_LATENT = {"kv_lora_rank": 64, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32}
_MAMBA = {"mamba_n_heads": 16, "mamba_d_head": 64, "mamba_d_state": 16, "mamba_n_groups": 1}
_LINEAR = {
    "linear_num_key_heads": 4, "linear_key_head_dim": 16, "linear_num_value_heads": 8,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
}  # fmt: skip
_TYPES = ["sliding_attention", "full_attention"] * 4

CONFIGS: tuple[Config, ...] = (
    {"model_type": "llama", **_SIZES},
    {"model_type": "acme", **_SIZES},
    {"model_type": "gemma2", "sliding_window": 128, "layer_types": _TYPES, **_SIZES},
    {"model_type": "gemma3n_text", "num_kv_shared_layers": 2, "sliding_window": 64, **_SIZES},
    {"model_type": "gemma4_text", "global_head_dim": 128, "sliding_window": 64, **_SIZES},
    {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 64, **_SIZES},
    {"model_type": "qwen3_next", "full_attention_interval": 4, **_LINEAR, **_SIZES},
    {"model_type": "llama4_text", "attention_chunk_size": 128, **_SIZES},
    {"model_type": "deepseek_v3", **_LATENT, **_SIZES},
    {"model_type": "glm_moe_dsa", "index_head_dim": 32, **_LATENT, **_SIZES},
    {
        **_SIZES,
        "model_type": "deepseek_v4",
        "num_key_value_heads": 1,
        "sliding_window": 16,
        "index_head_dim": 32,
        "compress_ratios": [0, 4, 128, 4, 128, 4, 128, 4],
    },
    {"model_type": "jamba", "attn_layer_period": 4, "attn_layer_offset": 1, **_SIZES},
    {"model_type": "bamba", "attn_layer_indices": [1, 3], "mamba_expand": 2, **_MAMBA, **_SIZES},
    {"model_type": "nemotron_h", "hybrid_override_pattern": "M*M-M*ME", **_SIZES},
    {"model_type": "gpt2", "n_layer": 8, "n_head": 8, "n_embd": 512},
    {"model_type": "whisper", "decoder_layers": 4, "decoder_attention_heads": 8, "d_model": 512},
    {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", **_SIZES}},
    {
        **_SIZES,
        "model_type": "kimi_linear",
        **_LATENT,
        "linear_attn_config": {
            "num_heads": 8,
            "head_dim": 16,
            "short_conv_kernel_size": 4,
            "full_attn_layers": [4, 8],
            "kda_layers": [1, 2, 3, 5, 6, 7],
        },
    },
    {"model_type": "qwen3", "quantization_config": {"quant_method": "fp8"}, **_SIZES},
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, 7, 2**16, 2**31, 2**63, 10**29, 0.5, 1e30, float("nan"),
    float("inf"), "", "8", "full_attention", "auto", [], [0], [None], [[]], ["conv"] * 8, {},
    {"a": 1}, list(range(70_000)), "M" * 70_000, "x" * 1000, {"model_type": "llama"}, [{}],
    "\ud800", "\0",
)  # fmt: skip
KEYS = (
    "sliding_window", "layer_types", "num_hidden_layers", "kv_lora_rank", "text_config",
    "quantization_config", "model_type", "num_key_value_heads", "head_dim", "memory_slots",
    "per_layer_config", "layers_block_type", "attn_config", "dtype", "kv_cache_scheme", "",
)  # fmt: skip


def damaged(rng: Random) -> bytes:
    """The text of a configuration with one to three mistakes in it."""
    config = deepcopy(rng.choice(CONFIGS))
    for _ in range(rng.randint(1, 3)):
        rng.choice(_VALUE_MISTAKES)(config, rng)
    text = json.dumps(config).encode()
    return rng.choice(_TEXT_MISTAKES)(text, rng) if rng.random() < 0.2 else text


def _place(config: Config, rng: Random) -> Config:
    """The configuration itself or an object inside it."""
    inner = [value for value in config.values() if isinstance(value, dict) and value]
    return rng.choice([config, *inner])


def _change(config: Config, rng: Random) -> None:
    place = _place(config, rng)
    place[rng.choice(list(place) or [""])] = deepcopy(rng.choice(VALUES))


def _remove(config: Config, rng: Random) -> None:
    place = _place(config, rng)
    if place:
        del place[rng.choice(list(place))]


def _add(config: Config, rng: Random) -> None:
    _place(config, rng)[rng.choice(KEYS)] = deepcopy(rng.choice(VALUES))


def _swap_type(config: Config, rng: Random) -> None:
    config["model_type"] = rng.choice(CONFIGS)["model_type"]


def _truncated(text: bytes, rng: Random) -> bytes:
    return text[: rng.randint(0, len(text))]


def _flipped(text: bytes, rng: Random) -> bytes:
    i = rng.randrange(len(text))
    return text[:i] + bytes([rng.randrange(256)]) + text[i + 1 :]


def _long_number(text: bytes, rng: Random) -> bytes:
    return text.replace(b"512", b"9" * rng.choice((31, 4_000, 500_000)), 1)


def _twice(text: bytes, rng: Random) -> bytes:
    return text[:-1] + b', "num_hidden_layers": 3, "num_hidden_layers": 4}'


def _nested(text: bytes, rng: Random) -> bytes:
    depth = rng.choice((60, 1_000, 100_000))
    return text[:-1] + b', "a": ' + b"[" * depth + b"]" * depth + b"}"


def _invalid_utf8(text: bytes, rng: Random) -> bytes:
    return text.replace(b"model_type", b"model_\xff\xfetype", 1)


def _unclosed(text: bytes, rng: Random) -> bytes:
    return text[:-1] + b', "a": "' + b'\\"' * rng.choice((10, 500_000))


def _many_lists(text: bytes, rng: Random) -> bytes:
    return text[:-1] + b', "a": [0' + b",[]" * rng.choice((10, 600_000)) + b"]}"


def _padded(text: bytes, rng: Random) -> bytes:
    return text + b" " * rng.choice((10, 3_000_000))


_VALUE_MISTAKES: tuple[Callable[[Config, Random], None], ...] = (_change, _remove, _add, _swap_type)
_TEXT_MISTAKES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _truncated, _flipped, _long_number, _twice, _nested, _invalid_utf8, _padded,
    _unclosed, _many_lists,
)  # fmt: skip
