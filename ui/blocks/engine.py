"""An answer for an engine → the steps from the ideal size, its pool, its command and its log."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from html import escape
from typing import Any

from calculator.differences import differences, storage_differences
from ui.answer import Answer
from ui.markup import esc, gib, table, title, to_copy, told_apart


def sections(shown: Answer) -> tuple[str, ...]:
    """Nothing for the ideal engine, which no program is."""
    if shown.fp.engine.engine == "ideal":
        return ()
    return (steps_html(shown), _printed_html(shown), _command_html(shown))


def _command_html(shown: Answer) -> str:
    """What starts the engine, to copy."""
    command = shown.asked.serve_command()
    start = title("Start it", "with the flags of this scenario")
    return start + to_copy(command) if command else ""


@lru_cache(maxsize=128)
def steps_html(shown: Answer) -> str:
    """Ideal beside held, a row a kind of layer; below them what lies behind, what is reserved."""
    steps = differences(shown.fp)
    kinds = [(s.label, s.layer_type) for s in steps]
    rows = [
        (esc(told_apart(*kind, kinds)), gib(s.ideal_bytes), gib(s.engine_bytes), esc(s.why))
        for kind, s in zip(kinds, steps, strict=True)
    ]
    ideal, held = sum(s.ideal_bytes for s in steps), shown.fp.num_bytes
    change = _change(ideal, held)
    rows.append(("<b>Total</b>", f"<b>{gib(ideal)}</b>", f"<b>{gib(held)}</b>", esc(change)))
    rows += [
        (esc(told_apart(s.label, s.layer_type, kinds)) + ", memory behind", "", gib(s.engine_bytes),
         esc(s.why))
        for s in storage_differences(shown.fp)
        if s.engine_bytes != s.ideal_bytes
    ]  # fmt: skip
    rows += _reserved(shown)
    name, number = shown.fp.engine.engine, shown.fp.parallelism.num_devices
    remark = f"GiB, all {number} devices together" if number > 1 else "GiB"
    head = ("layer kind", "ideal", f"held by {name}", "why")
    return title(f"From ideal to {name}", remark) + table(
        head, rows, right=(1, 2), classes="spread steps-from-ideal"
    )


def _change(ideal: int, held: int) -> str:
    """How far from ideal; no sign before a zero."""
    if not ideal or held == ideal:
        return ""
    share = (held - ideal) / ideal
    if abs(share) < 0.0005:
        return f"{'more' if share > 0 else 'less'} than ideal by under 0.1%"
    return f"{share:+.1%} of the ideal size".replace("-", "\N{MINUS SIGN}")


def _reserved(shown: Answer) -> list[tuple[str, str, str, str]]:
    """What the engine sets aside at its start, whatever runs, in its own terms."""
    pool = shown.found.pool_of_blocks() if shown.found else {}
    if not pool:
        return []
    several = shown.fp.parallelism.num_devices > 1
    label = "Reserved on each device" if several else "Reserved at the start"
    size = _span(pool["reserved_bytes_per_device"], gib)
    if not size:
        return [(label, "", "none", "it does not start: the memory left is too little")]
    blocks = _span(pool["num_blocks"], "{:,}".format)
    tokens = _span(pool["num_tokens"], "{:,}".format)
    times = _span(pool["max_concurrency"], "{:,.2f}".format)
    why = f"{blocks} blocks, logged as {tokens} tokens, maximum concurrency {times}"
    return [(label, "", size, esc(why))]


def _span(value: Any, text: Callable[[Any], str]) -> str:
    """From least to most, one figure where they read alike; empty where the engine never starts."""
    low, high = (value["low"], value["high"]) if isinstance(value, dict) else (value, value)
    if high is None:
        return ""
    if low is None:
        return f"up to {text(high)}"
    return text(low) if text(low) == text(high) else f"{text(low)}–{text(high)}"


def _printed_html(shown: Answer) -> str:
    """The engine's own lines, and under which assumption they read so."""
    lines = log_lines(shown)
    if not lines:
        return ""
    told = "".join(f"<div>{escape(line)}</div>" for line in lines)  # its spaces are its own
    what, when = "What it will print", ""
    if shown.fp.engine.reserves:
        when = "when other needs are at their highest"
        starts = shown.found and shown.found.verdict == "fits"
        what = what if starts else "Whether it starts"
    return title(what, when) + f'<div class="printed">{told}</div>'


@lru_cache(maxsize=128)
def log_lines(shown: Answer) -> tuple[str, ...]:
    """The lines for the memory left when other needs are as large as estimated."""
    fp = shown.fp
    if not fp.engine.reserves:
        return fp.engine.log_lines(fp.model, fp.request, fp.parallelism, 0)
    if shown.found is None or shown.found.budget.available.low <= 0:
        return ()
    available = shown.found.budget.available.low
    return fp.engine.log_lines(fp.model, fp.request, fp.parallelism, available)
