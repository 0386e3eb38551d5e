"""Cases → what llama.cpp and our engine make of each, from the same files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import calculator as kv
from calculator.errors import CalculatorError
from calculator.model import ModelSpec
from tests.conformance.llamacpp.asked import Answer, answers
from tests.conformance.llamacpp.models import Twin


@dataclass(frozen=True, slots=True)
class Compared:
    """One case; `ours.refused` is the engine's whole message."""

    twin: Twin
    options: dict[str, Any]
    theirs: Answer
    ours: Answer

    @property
    def bytes_off(self) -> int:
        if self.theirs.num_bytes is None or self.ours.num_bytes is None:
            return 0
        return abs(self.theirs.num_bytes - self.ours.num_bytes)

    @property
    def agree(self) -> bool:
        """The same bytes, or both refuse and ours quotes llama.cpp's reason, or says it aborts."""
        if self.theirs.refused and self.ours.refused:
            reason = self.theirs.refused
            aborted = reason.startswith("aborted")
            return (aborted and " aborts: " in self.ours.refused) or reason in self.ours.refused
        return self.theirs.num_bytes == self.ours.num_bytes and not self.lines_off

    @property
    def lines_off(self) -> list[str]:
        return lines_off(self.theirs, self.ours)

    def __str__(self) -> str:
        settings = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.twin.name}: {settings}\n  llama.cpp {self.theirs}\n  ours      {self.ours}"


def compared(cases: Iterable[tuple[Twin, dict[str, Any]]], folder: Path) -> list[Compared]:
    """Every case, one file and one process an architecture."""
    by_twin: dict[str, tuple[Twin, list[dict[str, Any]]]] = {}
    for twin, options in cases:
        by_twin.setdefault(twin.name, (twin, []))[1].append(options)
    found = []
    for twin, settings in by_twin.values():
        path = twin.write(folder)
        model = kv.load_model(str(path))
        for options, theirs in zip(settings, answers(path, settings), strict=True):
            found.append(Compared(twin, options, theirs, our_answer(model, options)))
    return found


def lines_off(theirs: Answer, ours: Answer) -> list[str]:
    """Lines that only one side has, without the device's name and the buffers not allocated."""
    if theirs.refused or ours.refused:
        return []
    pairs = zip_longest(*(comparable(side.log) for side in (theirs, ours)))
    return [f"{one}\n{other}" for one, other in pairs if one != other]


def comparable(lines: Iterable[str]) -> list[str]:
    """With `no_alloc` the buffers of keys and values are empty, those of states are not."""
    return [
        re.sub(r": +\S+ (?=.*buffer size)", ": ", line)
        for line in lines
        if "KV buffer size" not in line
    ]


def our_answer(model: ModelSpec, options: dict[str, Any]) -> Answer:
    """Our engine with the very same options; its size does not depend on the request then."""
    request = kv.Request(seq_len=options["n_ctx"], batch_size=options["n_seq_max"])
    try:
        engine = kv.engine("llama.cpp", **options)
        found = kv.footprint(model, request, engine=engine)
        lines = engine.log_lines(model, request, found.parallelism, 0)
        return Answer(found.num_bytes, log=lines)
    except CalculatorError as refusal:
        return Answer(refused=str(refusal))
