"""An answer → tables that prove or continue it: fixes, sources, what grows, what was assumed."""

from __future__ import annotations

from functools import lru_cache

from calculator.charts.crossing import outgrows_weights
from calculator.fixes import HEADING, NONE_FOUND, fixes
from calculator.units import counted
from calculator.verdict import gib_range
from ui.answer import Answer
from ui.markup import esc, fold, gib, size, table, title


@lru_cache(maxsize=128)
def fixes_html(shown: Answer) -> str:
    """Single changes after which the scenario certainly fits."""
    found = shown.found
    if found is None or found.verdict == "fits":
        return ""
    rows = [
        (
            esc(fix.change)
            + (f' <span class="muted">({LOSSY})</span>' if fix.changes_outputs else ""),
            gib(fix.cache_bytes_per_device),
            esc(gib_range(fix.spare)),
        )
        for fix in fixes(found)
    ]
    if not rows:
        return title(HEADING, NONE_FOUND)
    several = " a device" if found.footprint.parallelism.num_devices > 1 else ""
    head = ("change", f"cache, GiB{several}", "to spare, GiB")
    heading = title(HEADING, "one change each, largest gain first")
    return heading + table(head, rows, right=(1, 2), classes="measure")


LOSSY = "changes outputs: measure"


@lru_cache(maxsize=128)
def sources_html(shown: Answer) -> str:
    """Where the model's figures come from, one row each."""
    model = shown.fp.model
    rows = [(f"<code>{esc(name)}</code>", esc(source)) for name, source in model.provenance]
    source = esc(model.source)
    if model.source.startswith("https://"):
        source = f'<a href="{source}" target="_blank" rel="noopener">{source}</a>'
    facts = [("Model", f"{esc(model.name)}, <code>{esc(model.model_type)}</code>")]
    facts += [("Source", source)] if model.source else []
    facts += [("Read from", esc(model.read_from))] if model.read_from else []
    facts += [("Revision", esc(model.revision))] if model.revision else []
    facts += [("Checked", esc(model.checked))] if model.checked else []
    device = shown.found.budget.device if shown.found else None
    if device and device.source:
        said = f"{esc(device.source)}, checked {esc(device.checked)}"
        facts.append((esc(device.name), said))
    body = table(("what", "where from"), [*facts, *rows], classes="keys")
    return fold("Where each number comes from", body)


@lru_cache(maxsize=128)
def growth_html(shown: Answer) -> str:
    """The fixed part, the rate, and where the cache outgrows the weights."""
    fp = shown.fp
    rows = [
        (name, f"{num_bytes:,} B", size(num_bytes))
        for name, num_bytes in (
            ("One more token", fp.bytes_per_token),
            ("Fixed part", fp.fixed_bytes),
            ("Growing part", fp.num_bytes - fp.fixed_bytes),
            ("The whole cache", fp.num_bytes),
        )
    ]
    number = fp.parallelism.num_devices
    remark = f"all {number} devices together" if number > 1 else ""
    rows += _crossing_rows(shown)
    cells = [tuple(esc(cell) for cell in row) for row in rows]
    heading = title("What is fixed, what grows", remark)
    return f'<div class="beside-switch">{heading}</div>' + table(("", "", ""), cells, right=(1, 2))


def _crossing_rows(shown: Answer) -> list[tuple[str, str, str]]:
    crossing = outgrows_weights(shown.found) if shown.found else None
    if crossing is None:
        return []
    request, found = shown.fp.request, []
    if crossing.sequences:
        at = f"of {counted(request.longest, 'token')}"
        least = f"from {counted(crossing.sequences, 'sequence')}"
        found.append(("More than the weights", least, at))
    if crossing.tokens:
        at = f"of {counted(request.num_sequences, 'sequence')}"
        least = f"from {counted(crossing.tokens, 'token')}"
        found.append(("More than the weights", least, at))
    return found


@lru_cache(maxsize=128)
def assumptions_html(shown: Answer) -> str:
    found = [*shown.asked.notes, *shown.fp.assumptions]
    found += shown.found.budget.basis if shown.found else ()
    items = "".join(f"<li>{esc(sentence)}</li>" for sentence in found)
    return f"{title('Assumed')}<ul>{items}</ul>"
