"""Kinds of layer cache, by the tag that stands in a preset → the class that lists their tensors."""

from __future__ import annotations

from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from importlib import import_module
from typing import Any, ClassVar, Protocol

from calculator.errors import UnsupportedModel, shown
from calculator.tensors import StateTensor

KINDS = {
    "full_attention": "calculator.layers.attention:FullAttention",
    "sliding_attention": "calculator.layers.windows:SlidingAttention",
    "chunked_attention": "calculator.layers.windows:ChunkedAttention",
    "cross_attention": "calculator.layers.cross:CrossAttention",
    "latent_attention": "calculator.layers.latent:LatentAttention",
    "sparse_indexer": "calculator.layers.latent:SparseIndexer",
    "compressed_attention": "calculator.layers.compressed:CompressedAttention",
    "mamba1": "calculator.layers.recurrent:Mamba1",
    "mamba2": "calculator.layers.recurrent:Mamba2",
    "gated_delta_net": "calculator.layers.recurrent:GatedDeltaNet",
    "kimi_delta_attention": "calculator.layers.recurrent:KimiDeltaAttention",
    "lightning_attention": "calculator.layers.recurrent:LightningAttention",
    "short_convolution": "calculator.layers.recurrent:ShortConvolution",
    "wkv": "calculator.layers.recurrent:Wkv",
}


class LayerCache(Protocol):
    """What one layer keeps: a tagged, hashable record that lists its tensors.

    `label` is its name on a page, `letter` its family's: F full, S sliding or chunked, M latent,
    R recurrent, X cross, I indexer, C compressed.
    """

    label: ClassVar[str]
    letter: ClassVar[str]

    @property
    def kind(self) -> str: ...

    def tensors(self) -> tuple[StateTensor, ...]: ...


def kind_class(kind: object) -> Any:
    """The class of a kind, imported on first use."""
    if kind not in KINDS:
        raise UnsupportedModel(
            f"kind is {shown(kind)}; known kinds of layer cache: {', '.join(KINDS)}.", field="kind"
        )
    module, name = KINDS[str(kind)].split(":")
    return getattr(import_module(module), name)


def layer_cache(**fields: Any) -> LayerCache:
    """One cache from its tagged record, as a preset or a description writes it.

    >>> layer_cache(kind="full_attention", num_key_value_heads=8, head_dim=128).tensors()[0].name
    'key'
    """
    cls = kind_class(fields.get("kind"))
    known = {field.name: field for field in dataclass_fields(cls)}
    unknown = [name for name in fields if name not in known]
    missing = [n for n, f in known.items() if n not in fields and f.default is MISSING]
    if unknown or missing:
        what = "unknown" if unknown else "missing"
        names = ", ".join(unknown or missing)
        raise UnsupportedModel(
            f"{fields['kind']} has {what} field {names}; its fields are {', '.join(known)}.",
            field=(unknown or missing)[0],
        )
    cache: LayerCache = cls(**fields)
    return cache
