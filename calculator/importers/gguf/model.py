"""A GGUF header → ModelSpec: the same geometry as the config.json of that model."""

from __future__ import annotations

from collections.abc import Iterable

from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.importers.gguf.architectures import ARCHITECTURES, REFUSED
from calculator.importers.gguf.header import Header, Tensor
from calculator.importers.gguf.layers import named_layers
from calculator.importers.gguf.metadata import Metadata
from calculator.importers.gguf.types import OWN_NAMES
from calculator.importers.gguf.unread import refuse_unread
from calculator.model import ModelSpec, shortest_pattern
from calculator.units import MAX_BYTES, MAX_TOKENS, format_gib

DTYPE = "fp16"
_BASIS = (
    "A GGUF file does not say the type activations are computed in: fp16, the type llama.cpp "
    "starts its cache with."
)


def model_from_header(
    header: Header, *, id: str, source: str, tensors: tuple[Tensor, ...] | None = None
) -> ModelSpec:
    """The model that a header describes; `tensors` are those of all its files together.

    Raises UnsupportedModel for an architecture there is no rule for, naming it, and for keys that
    could touch the cache and that the rule does not read.
    """
    name = architecture_of(header)
    known = ARCHITECTURES[name]
    names = None if tensors is None else frozenset(t.name for t in tensors)
    m = Metadata(header.values, name, names)
    found = known.rule(m)
    refuse_unread(m)
    layer_types, caches = named_layers(found)
    if not any(kept for _, kept in caches):
        raise InvalidInput(
            f"{name}.attention.head_count_kv is 0 in every layer: the file describes no cache.",
            field="num_key_value_heads",
        )
    weights = _weights(tensors or ())
    return ModelSpec(
        id=id,
        name=_title(header, id),
        model_type=known.model_type,
        num_hidden_layers=len(layer_types),
        layer_types=shortest_pattern(layer_types),
        caches=caches,
        dtype=DTYPE,
        source=source,
        max_position_embeddings=m.count_or_none("context_length", at_most=MAX_TOKENS),
        assumptions=(_BASIS, *m.assumptions, *weights.notes),
        provenance=(*m.provenance.items(), ("dtype", "assumed")),
        num_parameters=weights.num_parameters,
        weights_bytes=weights.num_bytes,
        weights_dtype=weights.dtype,
    )


def architecture_of(header: Header) -> str:
    """The architecture a header names, if there is a rule for it."""
    name = header.values.get("general.architecture")
    if not isinstance(name, str):
        raise InvalidInput(
            "The GGUF file has no general.architecture; the size of a cache depends on it.",
            field="model",
        )
    if name in ARCHITECTURES:
        return name
    reason = REFUSED.get(name)
    raise UnsupportedModel(
        f"GGUF architecture {name} is {reason}."
        if reason
        else f"There is no rule for GGUF architecture {shown(name)}; give the model's config.json.",
        field="model",
        model_type=name[:80],
    )


class _Weights:
    """What the tensors of all files add up to, where the types of all of them are known."""

    def __init__(self) -> None:
        self.num_parameters: int | None = None
        self.num_bytes: int | None = None
        self.dtype: str | None = None
        self.notes: tuple[str, ...] = ()


def _weights(tensors: Iterable[Tensor]) -> _Weights:
    found, by_type = _Weights(), dict[str, int]()
    elements, unknown = 0, ""
    for tensor in tensors:
        elements += tensor.elements
        if tensor.num_bytes is None:
            unknown = tensor.type_name
        else:
            by_type[tensor.type_name] = by_type.get(tensor.type_name, 0) + tensor.num_bytes
    if not 0 < elements <= MAX_BYTES:
        return found
    found.num_parameters = elements
    if unknown:
        found.notes = (f"The weights' size is not known: a tensor is of {unknown}.",)
        return found
    ordered = sorted(by_type.items(), key=lambda item: -item[1])
    found.num_bytes, most = sum(by_type.values()), ordered[0][0]
    found.dtype = OWN_NAMES.get(most, most)
    if len(ordered) > 1:
        parts = ", ".join(f"{format_gib(size)} {name}" for name, size in ordered[:4])
        found.notes = (f"The file's tensors by type: {parts}.",)
    return found


def _title(header: Header, id: str) -> str:
    """The name the file carries, if it is one line of a reasonable length."""
    given = header.values.get("general.name")
    if isinstance(given, str) and 0 < len(given.strip()) <= 96 and given.isprintable():
        return given.strip()
    return id
