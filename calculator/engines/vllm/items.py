"""Groups and the blocks held of each → items: what layers keep, page padding, phantom layers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from calculator.dtypes import Dtype
from calculator.engines.vllm.blocks import most_held, shared
from calculator.engines.vllm.groups import Layer
from calculator.engines.vllm.pool import Pool, pool_of
from calculator.engines.vllm.spec import Spec, Stored, slots_of_block
from calculator.items import Item, Row
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request
from calculator.tensors import Constant, EveryNthToken, EveryToken, Growth

if TYPE_CHECKING:
    from calculator.engines.vllm.engine import Hands, Vllm

BYTE = Dtype("byte", 1, 1)
PADDING, PHANTOM, UNUSED = "page padding", "phantom layers", "unused in blocks"


def blocks_held(
    spec: Spec, request: Request, lengths: tuple[tuple[int, int], ...], context_ranks: int
) -> int:
    """Blocks of one group of this spec that the sequences of one replica hold together."""
    if not lengths:
        return 0
    encoder = request.encoder_seq_len or 0
    total = sum(count * most_held(spec, n, encoder, context_ranks) for n, count in lengths)
    if request.shared_prefix_len:
        total -= shared(spec, lengths, request.shared_prefix_len, context_ranks)
    return total


def items_of(
    engine: Vllm,
    model: ModelSpec,
    cache_type: str,
    request: Request,
    parallelism: Parallelism,
    hands: Hands,
) -> tuple[Item, ...]:
    """Items of all devices; they add up to blocks × bytes of a block over stages and ranks."""
    pool, context = pool_of(engine, model, cache_type, parallelism), _context_ranks(parallelism)
    blocks = [
        sum(blocks_held(spec, request, hand, context) for hand in hands) for spec, _ in pool.buckets
    ]
    return tuple(
        Item(row, blocks[bucket] * slots)
        for row, bucket, slots in lines_of(engine, model, cache_type, parallelism)
    )


def _context_ranks(parallelism: Parallelism) -> int:
    return parallelism.decode_context_parallel_size


class Line(NamedTuple):
    """A row, the bucket whose blocks it is stored in, and the slots of one block."""

    row: Row
    bucket: int
    slots_of_block: int


@lru_cache(maxsize=1024)
def lines_of(
    engine: Vllm, model: ModelSpec, cache_type: str, parallelism: Parallelism
) -> tuple[Line, ...]:
    """What does not depend on lengths: rows of all tensors, then of padding and phantom layers."""
    pool, ranks = pool_of(engine, model, cache_type, parallelism), parallelism.tensor_parallel_size
    homes = {(m.layer_type, m.nth): (g.bucket, m.spec) for g in pool.groups for m in g.members}
    layers = {g.layer_type: g for g in model.layer_groups}
    result = []
    for layer_type, nth, kind, tensors in pool.kept:
        bucket, spec = homes[layer_type, nth]
        found = [_line(layer_type, kind, s, spec, _context_ranks(parallelism)) for s in tensors]
        found += _padding(layer_type, kind, tensors[0].tensor.growth, spec, ranks)
        for row, slots in found:
            result.append(Line(row._replace(layers=layers[layer_type].layers), bucket, slots))
    return (*result, *_phantoms(pool, ranks))


def _line(layer_type: str, kind: str, s: Stored, spec: Spec, context_ranks: int) -> tuple[Row, int]:
    """A tensor's row and the slots of a block; context ranks hold different tokens, not copies."""
    t, copies, block = s.tensor, s.copies, 1
    slots = slots_of_block(t.growth, 1)
    if spec.rule != "state":
        slots = block = slots_of_block(t.growth, spec.block_size * context_ranks)
        copies //= context_ranks
    slot_bytes = t.heads * s.dtype.row_bytes(t.width)
    row = Row(
        layer_type, 0, kind, t.name, t.heads, t.width, t.growth, s.dtype, slot_bytes, copies, block
    )
    return row, slots


def _padding(
    layer_type: str, kind: str, growth: Growth, spec: Spec, ranks: int
) -> list[tuple[Row, int]]:
    """What a page is longer than its content, a row of its own."""
    size = spec.padded_bytes - spec.page_bytes
    return [_filler(layer_type, kind, PADDING, size, growth, spec, ranks)] if size else []


def _filler(
    layer_type: str, kind: str, name: str, size: int, growth: Growth, spec: Spec, ranks: int
) -> tuple[Row, int]:
    """`size` bytes of every block that hold nothing, shared out over the block's tokens if even."""
    slots = block = 1
    if spec.rule == "state":
        growth = Constant(1)
    elif size % spec.block_size == 0:
        slots = block = spec.block_size
        size //= spec.block_size
        growth = EveryToken() if spec.rule == "full" else growth
    else:
        growth = EveryNthToken(spec.block_size) if spec.rule == "full" else Constant(1)
    row = Row(layer_type, 0, kind, name, 1, size, growth, BYTE, size, ranks, block)
    return row, slots


def _phantoms(pool: Pool, ranks: int) -> list[Line]:
    """What no layer uses of blocks, which are as large as the largest group's, on every stage.

    Whole pages are phantom layers: Gemma 3 27B's 52 windows fill six groups of ten but for eight
    (`kv_cache_planning.py:_get_kv_cache_groups_uniform_page_size`).
    """
    unused: dict[int, int] = {}
    firsts: dict[int, Layer] = {}
    for group in pool.groups:
        firsts.setdefault(group.bucket, group.members[0])
        for stage, stage_bytes in enumerate(pool.stage_bytes):
            empty = stage_bytes - group.page_bytes(pool.starts[stage], pool.starts[stage + 1])
            unused[group.bucket] = unused.get(group.bucket, 0) + empty
    kept = {(k.layer_type, k.nth): k for k in pool.kept}
    result = []
    for bucket, size in unused.items():
        if size:
            layer_type, spec = firsts[bucket].layer_type, firsts[bucket].spec
            own = kept[layer_type, firsts[bucket].nth]
            growth = own.tensors[0].tensor.growth
            pages, rest = divmod(size, spec.padded_bytes)
            name, count, each = PHANTOM, pages, spec.padded_bytes
            if rest:
                name, count, each = UNUSED, 1, size
            row, slots = _filler(layer_type, own.kind, name, each, growth, spec, ranks)
            result.append(Line(row._replace(layers=count), bucket, slots))
    return result
