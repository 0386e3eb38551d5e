"""What transformers' own model code keeps after one forward pass → tensors and slots."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from calculator.dtypes import DTYPES, Dtype
from calculator.engines.base import CacheDtypes, Engine
from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.items import Item
from calculator.layers import LayerCache
from calculator.layers.attention import FullAttention
from calculator.layers.compressed import CompressedAttention
from calculator.layers.latent import LatentAttention
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request
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
_CACHES = ("dynamic",)
_LATER_CACHES = ("static", "quantized", "offloaded", "offloaded_static")


@dataclass(frozen=True, slots=True)
class Transformers(Engine):
    """The bytes of the cache's floating-point tensors after one forward pass over `seq_len` tokens.

    - A window of W keeps min(T, W − 1) tokens, a chunk likewise: the token being computed is not in
      it (`cache_utils.py:DynamicSlidingWindowLayer.update`, a view that ends at −W + 1; a window
      of 1 makes that 0, which keeps everything).
    - Convolutions keep all `conv_kernel` columns (`LinearAttentionLayer.update_conv_state`).
    - Recurrent states are in the type the modelling code computes in: fp32, but for the model types
      in `STATE_DTYPES`.
    - MLA keeps the latent since 5.15 (`modeling_deepseek_v3.py:DeepseekV3Attention.forward`), and
      before that every head's expanded key and value.
    - Sequences of different lengths are one batch, padded to the longest.
    """

    cache: str = "dynamic"
    version: str | None = None

    engine: ClassVar[str] = "transformers"
    verified_with: ClassVar[str] = "5.23.0"

    def __post_init__(self) -> None:
        if self.cache not in _CACHES:
            later = "; not computed yet" if self.cache in _LATER_CACHES else ""
            raise InvalidInput(
                f"cache is {shown(self.cache)}{later}; computed: {', '.join(_CACHES)}.",
                field="cache",
            )
        self.release  # noqa: B018 - refuses a version it cannot read

    @property
    def release(self) -> tuple[int, int, int]:
        """`version` as numbers, the verified one when none is given."""
        if self.version is None:
            return VERIFIED
        found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", str(self.version), re.ASCII)
        release = tuple(int(n or 0) for n in found.groups()) if found else ()
        if not (5, 0, 0) <= release <= VERIFIED:
            raise InvalidInput(
                f"version is {shown(self.version)}; known are 5.0.0 to {self.verified_with}.",
                field="version",
            )
        major, minor, patch = release
        return major, minor, patch

    def tensors(self, cache: LayerCache, model: ModelSpec) -> tuple[StateTensor, ...]:
        if cache.kind == "wkv" or (
            cache.kind == "lightning_attention" and model.model_type != "minimax"
        ):
            raise UnsupportedModel(
                f"transformers {self.verified_with} has no model code of its own for the "
                f"{cache.kind} layers of model type {model.model_type}.",
                field="engine",
            )
        if model.model_type == "falcon" and isinstance(cache, FullAttention):
            cache = _every_query_head(cache, model)
        if self.release < VERIFIED:
            return self._tensors_before(cache)
        found = _compressed(cache) if isinstance(cache, CompressedAttention) else cache.tensors()
        own = STATE_DTYPES.get((model.model_type, cache.kind))
        return tuple(_kept(t, own) for t in found)

    def dtypes(self, model: ModelSpec, request: Request) -> CacheDtypes:
        """The model's type: a dynamic cache keeps what the layers compute."""
        for name in ("key_dtype", "value_dtype"):
            asked = getattr(request, name)
            if asked and asked != model.dtype:
                raise InvalidInput(
                    f"{name} is {asked}; a dynamic cache of transformers keeps keys and values in "
                    f"the model's type, {model.dtype}.",
                    field=name,
                )
        basis = f"Cache type {model.dtype}: transformers keeps what the model's layers compute."
        return CacheDtypes(model.dtype, model.dtype, basis)

    def allocate(
        self,
        model: ModelSpec,
        request: Request,
        parallelism: Parallelism,
        hands: tuple[tuple[tuple[int, int], ...], ...],
    ) -> tuple[Item, ...]:
        for name in ("tensor_parallel_size", "pipeline_parallel_size"):
            if getattr(parallelism, name) > 1:
                raise InvalidInput(
                    f"{name} is {getattr(parallelism, name)}; how transformers splits a cache over "
                    "devices is not computed yet.",
                    field=name,
                )
        if request.shared_prefix_len:
            raise InvalidInput(
                f"shared_prefix_len is {request.shared_prefix_len}; transformers stores every "
                "sequence whole.",
                field="shared_prefix_len",
            )
        # not super(): dataclass(slots=True) makes a second class, which super() does not know
        return Engine.allocate(self, model, request, parallelism, hands)

    def slots_of_all(
        self, growth: Growth, lengths: tuple[tuple[int, int], ...], request: Request
    ) -> int:
        """Every sequence counts the longest: one padded batch."""
        if not lengths:
            return 0
        longest = max(length for length, _ in lengths)
        sequences = sum(count for _, count in lengths)
        return sequences * self.slots(growth, longest, request.encoder_seq_len or 0)

    def assumptions(self, model: ModelSpec, request: Request) -> tuple[str, ...]:
        kinds = {c.kind for g in model.layer_groups for c in g.caches}
        parts = ["the cache's floating-point tensors after one forward pass (cache_utils.py)"]
        if kinds & {"sliding_attention", "compressed_attention"}:
            parts.append("a window keeps W − 1 tokens (DynamicSlidingWindowLayer.update)")
        if "chunked_attention" in kinds:
            parts.append("a chunk keeps its size − 1 (DynamicSlidingWindowLayer.update)")
        if kinds & {"mamba1", "mamba2", "gated_delta_net", "kimi_delta_attention"}:
            parts.append("states in fp32 and all convolution columns (LinearAttentionLayer)")
        if "latent_attention" in kinds:
            what = "the latent" if self.release >= LATENT_SINCE else "every head's key and value"
            parts.append(f"MLA keeps {what} (modeling_deepseek_v3.py:DeepseekV3Attention.forward)")
        version = self.version or self.verified_with
        found = [f"Engine transformers {version}, dynamic cache: {'; '.join(parts)}."]
        if model.model_type in WITHOUT_CLASS:
            found.append(
                f"transformers {self.verified_with} has no class for model type "
                f"{model.model_type}: counted as its cache classes keep such layers, not checked "
                "against the model's own code."
            )
        if model.kv_cache_dtype and model.kv_cache_dtype != model.dtype:
            found.append(
                f"The checkpoint asks for a {model.kv_cache_dtype} cache; transformers does not "
                f"apply that and keeps {model.dtype}."
            )
        if len(request.lengths) > 1:
            found.append(f"One batch, padded: every sequence counts {request.longest:,} tokens.")
        return tuple(found)

    def _tensors_before(self, cache: LayerCache) -> tuple[StateTensor, ...]:
        """What releases from 5.0.0 on kept, where their source was read."""
        if isinstance(cache, LatentAttention):
            found = cache.tensors() if self.release >= LATENT_SINCE else _expanded(cache)
        elif cache.kind in _KNOWN_SINCE_5_0:
            found = cache.tensors()
        else:
            raise UnsupportedModel(
                f"What transformers {self.version} keeps of {cache.kind} is not recorded; "
                f"{self.verified_with} is.",
                field="version",
            )
        return tuple(_kept(t, None) for t in found)


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


def _kept(tensor: StateTensor, own: Dtype | Follows | None) -> StateTensor:
    """A tensor as transformers holds it: windows one token short, convolutions one column more."""
    growth = tensor.growth
    match growth:
        case LastTokens(window) | CurrentChunk(window):
            growth = LastTokens(window - 1) if window > 1 else EveryToken()
        case Constant(columns) if tensor.name.endswith("convolution"):
            growth = Constant(columns + 1)
    return tensor._replace(growth=growth, dtype=own or tensor.dtype)


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
