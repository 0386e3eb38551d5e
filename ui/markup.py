"""Text that nobody vouches for → HTML: everything is escaped here, nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape

import streamlit as st

from calculator.units import GIB, format_bytes, format_gib

STRONG, MUTED = "\x02{}\x03", "\x04{}\x05"
_UNITS = re.compile(  # begins with what is rare: a search for digits looks at every letter
    r" (?<=\d )(?:(?=(?:GiB|GB|MiB|KiB|B|TiB|tokens?|sequences?)\b|%)|× (?=[A-Za-z]))"
)


def esc(text: object) -> str:
    """Escaped, a number kept together with its unit."""
    return _escaped(str(text))


@lru_cache(maxsize=2048)
def _escaped(text: str) -> str:
    return _UNITS.sub(_joined, escape(text))


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\N{NO-BREAK SPACE}")


def marked(text: str) -> str:
    """Escaped text in which STRONG and MUTED templates have marked passages."""
    plain = esc(text)
    for mark, tag in (
        ("\x02", "<b>"), ("\x03", "</b>"), ("\x04", '<span class="muted">'), ("\x05", "</span>"),
    ):  # fmt: skip
        plain = plain.replace(mark, tag)
    return plain


def unmarked(text: str) -> str:
    """The same text for copying."""
    return re.sub("[\x02-\x05]", "", text)


class Html(str):
    """Our own HTML, which Streamlit takes as it stands: it looks through other text for indents."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self


def show(*sections: str) -> None:
    """Sections of our HTML on the page, as one element; empty ones leave no trace."""
    body = "".join(f"<section>{section}</section>" for section in sections if section)
    st.html(Html(f'<div class="kv">{body}</div>'))


def fold(summary: str, body: str) -> str:
    """Something small, folded away; opens without asking the server."""
    return f"<details><summary>{esc(summary)}</summary>{body}</details>"


def title(text: str, remark: str = "") -> str:
    """A block's heading with a muted remark on the same line."""
    muted = f'<span class="muted">{esc(remark)}</span>' if remark else ""
    return f"<h2>{esc(text)}{muted}</h2>"


def table(
    head: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Iterable[int] = (),
    classes: str = "",
) -> str:
    """A table of cells that are HTML already; `right` are the columns of numbers."""
    numeric = set(right)
    head = tuple(head)
    heads = "".join(
        f'<th scope="col"{_right(i, numeric)}>{escape(h)}</th>' for i, h in enumerate(head)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{_right(i, numeric)}>{c}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{heads}</tr></thead>" if any(head) else ""
    return f'<table class="{classes}">{top}<tbody>{body}</tbody></table>'


def _right(column: int, numeric: set[int]) -> str:
    return ' class="r"' if column in numeric else ""


def size(num_bytes: int) -> str:
    """From a GiB on in GiB with two decimals, below in the unit that fits."""
    return format_gib(num_bytes) if num_bytes >= GIB else format_bytes(num_bytes)


def gib(num_bytes: int) -> str:
    """A cell of a column in GiB: two decimals, and what would be zero by its bound."""
    return "&lt;0.01" if 0 < num_bytes < GIB / 200 else f"{num_bytes / GIB:,.2f}"


def to_copy(text: str) -> str:
    """A text as it stands, with a button that copies it (`listener.py`)."""
    return (
        f'<div class="to-copy"><pre tabindex="0">{escape(text)}</pre>'
        '<button type="button" aria-label="Copy to clipboard"></button>'
        '<span role="status"></span></div>'
    )


def told_apart(label: str, layer_type: str, kinds: Iterable[tuple[str, str]]) -> str:
    """What a kind of layer is called, and its layer type where several have the same label."""
    if all(other == layer_type for same, other in kinds if same == label):
        return label
    own = layer_type.replace("_", " ").removesuffix(f" {label.rpartition(' ')[2]}")
    return f"{label} ({own})"


def pair(left: str, right: str) -> str:
    """Two sections side by side, one below the other where there is no room."""
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>'


def scroll(label: str, body: str) -> str:
    """A table that scrolls sideways by itself where it is wider than the page."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{esc(label)}">{body}</div>'
