"""`python -m tests.conformance.llamacpp [--cases N] [--seed S]` → a table, a model a line."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.conformance.llamacpp.cases import cases
from tests.conformance.llamacpp.compare import Compared, compared
from tests.conformance.llamacpp.native import path_of_library


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.llamacpp")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if path_of_library() is None:
        print("xllamacpp is not installed: pip install -r requirements-dev.txt", file=sys.stderr)
        return 2
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = compared(cases(asked.cases, asked.seed), Path(folder))
    print(table(found))
    for case in found:
        if not case.agree:
            print(case)
    print(f"{len(found)} cases, seed {asked.seed}, {time.perf_counter() - started:.0f} s")
    return 0 if all(case.agree for case in found) else 1


def table(found: list[Compared]) -> str:
    lines = [
        f"{'model':<16}{'cases':>7}{'equal':>7}{'refused':>9}{'disagree':>10}{'bytes off':>12}"
    ]
    for name in [*dict.fromkeys(case.twin.name for case in found), "all"]:
        of = [case for case in found if name in ("all", case.twin.name)]
        refused = sum(case.agree and bool(case.theirs.refused) for case in of)
        equal = sum(case.agree for case in of) - refused
        off = sum(case.bytes_off for case in of)
        disagree = len(of) - equal - refused
        lines.append(f"{name:<16}{len(of):>7}{equal:>7}{refused:>9}{disagree:>10}{off:>12,}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
