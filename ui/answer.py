"""Options → what the pages show: the footprint, and the verdict or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

from calculator.budget import default_overhead, default_share
from calculator.capacity import Capacity
from calculator.catalog import load_named
from calculator.devices import load_device
from calculator.engines import ENGINES, engine
from calculator.errors import CalculatorError
from calculator.footprint import IDEAL, Footprint
from calculator.model import ModelSpec
from calculator.scenario import CAPACITY_OPTIONS, Scenario, scenario
from calculator.units import format_gib
from ui import pasted


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One scenario worked out; `found` is None without a usable device, `problem` says why.

    Compared by identity: equal options give the same object, so that caches need not look inside.
    """

    asked: Scenario
    fp: Footprint
    found: Capacity | None
    problem: str = ""


def answer(options: tuple[tuple[str, str], ...], config: str) -> Answer:
    """The answer for options as text; raises CalculatorError where there is no size at all."""
    return _answer(options, model_of(dict(options)["model"], config))


def taught(options: dict[str, str], config: str) -> tuple[Answer, str]:
    """The answer for the formula alone on one device, and a sentence on what else was chosen."""
    kept = {k: v for k, v in options.items() if k not in OF_AN_ENGINE}
    kept |= {"engine": IDEAL.engine, "devices": "1"}
    name, remark = options["engine"], ""
    if name != IDEAL.engine:
        remark = f"The lesson counts the ideal size, whatever engine is chosen; Plan counts {name}."
    try:
        return answer(tuple(kept.items()), config), remark
    except CalculatorError as error:
        if error.field not in ("key_dtype", "value_dtype") or kept.get("kv_dtype") == "auto":
            raise
    found = answer(tuple((kept | {"kv_dtype": "auto"}).items()), config)
    instead = f"There is none in cache type {options['kv_dtype']}, so it takes auto"
    return found, f"{remark} {instead}, {found.fp.dtypes[0]}.".strip()


OF_AN_ENGINE = ("set", "pp", "dp", "dcp", "devices", "engine")


@lru_cache(maxsize=512)
def _answer(options: tuple[tuple[str, str], ...], model: ModelSpec) -> Answer:
    given: dict[str, object] = dict(options)
    if given.get("device") == "none":
        del given["device"]
    if not model.has_encoder:
        given.pop("encoder_context", None)
    try:
        asked = scenario(given, model)
        if asked.device is None:
            return Answer(asked, asked.footprint(), None)
        found = asked.capacity()
        return Answer(asked, found.footprint, found)
    except CalculatorError as error:
        if error.field not in CAPACITY_OPTIONS:
            raise
        kept = {k: v for k, v in given.items() if k not in CAPACITY_OPTIONS}
        asked = scenario(kept, model)
        return Answer(asked, asked.footprint(), None, str(error))


def model_of(name: str, config: str) -> ModelSpec:
    """The model that was brought under this name, a preset, or one of the Hub.

    Each remembers for itself: the Hub's may change, and is asked again after a while.
    """
    return _brought(config) if name in pasted.SLOTS and config else load_named(name)


_brought = lru_cache(maxsize=32)(pasted.model)  # a text may have 2 MiB


def flags_of(name: str) -> tuple[str, ...]:
    """The engine's own options by name."""
    return tuple(field.name for field in fields(engine(name))) if name in ENGINES else ()


def overhead_hint(device: str) -> str:
    """The range that is used when none is typed."""
    try:
        low, high, _ = default_overhead(load_device(device).usable_bytes)
    except CalculatorError:
        return "LOW..HIGH"
    return f"{format_gib(low, 1)}..{format_gib(high, 1)}"


def share_hint(device: str) -> str:
    """The share that is used when none is typed."""
    try:
        return f"{default_share(load_device(device)):g}"
    except CalculatorError:
        return f"{default_share(None):g}"
