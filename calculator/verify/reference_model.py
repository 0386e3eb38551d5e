"""Tokens and a list of (keys, values) per layer → logits and the longer list: a small decoder.

Nothing but what a cache needs to be understood: grouped heads, rotary positions, a causal mask. The
weights are random under a seed; what it says is noise, how it caches is what large decoders do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from calculator.layers.attention import FullAttention
from calculator.model import ModelSpec

if TYPE_CHECKING:
    from torch import Tensor

KeyValue: TypeAlias = "tuple[Tensor, Tensor]"
"""Keys and values of a layer, each of shape (batch, num_kv_heads, seq_len, d_head)."""
Cache: TypeAlias = list[KeyValue]
"""One pair a layer, empty before the first token: linear in depth."""
VERSION = "reference-decoder 1"


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the decoder; query heads are a multiple of cached heads."""

    num_hidden_layers: int = 4
    hidden_size: int = 192
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    head_dim: int = 32
    intermediate_size: int = 512
    vocab_size: int = 1024
    rope_theta: float = 10_000.0

    def spec(self) -> ModelSpec:
        """The decoder as the calculator sees it, so that its formula can be held against it."""
        heads = FullAttention("full_attention", self.num_key_value_heads, self.head_dim)
        return ModelSpec(
            id="reference-decoder",
            name="Reference decoder",
            model_type="reference_decoder",
            num_hidden_layers=self.num_hidden_layers,
            layer_types=("full_attention",),
            caches=(("full_attention", (heads,)),),
            dtype="fp32",
        )


class Layer(NamedTuple):
    """The weights of a layer, each (inputs, outputs)."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    gate: Tensor
    up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class Decoder:
    """A shape, and weights for it."""

    shape: Shape
    embedding: Tensor
    layers: tuple[Layer, ...]
    head: Tensor

    @property
    def version(self) -> str:
        """A name that changes with the code's version, the shape, or any weight."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for weight in (self.embedding, self.head, *(w for layer in self.layers for w in layer)):
            digest.update(weight.cpu().numpy().tobytes())
        return f"{VERSION}, sha256 {digest.hexdigest()[:16]}"


def decoder(shape: Shape, seed: int = 0, device: str = "cpu") -> Decoder:
    """Random weights under a seed, the same on every device."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def weight(inputs: int, outputs: int, gain: float = 1.0) -> Tensor:
        found = torch.randn((inputs, outputs), generator=generator).mul(gain * inputs**-0.5)
        return found.to(device)

    s = shape
    queries = s.num_attention_heads * s.head_dim
    cached = s.num_key_value_heads * s.head_dim
    embedding = weight(s.vocab_size, s.hidden_size, s.vocab_size**0.5)
    layers = tuple(
        Layer(
            # looks at a few tokens and not at the mean of all, as trained heads do
            query=weight(s.hidden_size, queries, 4.0),
            key=weight(s.hidden_size, cached),
            value=weight(s.hidden_size, cached),
            output=weight(queries, s.hidden_size),
            gate=weight(s.hidden_size, s.intermediate_size),
            up=weight(s.hidden_size, s.intermediate_size),
            down=weight(s.intermediate_size, s.hidden_size),
        )
        for _ in range(s.num_hidden_layers)
    )
    return Decoder(shape, embedding, layers, weight(s.hidden_size, s.vocab_size))


def empty_cache(model: Decoder, batch_size: int = 1) -> Cache:
    """No slots yet: (batch, num_kv_heads, 0, d_head) for each layer."""
    s = model.shape
    none = model.embedding.new_zeros((batch_size, s.num_key_value_heads, 0, s.head_dim))
    return [(none, none)] * s.num_hidden_layers


def cache_bytes(cache: Cache) -> int:
    """Bytes of the storage of every key and value."""
    return sum(t.untyped_storage().nbytes() for pair in cache for t in pair)


def forward(
    model: Decoder, tokens: Tensor, cache: Cache, *, is_causal: bool = True
) -> tuple[Tensor, Cache]:
    """Logits of the last token, and the cache with `tokens` (batch, new) added to it.

    The positions go on where the cache ends: slot i of a cache is position i. The cache given is
    left as it was.
    """
    from torch.nn.functional import silu

    hidden = model.embedding[tokens]
    rotation = _rotation(model.shape, start=cache[0][0].shape[2], count=tokens.shape[1])
    longer: Cache = []
    for layer, past in zip(model.layers, cache, strict=True):
        attended, pair = _attention(layer, _normed(hidden), past, rotation, is_causal, model.shape)
        longer.append(pair)
        hidden = hidden + attended
        inner = _normed(hidden)
        hidden = hidden + (silu(inner @ layer.gate) * (inner @ layer.up)) @ layer.down
    return _normed(hidden[:, -1]) @ model.head, longer


def _attention(
    layer: Layer,
    hidden: Tensor,
    past: KeyValue,
    rotation: tuple[Tensor, Tensor],
    is_causal: bool,
    shape: Shape,
) -> tuple[Tensor, KeyValue]:
    """Attention of new tokens to all, their keys and values concatenated to the past ones."""
    import torch

    batch, new, _ = hidden.shape
    s = shape

    def heads(weight: Tensor, count: int) -> Tensor:
        return (hidden @ weight).view(batch, new, count, s.head_dim).transpose(1, 2)

    query = _rotated(heads(layer.query, s.num_attention_heads), rotation)
    key = _rotated(heads(layer.key, s.num_key_value_heads), rotation)
    value = heads(layer.value, s.num_key_value_heads)
    key = torch.cat((past[0], key), dim=2)
    value = torch.cat((past[1], value), dim=2)
    # every group of query heads reads one cached head: a view with the group as an axis
    groups = query.view(batch, s.num_key_value_heads, -1, new, s.head_dim)
    scores = groups @ key.unsqueeze(2).transpose(-1, -2) * s.head_dim**-0.5
    if is_causal and new > 1:
        seen = torch.ones((new, key.shape[2]), dtype=torch.bool, device=hidden.device)
        scores = scores.masked_fill(~seen.tril(key.shape[2] - new), -torch.inf)
    attended = scores.softmax(-1) @ value.unsqueeze(2)
    attended = attended.reshape(batch, s.num_attention_heads, new, s.head_dim)
    return attended.transpose(1, 2).reshape(batch, new, -1) @ layer.output, (key, value)


def _rotation(shape: Shape, start: int, count: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the angle of each position and pair of elements."""
    import torch

    frequencies = shape.rope_theta ** -torch.arange(0, shape.head_dim, 2).div(shape.head_dim)
    angles = torch.outer(torch.arange(start, start + count).float(), frequencies)
    return angles.cos(), angles.sin()


def _rotated(heads: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Each pair of elements turned by the angle of its position."""
    import torch

    cos, sin = (part.to(heads.device) for part in rotation)
    first, second = heads.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


def _normed(hidden: Tensor) -> Tensor:
    """Every token's vector at root mean square 1."""
    return hidden * hidden.square().mean(-1, keepdim=True).add(1e-6).rsqrt()
