"""Mutated GGUF headers → how many were answered and refused, the slowest, the largest.

    python tools/mutate_gguf.py [COUNT] [SEED]

Ends with status 1 if one of them raised anything but a CalculatorError, took more than 100 ms of
processor time, or made the process grow by more than 100 MB.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from calculator.errors import CalculatorError
from calculator.importers.gguf import model_from_gguf_bytes
from tests.importers.gguf_mutations import mutations

MAX_SECONDS, MAX_KIB = 0.1, 100_000


def main(count: int, seed: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answered = refused = failed = 0
    slowest = 0.0
    for number, data in enumerate(mutations(count, seed)):
        started = time.process_time()
        try:
            model_from_gguf_bytes(data)
            answered += 1
        except CalculatorError:
            refused += 1
        except Exception as error:
            failed += 1
            print(f"number {number}: {type(error).__name__}: {error}", file=sys.stderr)
        slowest = max(slowest, time.process_time() - started)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(
        f"{count:,} headers: {answered:,} answered, {refused:,} refused, {failed:,} failed; ",
        end="",
    )
    print(f"slowest {slowest * 1000:.1f} ms, memory grew by {grown:,} KiB")
    return int(failed > 0 or slowest > MAX_SECONDS or grown > MAX_KIB)


if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*(arguments + [100_000, 1][len(arguments) :])))
