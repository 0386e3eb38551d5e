"""Results of a run → a record that documentation is made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers

import calculator as kv
from tests.conformance.transformers import geometry
from tests.conformance.transformers.compare import Result
from tests.conformance.transformers.overrides import override
from tests.conformance.transformers.sample import all_types


def write(path: Path, results: list[Result], seed: str, geometries: int) -> None:
    """One entry a model type, with what its default configuration keeps."""
    run = {r.model_type for r in results}
    asked = "--all" if run == set(all_types()) else f"--types … ({len(run)})"
    document = {
        "command": f"python -m tests.conformance.transformers {asked} --seed {seed} "
        f"--geometries {geometries} --record {path.name}",
        "transformers": transformers.__version__,
        "torch": torch.__version__.split("+")[0],
        "types": {r.model_type: _entry(r) for r in results},
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _entry(result: Result) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "device": result.device,
        "shapes": result.geometries,
        "cases": len(result.cases),
        "reason": result.reason,
        "layers": _layers(result.model_type),
    }


def _layers(model_type: str) -> list[str]:
    """Labels of the kinds of cache that the default configuration has, in order."""
    try:
        model = kv.load_model(geometry.default(model_type, override(model_type)).full)
    except Exception:  # a class that cannot be made from its defaults, or a type that is refused
        return []
    labels = [cache.label for group in model.layer_groups for cache in group.caches]
    shared = ["shared"] if any(not group.caches for group in model.layer_groups) else []
    return list(dict.fromkeys([*labels, *shared]))
