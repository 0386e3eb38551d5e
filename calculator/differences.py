"""A footprint beside another of the same scenario → what differs, a named step a layer type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from calculator.dtypes import DTYPES
from calculator.explain import FormulaRow, formula_rows
from calculator.footprint import IDEAL, Footprint, footprint


@dataclass(frozen=True, slots=True)
class Difference:
    """Bytes of one kind of layer, ideal and as the engine holds them, and why they differ."""

    label: str
    layer_type: str
    ideal_bytes: int
    engine_bytes: int
    why: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "layer_type": self.layer_type,
            "ideal_bytes": self.ideal_bytes,
            "engine_bytes": self.engine_bytes,
            "why": self.why,
        }


def ideal_of(found: Footprint) -> Footprint:
    """The ideal footprint of the same scenario, in the element types the engine decided on.

    An engine's own format is taken by the type it begins with: `int8_per_token_head`, `fp8_ds_mla`.
    """
    key, value = (name if name in DTYPES else name.split("_")[0] for name in found.dtypes)
    request = replace(found.request, key_dtype=key, value_dtype=value)
    return footprint(found.model, request, IDEAL, found.parallelism)


def differences(found: Footprint) -> tuple[Difference, ...]:
    """Steps from ideal to the engine; their bytes add up to both totals exactly.

    Empty for the ideal engine. A step whose bytes are equal is left out only when nothing differs.
    """
    if found.engine.engine == IDEAL.engine:
        return ()
    return _steps(ideal_of(found), found)


def storage_differences(found: Footprint) -> tuple[Difference, ...]:
    """Steps from the engine's tensors to the memory behind them, where those are views into more.

    `ideal_bytes` of a step are then those of the tensors. Empty where the two are the same.
    """
    behind = found.storage
    return () if behind.num_bytes == found.num_bytes else _steps(found, behind)


def _steps(before: Footprint, after: Footprint) -> tuple[Difference, ...]:
    ideal, engine = _by_kind(before), _by_kind(after)
    kinds = list(dict.fromkeys([*ideal, *engine]))
    return tuple(_difference(ideal.get(kind, []), engine.get(kind, [])) for kind in kinds)


def _by_kind(found: Footprint) -> dict[tuple[str, str], list[FormulaRow]]:
    rows: dict[tuple[str, str], list[FormulaRow]] = {}
    for row in formula_rows(found):
        rows.setdefault((row.layer_type, row.label), []).append(row)
    return rows


def _difference(ideal: list[FormulaRow], engine: list[FormulaRow]) -> Difference:
    first = (engine or ideal)[0]
    before, after = (sum(row.num_bytes for row in rows) for rows in (ideal, engine))
    why = "the same" if before == after else "; ".join(_reasons(ideal, engine)) or "other tensors"
    return Difference(first.label, first.layer_type, before, after, why)


def _reasons(ideal: list[FormulaRow], engine: list[FormulaRow]) -> list[str]:
    """What differs of each tensor: slots, type, copies; and tensors only one of them keeps."""
    known = {name: row for row in ideal for name in row.tensors}
    kept = {name: row for row in engine for name in row.tensors}
    reasons = [_reason(known[name], row) for name, row in kept.items() if name in known]
    added = [f"{row.layers} × {name}" for name, row in kept.items() if name not in known]
    gone = [name for name in known if name not in kept]
    if added:
        reasons.append(f"and {', '.join(added)}")
    if gone:
        reasons.append(f"no {', '.join(gone)}")
    return list(dict.fromkeys(reason for reason in reasons if reason))


def _reason(ideal: FormulaRow, engine: FormulaRow) -> str:
    parts = []
    if ideal.slots * ideal.sequences != engine.slots * engine.sequences:
        together = ideal.sequences != engine.sequences
        many = f" × {ideal.sequences:,} sequences" if together else ""
        parts.append(_instead(engine.slots_text, f"{ideal.slots_text}{many}"))
    if ideal.dtype != engine.dtype:
        parts.append(f"{engine.dtype} instead of {ideal.dtype}")
    elif ideal.heads * ideal.width != engine.heads * engine.width:
        before, after = ideal.heads * ideal.width, engine.heads * engine.width
        parts.append(f"{after:,} values a slot instead of {before:,}")
    if ideal.copies != engine.copies:
        parts.append(f"{engine.copies} copies instead of {ideal.copies}")
    return ", ".join(parts)


def _instead(slots: str, ideal: str) -> str:
    """
    >>> _instead("240 in all", "200 in all"), _instead("16 blocks × 16 = 256", "250")
    ('240 slots in all instead of 200', '16 blocks × 16 = 256 slots instead of 250')
    """
    total = slots.removesuffix(" in all")
    if total == slots:
        return f"{slots} slots instead of {ideal}"
    return f"{total} slots in all instead of {ideal.removesuffix(' in all')}"
