"""A model as the cache sees it: an ordered pattern of layer types, and what each type keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from calculator.errors import UnsupportedModel, printable, shown
from calculator.layers import LayerCache
from calculator.units import MAX_BYTES, MAX_TOKENS, checked_int

MAX_LAYERS = 2**16


class LayerGroup(NamedTuple):
    """Equal layers, once: their type, how many there are, what each keeps."""

    layer_type: str
    layers: int
    caches: tuple[LayerCache, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What a model's cache depends on, and where each figure came from.

    `layer_types` names the type of every layer in order, repeated from the start when it is shorter
    than `num_hidden_layers`. `caches` maps each type to its caches: two for a hybrid layer, none
    for a layer that keeps nothing or reuses another's. Hashable, so that plans can be cached by it.
    """

    id: str
    name: str
    model_type: str
    num_hidden_layers: int
    layer_types: tuple[str, ...]
    caches: tuple[tuple[str, tuple[LayerCache, ...]], ...]
    dtype: str = "bf16"
    source: str = ""
    read_from: str = ""
    """What was read in place of the configuration at `source`; empty: a file as published."""
    revision: str = ""
    checked: str = ""
    max_position_embeddings: int | None = None
    num_parameters: int | None = None
    num_active_parameters: int | None = None
    weights_dtype: str | None = None
    """Element type most weights of the published checkpoint are in, when it is not `dtype`."""
    weights_bytes: int | None = None
    """Bytes of the published checkpoint's weights, where known exactly."""
    kv_cache_dtype: str | None = None
    """What the checkpoint's quantisation configuration says of its cache."""
    image_prefix: bool | None = None
    """Whether its configuration lets the tokens of an image see each other; None: it is silent."""
    assumptions: tuple[str, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    """(figure, the key or default it came from), for the page and the tests."""
    layer_groups: tuple[LayerGroup, ...] = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("name", "source"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        checked_int("num_hidden_layers", self.num_hidden_layers, at_most=MAX_LAYERS)
        for name, limit in _OPTIONAL_COUNTS:
            if getattr(self, name) is not None:
                checked_int(name, getattr(self, name), at_most=limit)
        if not self.layer_types or len(self.layer_types) > self.num_hidden_layers:
            raise UnsupportedModel(
                f"layer_types has {len(self.layer_types)} entries for "
                f"{self.num_hidden_layers} layers; expected 1 to {self.num_hidden_layers}.",
                field="layer_types",
            )
        known = dict(self.caches)
        counts = dict.fromkeys(self.layer_types, 0)
        for layer_type in self.every_layer_type():
            counts[layer_type] += 1
        for layer_type in counts:
            if layer_type not in known:
                raise UnsupportedModel(
                    f"layer_types names {shown(layer_type)}, for which no cache is described.",
                    field="layer_types",
                )
        groups = tuple(LayerGroup(t, n, known[t]) for t, n in counts.items())
        object.__setattr__(self, "layer_groups", groups)
        key = (self.id, self.model_type, self.num_hidden_layers, self.layer_types, self.caches)
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash

    def every_layer_type(self) -> tuple[str, ...]:
        """The type of each layer from the first to the last, the pattern written out."""
        whole, rest = divmod(self.num_hidden_layers, len(self.layer_types))
        return self.layer_types * whole + self.layer_types[:rest]

    @property
    def has_encoder(self) -> bool:
        """Whether some layer keeps keys and values of an encoder's output."""
        return any(c.kind == "cross_attention" for g in self.layer_groups for c in g.caches)


_OPTIONAL_COUNTS = (
    ("max_position_embeddings", MAX_TOKENS),
    ("num_parameters", MAX_BYTES),
    ("num_active_parameters", MAX_BYTES),
    ("weights_bytes", MAX_BYTES),
)


def shortest_pattern(layer_types: tuple[str, ...]) -> tuple[str, ...]:
    """The shortest start of `layer_types` that gives all of it when repeated.

    >>> shortest_pattern(("s", "s", "f", "s", "s", "f", "s"))
    ('s', 's', 'f')
    """
    # borders[i]: how much of the start is repeated at the end of the first i + 1 entries; the
    # textbook prefix function, because trying every period is quadratic and lists come from users
    borders = [0] * len(layer_types)
    for i in range(1, len(layer_types)):
        k = borders[i - 1]
        while k and layer_types[i] != layer_types[k]:
            k = borders[k - 1]
        borders[i] = k + (layer_types[i] == layer_types[k])
    return layer_types[: len(layer_types) - borders[-1]] if borders else layer_types
