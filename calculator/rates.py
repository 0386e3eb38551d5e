"""A model → what each further token adds, at first and in the end, by the ideal engine."""

from __future__ import annotations

from calculator.footprint import footprint
from calculator.model import ModelSpec
from calculator.request import Request
from calculator.units import MAX_TOKENS


def first_bytes_per_token(model: ModelSpec) -> int:
    """What a further token adds while every window and chunk still fills [bytes]."""
    return _bytes_per_token(model, 1)


def lasting_bytes_per_token(model: ModelSpec) -> int:
    """What a further token adds once windows and chunks are full [bytes].

    Of a known maximum: a window that is never reached within it grows to the end.
    """
    return _bytes_per_token(model, model.max_position_embeddings or MAX_TOKENS // 2)


def _bytes_per_token(model: ModelSpec, seq_len: int) -> int:
    request = Request(seq_len, encoder_seq_len=1 if model.has_encoder else None)
    return footprint(model, request).bytes_per_token
