"""The accelerators that are known by name, each with its source."""

from __future__ import annotations

import argparse

from calculator.cli.text import print_json, table
from calculator.devices import Device, devices
from calculator.units import format_gib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document, nothing else")


def run(arguments: argparse.Namespace) -> int:
    found = devices()
    if arguments.json:
        print_json(document(found))
        return 0
    head = ["id", "name", "vendor", "memory", "basis", "bandwidth GB/s"]
    rows = [
        [d.id, d.name, d.vendor, format_gib(d.usable_bytes), d.memory_note or "as programs see it",
         (d.memory_bandwidth_bytes_per_s or 0) // 10**9 or "–"]
        for d in found
    ]  # fmt: skip
    print(table(head, rows))
    return 0


def document(found: tuple[Device, ...]) -> dict[str, object]:
    """The JSON of `kvcalc devices --json` and of the API."""
    return {"schema_version": 1, "devices": [d.to_dict() for d in found]}
