"""What transformers' own model code keeps after it has run → tensors and slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, cast

from calculator.engines.accelerators import Accelerator
from calculator.engines.answers import CacheDtypes, Demand
from calculator.engines.base import Engine
from calculator.engines.rows import plan
from calculator.engines.transformers import quantized
from calculator.engines.transformers.kept import (
    STATE_DTYPES,
    VERIFIED,
    WITHOUT_CLASS,
    computed,
    dynamic,
    static,
)
from calculator.engines.transformers.notes import device_notes, notes
from calculator.engines.transformers.options import STATIC, filled_in, release
from calculator.engines.transformers.refusals import (
    check_cache,
    check_cache_release,
    check_length,
    check_spread,
)
from calculator.errors import InvalidInput
from calculator.items import Item, Row
from calculator.layers import LayerCache
from calculator.model import ModelSpec
from calculator.parallel import Lengths, Parallelism
from calculator.request import Request
from calculator.tensors import (
    CurrentChunk,
    EncoderTokens,
    EveryToken,
    Growth,
    LastTokens,
    OpenGroup,
    StateTensor,
)

__all__ = ["STATE_DTYPES", "WITHOUT_CLASS", "Transformers"]


@dataclass(frozen=True, slots=True)
class Transformers(Engine):
    """The bytes of the cache's floating-point and quantised tensors after `seq_len` tokens.

    The first pass takes all tokens but the last `decoded_tokens`, which come one by one.

    - Dynamic: a window of W keeps min(T, W − 1) tokens, a chunk likewise: the token being computed
      is not in it (`cache_utils.py:DynamicSlidingWindowLayer.update`, a view that ends at −W + 1; a
      window of 1 makes that 0, which keeps everything).
    - Static: every token of `max_cache_len`, min(W, max_cache_len) of a window
      (`StaticLayer`, `StaticSlidingWindowLayer`).
    - Quantised: full attention in groups (`QuantizedCache`).
    - Convolutions keep all `conv_kernel` columns (`LinearAttentionLayer.update_conv_state`).
    - Recurrent states are in the type the modelling code computes in: fp32, but for the model types
      in `STATE_DTYPES`.
    - MLA keeps the latent since 5.15 (`modeling_deepseek_v3.py:DeepseekV3Attention.forward`), and
      before that every head's expanded key and value.
    - Sequences of different lengths are one batch, padded to the longest.
    """

    cache: str = "dynamic"
    max_cache_len: int | None = None
    backend: str | None = None
    nbits: int | None = None
    axis_key: int | None = None
    axis_value: int | None = None
    q_group_size: int | None = None
    residual_length: int | None = None
    decoded_tokens: int = 0
    count: str = "tensors"
    version: str | None = None

    engine: ClassVar[str] = "transformers"
    verified_with: ClassVar[str] = "5.23.0"

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in filled_in(given).items():
            object.__setattr__(self, name, value)
        check_cache_release(self.cache, self.count, self.release)

    @property
    def release(self) -> tuple[int, int, int]:
        return release(self.version, self.verified_with)

    @property
    def additive(self) -> bool:
        """Groups may lie across sequences, and a static cache refuses what is too long."""
        return self.cache != "quantized" and self.max_cache_len is None

    def storage(self) -> Engine:
        if self.cache != "dynamic" or self.release < VERIFIED:
            return self
        return replace(self, count="storage")

    def demand(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> Callable[[int], Demand]:
        if self.cache.startswith("offloaded"):
            raise InvalidInput(
                f"device is given, but a cache of kind {self.cache} lies in host memory; how much "
                "of it is on the device at a time is not computed.",
                field="device",
            )
        return Engine.demand(self, model, request, parallelism)

    def device_notes(self, device: Accelerator) -> tuple[str, ...]:
        return device_notes(device)

    def limit(self, model: ModelSpec, request: Request, parallelism: Parallelism) -> str:
        if self.max_cache_len is None or request.longest <= self.max_cache_len:
            return ""
        return f"{request.longest:,} tokens are more than max_cache_len, {self.max_cache_len:,}."

    def tensors(self, cache: LayerCache, model: ModelSpec) -> tuple[StateTensor, ...]:
        check_cache(self.cache, model)
        found = computed(cache, model, self.release)
        if self.cache in STATIC:
            return static(found, cache, model)
        return tuple(dynamic(t) for t in found)

    def dtypes(self, model: ModelSpec, request: Request) -> CacheDtypes:
        """The model's type: the cache keeps what the layers compute, or quantises it."""
        kept = f"int{self.nbits}" if self.nbits else self.backend
        name = kept or model.dtype
        why = "keeps keys and values in the model's type" if not kept else "quantises them"
        article = "an" if self.cache.startswith("offloaded") else "a"
        for field in ("key_dtype", "value_dtype"):
            asked = getattr(request, field)
            if asked and asked != name:
                raise InvalidInput(
                    f"{field} is {asked}; {article} {self.cache} cache of transformers {why}, "
                    f"{name}.",
                    field=field,
                )
        said = f"backend {self.backend}" if kept else "transformers keeps what the layers compute"
        return CacheDtypes(name, name, f"Cache type {name}: {said}.")

    def slots(self, growth: Growth, seq_len: int, encoder_seq_len: int) -> int:
        """Slots of one sequence; of the storage behind a view where `count` says so."""
        if self.cache in STATIC:
            length = self.max_cache_len or seq_len
            match growth:
                case EveryToken():
                    return length
                case LastTokens(window) | CurrentChunk(window):
                    return min(window, length)
        elif self.count == "storage" and self.cache == "dynamic":
            match growth:
                case LastTokens() | OpenGroup() if not self.decoded(seq_len):
                    return seq_len  # both are views into what the first pass made
                case LastTokens(kept):
                    return min(seq_len, kept + 1)  # concatenated with the one new token
                case OpenGroup(stride):
                    return seq_len % stride or min(seq_len, stride)
        # not super(): dataclass(slots=True) makes a second class, which super() does not know
        return Engine.slots(self, growth, seq_len, encoder_seq_len)

    def decoded(self, seq_len: int) -> int:
        """Tokens that came one by one: the first pass takes at least one."""
        return min(self.decoded_tokens, seq_len - 1)

    def allocate(
        self,
        model: ModelSpec,
        request: Request,
        parallelism: Parallelism,
        hands: tuple[Lengths, ...],
    ) -> tuple[Item, ...]:
        check_spread(request, parallelism)
        if self.cache in STATIC:
            check_length(self.max_cache_len, model, request)
        if self.cache != "quantized":
            return Engine.allocate(self, model, request, parallelism, hands)
        self.dtypes(model, request)  # refuses another type
        check_cache(self.cache, model)
        quantized.check_layers(model)
        found: dict[Row, int] = {}
        for lengths in filter(None, hands):
            for row, slots in self._quantized(model, lengths):
                found[row] = found.get(row, 0) + slots
        return tuple(Item(row, slots) for row, slots in found.items())

    def _quantized(self, model: ModelSpec, lengths: Lengths) -> list[Item]:
        """Items of one padded batch: what is quantised of every tensor, then what is not yet."""
        longest = max(length for length, _ in lengths)
        sequences = sum(count for _, count in lengths)
        rows = plan(self, model, model.dtype, model.dtype, 1)
        if self.backend == "fp8":
            pairs = [quantized.fp8(row) for row in rows]
            data = [Item(row, sequences * longest) for row, _ in pairs]
            return data + [Item(scale, 1) for _, scale in pairs]
        decoded, gather = self.decoded(longest), cast(int, self.residual_length)
        batch = quantized.Batch(sequences, longest - decoded, decoded, gather)
        found: list[Item] = []
        for row in rows:
            groups = self._groups(row)
            quantized.check_groups(groups, row, batch)
            found += quantized.packed(row, groups, batch)
        return found + [i for row in rows for i in quantized.residual(row, batch)]

    def _groups(self, row: Row) -> quantized.Groups:
        """The second tensor that a layer hands over, MLA's rope key too, is its value."""
        axis = self.axis_key if row.tensor in ("key", "latent") else self.axis_value
        options = (self.backend, self.nbits, self.q_group_size, axis)
        return quantized.Groups(*cast(tuple[str, int, int, int], options))

    def slots_of_all(self, growth: Growth, lengths: Lengths, request: Request) -> int:
        """Every sequence counts the longest: one padded batch."""
        if not lengths:
            return 0
        longest = max(length for length, _ in lengths)
        sequences = sum(count for _, count in lengths)
        return sequences * self.slots(growth, longest, request.encoder_seq_len or 0)

    def slots_text(self, item: Item, request: Request, parallelism: Parallelism) -> str:
        """Where slots do not follow from the tokens as the name of their growth says."""
        growth, own = item.row.growth, self.cache in STATIC or self.count == "storage"
        if self.cache == "quantized":
            own = not isinstance(growth, EveryToken)
        if not own or isinstance(growth, EncoderTokens) or len(request.lengths) > 1:
            return ""
        if self.cache != "quantized" and not isinstance(
            growth, EveryToken | LastTokens | CurrentChunk | OpenGroup
        ):
            return ""
        sequences = request.num_sequences
        if sequences == 1 or item.slots % sequences:
            return f"{item.slots:,}"
        return f"{sequences:,} × {item.slots // sequences:,} = {item.slots:,}"

    def assumptions(self, model: ModelSpec, request: Request) -> tuple[str, ...]:
        return notes(self, model, request)
