"""How much memory a transformer's key-value cache takes, to the byte.

>>> import calculator as kv
>>> fp = kv.footprint(kv.load_model("llama-3-8b"), kv.Request(seq_len=8192))
>>> fp.num_bytes, fp.bytes_per_token
(1073741824, 131072)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calculator.capacity import Capacity, capacity
    from calculator.catalog import load_model, presets
    from calculator.devices import Device, devices, load_device
    from calculator.dtypes import Dtype
    from calculator.engines import engine
    from calculator.errors import (
        CalculatorError,
        DoesNotFit,
        InvalidInput,
        SourceUnavailable,
        UnsupportedModel,
    )
    from calculator.explain import explain
    from calculator.footprint import Footprint, footprint
    from calculator.model import ModelSpec
    from calculator.parallel import Parallelism
    from calculator.request import Request
    from calculator.sweep import sweep
    from calculator.textbook import textbook

_HOME = {
    "CalculatorError": "errors",
    "Capacity": "capacity",
    "Device": "devices",
    "DoesNotFit": "errors",
    "Dtype": "dtypes",
    "Footprint": "footprint",
    "InvalidInput": "errors",
    "ModelSpec": "model",
    "Parallelism": "parallel",
    "Request": "request",
    "SourceUnavailable": "errors",
    "UnsupportedModel": "errors",
    "capacity": "capacity",
    "devices": "devices",
    "engine": "engines",
    "explain": "explain",
    "footprint": "footprint",
    "load_device": "devices",
    "load_model": "catalog",
    "presets": "catalog",
    "sweep": "sweep",
    "textbook": "textbook",
}
__version__ = "0.1.0"
__all__ = [
    "CalculatorError",
    "Capacity",
    "Device",
    "DoesNotFit",
    "Dtype",
    "Footprint",
    "InvalidInput",
    "ModelSpec",
    "Parallelism",
    "Request",
    "SourceUnavailable",
    "UnsupportedModel",
    "capacity",
    "devices",
    "engine",
    "explain",
    "footprint",
    "load_device",
    "load_model",
    "presets",
    "sweep",
    "textbook",
]


class _Package(ModuleType):
    """Imports a public name on first use, so that `import calculator` is cheap.

    `footprint` is a function and the file it lives in: importing the file would bind the module
    over the function, so a module is never bound where a public name of the same spelling is.
    """

    def __getattr__(self, name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'calculator' has no attribute {name!r}")
        value = getattr(import_module(f"calculator.{_HOME[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(__all__)


sys.modules[__name__].__class__ = _Package
