"""A GGUF file and cases → what llama.cpp answers to each, a failed assertion being an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Answer:
    """Bytes, or the reason there are none; and the lines about them."""

    num_bytes: int | None = None
    refused: str = ""
    log: tuple[str, ...] = ()


def answers(path: Path, cases: Iterable[dict[str, Any]]) -> Iterator[Answer]:
    """One answer a case, in order, from as few processes as assertions allow."""
    worker = _start(path)
    for options in cases:
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(json.dumps(options) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
        if line:
            found = json.loads(line)
            yield Answer(**found | {"log": tuple(found.get("log", ()))})
            continue
        yield Answer(refused=_assertion(worker))
        worker = _start(path)
    _end(worker)


def _start(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.llamacpp.worker", str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
    )  # fmt: skip


def _assertion(worker: subprocess.Popen[str]) -> str:
    _, errors = worker.communicate()
    found = [line for line in errors.splitlines() if line.strip()]
    return f"aborted: {found[-1]}" if found else "aborted"


def _end(worker: subprocess.Popen[str]) -> None:
    worker.communicate()
