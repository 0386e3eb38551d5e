"""`python -m tests.conformance.transformers`: a line a model type; exit 1 if any is wrong."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.transformers.compare import Result, compare
from tests.conformance.transformers.sample import SAMPLE, all_types


def main() -> int:
    args = arguments()
    types = args.types.split(",") if args.types else all_types() if args.all else SAMPLE
    unknown = sorted(set(types) - set(all_types()))
    if unknown:
        print(f"error: not in the causal-LM mapping: {', '.join(unknown)}", file=sys.stderr)
        return 2
    seeds = tuple(f"{args.seed}-{i}" for i in range(args.geometries))
    print(f"{'type':26}{'outcome':10}{'on':6}{'shapes':>7}{'cases':>7}{'s':>7}  reason")
    results = [shown(compare(model_type, seeds)) for model_type in types]
    print(totals(results))
    if args.record:
        from tests.conformance.transformers.record import write

        write(Path(args.record), results, args.seed, args.geometries)
    return 1 if any(r.outcome == "wrong" for r in results) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.transformers")
    parser.add_argument("--all", action="store_true", help="every type, not the CI sample")
    parser.add_argument("--types", help="these types, separated by commas")
    parser.add_argument("--seed", default="0", help="any text; the shapes follow from it")
    parser.add_argument("--geometries", type=int, default=2, help="random shapes a type")
    parser.add_argument("--record", metavar="FILE", help="write the results as JSON")
    return parser.parse_args()


def shown(result: Result) -> Result:
    """Print a type as soon as it is done."""
    print(
        f"{result.model_type:26}{result.outcome:10}{result.device:6}{result.geometries:>7}"
        f"{len(result.cases):>7}{result.seconds:>7.1f}  {result.reason}",
        flush=True,
    )
    for problem in result.problems:
        print(f"{'':26}not run: {problem}")
    return result


def totals(results: list[Result]) -> str:
    outcomes = Counter(r.outcome for r in results)
    cases = Counter(c.outcome for r in results for c in r.cases)
    counts = "  ".join(f"{name} {outcomes[name]}" for name in OUTCOMES)
    each = "  ".join(f"{name} {cases[name]}" for name in OUTCOMES)
    return f"{len(results)} types: {counts}\n{sum(cases.values())} cases: {each}"


OUTCOMES = ("exact", "no cache", "refused", "wrong")

if __name__ == "__main__":
    raise SystemExit(main())
