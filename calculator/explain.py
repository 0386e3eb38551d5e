"""A footprint → the steps that lead to it: one formula row a layer type, in words and factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import assert_never

from calculator.errors import InvalidInput, shown
from calculator.footprint import Footprint
from calculator.items import Item, Row
from calculator.layers import kind_class
from calculator.tensors import (
    Constant,
    CurrentChunk,
    EncoderTokens,
    EveryNthToken,
    EveryToken,
    Growth,
    LastGroup,
    LastTokens,
    OpenGroup,
)
from calculator.units import GIB, KIB, counted, exact_bytes, format_bytes, format_gb, format_gib


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """layers × tensors × slots × heads × width × bytes a value × sequences × copies = num_bytes.

    `slots_text` says how the slots of one sequence follow from its tokens; `value_bytes` is the
    bytes of one value as text, a fraction where values are stored in blocks. For sequences of
    different lengths `slots` counts all of them together and `sequences` is 1.
    """

    layer_type: str
    label: str
    letter: str
    layers: int
    tensors: tuple[str, ...]
    slots: int
    slots_text: str
    heads: int
    width: int
    dtype: str
    value_bytes: str
    sequences: int
    copies: int
    num_bytes: int
    grows: bool

    @property
    def text(self) -> str:
        """The row as one line that a reader can multiply out."""
        factors = [
            f"{self.layers} layers",
            f"{len(self.tensors)} ({', '.join(self.tensors)})",
            f"{self.slots:,} slots",
            f"{self.heads:,} heads",
            f"{self.width:,}",
            f"{self.value_bytes} B",
            f"{self.sequences:,}",
        ]
        if self.copies > 1:
            factors.append(f"{self.copies} copies")
        return f"{self.label}: {' × '.join(factors)} = {self.num_bytes:,} B"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The rows of a footprint; their bytes add up to `num_bytes` exactly."""

    rows: tuple[FormulaRow, ...]
    num_bytes: int
    marginal: str
    shared_layers: int

    @property
    def text(self) -> str:
        lines = [row.text for row in self.rows]
        lines.append(f"Total: {self.num_bytes:,} B = {sizes(self.num_bytes)[0]}")
        return "\n".join([*lines, self.marginal])


def explain(footprint: Footprint) -> Explanation:
    """The footprint step by step, a row for each kind of tensor of each layer type."""
    if not isinstance(footprint, Footprint):
        raise InvalidInput(
            f"footprint is {shown(footprint)}; expected what footprint(model, request) gives.",
            field="footprint",
        )
    rows = formula_rows(footprint)
    keeping_nothing = sum(g.layers for g in footprint.model.layer_groups if not g.caches)
    return Explanation(rows, footprint.num_bytes, marginal(footprint, rows), keeping_nothing)


def formula_rows(footprint: Footprint) -> tuple[FormulaRow, ...]:
    """A row for each kind of tensor of each layer type."""
    return tuple(_formula_row(footprint, items) for items in _alike(footprint.items))


def answer(footprint: Footprint) -> str:
    """The sentence that answers the question, without the verdict on a device.

    >>> import calculator as kv
    >>> answer(kv.footprint(kv.load_model("llama-3-8b"), kv.Request(seq_len=8192)))
    'Llama-3-8B, 8,192 tokens × 1, bf16 cache, ideal: 1.00 GiB (1.07 GB).'
    """
    size, same = sizes(footprint.num_bytes)
    return f"{subject(footprint)}: {size} ({same})." if same else f"{subject(footprint)}: {size}."


def sizes(num_bytes: int) -> tuple[str, str]:
    """A size in GiB and in GB; what would print as 0.00 in the unit that fits it, and in bytes.

    >>> sizes(1_073_741_824), sizes(25_600), sizes(512)
    (('1.00 GiB', '1.07 GB'), ('25 KiB', '25,600 B'), ('512 B', ''))
    """
    if num_bytes < KIB:
        return format_bytes(num_bytes), ""
    if num_bytes * 200 < GIB:
        return format_bytes(num_bytes), f"{num_bytes:,} B"
    return format_gib(num_bytes), format_gb(num_bytes)


def subject(footprint: Footprint) -> str:
    """Whose cache it is: model, lengths, types, engine."""
    request = footprint.request
    key, value = footprint.dtypes
    cache = key if key == value else f"{key} key, {value} value"
    lengths = f"{counted(request.longest, 'token')} × {request.num_sequences:,}"
    if len(request.lengths) > 1:
        lengths = f"{request.num_sequences:,} sequences of up to {request.longest:,} tokens"
    limit = footprint.model.max_position_embeddings
    if limit and request.longest > limit:
        lengths += f" (beyond the model's trained maximum of {limit:,})"
    return f"{footprint.model.name}, {lengths}, {cache} cache, {footprint.engine.engine}"


def marginal(footprint: Footprint, rows: tuple[FormulaRow, ...]) -> str:
    """What one more token costs, and in which layers."""
    added = footprint.bytes_per_token
    if not added:
        return "One more token adds nothing: no layer keeps more than it holds now."
    growing = list(dict.fromkeys(row.label for row in rows if row.grows))
    still = any(not row.grows for row in rows) or footprint.model.num_hidden_layers > sum(
        {row.layer_type: row.layers for row in rows}.values()
    )
    where = f", in the layers with {_and(growing).lower()} only" if still else ""
    return f"One more token of a sequence adds {exact_bytes(added)}{where}."


def slots_text(growth: Growth, slots: int, block_size: int = 1, *, ragged: bool = False) -> str:
    """How the slots of a sequence follow from its tokens T (S of the encoder), or its blocks."""
    match growth:
        case _ if ragged:
            return f"{slots:,} in all"
        case _ if block_size > 1:
            return f"{slots // block_size:,} blocks × {block_size:,} = {slots:,}"
        case EveryToken():
            return f"{slots:,}"
        case EveryNthToken():
            return f"T ÷ {growth.stride} = {slots:,}"
        case OpenGroup():
            return f"T mod {growth.stride} = {slots:,}"
        case LastGroup():
            return f"{growth.stride} once T ≥ {growth.stride} = {slots:,}"
        case LastTokens(kept) | CurrentChunk(kept):
            return f"min(T, {kept:,}) = {slots:,}"
        case EncoderTokens():
            return f"S = {slots:,}"
        case Constant():
            return f"{slots:,}"
        case _:
            assert_never(growth)


def _alike(items: tuple[Item, ...]) -> Iterator[list[Item]]:
    """Neighbouring tensors that differ in name only, as keys and values do."""

    def same(item: Item) -> tuple[object, ...]:
        r = item.row
        width = (r.heads, r.width, r.growth, r.dtype, r.copies)
        return (r.layer_type, r.kind, *width, item.slots)

    for _, group in groupby(items, key=same):
        yield list(group)


def _formula_row(footprint: Footprint, items: list[Item]) -> FormulaRow:
    row = items[0].row
    request = footprint.request
    own_text = footprint.engine.slots_text(items[0], request, footprint.parallelism)
    uniform = len(request.lengths) == 1 and not request.shared_prefix_len and not own_text
    sequences = request.num_sequences if uniform else 1
    slots = items[0].slots // sequences
    cls = kind_class(row.kind)
    return FormulaRow(
        layer_type=row.layer_type,
        label=cls.label,
        letter=cls.letter,
        layers=row.layers,
        tensors=tuple(item.row.tensor for item in items),
        slots=slots,
        slots_text=own_text or slots_text(row.growth, slots, row.block_size, ragged=not uniform),
        heads=row.heads,
        width=row.width,
        dtype=row.dtype.name,
        value_bytes=value_bytes(row),
        sequences=sequences,
        copies=row.copies,
        num_bytes=sum(item.num_bytes for item in items),
        grows=footprint.grows(row),
    )


def value_bytes(row: Row) -> str:
    """Bytes of one value: those of a block over its values, of a slot where it is padded."""
    d, width = row.dtype, row.heads * row.width
    if row.slot_bytes * d.block_elements != width * d.block_bytes:
        return f"{row.slot_bytes}/{width}"
    return f"{d.block_bytes}/{d.block_elements}" if d.block_elements > 1 else str(d.block_bytes)


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
