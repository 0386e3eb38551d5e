"""`python -m tests.conformance.vllm --python ENV/bin/python --configurations FOLDER` → a record.

Runs every case in a process of its own, with an interpreter that has vLLM and torch for CPUs, and
configurations named `org__name.json` as published. Only cases not recorded yet are run, unless
`--again`. See docs/engines/vllm.md for how to make that environment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.conformance.vllm.cases import CASES, Case

ROOT = Path(__file__).parents[3]
RECORDED = Path(__file__).with_name("recorded.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.vllm")
    parser.add_argument("--python", required=True, help="interpreter of an environment with vLLM")
    parser.add_argument("--configurations", required=True, type=Path, nargs="+")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--again", action="store_true", help="also those recorded already")
    asked = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {"cases": []}
    known = {case["name"]: case for case in recorded["cases"]}
    failed = 0
    for case in CASES:
        if asked.only not in case.name or (case.name in known and not asked.again):
            continue
        started = time.perf_counter()
        found = run(asked.python, configuration(case, asked.configurations), case)
        print(f"{case.name}: {found.get('num_blocks', found.get('failed'))}", end=" ")
        print(f"({time.perf_counter() - started:.0f} s)", flush=True)
        failed += "failed" in found
        if "failed" not in found:
            known[case.name] = record(case, found)
            write(asked.python, [known[c.name] for c in CASES if c.name in known])
    return 1 if failed else 0


def configuration(case: Case, folders: list[Path]) -> dict[str, Any]:
    """The published configuration, or the text part of it, under the architecture wanted."""
    paths = [folder / f"{case.configuration}.json" for folder in folders]
    found = json.loads(next(path for path in paths if path.exists()).read_text())
    if case.architecture and "text_config" in found:
        found = found["text_config"]
    if case.architecture:
        found["architectures"] = [case.architecture]
    found = {k: v for k, v in found.items() if k not in ("auto_map", "_provenance")} | case.keys
    if case.part_of:
        text = found | {"model_type": f"{found['model_type']}_text"}
        found = found | {"model_type": case.part_of, "text_config": text}
    return found


def run(python: str, config: dict[str, Any], case: Case) -> dict[str, Any]:
    """What vLLM's planner answers, or the last line it failed with."""
    asked = {
        "config": config, "flags": case.flags, "tp": case.tp, "pp": case.pp,
        "available_bytes": case.available_bytes,
    }  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(asked, file)
        file.flush()
        done = subprocess.run(
            [python, "-m", "tests.conformance.vllm.planner", file.name],
            capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
            return found
    return {"failed": done.stderr[-1500:]}


def record(case: Case, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": case.name, "preset": case.preset, "configuration": case.configuration,
        "tensor_parallel_size": case.tp, "pipeline_parallel_size": case.pp, "flags": case.flags,
        "available_bytes": case.available_bytes, "planned": found,
    }  # fmt: skip


def write(python: str, cases: list[dict[str, Any]]) -> None:
    """The recorded file: vLLM's version, the command, a case a line."""
    code = "import importlib.metadata as m; print(m.version('vllm'))"
    version = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    command = "python -m tests.conformance.vllm --python ENV/bin/python --configurations FOLDER"
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = f'{{"vllm": {json.dumps(version)},\n"command": {json.dumps(command)},\n"cases": [\n'
    RECORDED.write_text(f"{head}{lines}\n]}}\n")


if __name__ == "__main__":
    sys.exit(main())
