"""A model's parameters → bytes of weights on each device."""

from __future__ import annotations

from dataclasses import dataclass

from calculator.dtypes import WEIGHT_DTYPES, dtype
from calculator.errors import InvalidInput
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.units import MAX_BYTES, ceil_div, checked_int


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of one copy of the weights, on each device, their type and where the figure is from."""

    num_bytes: int
    bytes_per_device: int
    dtype: str
    basis: str


def weights_of(
    model: ModelSpec,
    parallelism: Parallelism,
    weights_dtype: str | None = None,
    weights_bytes: int | None = None,
) -> Weights:
    """Weights as asked for, else as the checkpoint stores them, else parameters × the model's type.

    Split evenly over tensor and pipeline ranks, rounded up; engines replicate small parts (norms,
    routers), which the range of other needs covers.

    Raises InvalidInput when neither a size nor a number of parameters is known.
    """
    ranks = parallelism.tensor_parallel_size * parallelism.pipeline_parallel_size
    total, name, basis = _total(model, weights_dtype, weights_bytes)
    return Weights(total, ceil_div(total, ranks), name, basis)


def _total(model: ModelSpec, name: str | None, given: int | None) -> tuple[int, str, str]:
    if given is not None:
        checked_int("weights_bytes", given, at_least=0, at_most=MAX_BYTES)
        return given, "given", f"Weights: {given:,} B, as given."
    if name is None and model.weights_bytes is not None:
        stored = model.weights_dtype or model.dtype
        return (
            model.weights_bytes,
            stored,
            f"Weights: {model.weights_bytes:,} B, as the published checkpoint stores them.",
        )
    if model.num_parameters is None:
        raise InvalidInput(
            f"weights_bytes is missing; the number of parameters of {model.name} is not known, "
            "so say how large its weights are.",
            field="weights_bytes",
        )
    found = dtype(
        name or model.weights_dtype or model.dtype, field="weights_dtype", known=WEIGHT_DTYPES
    )
    count = model.num_parameters
    size = "½" if found.name == "int4" else f"{found.block_bytes}/{found.block_elements}"
    size = str(found.block_bytes) if found.block_elements == 1 else size
    wider = ""
    if found.bits < 16:
        wider = "; at least, since embeddings, norms and scales are usually kept wider"
    return (
        found.row_bytes(count),
        found.name,
        f"Weights: {count:,} parameters × {size} B ({found.name}), every one in this type{wider}.",
    )


def published_weights(model: ModelSpec) -> Weights | None:
    """The weights as the checkpoint stores them, on one device; None where that is not known."""
    if model.weights_bytes is None and (model.weights_dtype is None or not model.num_parameters):
        return None
    return weights_of(model, Parallelism())
