"""A table of layer groups ↔ a model: what a user describes where no rule can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from itertools import groupby
from typing import Any

from calculator.dtypes import dtype as dtype_named
from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.layers import KINDS, LayerCache, kind_class, layer_cache
from calculator.model import MAX_LAYERS, ModelSpec, shortest_pattern
from calculator.units import checked_int

SHARED = "shared"
BESIDE = "beside the row above"
DESCRIBED = "Layers as the user described them, not read from a configuration."
Row = Mapping[str, Any]


def model_from_rows(
    rows: Sequence[Row],
    *,
    name: str = "described model",
    dtype: str = "bf16",
    max_position_embeddings: int | None = None,
    num_parameters: int | None = None,
) -> ModelSpec:
    """The model of rows `{"layers": 32, "kind": "full_attention", "num_key_value_heads": 8, …}`.

    Rows stand in the order of the layers. A row whose `layers` is `BESIDE` is a second cache in the
    layers of the row before it, as in a hybrid layer; kind `SHARED` keeps nothing. Fields of other
    kinds may be present if they are None.
    """
    caches: list[tuple[str, tuple[LayerCache, ...]]] = []
    layer_types: list[str] = []
    for number, row in enumerate(rows, 1):
        cache = _cache(row, number)
        if row.get("layers") == BESIDE:
            if not caches:
                raise InvalidInput("Row 1 stands beside no other row.", field="layers")
            layer_type, kept = caches[-1]
            caches[-1] = (layer_type, (*kept, *cache))
            continue
        layers = checked_int(f"layers of row {number}", row.get("layers"), at_most=MAX_LAYERS)
        kind = str(row["kind"])
        taken = {t for t, _ in caches}
        layer_type = kind if kind not in taken else f"{kind}_{number}"
        caches.append((layer_type, cache))
        layer_types += [layer_type] * layers
        checked_int("num_hidden_layers", len(layer_types), at_most=MAX_LAYERS)
    if not caches:
        raise InvalidInput("No layer is described; add a row.", field="layers")
    return ModelSpec(
        id="described",
        name=name,
        model_type="described",
        source="described by the user",
        num_hidden_layers=len(layer_types),
        layer_types=shortest_pattern(tuple(layer_types)),
        caches=tuple(caches),
        dtype=dtype_named(dtype).name,
        max_position_embeddings=max_position_embeddings,
        num_parameters=num_parameters,
        assumptions=(DESCRIBED,),
    )


def rows_of(model: ModelSpec) -> list[dict[str, Any]]:
    """A model as such rows; neighbouring layers of a type are one row."""
    kept = dict(model.caches)
    rows: list[dict[str, Any]] = []
    for layer_type, run in groupby(model.every_layer_type()):
        caches = kept[layer_type]
        first: int | str = len(list(run))
        if not caches:
            rows.append({"layers": first, "kind": SHARED})
        for cache in caches:
            rows.append({"layers": first, **_fields(cache)})
            first = BESIDE
    return rows


def grouped_rows(model: ModelSpec) -> list[dict[str, Any]]:
    """The same, all layers of a type in one row: the sizes are equal, the order is not kept."""
    rows: list[dict[str, Any]] = []
    for group in model.layer_groups:
        first: int | str = group.layers
        if not group.caches:
            rows.append({"layers": first, "kind": SHARED})
        for cache in group.caches:
            rows.append({"layers": first, **_fields(cache)})
            first = BESIDE
    return rows


def first_row(keys_read: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Where to start from what a refused configuration did say: full-attention layers."""
    read = {key.rsplit(".", 1)[-1]: value for key, value in keys_read}
    row: dict[str, Any] = {"layers": read.get("num_hidden_layers", 1), "kind": "full_attention"}
    for name in ("num_key_value_heads", "head_dim"):
        value = read.get(name)
        row[name] = value if isinstance(value, int) and not isinstance(value, bool) else None
    return row


def fields_of(kind: str) -> tuple[str, ...]:
    """What a row of this kind has to say, the optional fields last."""
    if kind == SHARED:
        return ()
    own = [f for f in fields(kind_class(kind)) if f.name != "kind"]
    return tuple(f.name for f in sorted(own, key=lambda f: f.default is not MISSING))


def _cache(row: Row, number: int) -> tuple[LayerCache, ...]:
    kind = row.get("kind")
    if kind == SHARED:
        return ()
    if kind not in KINDS:
        known = ", ".join([*KINDS, SHARED])
        raise InvalidInput(f"kind of row {number} is {shown(kind)}; known: {known}.", field="kind")
    own = fields_of(str(kind))
    given = {k: v for k, v in row.items() if k not in ("layers", "kind") and v is not None}
    foreign = [name for name in given if name not in own]
    if foreign:
        raise InvalidInput(
            f"Row {number} gives {foreign[0]}, which {kind} does not have; its fields are "
            f"{', '.join(own)}.",
            field=foreign[0],
        )
    try:
        return (layer_cache(kind=kind, **given),)
    except (InvalidInput, UnsupportedModel) as error:
        raise InvalidInput(f"Row {number}: {error}", field=error.field) from None


def _fields(cache: LayerCache) -> dict[str, Any]:
    names = ("kind", *fields_of(cache.kind))
    return {n: getattr(cache, n) for n in names if getattr(cache, n) is not None}
