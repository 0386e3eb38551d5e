"""Claims that circulate → what is said left, what we find right, the formula folded below."""

from __future__ import annotations

from functools import lru_cache

from calculator.claims import Claim, claims
from ui.markup import esc, fold, title

GLYPHS = {"wrong": ("✕", "t-not"), "depends": ("≈", "t-marginal"), "low": ("≈", "t-marginal")}


@lru_cache(maxsize=1)
def html() -> str:
    rows = "".join(_row(claim) for claim in claims())
    remark = "for the model and device whose figures come nearest"
    return title("Claims that circulate, worked out", remark) + f"<div>{rows}</div>"


def _row(claim: Claim) -> str:
    glyph, colour = GLYPHS[claim.verdict]
    formula = "".join(f"<li>{esc(line)}</li>" for line in claim.formula)
    return (
        f'<div class="claim"><div><p>“{esc(claim.said)}”</p>'
        f'<p class="muted">{esc(claim.about)}</p></div>'
        f'<div><p><b>{esc(claim.ours)}</b> <span class="n {colour}">{glyph} {esc(claim.word)}'
        f'</span></p><p class="muted">{esc(claim.why)}</p></div>'
        f"{fold('Formula', f'<ul>{formula}</ul>')}</div>"
    )
