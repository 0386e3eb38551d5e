"""Whether a cache fits a device, the longest context and the largest batch that do."""

from __future__ import annotations

import argparse

from calculator.cli import CHECK_FAILED, OK
from calculator.cli.options import (
    add_capacity_options,
    add_estimate_options,
    option_texts,
    scenario_of,
)
from calculator.cli.text import bullets, print_json, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_estimate_options(parser)
    add_capacity_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from calculator.verdict import verdict_text

    asked = scenario_of(option_texts(arguments))
    found = asked.capacity()
    if arguments.json:
        print_json(asked.to_dict(found))
    else:
        from calculator.fixes import HEADING, NONE_FOUND, fixes
        from calculator.verdict import gib_range, limits_text

        print(verdict_text(found))
        print(limits_text(found))
        if changes := fixes(found):
            head = [HEADING.lower(), "GiB to spare", ""]
            rows = [
                [
                    f.change,
                    gib_range(f.spare),
                    "changes outputs: measure" if f.changes_outputs else "",
                ]
                for f in changes
            ]
            print("", table(head, rows), sep="\n")
        elif found.verdict != "fits":
            print(f"\n{HEADING}: {NONE_FOUND}.")
        sentences = [*asked.notes, *found.footprint.assumptions, *found.budget.basis]
        print("\nAssumed:", bullets(sentences), sep="\n")
    return CHECK_FAILED if arguments.check and found.verdict != "fits" else OK
