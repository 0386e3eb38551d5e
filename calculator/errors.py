"""What a user can cause to go wrong → one exception tree with one-sentence messages.

CalculatorError
├── InvalidInput        a value that cannot be right: negative, not a number, absurdly large
├── UnsupportedModel    a model whose cache cannot be computed without guessing
├── DoesNotFit          asked for a size that the device cannot hold
└── SourceUnavailable   a preset, file or Hub name that is not there or may not be read
"""

from __future__ import annotations


class CalculatorError(ValueError):
    """Base of every error a user can cause; `field` names the input it is about, or is empty."""

    def __init__(self, message: str, *, field: str = ""):
        super().__init__(printable(message))
        self.field = field


class InvalidInput(CalculatorError):
    """A value outside what is possible; the message names field, value and what is allowed."""


class UnsupportedModel(CalculatorError):
    """A model that cannot be computed exactly, so it is refused.

    `unknown_keys` are the configuration keys that could change the size and are not understood;
    `keys_read` are those that were, with their values, for a page that shows both.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str = "",
        model_type: str = "",
        unknown_keys: tuple[str, ...] = (),
        keys_read: tuple[tuple[str, object], ...] = (),
    ):
        super().__init__(message, field=field)
        self.model_type = model_type
        self.unknown_keys = unknown_keys
        self.keys_read = keys_read


class DoesNotFit(CalculatorError):
    """The cache asked for is larger than the memory there is."""


class SourceUnavailable(CalculatorError):
    """A model source that cannot be reached, found or read."""


def printable(text: str) -> str:
    r"""`text` without what would steer a terminal or turn the writing of a page around.

    >>> printable("lla\u202ema \x1b[31m")
    'lla\\u202ema \\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c.isspace() else ascii(c)[1:-1] for c in text)


def shown(value: object, limit: int = 60) -> str:
    """`value` as it may stand in a message: one line, cut to `limit` characters.

    >>> shown("a" * 100, limit=10)
    "'aaaaaaaa…"
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    text = repr(_start(value, limit)) if not isinstance(value, int) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _start(value: object, limit: int, levels: int = 3) -> object:
    """As much of a container as can be shown: writing out a million entries takes its time."""
    match value:
        case str() | bytes():
            return value[: limit + 1]
        case list() | tuple() | dict() if not levels:
            return "…"
        case list() | tuple():
            return type(value)(_start(v, limit, levels - 1) for v in value[: limit + 1])
        case dict():
            items = zip(value.items(), range(limit + 1), strict=False)
            return {_start(k, limit, 0): _start(v, limit, levels - 1) for (k, v), _ in items}
        case _:
            return value
