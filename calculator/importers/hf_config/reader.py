"""A configuration's mapping → typed figures, each with the key it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.model import MAX_LAYERS
from calculator.units import MAX_TOKENS, checked_int

MAX_WIDTH = 2**26

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_MISSING: Any = object()


class Reader:
    """Reads a configuration's keys, and remembers which were read and what they were used for.

    A key absent from the file has its model type's class default; a key that is null has none,
    because that is how transformers reads the file.
    """

    def __init__(
        self, config: Mapping[str, Any], model_type: str, defaults: Mapping[str, Any], prefix: str
    ):
        self.config = config
        self.model_type = model_type
        self.defaults = defaults
        self.prefix = prefix
        self.keys_read: dict[str, object] = {}
        self.waived: set[str] = set()
        self.provenance: dict[str, str] = {}
        self.image_prefix: bool | None = None
        self.assumptions: list[str] = []
        self.inners: list[Reader] = []

    def raw(self, *names: str) -> Any:
        """The value of the first of these keys that is in the file, else the class default."""
        for name in names:
            if name in self.config:
                self.keys_read[name] = self.config[name]
                self.provenance[names[0]] = self.prefix + name
                return self.config[name]
        return self._default(names)

    def _default(self, names: tuple[str, ...]) -> Any:
        for name in names:
            value = self.defaults.get(name)
            if value is not None:
                if value is not False:
                    self._used_default(names[0], name, value)
                return value
        return None

    def _used_default(self, figure: str, name: str, value: object) -> None:
        origin = f"default of model type {self.model_type}"
        if self.provenance.get(figure) != origin:
            self.provenance[figure] = origin
            self.assumptions.append(
                f"{self.prefix}{name} is not in the configuration: {shown(value)}, the {origin}."
            )

    def count_or_none(self, *names: str, at_least: int = 1, at_most: int = MAX_WIDTH) -> int | None:
        """A whole number, or None where the key is null or neither file nor class has it."""
        value = self.raw(*names)
        if value is None:
            self.provenance.pop(names[0], None)
            return None
        return checked_int(names[0], value, at_least=at_least, at_most=at_most)

    def count(self, *names: str, at_least: int = 1, at_most: int = MAX_WIDTH) -> int:
        """A whole number that the model type cannot do without."""
        value = self.count_or_none(*names, at_least=at_least, at_most=at_most)
        if value is None:
            self.missing(names[0])
        return value

    def tokens_or_none(self, *names: str) -> int | None:
        """A token count such as a window; None where it is null, absent or 0."""
        return self.count_or_none(*names, at_least=0, at_most=MAX_TOKENS) or None

    def tokens(self, *names: str) -> int:
        return self.count(*names, at_most=MAX_TOKENS)

    def flag(self, *names: str) -> bool:
        """A switch; absent or null is off, unless the class has it on."""
        value = self.raw(*names)
        if value is None:
            return False
        if not isinstance(value, bool):
            self.invalid(names[0], value, "true or false")
        return value

    def text_or_none(self, *names: str) -> str | None:
        value = self.raw(*names)
        if value is not None and not isinstance(value, str):
            self.invalid(names[0], value, "text")
        return value

    def list_or_none(self, *names: str) -> list[Any] | None:
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) > MAX_LAYERS:
            self.invalid(names[0], value, "a list with an entry for each layer")
        return list(value)

    def counts(self, *names: str, at_least: int = 0) -> list[int] | None:
        """A list of whole numbers, such as the indices of some layers."""
        values = self.list_or_none(*names)
        if values is not None:
            for value in values:
                checked_int(names[0], value, at_least=at_least, at_most=MAX_WIDTH)
        return values

    def inner(self, name: str) -> Reader | None:
        """A reader of a nested object, or None where there is none."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            self.invalid(name, value, "an object")
        defaults = self.defaults.get(name) if name not in self.config else {}
        found = Reader(value, self.model_type, defaults or {}, f"{self.prefix}{name}.")
        found.assumptions, found.provenance = self.assumptions, self.provenance
        self.inners.append(found)
        return found

    def num_hidden_layers(self, *names: str) -> int:
        """How many layers there are: from the file or not at all."""
        names = names or _LAYERS
        for name in names:
            if self.config.get(name) is not None:
                return self.named("num_hidden_layers", name, MAX_LAYERS)
        self.missing("num_hidden_layers" if names == _LAYERS else names[0])

    def named(self, figure: str, name: str, at_most: int) -> int:
        """The count under a key of the family's own, noted under the name it has everywhere."""
        value = self.count(name, at_most=at_most)
        self.provenance.pop(name, None)
        self.provenance[figure] = self.prefix + name
        return value

    def waive(self, *names: str) -> None:
        """Keys that look as if they could touch the cache, but in this family do not."""
        self.waived.update(names)

    def derived(self, figure: str, formula: str) -> None:
        """Note that a figure was computed from others."""
        self.provenance[figure] = formula

    def class_rule(self, figure: str, described: str) -> None:
        """Note a figure that the file leaves to its class, and the class works out in code."""
        origin = f"default of model type {self.model_type}"
        self.derived(figure, origin)
        self.assume(
            f"{self.prefix}{figure} is not in the configuration: {described}, the {origin}."
        )

    def assume(self, sentence: str) -> None:
        self.assumptions.append(sentence)

    def missing(self, name: str) -> NoReturn:
        raise InvalidInput(
            f"{self.prefix}{name} is missing; a model of type {self.model_type} cannot be sized "
            "without it.",
            field=name,
        )

    def invalid(self, name: str, value: object, expected: str) -> NoReturn:
        raise InvalidInput(
            f"{self.prefix}{name} is {shown(value)}; expected {expected}.", field=name
        )

    def unsupported(self, name: str, value: object, why: str) -> NoReturn:
        """Refuse a value of a known key that this family has no rule for."""
        raise UnsupportedModel(
            f"{self.prefix}{name} is {shown(value)}; {why}.",
            field=name,
            model_type=self.model_type,
            unknown_keys=(self.prefix + name,),
            keys_read=tuple(self.keys_read.items()),
        )

    def unread(self) -> Iterable[tuple[str, Any]]:
        """Keys of the file that nothing has read."""
        for key, value in self.config.items():
            if key not in self.keys_read and key not in self.waived:
                yield key, value
