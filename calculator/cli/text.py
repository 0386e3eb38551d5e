"""Rows → a table people can read in a terminal, and JSON programs can."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need; numbers and sizes to the right.

    >>> print(table(["id", "layers"], [["llama", 32], ["gpt", 5]]))
    id     layers
    llama      32
    gpt         5
    """
    cells = [[f"{c:,}" if isinstance(c, int) else str(c) for c in row] for row in rows]
    right = [
        bool(rows) and all(isinstance(row[i], int) or row[i] in ("", "–") for row in rows)
        for i in range(len(head))
    ]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    lines = []
    for row in [list(head), *cells]:
        padded = [
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def print_json(document: dict[str, Any]) -> None:
    """As it is where the output's encoding has every character, else escaped."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=1)
    print(text)


def bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"  · {sentence}" for sentence in sentences)
