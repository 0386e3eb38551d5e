"""`python -m tests.fuzz --count 100000`: any damaged configuration, an answer or an error, soon."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random
from time import process_time

from calculator.errors import CalculatorError
from calculator.footprint import footprint
from calculator.importers.hf_config import model_from_config
from calculator.importers.schema import parse_json
from calculator.request import Request
from tests.fuzz.mutations import damaged

LIMIT_S = 0.1


def outcome(text: bytes) -> str:
    """How a configuration is answered; anything but an answer or an error of ours escapes."""
    try:
        model = model_from_config(parse_json(text))
        footprint(model, Request(seq_len=1000, encoder_seq_len=10)).num_bytes  # noqa: B018
    except CalculatorError as error:
        return type(error).__name__
    return "answer"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    slowest, failures = 0.0, 0
    for i in range(args.count):
        text = damaged(Random(f"{args.seed} {i}"))
        start = process_time()
        try:
            counts[outcome(text)] += 1
        except Exception as error:
            failures += 1
            print(f"seed {args.seed} {i}: {type(error).__name__}: {error}", file=sys.stderr)
        took = process_time() - start
        if took > LIMIT_S:
            print(f"seed {args.seed} {i}: {took * 1000:.0f} ms, {text[:80]!r}", file=sys.stderr)
        slowest = max(slowest, took)
    shown = ", ".join(f"{name} {n:,}" for name, n in counts.most_common())
    print(f"{args.count:,} configurations: {shown}; failures {failures}")
    print(f"slowest {slowest * 1000:.1f} ms, limit {LIMIT_S * 1000:.0f} ms")
    return 1 if failures or slowest > LIMIT_S else 0


if __name__ == "__main__":
    raise SystemExit(main())
