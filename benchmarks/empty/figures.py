"""The charts of a file as figures; KVCALC_DRAWN: drawn anew in each run of the page."""

import json
import os
from functools import cache
from pathlib import Path

import plotly.graph_objects as go

SPECIFICATIONS = json.loads(Path(os.environ["KVCALC_CHARTS"]).read_text(encoding="utf-8"))


def _drawn() -> list[go.Figure]:
    return [go.Figure(specification) for specification in SPECIFICATIONS]


figures = _drawn if os.environ.get("KVCALC_DRAWN") else cache(_drawn)
