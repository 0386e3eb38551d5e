"""What every engine answers: which tensors it keeps, in which types, how many slots, how spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, assert_never

from calculator.dtypes import CACHE_DTYPES, Dtype
from calculator.engines.accelerators import Accelerator
from calculator.engines.answers import CacheDtypes, Demand, model_dtype
from calculator.engines.rows import plan
from calculator.errors import InvalidInput
from calculator.items import Item
from calculator.layers import LayerCache
from calculator.model import ModelSpec
from calculator.parallel import (
    Lengths,
    Parallelism,
    context_share,
    dealt,
    stage_sizes,
)
from calculator.request import Request
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
    StateTensor,
)


@dataclass(frozen=True, slots=True)
class Engine:
    """Base of the closed union of engines; a subclass overrides what its engine does otherwise."""

    engine: ClassVar[str]
    cache_dtypes: ClassVar[tuple[str, ...]] = CACHE_DTYPES
    context_parallel: ClassVar[bool] = False
    """Whether it can deal a sequence's tokens to ranks (`decode_context_parallel_size`)."""

    lighter_weights: ClassVar[tuple[str, ...]] = ("fp8", "int4")
    """Types of weights it runs that are smaller than 16 bits, the mildest first."""

    reserves: ClassVar[bool] = False
    """Whether it takes all the memory it is given at its start, whatever runs."""

    @property
    def bounded(self) -> bool:
        """Whether `limit` may say no for its options; not asked at each size where it cannot."""
        return type(self).limit is not Engine.limit

    @property
    def max_sequences(self) -> int | None:
        """The most sequences it runs at once on a data replica, whatever their length."""
        return None

    @property
    def additive(self) -> bool:
        """Whether n equal sequences take exactly n times the bytes of one."""
        return True

    def storage(self) -> Engine:
        """The same engine counting the memory behind its tensors, where those are views."""
        return self

    def tensors(self, cache: LayerCache, model: ModelSpec) -> tuple[StateTensor, ...]:
        """What the engine stores of a layer's cache."""
        return cache.tensors()

    def slot_bytes(self, tensor: StateTensor, dtype: Dtype) -> int:
        """Bytes of a slot: each head's elements stored together."""
        return tensor.heads * dtype.row_bytes(tensor.width)

    def limit(self, model: ModelSpec, request: Request, parallelism: Parallelism) -> str:
        """Which limit of its own, memory apart, it would pass, in a sentence; else empty."""
        return ""

    def demand(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> Callable[[int], Demand]:
        """seq_len → what a device must have beside the cache; lengths of `request` are not used."""
        return _no_demand

    def device_notes(self, device: Accelerator) -> tuple[str, ...]:
        """What on this device may be otherwise than the engine is described for."""
        return ()

    def lighter(self, request: Request) -> tuple[tuple[str, Engine], ...]:
        """Other settings that need less and change no output: the flag as typed, and the engine."""
        return ()

    def longer(self, request: Request, parallelism: Parallelism) -> tuple[tuple[str, Engine], ...]:
        """Its own limit on lengths raised to what the request needs, in the same form."""
        return ()

    def dtypes(self, model: ModelSpec, request: Request) -> CacheDtypes:
        """Request, else what the checkpoint says of its cache, else the model's type."""
        key, value = request.key_dtype, request.value_dtype
        if key and value:
            return CacheDtypes(key, value, "")
        auto, basis = self.auto_dtype(model)
        return CacheDtypes(key or auto, value or auto, f"Cache type auto: {auto}, {basis}.")

    def auto_dtype(self, model: ModelSpec) -> tuple[str, str]:
        """(element type, where it comes from) when nobody asked for one."""
        if model.kv_cache_dtype:
            return model.kv_cache_dtype, "from the checkpoint's cache quantisation"
        return model_dtype(model)

    def slots(self, growth: Growth, seq_len: int, encoder_seq_len: int) -> int:
        """Slots stored for one sequence of `seq_len` tokens seen."""
        match growth:
            case EveryToken():
                return seq_len
            case LastTokens():
                return min(seq_len, growth.window)
            case Constant():
                return growth.num_slots
            case EveryNthToken():
                return seq_len // growth.stride
            case OpenGroup():
                return seq_len % growth.stride
            case LastGroup():
                return growth.stride if seq_len >= growth.stride else 0
            case CurrentChunk():
                return min(seq_len, growth.chunk)
            case EncoderTokens():
                return encoder_seq_len
            case _:
                assert_never(growth)

    def allocate(
        self,
        model: ModelSpec,
        request: Request,
        parallelism: Parallelism,
        hands: tuple[Lengths, ...],
    ) -> tuple[Item, ...]:
        """Items of all devices together; `hands` are the sequences of each data replica."""
        key, value, _ = self.dtypes(model, request)
        rows = plan(self, model, key, value, *_rank_sizes(parallelism))
        stored: dict[Growth, int] = {}
        items = []
        for row in rows:
            slots = stored.get(row.growth)
            if slots is None:
                slots = stored[row.growth] = sum(
                    self.slots_of_all(row.growth, lengths, request) for lengths in hands
                )
            items.append(Item(row, slots))
        return tuple(items)

    def bytes_per_device(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> tuple[int, ...]:
        """Bytes of each device: tensor ranks first, then pipeline stages, then replicas."""
        ranks, context = _rank_sizes(parallelism)
        stages = stage_sizes(model.num_hidden_layers, parallelism.pipeline_parallel_size)
        every = model.every_layer_type()
        result: list[int] = []
        for hand in dealt(request.lengths, parallelism.data_parallel_size):
            items = self.allocate(model, request, parallelism, (hand,))
            by_type = [
                self._bytes_by_type(items, hand, request, parallelism, rank)
                for rank in range(context)
            ]
            first = 0
            for size in stages:
                on_stage = every[first : first + size]
                shares = [sum(found.get(t, 0) for t in on_stage) for found in by_type]
                result += shares * (ranks // context)
                first += size
        return tuple(result)

    def _bytes_by_type(
        self,
        items: tuple[Item, ...],
        hand: Lengths,
        request: Request,
        parallelism: Parallelism,
        rank: int,
    ) -> dict[str, int]:
        """Bytes of a layer of each type on one tensor rank, the nth of those that share tokens."""
        ranks, context = _rank_sizes(parallelism)
        result: dict[str, int] = {}
        for row, slots in items:
            if context > 1 and isinstance(row.growth, EveryToken):
                own = tuple((context_share(n, rank, context), count) for n, count in hand)
                prefix = context_share(request.shared_prefix_len, rank, context)
                asked = replace(request, shared_prefix_len=prefix)
                slots = context * self.slots_of_all(row.growth, own, asked)
            share = slots * row.slot_bytes * row.copies // ranks
            result[row.layer_type] = result.get(row.layer_type, 0) + share
        return result

    def pool_of_blocks(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, available_bytes: int
    ) -> dict[str, Any] | None:
        """Blocks, tokens and concurrency of an engine that makes a pool; None for one without."""
        return None

    def of_one_sequence(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> Callable[[int], int]:
        """Its tokens → its bytes on all devices: for each growth, bytes a slot × slots.

        `request` gives types and encoder length; its own lengths and number are not used.
        """
        key, value, _ = self.dtypes(model, request)
        slot_bytes: dict[Growth, int] = {}
        for row in plan(self, model, key, value, *_rank_sizes(parallelism)):
            each = row.bytes_per_slot_of_all_layers
            slot_bytes[row.growth] = slot_bytes.get(row.growth, 0) + each
        terms, encoder = tuple(slot_bytes.items()), request.encoder_seq_len or 0
        return lambda n: sum([each * self.slots(growth, n, encoder) for growth, each in terms])

    def slots_of_all(self, growth: Growth, lengths: Lengths, request: Request) -> int:
        """Slots of all sequences together, a shared prefix counted once."""
        encoder = request.encoder_seq_len or 0
        total = 0
        for length, count in lengths:
            total += count * self.slots(growth, length, encoder)
        if request.shared_prefix_len and lengths:
            total -= self._shared_slots(growth, lengths, request.shared_prefix_len)
        return total

    def _shared_slots(self, growth: Growth, lengths: Lengths, prefix: int) -> int:
        """Slots saved by storing the first `prefix` tokens once instead of in every sequence.

        A window keeps of the prefix what the shortest sequence still sees; states and chunks are
        each sequence's own.
        """
        match growth:
            case EveryToken():
                kept = [(prefix, count) for _, count in lengths]
            case EveryNthToken():
                kept = [(prefix // growth.stride, count) for _, count in lengths]
            case LastTokens():
                window = growth.window
                kept = [(max(0, prefix - max(0, n - window)), count) for n, count in lengths]
            case CurrentChunk() | EncoderTokens() | Constant() | OpenGroup() | LastGroup():
                return 0
            case _:
                assert_never(growth)
        return sum(slots * count for slots, count in kept) - max(slots for slots, _ in kept)

    def slots_text(self, item: Item, request: Request, parallelism: Parallelism) -> str:
        """How this engine comes to an item's slots, where that is not sequence by sequence."""
        return ""

    def command(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, share: float
    ) -> str:
        """The shell command that starts the engine for this scenario; empty where there is none."""
        return ""

    def log_lines(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, available_bytes: int
    ) -> tuple[str, ...]:
        """What the engine will print of its cache; empty where that is not computed."""
        return ()

    def plan(self, *args: Any, **kwargs: Any) -> Any:
        """The pool made of a device's memory, of an engine that has one of blocks (vLLM)."""
        raise InvalidInput(
            f"plan is asked of engine {self.engine}, which makes no pool of blocks; ask vllm, or "
            "use footprint and capacity.",
            field="engine",
        )

    def options(self) -> dict[str, Any]:
        """The engine's name and its options, as they stand in the JSON."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"engine": self.engine, **own}

    def assumptions(self, model: ModelSpec, request: Request) -> tuple[str, ...]:
        """Every default this engine picked, a sentence each."""
        return ()

    def assumptions_on(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> tuple[str, ...]:
        """The same, where a default depends on how the model is spread."""
        return self.assumptions(model, request)


def _rank_sizes(parallelism: Parallelism) -> tuple[int, int]:
    return parallelism.tensor_parallel_size, parallelism.decode_context_parallel_size


def _no_demand(seq_len: int) -> Demand:
    return Demand(0, 0)
