"""A footprint → its tensors, allocated on a device, and their bytes beside the prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from calculator.errors import DoesNotFit
from calculator.footprint import Footprint
from calculator.units import format_gib
from calculator.verify.allocator import Allocator, allocator
from calculator.verify.cuda_rule import RULE, set_aside
from calculator.verify.device import (
    chosen_device,
    counters,
    device_name,
    free_memory,
    is_out_of_memory,
    settle,
    synchronize,
    versions,
)
from calculator.verify.slices import KINDS, Kind, Slice, largest_slice
from calculator.verify.tensor_list import ITEM_BYTES, Planned, Shape, tensor_list

if TYPE_CHECKING:
    import torch

Progress = Callable[[int, int, str], None]
"""(done, total, what is being done)"""
MAX_TENSORS = 2**17
TOO_MANY = "Neither one layer nor one token of each sequence fits; fewer sequences take less."
NOTES = {
    "cpu": "Resident memory is information: pages of 4 KiB, and the process's own.",
    "mps": "Metal rounds buffers up to whole pages; it has no count of the bytes asked for.",
}


class Measured(NamedTuple):
    """A row of tensors, and the bytes of their storage."""

    planned: Planned
    measured_bytes: int

    def to_dict(self) -> dict[str, Any]:
        row = self.planned
        return {
            "layer_type": row.layer_type,
            "layers": row.layers,
            "tensor": row.tensor,
            "shapes": [list(shape) for shape in row.shapes],
            "dtype": row.dtype.name,
            "torch_dtype": row.torch_dtype,
            "copies": row.copies,
            "predicted_bytes": row.predicted_bytes,
            "measured_bytes": self.measured_bytes,
            "equal": row.predicted_bytes == self.measured_bytes,
        }


class Allocation(NamedTuple):
    """Tensors that were really there, and what the device said of them."""

    footprint: Footprint
    device: str
    rows: tuple[Measured, ...]
    reported: dict[str, Any]
    slice: Slice | None
    whole_bytes: int
    budget_bytes: int

    @property
    def measured_bytes(self) -> int:
        return sum(row.measured_bytes for row in self.rows)

    @property
    def equal(self) -> bool:
        """To the byte, row by row; and what the device was asked for, where it counts that."""
        return self.reported.get("requested_equal", True) and all(
            row.measured_bytes == row.planned.predicted_bytes for row in self.rows
        )

    def to_dict(self) -> dict[str, Any]:
        part = self.slice
        return {
            "predicted_bytes": self.footprint.num_bytes,
            "measured_bytes": self.measured_bytes,
            "equal": self.equal,
            "method": "allocate",
            "device": self.device,
            "device_name": device_name(self.device),
            "versions": versions(self.device),
            "tensors": [row.to_dict() for row in self.rows],
            "num_tensors": sum(row.planned.num_tensors for row in self.rows),
            "reported": self.reported,
            "budget_bytes": self.budget_bytes,
            "slice": part and {"kind": part.kind, "count": part.count, "of": part.of},
            "whole_bytes": self.whole_bytes,
        }


def allocate(
    found: Footprint,
    device: str = "auto",
    *,
    budget_bytes: int | None = None,
    slice_of: Kind | None = None,
    progress: Progress = lambda done, total, text: None,
) -> Allocation:
    """Allocate every tensor of `found`, count their bytes, free them.

    `slice_of` says which part to take where the whole is larger than the budget; without it that
    raises DoesNotFit, which names the parts that fit. So does memory that runs out on the way,
    after everything has been freed.
    """
    device = chosen_device(device)
    free = free_memory(device)
    budget = free.budget_bytes if budget_bytes is None else min(budget_bytes, free.free_bytes)
    whole, part = found, None
    if found.num_bytes > budget:
        basis = free.basis if budget_bytes is None else "the budget given"
        part = _slice(found, slice_of, budget, basis)
        found = part.footprint
    rows = tensor_list(found)
    _check_count(rows)
    measured, reported = _measure(rows, device, progress)
    return Allocation(found, device, measured, reported, part, whole.num_bytes, budget)


def _slice(found: Footprint, kind: Kind | None, budget: int, basis: str) -> Slice:
    """The part asked for; DoesNotFit naming the parts there are, where none was."""
    if kind and (part := largest_slice(found, kind, budget)):
        return part
    parts = [part for k in KINDS if k != kind and (part := largest_slice(found, k, budget))]
    offer = " or ".join(f"{part.text} (--slice {part.kind})" for part in parts)
    raise DoesNotFit(
        f"{format_gib(found.num_bytes)} of cache; {format_gib(budget)} may be used ({basis}). "
        + (f"The largest part that fits: {offer}." if offer else TOO_MANY),
        field="slice",
    )


def _check_count(rows: tuple[Planned, ...]) -> None:
    count = sum(row.num_tensors for row in rows)
    if count > MAX_TENSORS:
        raise DoesNotFit(
            f"{count:,} tensors, one a layer and length; at most {MAX_TENSORS:,} are allocated. "
            "Fewer different lengths make fewer tensors.",
            field="seq_lens",
        )


def _measure(
    rows: tuple[Planned, ...], device: str, progress: Progress
) -> tuple[tuple[Measured, ...], dict[str, Any]]:
    """Counters before, every tensor, counters after; nothing is left allocated."""
    _warm_up(device)
    before = counters(device)
    how = allocator(before["reserved_bytes"]) if device == "cuda" else None
    held: list[torch.Tensor] = []
    measured: list[Measured] = []
    total = sum(row.predicted_bytes for row in rows)
    done = 0
    try:
        for row in rows:
            first, tensors = len(held), _tensors(row, device)
            # no name for a tensor but its place in `held`, so that clearing that frees it
            for _ in range(row.num_tensors):
                held.append(next(tensors))
                done += held[-1].untyped_storage().nbytes()
                progress(done, total, f"{row.layer_type} {row.tensor}")
            own = sum(t.untyped_storage().nbytes() for t in held[first:])
            measured.append(Measured(row, own))
        synchronize(device)
        after = counters(device)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise DoesNotFit(
            f"Out of memory on {device} after {format_gib(done)} of {format_gib(total)}; "
            "everything was freed again.",
            field="device",
        ) from None
    finally:
        held.clear()
        settle(device)
    changes = {name: after[name] - before[name] for name in before}
    reported = _of_cuda(changes, rows, how) if how else {**changes, "note": NOTES[device]}
    return tuple(measured), reported


def _tensors(row: Planned, device: str) -> Iterator[torch.Tensor]:
    """torch.zeros and not torch.empty: pages nobody wrote to are not there yet."""
    import torch

    kind = "uint8" if device == "mps" and row.torch_dtype.startswith("float8") else row.torch_dtype
    for _ in range(row.layers * row.copies):
        for shape in row.shapes:
            yield torch.zeros(shape, dtype=getattr(torch, kind), device=device)


def _warm_up(device: str) -> None:
    """One small tensor, so that the device's own start is not counted."""
    import torch

    torch.zeros((1,), device=device)
    settle(device)


def _of_cuda(changes: dict[str, int], rows: tuple[Planned, ...], how: Allocator) -> dict[str, Any]:
    """Its figures as differences, and beside them the rule they follow from, where one does."""
    sizes = [
        _num_bytes(shape, row)
        for row in rows
        for _ in range(row.layers * row.copies)
        for shape in row.shapes
    ]
    found: dict[str, Any] = {name: changes[name] for name in how.counted}
    if "requested_bytes" in found:
        found["requested_equal"] = found["requested_bytes"] == sum(sizes)
    if how.unlike_the_rule:
        return {**found, "note": how.unlike_the_rule}
    by_rule = set_aside(sizes)
    return {
        **found,
        "allocated_by_rule_bytes": by_rule.allocated_bytes,
        "reserved_by_rule_bytes": by_rule.reserved_bytes,
        "note": RULE,
    }


def _num_bytes(shape: Shape, row: Planned) -> int:
    return prod(shape) * ITEM_BYTES[row.torch_dtype]
