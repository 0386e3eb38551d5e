"""Names of accelerators, or a typed memory → their facts, each with its source."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from calculator.catalog import read_data
from calculator.errors import InvalidInput, shown
from calculator.units import MAX_BYTES, WHOLE, checked_int, parse_bytes

MemoryBasis = Literal["driver", "driver, recalled", "nominal", "typed by the user"]
BASIS = {
    "driver": "as the driver reports it",
    "driver, recalled": "as the driver reports it, recalled rather than seen",
    "nominal": "memory from the vendor's name, not the driver",
    "typed by the user": "as typed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator; `memory_bytes` is the driver's total unless `memory_basis` says otherwise.

    Peaks are dense [FLOP/s]; bandwidth and interconnect (both directions together) in bytes/s.
    None means not published, or not known here.
    """

    id: str
    name: str
    vendor: str = ""
    form: str = ""
    memory_bytes: int
    memory_basis: MemoryBasis
    visible_bytes: int | None = None
    """Total that CUDA shows to programs, the lowest seen; less than the driver's own figure."""
    visible_basis: str = ""
    caution: str = ""
    """What else bounds the memory a program gets, where known."""
    lent_per_mille: int | None = None
    """How much of it the operating system lends the accelerator unless told otherwise."""
    memory_bandwidth_bytes_per_s: int | None = None
    bf16_flops: int | None = None
    fp16_flops: int | None = None
    fp8_flops: int | None = None
    interconnect_bytes_per_s: int | None = None
    interconnect_note: str = ""
    source: str = ""
    source_quality: str = ""
    checked: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        checked_int("device memory", self.memory_bytes, at_most=MAX_BYTES)

    @property
    def usable_bytes(self) -> int:
        """The memory a program can see: as observed where that is known, else `memory_bytes`."""
        return self.visible_bytes or self.memory_bytes

    @property
    def usable_basis(self) -> str:
        """Where `usable_bytes` comes from, to stand after it."""
        basis = self.visible_basis if self.visible_bytes else BASIS[self.memory_basis]
        return f"{basis}; {self.caution}" if self.caution else basis

    @property
    def memory_note(self) -> str:
        """What must stand beside the verdict: that the memory is only the vendor's figure."""
        marketing = self.memory_basis == "nominal" and not self.visible_bytes
        return BASIS["nominal"] if marketing else ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `kvcalc devices --json`."""
        return asdict(self) | {
            "usable_bytes": self.usable_bytes,
            "usable_basis": self.usable_basis,
            "memory_note": self.memory_note,
        }


@lru_cache(maxsize=1)
def devices() -> tuple[Device, ...]:
    """All known accelerators, in the order of presets/devices.toml."""
    return tuple(_device(i, record) for i, record in read_data("devices.toml").items())


_LENT = {667: "two thirds", 750: "three quarters"}


def _device(device_id: str, record: dict[str, Any]) -> Device:
    told = {"checked": str(record["checked"])}
    if lent := record.get("lent_per_mille"):
        told["caution"] = (
            f"macOS lends the GPU about {_LENT[lent]} of it unless iogpu.wired_limit_mb is raised"
        )
    return Device(id=device_id, **(record | told))


def load_device(text: object) -> Device:
    """The accelerator with this id, name or alias, or a device with a typed memory.

    >>> load_device("h100").name, load_device("h100").memory_bytes
    ('H100 80 GB', 85520809984)
    >>> load_device("64 GB").name, load_device("80GiB").memory_bytes
    ('a device with 64 GB', 85899345920)
    """
    if isinstance(text, Device):
        return text
    if not isinstance(text, str):
        raise InvalidInput(f"device is {shown(text)}; expected a name or a memory.", field="device")
    if found := _by_name().get(_squashed(text)):
        return found
    if found := _typed(text):
        return found
    raise InvalidInput(
        f"device is {shown(text)}; expected an id (see kvcalc devices) or a memory such as 64 GB"
        f"{_nearest(text)}",
        field="device",
    )


_TYPED = re.compile(rf"({WHOLE}(?:\.\d+)?)\s*([kmgt])(i?)b", re.ASCII | re.IGNORECASE)


def _typed(text: str) -> Device | None:
    found = _TYPED.fullmatch(text.strip())
    if not found:
        return None
    number = re.sub("[_,]", "", found[1])
    prefix, binary = found[2].upper(), found[3].lower()
    unit = f"{'k' if prefix == 'K' and not binary else prefix}{binary}B"
    return Device(
        id=f"{number}{unit.lower()}",
        name=f"a device with {number} {unit}",
        memory_bytes=parse_bytes("device", f"{number}{unit}"),
        memory_basis="typed by the user",
    )


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Device]:
    """Ids and aliases, without spaces and hyphens, → devices."""
    by_id = {device.id: device for device in devices()}
    aliases: dict[str, str] = read_data("aliases.toml")["devices"]
    named = by_id | {alias: by_id[i] for alias, i in aliases.items()}
    return {_squashed(name): device for name, device in named.items()}


def _squashed(name: str) -> str:
    return re.sub(r"[\s_-]", "", name[:80].lower())


def _nearest(text: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(_squashed(text), _by_name(), n=1, cutoff=0.6)
    return f"; did you mean {_by_name()[near[0]].id}?" if near else "."
