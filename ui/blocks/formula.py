"""An explanation → the formula with this model's numbers, a row for each kind of tensor."""

from __future__ import annotations

from functools import lru_cache

from calculator.explain import FormulaRow, explain, sizes
from calculator.footprint import Footprint
from calculator.units import GIB, format_bytes
from ui.answer import Answer
from ui.markup import esc, title
from ui.theme import KIND_ROLES

HEAD = ("layers", "tensors", "slots", "heads", "width", "B a value", "sequences")


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """A table, and for a phone two lines a row."""
    fp = shown.fp
    found = explain(fp)
    rows = tuple(sorted(found.rows, key=lambda row: not row.grows))  # what grows comes first
    copies = any(row.copies > 1 for row in rows)
    shared = ""
    if found.shared_layers:
        shared = f"{found.shared_layers} layers keep nothing of their own"
    return (
        title("How it is computed", shared)
        + f'<div class="formula">{_table(rows, fp, found.marginal, copies=copies)}</div>'
        + _stack(rows, fp)
    )


def tensors_text(row: FormulaRow) -> str:
    """ "K and V" where that is what they are, else the tensors' names."""
    if row.tensors == ("key", "value"):
        return "K and V"
    return ", ".join(row.tensors)


def _table(rows: tuple[FormulaRow, ...], fp: Footprint, marginal: str, *, copies: bool) -> str:
    names = (_first_column(rows), *HEAD, *(("copies",) if copies else ()))
    names = tuple(_head(name, rows) for name in names)
    head = f'<th scope="col">{names[0]}</th>' + '<th class="x"></th>'.join(
        f'<th scope="col" class="r">{name}</th>' for name in names[1:]
    )
    head += '<th class="x"></th>' + "".join(
        f'<th scope="col" class="r">{name}</th>' for name in ("total, B", "GiB")
    )
    body = "".join(_row(row, copies=copies) for row in rows)
    span = 2 * (len(names) - 1) + 1
    total = (
        f'<tr class="total"><td colspan="{span}" class="wrap">{esc(marginal.rstrip("."))}</td>'
        f'<td class="r total"><b>{fp.num_bytes:,}</b></td>'
        f'<td class="r"><b>{_gib(fp.num_bytes)}</b></td></tr>'
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{total}</tbody></table>"


def _first_column(rows: tuple[FormulaRow, ...]) -> str:
    return "Layer kind"


def _head(name: str, rows: tuple[FormulaRow, ...]) -> str:
    """Attention's own words where every row is attention."""
    attention = all(row.tensors in (("key", "value"), ("cross key", "cross value")) for row in rows)
    words = {"tensors": "K and V", "heads": "KV heads", "width": "head dim"}
    return words.get(name, name) if attention else name


def _row(row: FormulaRow, *, copies: bool) -> str:
    start, equals, slots = row.slots_text.rpartition("= ")
    slots_html = f"{esc(start + equals)}<span>{esc(slots)}</span>"
    kind = row.label
    tensors = "" if row.tensors in (("key", "value"), ("cross key", "cross value")) else (
        f' <span class="muted">{esc(tensors_text(row))}</span>'
    )  # fmt: skip
    quantised = f' <span class="muted">({esc(row.dtype)})</span>' if "/" in row.value_bytes else ""
    cells = [
        f"{row.layers:,}", f"{len(row.tensors)}", slots_html, f"{row.heads:,}", f"{row.width:,}",
        esc(row.value_bytes) + quantised, f"{row.sequences:,}",
    ]  # fmt: skip
    if copies:
        cells.append(f"{row.copies:,}")
    times = '<td class="x">×</td>'.join(
        f'<td class="r{" slots" if i == 2 else ""}">{cell}</td>' for i, cell in enumerate(cells)
    )
    swatch = f'<span class="sw k-{KIND_ROLES[row.letter]}"></span>'
    return (
        f'<tr><td class="kind">{swatch}{esc(kind)}{tensors}</td>{times}<td class="x">=</td>'
        f'<td class="r total">{row.num_bytes:,}</td>'
        f'<td class="r"><b>{_gib(row.num_bytes)}</b></td></tr>'
    )


def _stack(rows: tuple[FormulaRow, ...], fp: Footprint) -> str:
    """The same for a phone: two lines a row."""
    lines = []
    for row in rows:
        swatch = f'<span class="sw k-{KIND_ROLES[row.letter]}"></span>'
        words = row.text.partition(": ")[2]
        named = (
            row.label if row.tensors == ("key", "value") else f"{row.label}: {tensors_text(row)}"
        )
        lines.append(
            f'<div><div class="head"><span>{swatch}<b>{esc(named)}</b></span>'
            f'<b class="n">{sizes(row.num_bytes)[0]}</b></div>'
            f'<span class="muted">{esc(words)}</span></div>'
        )
    added = fp.bytes_per_token
    text = f"{fp.num_bytes:,} B; one more token adds {added:,} B ({format_bytes(added)})"
    lines.append(
        f'<div><div class="head"><b>Total</b><b class="n">{sizes(fp.num_bytes)[0]}</b></div>'
        f'<span class="muted">{esc(text)}</span></div>'
    )
    return f'<div class="stack">{"".join(lines)}</div>'


def _gib(num_bytes: int) -> str:
    """Two decimals, more where that would be zero."""
    value = num_bytes / GIB
    return f"{value:,.2f}" if value >= 0.005 or not value else f"{value:.2g}"
