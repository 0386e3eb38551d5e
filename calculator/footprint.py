"""Model + request + engine + parallelism → bytes, as items that add up exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calculator.engines.arguments import check_arguments
from calculator.engines.base import Engine
from calculator.engines.ideal import Ideal
from calculator.errors import InvalidInput
from calculator.items import Item, Row
from calculator.model import ModelSpec
from calculator.parallel import SINGLE, Lengths, Parallelism, dealt, stage_sizes
from calculator.request import Request
from calculator.tensors import EveryNthToken, Growth, LastGroup, OpenGroup

IDEAL = Ideal()
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Footprint:
    """The bytes of a cache: `items` add up to `num_bytes`, over all devices."""

    model: ModelSpec
    request: Request
    engine: Engine
    parallelism: Parallelism
    items: tuple[Item, ...]

    @property
    def num_bytes(self) -> int:
        """All devices together, replicated copies included [bytes]."""
        return sum(item.num_bytes for item in self.items)

    @property
    def storage(self) -> Footprint:
        """The footprint of the memory behind the tensors: larger, where they are views."""
        behind = self.engine.storage()
        if behind == self.engine:
            return self
        return footprint(self.model, self.request, behind, self.parallelism)

    @property
    def storage_bytes(self) -> int:
        """Bytes of the memory behind the tensors, all devices together [bytes]."""
        return self.storage.num_bytes

    @property
    def bytes_per_token(self) -> int:
        """What one more token of the longest sequence adds, before rounding to blocks [bytes].

        A tensor with one slot for n tokens counts an nth of its slot.
        """
        longest, total = self.request.longest, 0
        for row, _ in self.items:
            added = row.bytes_per_slot_of_all_layers * self._new_slots(row.growth, longest)
            total += added // row.growth.stride if isinstance(row.growth, EveryNthToken) else added
        return total

    @property
    def fixed_bytes(self) -> int:
        """What does not grow with tokens at these lengths: states, full windows, encoder keys."""
        return sum(item.num_bytes for item in self.items if not self.grows(item.row))

    def grows(self, row: Row) -> bool:
        """Whether one more token of some sequence can make this row larger."""
        return any(self._new_slots(row.growth, n) for n, _ in self.request.lengths)

    @property
    def bytes_per_device(self) -> tuple[int, ...]:
        """Bytes of each device: tensor ranks first, then pipeline stages, then replicas."""
        if self.parallelism.num_devices == 1:
            return (self.num_bytes,)
        return self.engine.bytes_per_device(self.model, self.request, self.parallelism)

    @property
    def dtypes(self) -> tuple[str, str]:
        """Element types of keys and values, as decided."""
        key, value, _ = self.engine.dtypes(self.model, self.request)
        return key, value

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, a sentence each: types, engine, model, lengths."""
        basis = self.engine.dtypes(self.model, self.request).basis
        found = [basis] if basis else []
        found += self.engine.assumptions_on(self.model, self.request, self.parallelism)
        if self.model.read_from:
            found.append(
                "The published configuration was not read: the model's figures are from "
                f"{self.model.read_from}."
            )
        found += self.model.assumptions
        behind = self.storage_bytes
        if behind != self.num_bytes:
            found.append(
                f"The memory behind these tensors is {behind:,} B: some are views that keep more "
                "alive than they show. A verdict on a device counts the memory."
            )
        limit = self.model.max_position_embeddings
        if limit and self.request.longest > limit:
            found.append(
                f"{self.request.longest:,} tokens are beyond the model's trained maximum of "
                f"{limit:,}: the size is exact, what the model makes of them is not promised."
            )
        if self.request.shared_prefix_len:
            found.append(
                f"The first {self.request.shared_prefix_len:,} tokens are the same in all "
                "sequences of a replica; what is shared of them is stored once."
            )
        if self.parallelism.pipeline_parallel_size > 1:
            found.append("Pipeline stages as even as possible, the rest before the last stage.")
        if self.parallelism.decode_context_parallel_size > 1:
            found.append(
                f"{self.parallelism.decode_context_parallel_size} neighbouring tensor ranks that "
                "hold the same heads share a sequence's tokens; windows and states stay whole on "
                "each of them."
            )
        if self.parallelism.data_parallel_size > 1:
            found.append("Sequences are dealt one by one to the data-parallel replicas.")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of `kvcalc estimate --json`."""
        model, key_value = self.model, self.dtypes
        lengths = self.request.lengths
        if self.request.num_sequences <= 4096:
            seq_lens = [n for n, count in lengths for _ in range(count)]
        else:
            seq_lens = [n for n, _ in lengths]
        p = self.parallelism
        return {
            "schema_version": SCHEMA_VERSION,
            "model": {
                "id": model.id,
                "name": model.name,
                "model_type": model.model_type,
                "source": model.source,
                "read_from": model.read_from,
            },
            "request": {
                "seq_lens": list(self.request.seq_lens or seq_lens),
                "num_sequences": self.request.num_sequences,
                "key_dtype": key_value[0],
                "value_dtype": key_value[1],
                "encoder_seq_len": self.request.encoder_seq_len,
                "shared_prefix_len": self.request.shared_prefix_len,
            },
            "engine": self.engine.options(),
            "parallelism": {
                "tensor_parallel_size": p.tensor_parallel_size,
                "pipeline_parallel_size": p.pipeline_parallel_size,
                "data_parallel_size": p.data_parallel_size,
                "decode_context_parallel_size": p.decode_context_parallel_size,
            },
            "num_bytes": self.num_bytes,
            "storage_bytes": self.storage_bytes,
            "bytes_per_device": list(self.bytes_per_device),
            "bytes_per_token": self.bytes_per_token,
            "fixed_bytes": self.fixed_bytes,
            "items": [item.to_dict() for item in self.items],
            "assumptions": list(self.assumptions),
        }

    def _new_slots(self, growth: Growth, seq_len: int) -> int:
        """Slots that one more token adds; of a tensor with a slot for n tokens, n more."""
        if isinstance(growth, OpenGroup | LastGroup):  # they come and go: no growth on average
            return 0
        more = growth.stride if isinstance(growth, EveryNthToken) else 1
        encoder = self.request.encoder_seq_len or 0
        slots = self.engine.slots
        return slots(growth, seq_len + more, encoder) - slots(growth, seq_len, encoder)


def footprint(
    model: ModelSpec,
    request: Request,
    engine: Engine = IDEAL,
    parallelism: Parallelism = SINGLE,
) -> Footprint:
    """Bytes of the key-value cache of `model` for `request`, as `engine` stores it.

    For full attention and one sequence this is the textbook product
    2 × num_hidden_layers × seq_len × num_key_value_heads × head_dim × bytes an element.

    Raises InvalidInput where heads cannot be spread over the ranks, or an encoder-decoder model is
    asked for without `encoder_seq_len`, or an argument is a name or a number instead of the object.

    >>> from calculator.catalog import load_model
    >>> footprint(load_model("llama-3-8b"), Request(seq_len=8192)).num_bytes
    1073741824
    """
    check_arguments(model=model, request=request, engine=engine, parallelism=parallelism)
    if request.encoder_seq_len is None and model.has_encoder:
        raise InvalidInput(
            f"encoder_seq_len is missing; {model.name} keeps keys and values of its encoder's "
            "output, so say how many tokens that has.",
            field="encoder_seq_len",
        )
    if parallelism.decode_context_parallel_size > 1 and not engine.context_parallel:
        raise InvalidInput(
            f"decode_context_parallel_size is {parallelism.decode_context_parallel_size}; "
            f"{engine.engine} does not share a sequence's tokens out to devices. Leave it at 1.",
            field="decode_context_parallel_size",
        )
    if parallelism.pipeline_parallel_size > 1:  # refused here, not when devices are asked for
        stage_sizes(model.num_hidden_layers, parallelism.pipeline_parallel_size)
    hands: tuple[Lengths, ...] = (request.lengths,)
    if parallelism.data_parallel_size > 1:
        hands = dealt(request.lengths, parallelism.data_parallel_size)
    return Footprint(
        model, request, engine, parallelism, engine.allocate(model, request, parallelism, hands)
    )
