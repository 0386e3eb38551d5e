"""Option texts → one scenario: what a permalink, the command line, the API and a page share.

Option names are the command line's, with `_` for `-`; values may be text as people type it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from calculator.catalog import load_model
from calculator.dtypes import WEIGHT_DTYPES, dtype
from calculator.engines import engine as engine_named
from calculator.engines.base import Engine
from calculator.errors import InvalidInput, shown
from calculator.footprint import Footprint, footprint
from calculator.model import ModelSpec
from calculator.parallel import Parallelism
from calculator.request import Request
from calculator.units import parse_bytes, parse_count, parse_tokens

if TYPE_CHECKING:
    from calculator.capacity import Capacity
    from calculator.devices import Device

DEFAULT_CONTEXT = 8192
LINK_VERSION = 1
ESTIMATE_OPTIONS = (
    "model", "context", "sequences", "kv_dtype", "k_dtype", "v_dtype", "engine", "set",
    "tp", "pp", "dp", "dcp", "shared_prefix", "encoder_context",
)  # fmt: skip
CAPACITY_OPTIONS = (
    "device", "device_memory", "devices", "kv_bytes_per_device", "weights_dtype",
    "weights_bytes", "overhead", "share", "typical_context",
)  # fmt: skip


class Scenario(NamedTuple):
    """Model, request, engine, parallelism and device, with the options they were read from."""

    options: tuple[tuple[str, str], ...]
    model: ModelSpec
    request: Request
    engine: Engine
    parallelism: Parallelism
    notes: tuple[str, ...] = ()
    device: Device | None = None
    num_devices: int | None = None
    capacity_options: tuple[tuple[str, Any], ...] = ()

    def footprint(self) -> Footprint:
        return footprint(self.model, self.request, self.engine, self.parallelism)

    def capacity(self) -> Capacity:
        from calculator.capacity import capacity

        return capacity(
            self.model,
            device=self.device,
            num_devices=self.num_devices,
            request=self.request,
            engine=self.engine,
            parallelism=self.parallelism,
            **dict(self.capacity_options),
        )

    def to_dict(self, result: Footprint | Capacity) -> dict[str, Any]:
        """The JSON of a result, with what was assumed of the scenario itself and, for an engine,
        the ideal size and the steps from it."""
        found = result.to_dict()
        found["assumptions"] = [*self.notes, *found["assumptions"]]
        if self.engine.engine != "ideal":
            from calculator.differences import differences, ideal_of, storage_differences

            size = self.footprint()
            found["ideal_num_bytes"] = ideal_of(size).num_bytes
            found["differences"] = [step.to_dict() for step in differences(size)]
            found["storage_differences"] = [step.to_dict() for step in storage_differences(size)]
            found["serve_command"] = self.serve_command()
        return found

    def serve_command(self) -> str:
        """The command that starts the engine for this scenario; empty where there is none."""
        from calculator.budget import default_share

        share = dict(self.capacity_options).get("share") or default_share(self.device)
        return self.engine.command(self.model, self.request, self.parallelism, share)

    def query(self) -> str:
        """The URL query that reproduces the scenario; carries the version of its own format.

        It names the engine, since the page's own is vLLM, and says in the page's options what can
        be said in them.
        """
        from urllib.parse import urlencode

        told = _as_on_the_page(self.options)
        if "engine" not in dict(told):
            told.append(("engine", self.engine.engine))
        return urlencode([*told, ("v", LINK_VERSION)])

    def command(self, name: str = "estimate") -> str:
        """The `kvcalc` command that gives the same numbers."""
        import shlex

        allowed = ESTIMATE_OPTIONS + (CAPACITY_OPTIONS if name == "capacity" else ())
        words = ["kvcalc", name, dict(self.options)["model"]]
        names = [option for option, _ in self.options]
        for option, value in self.options:
            if option == "weights_dtype" and "weights_bytes" in names:
                continue  # it is not used then, and the command line refuses both
            if option in allowed and option != "model":
                words += [f"--{option.replace('_', '-')}", value]
        return shlex.join(words)


def scenario(options: Mapping[str, Any], model: ModelSpec | None = None) -> Scenario:
    """The scenario that option texts describe; missing and None mean the default.

    `model` stands in for `options["model"]` where it is no name, such as a pasted configuration.
    Raises InvalidInput naming the option, its value and what is allowed.
    """
    given, flags = _given(options)
    if model is None:
        if "model" not in given:
            raise InvalidInput("model is missing; give a preset, a file or a name.", field="model")
        model = load_model(str(given["model"]))
    request, notes = _request(given, model)
    if not given.keys().isdisjoint(("encoder_context", *CAPACITY_OPTIONS)):
        from calculator.unused import unused

        notes += unused(given, model)
    device, num_devices, capacity_options = _capacity_options(given)
    parallelism = _parallelism(given, num_devices)
    engine = engine_named(str(given.get("engine", "ideal")), **flags)
    _check_decoded(engine, request)
    return Scenario(
        options=tuple((k, text) for k, v in given.items() for text in _listed(v)),
        model=model,
        request=request,
        engine=engine,
        parallelism=parallelism,
        notes=notes,
        device=device,
        num_devices=num_devices,
        capacity_options=capacity_options,
    )


def _given(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that are given, and the engine's flags among them."""
    given = {k: v for k, v in options.items() if v is not None and v != ()}
    for name, value in given.items():
        if name not in ESTIMATE_OPTIONS + CAPACITY_OPTIONS:
            raise InvalidInput(f"{shown(name)} is no option.", field=name)
        if value == "":
            raise InvalidInput(f"{name} is empty; give a value or leave it out.", field=name)
    if "set" not in given:
        return given, {}
    from calculator.flags import flag_texts, flag_values

    given["set"] = flag_texts(given["set"])
    return given, flag_values(given["set"])


def _as_on_the_page(options: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """A typed memory as the device, and one type for keys and values where both are given alike.

    >>> _as_on_the_page((("k_dtype", "fp8"), ("v_dtype", "fp8"), ("device_memory", "80GiB")))
    [('kv_dtype', 'fp8'), ('device', '80GiB')]
    """
    given = dict(options)
    names = {"device_memory": "device"}
    if "k_dtype" in given and given["k_dtype"] == given.get("v_dtype"):
        names["k_dtype"] = "kv_dtype"
        options = tuple(pair for pair in options if pair[0] != "v_dtype")
    return [(names.get(name, name), value) for name, value in options]


def _request(given: Mapping[str, Any], model: ModelSpec) -> tuple[Request, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    limit = model.max_position_embeddings
    if "context" in given:
        context = limit if given["context"] == "max" else parse_tokens("context", given["context"])
        if context is None:
            raise InvalidInput(
                f"context is max, but the maximum of {model.name} is not known; give a number.",
                field="context",
            )
    else:
        context = min(DEFAULT_CONTEXT, limit or DEFAULT_CONTEXT)
        notes = (f"Context: {context:,} tokens, since none was given.",)
    both, prefix = given.get("kv_dtype"), given.get("shared_prefix", 0)
    if both and (given.get("k_dtype") or given.get("v_dtype")):
        raise InvalidInput("kv_dtype is given beside k_dtype or v_dtype.", field="kv_dtype")
    types = [
        None if t == "auto" else t for t in (given.get("k_dtype", both), given.get("v_dtype", both))
    ]
    encoder = given.get("encoder_context")
    request = Request(
        seq_len=context,
        batch_size=parse_count("sequences", given.get("sequences", 1)),
        encoder_seq_len=None if encoder is None else parse_tokens("encoder_context", encoder),
        key_dtype=types[0],
        value_dtype=types[1],
        shared_prefix_len=0 if str(prefix) == "0" else parse_tokens("shared_prefix", prefix),
    )
    return request, notes


def _check_decoded(engine: Engine, request: Request) -> None:
    """Only what was asked for is refused: a search through lengths takes what a length has."""
    decoded = engine.options().get("decoded_tokens", 0)
    if decoded and decoded >= request.longest:
        raise InvalidInput(
            f"decoded_tokens is {decoded:,}; of {request.longest:,} tokens at most "
            f"{request.longest - 1:,} come one by one, since the first pass takes at least one.",
            field="decoded_tokens",
        )


def _parallelism(given: Mapping[str, Any], num_devices: int | None) -> Parallelism:
    """The sizes given; without tp the devices that the others leave over."""
    names = ("tp", "pp", "dp", "dcp")
    tp, pp, dp, dcp = (parse_count(name, given.get(name, 1)) for name in names)
    if num_devices and "tp" not in given:
        tp = max(1, num_devices // (pp * dp))
    found = Parallelism(tp, pp, dp, dcp)
    if num_devices and num_devices != found.num_devices:
        raise InvalidInput(
            f"num_devices is {num_devices}, but the parallel sizes multiply to "
            f"{found.num_devices}; make them equal or leave one out.",
            field="num_devices",
        )
    return found


def _capacity_options(
    given: Mapping[str, Any],
) -> tuple[Device | None, int | None, tuple[tuple[str, Any], ...]]:
    if not any(name in given for name in CAPACITY_OPTIONS):
        return None, None, ()
    from calculator.devices import load_device

    if "device" in given and "device_memory" in given:
        raise InvalidInput("device is given beside device_memory; choose one.", field="device")
    text = given.get("device", given.get("device_memory"))
    num_devices = parse_count("devices", given["devices"]) if "devices" in given else None
    found: dict[str, Any] = {}
    for name in ("kv_bytes_per_device", "weights_bytes"):
        if name in given:
            found[name] = parse_bytes(name, given[name])
    if given.get("weights_dtype", "auto") != "auto":
        found["weights_dtype"] = given["weights_dtype"]
        dtype(given["weights_dtype"], field="weights_dtype", known=WEIGHT_DTYPES)
    if "overhead" in given:
        found["overhead"] = parse_range("overhead", given["overhead"])
    if "share" in given:
        found["share"] = parse_share(given["share"])
    if "typical_context" in given:
        found["typical_context"] = parse_tokens("typical_context", given["typical_context"])
    device = None if text is None else load_device(str(text))
    return device, num_devices, tuple(found.items())


def parse_range(name: str, text: object) -> tuple[int, int]:
    """LOW..HIGH, each a size; one size alone is both.

    >>> parse_range("overhead", "1.5GiB..6GiB")
    (1610612736, 6442450944)
    """
    low, dots, high = str(text).partition("..")
    if dots and not high.strip():
        raise InvalidInput(f"{name} is {shown(text)}; expected LOW..HIGH.", field=name)
    sizes = [
        0 if part.strip() == "0" else parse_bytes(name, part, typed=text)
        for part in (low, high or low)
    ]
    if sizes[0] > sizes[1]:
        raise InvalidInput(f"{name} is {shown(text)}; put the smaller first.", field=name)
    return sizes[0], sizes[1]


def parse_share(text: object) -> float:
    """A share of memory between 0 and 1."""
    try:
        share = float(str(text))
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise InvalidInput(
            f"share is {shown(text)}; expected more than 0, at most 1.", field="share"
        )
    return share


def _listed(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
