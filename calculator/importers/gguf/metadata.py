"""The values of a GGUF header → figures of one architecture, each with the key it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.importers.gguf.header import Skipped, Value
from calculator.units import MAX_TOKENS, checked_int

MAX_WIDTH = 2**26
MAX_GGUF_LAYERS = 1024


class Metadata:
    """Reads keys of `<architecture>.…` and remembers which were read and for which figure.

    `tensor_names` is None where the list of tensors was not read.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        architecture: str,
        tensor_names: frozenset[str] | None = None,
    ):
        self.values = values
        self.architecture = architecture
        self.tensor_names = tensor_names
        self.read: dict[str, Value] = {}
        self.provenance: dict[str, str] = {}
        self.assumptions: list[str] = []
        self.num_layers = self._num_layers()

    def value(self, key: str, figure: str = "") -> Value | None:
        """The value of a key of the architecture, or None where the file has it not."""
        name = f"{self.architecture}.{key}"
        found = self.values.get(name)
        if found is not None:
            self.read[name] = found
            if figure:
                self.provenance[figure] = name
        return found

    def count_or_none(
        self, key: str, figure: str = "", *, at_least: int = 1, at_most: int = MAX_WIDTH
    ) -> int | None:
        """A whole number; a list whose entries are all the same counts as that number."""
        found = self.value(key, figure)
        if isinstance(found, tuple) and found and len(set(found)) == 1:
            found = found[0]
        if found is None:
            return None
        name = f"{self.architecture}.{key}"
        return checked_int(name, found, at_least=at_least, at_most=at_most)

    def count(
        self, key: str, figure: str = "", *, at_least: int = 1, at_most: int = MAX_WIDTH
    ) -> int:
        found = self.count_or_none(key, figure, at_least=at_least, at_most=at_most)
        return self.missing(key) if found is None else found

    def window(self, key: str = "attention.sliding_window") -> int | None:
        """A number of tokens; None where it is absent or 0, which both mean no window."""
        return self.count_or_none(key, "sliding_window", at_least=0, at_most=MAX_TOKENS) or None

    def per_layer(self, key: str, figure: str = "") -> list[int] | None:
        """A whole number for each layer, from a list or from one number that all share."""
        found = self.value(key, figure)
        if found is None:
            return None
        name = f"{self.architecture}.{key}"
        numbers = found if isinstance(found, tuple) else (found,) * self.num_layers
        numbers = self._one_a_layer(name, numbers)
        return [checked_int(name, n, at_least=0, at_most=MAX_WIDTH) for n in numbers]

    def flags(self, key: str, figure: str = "") -> list[bool] | None:
        """A yes or no for each layer, from a list; None where the key is absent or one number."""
        found = self.value(key, figure)
        if not isinstance(found, tuple | Skipped):
            return None
        return [bool(x) for x in self._one_a_layer(f"{self.architecture}.{key}", found)]

    def _one_a_layer(self, name: str, numbers: tuple[Any, ...] | Skipped) -> tuple[Any, ...]:
        """The entries of the layers that cache; a file may have more for those that do not."""
        if isinstance(numbers, Skipped):
            raise InvalidInput(
                f"{name} is cut off, or too long for a figure of each layer: "
                f"{numbers.length:,} entries.",
                field="model",
            )
        if len(numbers) < self.num_layers:
            raise InvalidInput(
                f"{name} has {len(numbers):,} entries for {self.num_layers:,} layers.",
                field="model",
            )
        return numbers[: self.num_layers]

    def _num_layers(self) -> int:
        """Layers that cache: the blocks less those that only predict further tokens."""
        blocks = self.count("block_count", "num_hidden_layers", at_most=MAX_GGUF_LAYERS)
        ahead = self.count_or_none("nextn_predict_layers", at_least=0, at_most=blocks) or 0
        if self.architecture == "deepseek4" and not self._has_next_tokens_block(blocks - ahead):
            return blocks
        if ahead == blocks:
            self.refuse("nextn_predict_layers", "the file holds nothing but a draft model")
        return blocks - ahead

    def _has_next_tokens_block(self, first: int) -> bool:
        """Early files of this architecture name such blocks without having or counting them."""
        return f"blk.{first}.nextn.eh_proj.weight" in (self.tensor_names or ())

    def missing(self, key: str) -> NoReturn:
        raise InvalidInput(
            f"{self.architecture}.{key} is missing; a model of architecture {self.architecture} "
            "cannot be sized without it.",
            field="model",
        )

    def refuse(self, key: str, why: str) -> NoReturn:
        """Refuse a value of a known key that there is no rule for."""
        name = f"{self.architecture}.{key}"
        raise UnsupportedModel(
            f"{name} is {shown(self.values.get(name))}; {why}.",
            field="model",
            model_type=self.architecture,
            unknown_keys=(name,),
            keys_read=tuple(self.read.items()),
        )
