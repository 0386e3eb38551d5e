"""What a caller passed → refused where it is no model, request, engine or parallelism."""

from __future__ import annotations

from calculator.engines.base import Engine
from calculator.errors import InvalidInput, shown
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request

_MADE_BY: dict[str, tuple[type, str, type]] = {
    "model": (ModelSpec, "load_model", str),
    "request": (Request, "Request", int),
    "engine": (Engine, "engine", str),
    "parallelism": (Parallelism, "Parallelism", int),
}


def check_arguments(**given: object) -> None:
    """Refuse what is no model, request, engine or parallelism, with the call that makes one.

    >>> check_arguments(engine="vllm")
    Traceback (most recent call last):
    calculator.errors.InvalidInput: engine is 'vllm'; expected engine('vllm').
    """
    for name, value in given.items():
        expected, call, short = _MADE_BY[name]
        if not isinstance(value, expected):
            text = shown(value) if isinstance(value, short) else "…"
            raise InvalidInput(f"{name} is {shown(value)}; expected {call}({text}).", field=name)
