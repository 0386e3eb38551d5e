"""The palette, once: roles → colours, for style sheets (both schemes) and for figures (one)."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import streamlit as st

from calculator.charts.palette import Palette

ASSETS = Path(__file__).parent / "assets"

# role: (light, dark)
COLOURS = {
    "page": ("#ffffff", "#11151b"),
    "panel": ("#f5f6f8", "#1a2028"),
    "text": ("#10161f", "#e8ecf2"),
    "muted": ("#586374", "#a0abba"),
    "hairline": ("#d5dae2", "#38424f"),
    "grid": ("#e8ebf0", "#27303a"),
    "accent": ("#174ea6", "#7db3ff"),
    "fixed": ("#4d94e8", "#3b76c4"),
    "weights": ("#6b7788", "#8a96a8"),
    "estimate": ("#b36b00", "#e3a64a"),
    "estimate-tint": ("#fbeed6", "#3a2d16"),
    "free": ("#eef1f5", "#1d242d"),
    "free-line": ("#7f8a9b", "#6b7787"),
    "fits": ("#00708c", "#5ccfe6"),
    "fits-tint": ("#e0f1f5", "#0f2f38"),
    "marginal": ("#8a6100", "#f2c14e"),
    "marginal-tint": ("#fbeed6", "#3a2d16"),
    "not": ("#920c39", "#ff7a80"),
    "not-tint": ("#fbe4ec", "#411c22"),
    "latent": ("#a83a80", "#e58fc2"),
    "recurrent": ("#00795f", "#4cc7a6"),
    "cross": ("#8f3300", "#e07b39"),
    "indexer": ("#b38600", "#f0dd8a"),
    "beyond-tint": ("#f5f6f8", "#1a2028"),
    "on-accent": ("#ffffff", "#11151b"),
    "on-fixed": ("#10161f", "#ffffff"),
    "on-indexer": ("#10161f", "#11151b"),
}

# the letter of a kind of layer → its colour's role
KIND_ROLES = {
    "F": "accent", "S": "fixed", "M": "latent", "R": "recurrent", "X": "cross", "I": "indexer",
    "C": "indexer",
}  # fmt: skip


def is_dark() -> bool:
    """Whether the browser shows the dark scheme; light until it has said so."""
    return st.context.theme.type == "dark"


AS_IT_IS = " ='/:,.-()"


@lru_cache(maxsize=8)
def picture(name: str) -> str:
    """A drawing among the assets as a data URI: Streamlit would read a path again in each run."""
    drawing = (ASSETS / name).read_text(encoding="utf-8")
    return f"data:image/svg+xml,{quote(drawing, safe=AS_IT_IS)}"


@lru_cache(maxsize=2)
def palette(dark: bool) -> Palette:
    """Colours of figures, which cannot follow the scheme by themselves."""
    column = int(dark)
    names = Palette.__dataclass_fields__
    return Palette(**{name: COLOURS[name.replace("_", "-")][column] for name in names})


@lru_cache(maxsize=1)
def style_sheet() -> str:
    """Every block's rules; colours as variables that follow the browser's scheme."""
    variables = "".join(
        f"--kv-{role}: light-dark({light}, {dark});" for role, (light, dark) in COLOURS.items()
    )
    files = (ASSETS / name for name in ("style.css", "lesson.css", "ways.css"))
    rules = " ".join(file.read_text(encoding="utf-8") for file in files)
    # without comments and line breaks: it goes to the browser with each run
    short = " ".join(re.sub(r"/\*.*?\*/", "", rules, flags=re.DOTALL).split())
    return f"<style>:root {{{variables}}} {short}</style>"
