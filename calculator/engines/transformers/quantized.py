"""A quantised cache: packed groups with a scale and a zero each, and a residual → items."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from calculator.dtypes import DTYPES, Dtype
from calculator.engines.transformers.kept import in_one_cache
from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.items import Item, Row
from calculator.model import ModelSpec
from calculator.tensors import Constant, EveryNthToken, EveryToken, Growth, OpenGroup
from calculator.units import ceil_div, checked_int

BACKENDS = ("quanto", "hqq", "fp8")
# cache_utils.py:QuantoQuantizedLayer, HQQQuantizedLayer
_NBITS = {"quanto": (2, 4), "hqq": (1, 2, 3, 4, 8)}
_AXES = {"quanto": (0, -1), "hqq": (0, 1)}


class Groups(NamedTuple):
    """How a backend packs the values of one tensor, in groups of `size`.

    quanto has a row a group on axis 0 and a column on −1, hqq a column on axis 0 and a row on 1;
    `per` consecutive blocks of rows lie in one item, the last one padded (quanto
    `packed.py:pack_weights`, hqq `bitpack.py:BitPack`).
    """

    backend: str
    nbits: int
    size: int
    axis: int

    @property
    def in_rows(self) -> bool:
        return self.axis == (0 if self.backend == "quanto" else 1)

    @property
    def per(self) -> int:
        """Values in one packed item: eight bits, and ten of three bits in hqq's 32."""
        return 10 if self.nbits == 3 else 8 // self.nbits

    @property
    def item_bytes(self) -> int:
        return 4 if self.nbits == 3 else 1

    def num_bytes(self, groups: int, scale_bytes: int) -> int:
        """Packed values, and a scale and a zero a group.

        >>> Groups("quanto", 4, 64, 0).num_bytes(16_384, 2)
        589824
        """
        rows, columns = (groups, self.size) if self.in_rows else (self.size, groups)
        # quanto takes a single row for one column a value (affine_optimizer.py:AffineOptimizer)
        scales = self.size if self.backend == "quanto" and self.in_rows and groups == 1 else groups
        return ceil_div(rows, self.per) * columns * self.item_bytes + 2 * scale_bytes * scales

    def dtype(self, scale_bytes: int) -> Dtype:
        """The smallest number of groups that packs without padding, as a storage format."""
        groups = self.per if self.in_rows else 1
        name = f"{self.backend} int{self.nbits}"
        return Dtype(name, groups * self.size, self.num_bytes(groups, scale_bytes))


class Batch(NamedTuple):
    """One padded batch: sequences, tokens of the first pass, tokens that came one by one.

    All of the first pass is quantised; then tokens gather in a residual until there are `gather`,
    when everything is quantised anew (`cache_utils.py:QuantizedLayer.update`).

    >>> batch = Batch(1, 1024, 100, 128)
    >>> batch.residual, batch.quantized
    (100, 1024)
    """

    sequences: int
    first: int
    decoded: int
    gather: int

    @property
    def residual(self) -> int:
        return self.decoded % max(1, self.gather)

    @property
    def quantized(self) -> int:
        return self.first + self.decoded - self.residual

    @property
    def quantized_at(self) -> tuple[int, ...]:
        """Lengths whose groups decide for all: the first, and the first quantised anew."""
        again = self.first + max(1, self.gather)
        return (self.first, again) if again <= self.quantized else (self.first,)


def check_options(
    backend: str, nbits: int, axes: tuple[int, int], group_size: int, residual_length: int
) -> None:
    """Refuse what the layer classes refuse."""
    allowed = (
        ("nbits", nbits, _NBITS[backend]),
        ("axis_key", axes[0], _AXES[backend]),
        ("axis_value", axes[1], _AXES[backend]),
    )
    for name, value, known in allowed:
        if type(value) is not int or value not in known:
            choices = ", ".join(str(n) for n in known)
            raise InvalidInput(
                f"{name} is {shown(value)}; backend {backend} takes {choices}.", field=name
            )
    if backend == "hqq" and nbits == 3 and 1 in axes:
        raise InvalidInput(
            "nbits is 3; hqq packs them on axis 1 so that it cannot read them again "
            "(quantize.py:Quantizer.dequantize), on axis 0 it can.",
            field="nbits",
        )
    checked_int("q_group_size", group_size, at_most=2**20)
    checked_int("residual_length", residual_length, at_least=0, at_most=2**31)


def check_layers(model: ModelSpec) -> None:
    """Refuse layers that `QuantizedCache` refuses, and those whose code reads past the cache."""
    kinds = {c.kind for g in model.layer_groups for c in g.caches}
    other = sorted(kinds - {"full_attention", "latent_attention"})
    if in_one_cache(model):
        raise UnsupportedModel(
            f"{model.name} reads the encoder's keys past its cache (modeling_mllama.py); a "
            "quantised one has none there.",
            field="cache",
        )
    if "cross_attention" in other:
        raise UnsupportedModel(
            f"{model.name} has cross_attention layers; transformers does not quantise the cache of "
            "a model that reads an encoder (generation/utils.py).",
            field="cache",
        )
    if any(not g.caches for g in model.layer_groups):
        other.append("layers that share or keep no cache")
    if other:
        raise UnsupportedModel(
            f"{model.name} has {', '.join(other)}; transformers' QuantizedCache takes models with "
            "full attention layers only (cache_utils.py).",
            field="cache",
        )


def check_groups(groups: Groups, tensor: Row, batch: Batch) -> None:
    """Refuse a number of values that the backend cannot divide into groups, then or later."""
    for tokens in batch.quantized_at:
        _check_groups(groups, tensor, batch.sequences, tokens)


def _check_groups(groups: Groups, tensor: Row, sequences: int, tokens: int) -> None:
    a_token = tensor.heads * tensor.width * sequences
    if groups.backend == "quanto":  # quanto/tensor/grouped.py:group, all axes but the one kept
        a_token //= sequences if groups.axis == 0 else tensor.width
    whole = a_token * tokens
    if whole % groups.size:
        raise InvalidInput(
            f"q_group_size is {groups.size}; {groups.backend} divides the {whole:,} values of "
            f"{tensor.tensor} on axis {groups.axis} into such groups and refuses a rest. Quantised "
            f"tokens must be a multiple of {groups.size // gcd(groups.size, a_token):,}, not "
            f"{tokens:,}.",
            field="q_group_size",
        )
    rows = whole // groups.size if groups.in_rows else groups.size
    if groups.backend == "hqq" and groups.nbits != 3 and rows % groups.per:
        raise InvalidInput(
            f"nbits is {groups.nbits}; hqq packs {groups.per} rows into one and cannot with the "
            f"{rows:,} rows of {tensor.tensor}.",
            field="nbits",
        )


def packed(row: Row, groups: Groups, batch: Batch) -> list[Item]:
    """A tensor's quantised part: whole runs of tokens that pack evenly, and what is left of them.

    A slot is the fewest tokens whose values fill groups that pack without padding, one token for
    almost every model.
    """
    d = groups.dtype(row.dtype.block_bytes)
    each = row.heads * row.width
    run = d.block_elements // gcd(each, d.block_elements)
    growth: Growth = EveryToken() if run == 1 else EveryNthToken(run)
    slot_bytes = each * run // d.block_elements * d.block_bytes
    slots = batch.sequences * batch.quantized // run
    values = batch.sequences * batch.quantized * each
    rest = groups.num_bytes(values // groups.size, row.dtype.block_bytes) - slots * slot_bytes
    found = [Item(row._replace(growth=growth, dtype=d, slot_bytes=slot_bytes), slots)]
    if rest:
        last = row._replace(
            tensor=f"{row.tensor} last groups", heads=1, width=1, growth=Constant(),
            dtype=DTYPES["int8"], slot_bytes=1,
        )  # fmt: skip
        found.append(Item(last, rest))
    return found


def residual(row: Row, batch: Batch) -> list[Item]:
    """The tokens since everything was last quantised, in the model's type."""
    if not batch.residual:
        return []
    kept = row._replace(tensor=f"{row.tensor} residual", growth=OpenGroup(batch.gather))
    return [Item(kept, batch.sequences * batch.residual)]


def fp8(row: Row) -> tuple[Row, Row]:
    """A byte a value, and one fp32 scale for the whole tensor (`Fp8QuantizedLayer`)."""
    d = DTYPES["fp8"]
    data = row._replace(dtype=d, slot_bytes=row.heads * row.width)
    scale = row._replace(
        tensor=f"{row.tensor} scale", heads=1, width=1, growth=Constant(),
        dtype=DTYPES["fp32"], slot_bytes=4,
    )  # fmt: skip
    return data, scale
