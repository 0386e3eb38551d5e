"""An explanation → the formula with this model's numbers, a row for each kind of tensor."""

from __future__ import annotations

from functools import lru_cache

from calculator.explain import FormulaRow, explain, sizes
from calculator.footprint import Footprint
from calculator.units import exact_bytes
from ui.answer import Answer
from ui.markup import esc, fold, gib, title, told_apart
from ui.theme import KIND_ROLES

HEAD = ("layers", "tensors", "slots", "heads", "width", "B a value", "sequences")
MOST_ROWS = 12
"""More than these are folded, the largest stay."""
Rows = tuple[FormulaRow, ...]


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """A table, and for a phone two lines a row; what is more than a dozen rows is folded away."""
    fp = shown.fp
    found = explain(fp)
    rows = tuple(sorted(found.rows, key=lambda row: not row.grows))  # what grows comes first
    first, rest = _largest(rows)
    head, names = _head(rows), [(row.label, row.layer_type) for row in rows]
    shared = ""
    if found.shared_layers:
        shared = f"{found.shared_layers} layers keep nothing of their own"
    lines = [_row(row, head, names) for row in first]
    stacked = [_stacked(row, names) for row in first]
    if rest:
        num_bytes = sum(row.num_bytes for row in rest)
        lines.append(_rest(f"and {len(rest)} more rows, below", num_bytes, head))
        stacked.append(_line(f"And {len(rest)} more rows, below", num_bytes, ""))
    lines.append(_total(found.marginal, fp.num_bytes, head))
    return (
        title("How it is computed", shared)
        + f'<div class="formula">{_table(head, lines)}</div>'
        + f'<div class="stack">{"".join(stacked)}{_last(fp)}</div>'
        + (_folded(rest, head, names) if rest else "")
    )


def _largest(rows: Rows) -> tuple[Rows, Rows]:
    """(rows to show, rows to fold), each in their order."""
    if len(rows) <= MOST_ROWS + 2:
        return rows, ()
    least = sorted(rows, key=lambda row: -row.num_bytes)[MOST_ROWS:]
    return tuple(r for r in rows if r not in least), tuple(r for r in rows if r in least)


def _folded(rest: Rows, head: tuple[str, ...], names: list[tuple[str, str]]) -> str:
    num_bytes = sum(row.num_bytes for row in rest)
    lines = [_row(row, head, names) for row in rest]
    stacked = "".join(_stacked(row, names) for row in rest)
    return fold(
        f"{len(rest)} more rows, {exact_bytes(num_bytes)}",
        f'<div class="formula">{_table(head, lines)}</div><div class="stack">{stacked}</div>',
    )


def tensors_text(row: FormulaRow) -> str:
    """ "K and V" where that is what they are, else the tensors' names."""
    if row.tensors == ("key", "value"):
        return "K and V"
    return ", ".join(row.tensors)


def _head(rows: Rows) -> tuple[str, ...]:
    """The factors, in attention's own words where every row is attention."""
    attention = all(row.tensors in PAIRS for row in rows)
    words = {"tensors": "K and V", "heads": "KV heads", "width": "head dim"} if attention else {}
    copies = ("copies",) if any(row.copies > 1 for row in rows) else ()
    return tuple(words.get(name, name) for name in (*HEAD, *copies))


PAIRS = (("key", "value"), ("cross key", "cross value"))


def _table(names: tuple[str, ...], lines: list[str]) -> str:
    head = '<th class="x"></th>'.join(f'<th scope="col" class="r">{name}</th>' for name in names)
    ends = "".join(f'<th scope="col" class="r">{name}</th>' for name in ("total, B", "GiB"))
    return (
        f'<table><thead><tr><th scope="col">layer kind</th>{head}<th class="x"></th>{ends}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _row(row: FormulaRow, head: tuple[str, ...], names: list[tuple[str, str]]) -> str:
    own = "" if row.tensors in PAIRS else tensors_text(row)
    tensors = f' <span class="muted">{esc(own)}</span>' if own else ""
    derived, _, slots = row.slots_text.rpartition(" = ")
    how = f' <span class="how">= {esc(derived)}</span>' if derived else ""
    quantised = f' <span class="how">{esc(row.dtype)}</span>' if "/" in row.value_bytes else ""
    cells = [
        f"{row.layers:,}", f"{len(row.tensors)}", esc(slots) + how, f"{row.heads:,}",
        f"{row.width:,}", esc(row.value_bytes) + quantised, f"{row.sequences:,}",
        f"{row.copies:,}",
    ]  # fmt: skip
    times = '<td class="x">×</td>'.join(
        f'<td class="r">{cell}</td>' for cell, _ in zip(cells, head, strict=False)
    )
    swatch = f'<span class="sw k-{KIND_ROLES[row.letter]}"></span>'
    kind = esc(told_apart(row.label, row.layer_type, names))
    return (
        f'<tr><td class="kind">{swatch}{kind}{tensors}</td>{times}<td class="x">=</td>'
        f'<td class="r total">{row.num_bytes:,}</td><td class="r"><b>{gib(row.num_bytes)}</b></td>'
        "</tr>"
    )


def _rest(text: str, num_bytes: int, head: tuple[str, ...]) -> str:
    return (
        f'<tr><td colspan="{2 * len(head) + 1}" class="muted">{esc(text)}</td>'
        f'<td class="r total">{num_bytes:,}</td><td class="r"><b>{gib(num_bytes)}</b></td></tr>'
    )


def _total(marginal: str, num_bytes: int, head: tuple[str, ...]) -> str:
    return (
        f'<tr class="total"><td colspan="{2 * len(head) + 1}" class="wrap">'
        f'{esc(marginal.rstrip("."))}</td><td class="r total"><b>{num_bytes:,}</b></td>'
        f'<td class="r"><b>{gib(num_bytes)}</b></td></tr>'
    )


def _stacked(row: FormulaRow, names: list[tuple[str, str]]) -> str:
    """The same for a phone: two lines a row."""
    swatch = f'<span class="sw k-{KIND_ROLES[row.letter]}"></span>'
    kind = esc(told_apart(row.label, row.layer_type, names))
    tensors = "" if row.tensors == ("key", "value") else f": {esc(tensors_text(row))}"
    return _line(f"{swatch}<b>{kind}{tensors}</b>", row.num_bytes, row.text.partition(": ")[2])


def _last(fp: Footprint) -> str:
    added = fp.bytes_per_token
    text = f"{fp.num_bytes:,} B; one more token adds {exact_bytes(added)}"
    return _line("<b>Total</b>", fp.num_bytes, text)


def _line(name: str, num_bytes: int, below: str) -> str:
    """Name and size, and below them how it comes about."""
    muted = f'<span class="muted">{esc(below)}</span>' if below else ""
    return (
        f'<div><div class="head"><span>{name}</span><b class="n">{sizes(num_bytes)[0]}</b></div>'
        f"{muted}</div>"
    )
