"""The specs of all layers → groups over one pool, and the bytes a block takes on each stage."""

from __future__ import annotations

from typing import NamedTuple

from calculator.engines.vllm.spec import Spec
from calculator.errors import UnsupportedModel
from calculator.units import ceil_div


class Layer(NamedTuple):
    """One cache of one layer: where it lies, and its spec."""

    position: int
    layer_type: str
    nth: int
    """Which of the layer's caches: a hybrid layer has two."""
    spec: Spec


class Group(NamedTuple):
    """Layers that share a block table: one block id stands for a page of each.

    `spec` is the members' own, or of the first where their pages differ (then `page_bytes` of the
    group is a sum without padding). Groups of the same members' kind carry the same `bucket`.
    """

    bucket: int
    spec: Spec
    members: tuple[Layer, ...]

    def page_bytes(self, first: int, end: int) -> int:
        """Bytes of one block of the group in the layers from `first` up to `end`."""
        return sum(m.spec.padded_bytes for m in self.members if first <= m.position < end)


def groups_of(layers: tuple[Layer, ...]) -> tuple[Group, ...]:
    """Groups as `kv_cache_planning.py:get_kv_cache_groups` makes them.

    All layers in one group where they need equal blocks; else pages are made equal, layers of
    equal spec form a bucket, and every bucket is cut into groups of the same number of layers, the
    last ones filled up with phantom layers.
    """
    if _of_one_type(layers):
        return (Group(0, layers[0].spec, layers),)
    buckets: dict[Spec, list[Layer]] = {}
    for layer in _equal_pages(layers):
        buckets.setdefault(layer.spec, []).append(layer)
    size = group_size([len(members) for members in buckets.values()])
    result = []
    for number, (spec, members) in enumerate(buckets.items()):
        count = ceil_div(len(members), size)
        result += [Group(number, spec, tuple(members[i::count])) for i in range(count)]
    return tuple(result)


def group_size(counts: list[int]) -> int:
    """Layers of a group: the fewest of a bucket, or the most if those are under 1.5 times as many.

    Source: `kv_cache_planning.py:_get_kv_cache_groups_uniform_page_size`.

    >>> group_size([10, 52]), group_size([12, 13]), group_size([18, 18])
    (10, 13, 18)
    """
    least, most = min(counts), max(counts)
    return most if 2 * most < 3 * least else least


def packed_groups_of(layers: tuple[Layer, ...]) -> tuple[Group, ...]:
    """Groups of layers that need equal blocks, their pages side by side whatever their sizes.

    Where a kind has as many layers of each page size, its repeats are one unit; other kinds are
    cut into groups of about so many layers, so that little of a block is left unused.
    Source: `kv_cache_planning.py:_get_packed_kv_cache_groups`, for DeepSeek-V4.
    """
    buckets: dict[tuple[object, ...], list[Layer]] = {}
    for layer in layers:
        spec = layer.spec
        buckets.setdefault((spec.rule, spec.block_size, spec.reach), []).append(layer)
    by_page = [_by_page(members) for members in buckets.values()]
    even = [pages for pages in by_page if len({len(p) for p in pages}) == 1]
    floor = max((len(pages[0]) for pages in even if len(pages) > 1), default=0)
    if not floor:
        raise UnsupportedModel(
            "How vLLM groups compressed attention without an indexer is not computed "
            "(calculator/engines/vllm/groups.py would do it).",
            field="engine",
        )
    repeats = repeats_of_group([len(pages[0]) for pages in even], floor)
    result = []
    for number, pages in enumerate(by_page):
        count = ceil_div(len(pages[0]), repeats) if pages in even else 1
        for i in range(count):
            members = sorted(layer for page in pages for layer in page[i::count])
            result.append(Group(number, members[0].spec, tuple(members)))
    return tuple(result)


def _by_page(members: list[Layer]) -> list[list[Layer]]:
    pages: dict[int, list[Layer]] = {}
    for layer in members:
        pages.setdefault(layer.spec.padded_bytes, []).append(layer)
    return list(pages.values())


def repeats_of_group(counts: list[int], at_least: int) -> int:
    """The size that leaves the fewest places empty, the larger of two that do equally well.

    >>> repeats_of_group([43, 21, 20], 21)
    22
    """
    sizes = range(at_least, max(counts) + 1)
    return min(sizes, key=lambda size: (sum(-n % size for n in counts), -size))


def kept_whole(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Windows and chunks as full attention, where there is full attention too.

    What `--disable-hybrid-kv-cache-manager` does (`_promote_local_kv_cache_specs`); refused where
    vLLM then finds no one type for all layers.
    """
    if _of_one_type(layers):
        return layers
    local = {(x.spec.rule, x.spec.reach) for x in layers if x.spec.rule in ("sliding", "chunked")}
    result = layers
    if any(x.spec.rule == "full" for x in layers):
        blocks = {x.spec.block_size for x in layers if x.spec.rule == "full"}
        result = tuple(_promoted(x, blocks) for x in layers)
    if not _of_one_type(result) or len(local) > 1:
        raise UnsupportedModel(
            "disable_hybrid_kv_cache_manager is true; vLLM then needs all layers of one kind and "
            "one window, which this model's are not.",
            field="disable_hybrid_kv_cache_manager",
        )
    return result


def _promoted(layer: Layer, blocks: set[int]) -> Layer:
    spec = layer.spec
    if spec.rule not in ("sliding", "chunked"):
        return layer
    block_size = next(iter(blocks)) if len(blocks) == 1 else spec.block_size
    return layer._replace(spec=spec.resized(block_size)._replace(rule="full", reach=0))


def _of_one_type(layers: tuple[Layer, ...]) -> bool:
    """Whether all need the same number of slots (`UniformTypeKVCacheSpecs.is_uniform_type`)."""
    first = layers[0].spec
    same = (first.rule, first.block_size, first.reach, first.states)
    return all(
        (x.spec.rule, x.spec.block_size, x.spec.reach, x.spec.states) == same
        and (first.rule != "state" or x.spec.padded_bytes == first.padded_bytes)
        for x in layers
    )


def _equal_pages(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Smaller pages get larger blocks, or padding where that does not come out even.

    Source: `kv_cache_planning.py:unify_kv_cache_spec_page_size`.
    """
    largest = max(x.spec.padded_bytes for x in layers)
    return tuple(x._replace(spec=_of_page(x.spec, largest)) for x in layers)


def _of_page(spec: Spec, largest: int) -> Spec:
    page = spec.padded_bytes
    if page == largest:
        return spec
    if spec.rule == "state":
        return spec._replace(padded_bytes=largest)
    if largest % page == 0:
        larger = spec.resized(spec.block_size * (largest // page))
        return larger._replace(padded_bytes=largest)
    if spec.latent:
        raise UnsupportedModel(
            f"A page of {page:,} B of latent attention does not divide the largest page of "
            f"{largest:,} B; vLLM pads no latent cache.",
            field="engine",
        )
    return spec._replace(padded_bytes=largest)
