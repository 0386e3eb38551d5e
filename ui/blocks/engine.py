"""An answer for an engine → the steps from the ideal size, its pool, its command and its log."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from calculator.differences import differences
from calculator.units import GIB
from ui.answer import Answer
from ui.markup import esc, show, table, title


def show_engine(shown: Answer) -> None:
    """Nothing for the ideal engine, which no program is."""
    if shown.fp.engine.engine == "ideal":
        return
    show(html(shown))
    command, lines = shown.asked.serve_command(), log_lines(shown)
    left, right = st.columns(2, gap="large")
    if command:
        with left:
            show(title("Start it", "with the flags of this scenario"))
            st.code(command, language=None, wrap_lines=True)
    if lines:
        with right:
            show(title("What it will print", "if it finds so much memory"))
            st.code("\n".join(lines), language=None, wrap_lines=True)


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """Ideal beside held, a row a kind of layer, and the pool that is reserved."""
    steps = differences(shown.fp)
    rows = [(esc(s.label), _gib(s.ideal_bytes), _gib(s.engine_bytes), esc(s.why)) for s in steps]
    ideal, held = sum(s.ideal_bytes for s in steps), shown.fp.num_bytes
    change = f"{(held - ideal) / ideal:+.1%} of the ideal size" if ideal else ""
    rows.append(("<b>Total</b>", f"<b>{_gib(ideal)}</b>", f"<b>{_gib(held)}</b>", esc(change)))
    name = shown.fp.engine.engine
    number = shown.fp.parallelism.num_devices
    remark = f"GiB, all {number} devices together" if number > 1 else "GiB"
    head = ("layer kind", "ideal", f"held by {name}", "why")
    return title(f"From ideal to {name}", remark) + table(head, rows, right=(1, 2)) + _pool(shown)


def _pool(shown: Answer) -> str:
    """What the engine sets aside in advance, in its own terms."""
    pool = shown.found.pool_of_blocks() if shown.found else {}
    if not pool or pool["num_blocks"] is None:
        return ""
    names = ("num_blocks", "num_tokens", "max_concurrency")
    blocks, tokens, times = (_range(pool[name]) for name in names)
    text = (
        f"Reserved on each device: {blocks} blocks. The engine calls that {tokens} tokens, "
        f"{times} × this length at once."
    )
    return f'<p class="muted">{esc(text)}</p>'


@lru_cache(maxsize=128)
def log_lines(shown: Answer) -> tuple[str, ...]:
    """The lines for the memory left when other needs are as large as estimated."""
    if shown.found is None or shown.found.budget.available.low <= 0:
        return ()
    fp = shown.fp
    available = shown.found.budget.available.low
    return fp.engine.log_lines(fp.model, fp.request, fp.parallelism, available)


def _range(value: object) -> str:
    if isinstance(value, dict):
        low, high = (_number(value[end]) for end in ("low", "high"))
        return low if low == high else f"{low}–{high}"
    return _number(value)


def _number(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / GIB:,.2f}"
