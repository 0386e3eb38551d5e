"""A layer's cache → the tensors that transformers' model code keeps of it."""

from __future__ import annotations

from dataclasses import replace

from calculator.dtypes import DTYPES, Dtype
from calculator.errors import UnsupportedModel
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention
from calculator.model import ModelSpec
from calculator.tensors import (
    Constant,
    CurrentChunk,
    EveryToken,
    Follows,
    Growth,
    LastGroup,
    LastTokens,
    OpenGroup,
    StateTensor,
)

VERIFIED = (5, 23, 0)
LATENT_SINCE = (5, 15, 0)
_KNOWN_SINCE_5_0 = frozenset(
    ("full_attention", "sliding_attention", "chunked_attention", "cross_attention")
)
WITHOUT_CLASS = frozenset(
    (
        "baichuan",
        "chatglm",
        "hunyuan",
        "internlm2",
        "kimi_k2",
        "kimi_k3",
        "mimo",
        "minimax_m1",
        "minimax_m3",
        "minimax_text_01",
        "nemotron-nas",
        "qwen",
        "step3_vl",
    )
)
"""Model types read here whose code is not in the release: they run code of their own."""

FP32 = DTYPES["fp32"]
_OWN: dict[tuple[str, str], Dtype | Follows] = {
    # modeling_minimax.py:MiniMaxLightningAttention, computed in the model's type
    ("minimax", "lightning_attention"): "model",
    # modeling_inkling.py convolves in fp32
    ("inkling_mm_model inkling_text inkling2 inkling2_text", "short_convolution"): FP32,
    # modeling_dots3_note.py scores its index keys in fp32
    ("dots3_note dots3_note_text", "sparse_indexer"): FP32,
}
STATE_DTYPES = {(t, kind): dtype for (types, kind), dtype in _OWN.items() for t in types.split()}
"""(model type, kind of cache) whose states the modelling code keeps in another type than fp32."""


def computed(
    cache: LayerCache, model: ModelSpec, release: tuple[int, int, int]
) -> tuple[StateTensor, ...]:
    """What the layer hands to its cache, before the cache decides how much of it stays."""
    if cache.kind == "wkv" or (
        cache.kind == "lightning_attention" and model.model_type != "minimax"
    ):
        raise UnsupportedModel(
            f"transformers {_text(VERIFIED)} has no model code of its own for the "
            f"{cache.kind} layers of model type {model.model_type}.",
            field="engine",
        )
    if model.model_type == "falcon" and isinstance(cache, FullAttention):
        cache = _every_query_head(cache, model)
    if release < VERIFIED:
        return _computed_before(cache, release)
    found = _compressed(cache) if isinstance(cache, CompressedAttention) else cache.tensors()
    own = STATE_DTYPES.get((model.model_type, cache.kind))
    return tuple(t._replace(dtype=own or t.dtype, growth=_columns(t)) for t in found)


def dynamic(tensor: StateTensor) -> StateTensor:
    """A window or a chunk of W keeps W − 1 slots, and everything where W is 1."""
    match tensor.growth:
        case LastTokens(window) | CurrentChunk(window):
            growth = LastTokens(window - 1) if window > 1 else EveryToken()
            return tensor._replace(growth=growth)
    return tensor


def static(
    tensors: tuple[StateTensor, ...], cache: LayerCache, model: ModelSpec
) -> tuple[StateTensor, ...]:
    """The encoder's keys of an encoder-decoder are in a cache of their own, as long as its output.

    A decoder with layers that do nothing else (mllama) keeps them in its one cache, which has as
    many slots for them as for tokens.
    """
    if not in_one_cache(model) or cache.kind != "cross_attention":
        return tensors
    return tuple(t._replace(growth=EveryToken()) for t in tensors)


def in_one_cache(model: ModelSpec) -> bool:
    """Whether a layer keeps keys of an encoder and none of the tokens."""
    return any([c.kind for c in g.caches] == ["cross_attention"] for g in model.layer_groups)


def _columns(tensor: StateTensor) -> Growth:
    """A convolution keeps all columns of its kernel, one more than it needs."""
    if isinstance(tensor.growth, Constant) and tensor.name.endswith("convolution"):
        return Constant(tensor.growth.num_slots + 1)
    return tensor.growth


def _computed_before(cache: LayerCache, release: tuple[int, int, int]) -> tuple[StateTensor, ...]:
    """The same in releases from 5.0.0 on, where their source was read."""
    if isinstance(cache, LatentAttention):
        return cache.tensors() if release >= LATENT_SINCE else _expanded(cache)
    if cache.kind in _KNOWN_SINCE_5_0:
        return cache.tensors()
    raise UnsupportedModel(
        f"What transformers {_text(release)} keeps of {cache.kind} is not recorded; "
        f"{_text(VERIFIED)} is.",
        field="version",
    )


def _every_query_head(cache: FullAttention, model: ModelSpec) -> FullAttention:
    """Falcon's newer form copies its cached heads to every query head before it caches them.

    Source: `modeling_falcon.py`, `FalconAttention._split_heads` (broadcast_to the query's shape).
    """
    heads = cache.num_attention_heads
    if heads is None and cache.num_key_value_heads > 1:
        raise UnsupportedModel(
            "transformers' code of falcon caches a key for every query head of its newer form, and "
            f"{model.name} is kept without their number, num_attention_heads.",
            field="engine",
        )
    return replace(cache, num_key_value_heads=heads or cache.num_key_value_heads)


def _expanded(cache: LatentAttention) -> tuple[StateTensor, ...]:
    """Every head's key (its own part beside the rotary one) and value, as before 5.15."""
    heads, nope, value = cache.num_attention_heads, cache.qk_nope_head_dim, cache.v_head_dim
    if heads is None or nope is None or value is None:
        raise UnsupportedModel(
            "num_attention_heads, qk_nope_head_dim or v_head_dim is missing; transformers before "
            "5.15 kept every head's key and value, whose size follows from them.",
            field="version",
        )
    return (
        StateTensor("key", heads, nope + cache.qk_rope_head_dim, EveryToken(), "key"),
        StateTensor("value", heads, value, EveryToken(), "value"),
    )


def _compressed(cache: CompressedAttention) -> tuple[StateTensor, ...]:
    """Window, compressed entries, and the buffers of the group being filled.

    Source: `modeling_deepseek_v4.py`, `DeepseekV4HCACache.update` (keys and values are one tensor),
    `.store_compression_weights` (buffers of T mod n tokens, a key and a gate each) and, where an
    indexer chooses among entries, `DeepseekV4CSACache.update_overlap_state` (two series a buffer,
    and the last complete group's first one). A layer without compression is a plain sliding layer,
    which keeps the key a second time as value.
    """
    window, *_ = found = cache.tensors()
    n = cache.compress_ratio
    if n is None:
        return (window, window._replace(name="window value", dtype="value"))
    if cache.index_head_dim is None:
        return (*found, *_buffers("", cache.head_dim, OpenGroup(n)))
    widths = (("", cache.head_dim), ("index ", cache.index_head_dim))
    open_groups = (t for name, w in widths for t in _buffers(name, 2 * w, OpenGroup(n)))
    overlaps = (t for name, w in widths for t in _buffers(f"last {name}", w, LastGroup(n)))
    return (*found, *open_groups, *overlaps)


def _buffers(name: str, width: int, growth: Growth) -> tuple[StateTensor, ...]:
    return tuple(StateTensor(f"{name}group {x}", 1, width, growth, "key") for x in ("key", "gate"))


def _text(release: tuple[int, int, int]) -> str:
    return ".".join(str(n) for n in release)
