"""How heads, layers and sequences are spread over devices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

from calculator.errors import InvalidInput
from calculator.units import checked_int

Lengths: TypeAlias = tuple[tuple[int, int], ...]
"""(tokens, how many sequences have so many)"""

MAX_SIZE = 2**14


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Sizes by the engines' names; 1 means not split.

    Devices are numbered tensor ranks first, then pipeline stages, then data-parallel replicas.
    Decode-context parallelism adds no devices: neighbouring tensor ranks, which would hold copies
    of the same heads, hold different tokens of them.
    """

    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    decode_context_parallel_size: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            checked_int(field.name, getattr(self, field.name), at_most=MAX_SIZE)
        if self.tensor_parallel_size % self.decode_context_parallel_size:
            raise InvalidInput(
                f"decode_context_parallel_size is {self.decode_context_parallel_size}; it shares "
                f"out the tensor ranks, so it must divide their number, "
                f"{self.tensor_parallel_size}.",
                field="decode_context_parallel_size",
            )
        checked_int("number of devices", self.num_devices, at_most=2**16)

    @property
    def num_devices(self) -> int:
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.data_parallel_size


SINGLE = Parallelism()


def replicas(heads: int, ranks: int, tensor: str) -> int:
    """Copies of a tensor whose `heads` are dealt to `ranks`: 1 if they divide, else ranks ÷ heads.

    >>> replicas(8, 4, "key"), replicas(8, 16, "key"), replicas(1, 8, "latent")
    (1, 2, 8)
    """
    if heads % ranks == 0:
        return 1
    if ranks % heads == 0:
        return ranks // heads
    raise InvalidInput(
        f"tensor_parallel_size is {ranks}; the {heads:,} heads of {tensor} are neither a multiple "
        f"nor a divisor of it; {_nearest_sizes(heads, ranks)} would do for them.",
        field="tensor_parallel_size",
    )


def _nearest_sizes(heads: int, ranks: int) -> str:
    """The next smaller and larger numbers of ranks that `heads` can be dealt to.

    >>> _nearest_sizes(8, 3), _nearest_sizes(8, 12)
    ('2 and 4', '8 and 16')
    """
    sizes = [n for n in range(1, MAX_SIZE + 1) if heads % n == 0 or n % heads == 0]
    below, above = [n for n in sizes if n < ranks], [n for n in sizes if n > ranks]
    return " and ".join(str(n) for n in below[-1:] + above[:1])


def context_copies(copies: int, context_ranks: int, tensor: str) -> int:
    """Copies left where `context_ranks` of them become one, each rank with tokens of its own.

    >>> context_copies(8, 4, "latent")
    2
    """
    if copies % context_ranks:
        raise InvalidInput(
            f"decode_context_parallel_size is {context_ranks}; the ranks that hold the same heads "
            f"of {tensor} are {copies}, which it must divide.",
            field="decode_context_parallel_size",
        )
    return copies // context_ranks


def context_share(tokens: int, rank: int, context_ranks: int) -> int:
    """Tokens of one context rank: token i lies on rank i mod `context_ranks`.

    Source: vLLM `config/parallel.py:cp_kv_cache_interleave_size`, 1 by default.

    >>> [context_share(10, rank, 4) for rank in range(4)]
    [3, 3, 2, 2]
    """
    return (tokens + context_ranks - 1 - rank) // context_ranks


def stage_sizes(num_layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each pipeline stage, as even as possible.

    What is left over goes to the stages just before the last, which also holds the output head
    (vLLM `distributed/utils.py:get_pp_indices`).

    >>> stage_sizes(62, 4)
    (15, 16, 16, 15)
    """
    if stages > num_layers:
        raise InvalidInput(
            f"pipeline_parallel_size is {stages}; the model has only {num_layers} layers.",
            field="pipeline_parallel_size",
        )
    even, left = divmod(num_layers, stages)
    first = max(stages - 1 - left, 0)
    return tuple(even + (first <= i < first + left) for i in range(stages))


def dealt(lengths: Lengths, hands: int) -> tuple[Lengths, ...]:
    """(tokens, count) pairs of sequences dealt one by one to data-parallel replicas.

    >>> dealt(((100, 3), (8, 2)), 2)
    (((100, 2), (8, 1)), ((100, 1), (8, 1)))
    """
    result: list[list[tuple[int, int]]] = [[] for _ in range(hands)]
    start = 0
    for tokens, count in lengths:
        for hand in range(hands):
            share = (count + hands - 1 - (hand - start) % hands) // hands
            if share:
                result[hand].append((tokens, share))
        start = (start + count) % hands
    return tuple(tuple(pairs) for pairs in result)
