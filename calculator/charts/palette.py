"""Roles of colours → the colours a figure is drawn in; which they are is the page's business."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Palette:
    """One colour for each role, as CSS writes it."""

    page: str
    panel: str
    text: str
    muted: str
    hairline: str
    grid: str
    accent: str
    weights: str
    estimate: str
    fits: str
    fits_tint: str
    marginal: str
    marginal_tint: str
    beyond_tint: str
