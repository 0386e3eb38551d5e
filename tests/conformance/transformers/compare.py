"""One model type → exact, refused, no cache or wrong: predicted against measured, case by case."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import calculator as kv
from tests.conformance.transformers import geometry, measure
from tests.conformance.transformers.geometry import Geometry
from tests.conformance.transformers.overrides import Override, override

ATTEMPTS = 8
"""Shapes tried for one that the model's own code accepts."""


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration form at one length: what was measured, what the calculator said."""

    name: str
    measured: int
    predicted: int | None
    refusal: str = ""

    @property
    def outcome(self) -> str:
        if self.predicted is None:
            return "refused" if self.measured else "no cache"
        if self.predicted != self.measured:
            return "wrong"
        return "exact" if self.measured else "no cache"


@dataclass(slots=True)
class Result:
    """All cases of a type, and how it was run."""

    model_type: str
    device: str
    cases: list[Case] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What the model's own code could not run."""
    geometries: int = 0
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """The worst of its cases; a type with nothing measured is refused."""
        found = {case.outcome for case in self.cases}
        for outcome in ("wrong", "refused", "exact", "no cache"):
            if outcome in found:
                return outcome
        return "refused"

    @property
    def reason(self) -> str:
        """Why it is not simply exact: the first case of its outcome, or what could not be run."""
        same = [case for case in self.cases if case.outcome == self.outcome]
        if self.outcome in ("wrong", "refused") and same:
            return f"{len(same)} of {len(self.cases)}: {_explained(same[0])}"
        if not self.cases:
            return "; ".join(self.problems) or "nothing was measured"
        return same[0].refusal if self.outcome == "no cache" else ""


def _explained(case: Case) -> str:
    if case.predicted is None:
        return f"{case.refusal} ({case.name})"
    return f"{case.name}: {case.predicted:,} predicted, {case.measured:,} measured"


def compare(model_type: str, seeds: tuple[str, ...]) -> Result:
    """Default shape and one random shape a seed, each in every form."""
    how, start = override(model_type), time.monotonic()
    result = Result(model_type, how.device)
    if how.unmeasured:
        result.cases.append(_unmeasured(model_type, how))
    else:
        _compare_default(result, how)
        for seed in seeds:
            _compare_random(result, how, seed)
    result.seconds = time.monotonic() - start
    return result


def _compare_default(result: Result, how: Override) -> None:
    try:
        shape = geometry.default(result.model_type, how)
        runs = measured(shape, how, _lengths(shape, how, Random(result.model_type), 1))
    except Exception as error:  # the class's own code may fail in any way
        result.problems.append(f"default: {_line(error)}")
    else:
        _add(result, shape, runs)


def _compare_random(result: Result, how: Override, seed: str) -> None:
    """The first shape of the seed that the model's own code builds and runs."""
    error: Exception | None = None
    for attempt in range(ATTEMPTS):
        try:
            shape = geometry.random(result.model_type, how, f"{seed}.{attempt}")
            runs = measured(shape, how, _lengths(shape, how, Random(f"{seed} {attempt}"), 3))
        except Exception as failed:
            error = failed
        else:
            _add(result, shape, runs)
            return
    result.problems.append(f"seed {seed}: {_line(error)}")


class Run(NamedTuple):
    """One forward pass, and the bytes it left in the cache."""

    seq_len: int
    batch_size: int
    encoder_seq_len: int
    num_bytes: int


def measured(shape: Geometry, how: Override, lengths: list[tuple[int, int]]) -> list[Run]:
    """The model's own code at each length; our code has no part in it."""
    model = measure.build(shape.config, how)
    runs = []
    for seq_len, batch in lengths:
        encoder = 5 + 2 * batch if how.encoder else 0
        found = measure.run(model, how, seq_len, batch, encoder)
        runs.append(Run(seq_len, batch, encoder, found.num_bytes))
    return runs


def _add(result: Result, shape: Geometry, runs: list[Run]) -> None:
    """Every form of the configuration against every run."""
    result.geometries += 1
    for run in runs:
        for form, config in shape.forms.items():
            name = f"{shape.label} {form} T={run.seq_len} B={run.batch_size}"
            predicted, refusal = predict(config, *run[:3])
            result.cases.append(Case(name, run.num_bytes, predicted, refusal))


def predict(config: dict[str, Any], seq_len: int, batch: int, encoder: int) -> tuple[Any, str]:
    """Bytes by the calculator, or None and why it refuses."""
    request = kv.Request(seq_len=seq_len, batch_size=batch, encoder_seq_len=encoder or None)
    try:
        model = kv.load_model(config)
        return kv.footprint(model, request, kv.engine("transformers")).num_bytes, ""
    except kv.CalculatorError as refused:
        return None, str(refused)


def _unmeasured(model_type: str, how: Override) -> Case:
    """A type that cannot be run must be refused: a number nobody can check would be a guess."""
    try:
        config = geometry.default(model_type, how).full
    except Exception:  # the class refuses its own default; then the name must do
        config = {"model_type": model_type, "num_hidden_layers": 4}
    predicted, refusal = predict(config, 16, 1, 0)
    return Case(
        f"not measurable: {how.unmeasured}", 1 if predicted is None else 0, predicted, refusal
    )


def _lengths(shape: Geometry, how: Override, rng: Random, long: int) -> list[tuple[int, int]]:
    """(tokens, sequences): a short one, `long` others about the windows; one sequence or three."""
    windows = sorted(set(_windows(shape.full)))
    around = [w + d for w in windows for d in (-1, 0, 1, w // 2 + 2)] or [16, 40]
    limit = min(how.max_tokens, _positions(shape.full))
    chosen = {rng.randint(1, 12), *rng.sample(around, min(len(around), long))}
    lengths = sorted({max(1, min(n, limit)) for n in chosen})
    return [(n, (1, 3)[i % 2]) for i, n in enumerate(lengths)]


def _windows(config: Any) -> list[int]:
    """Every figure that a cache may stop or be grouped at, wherever it lies."""
    names = ("window", "chunk_size", "compress_rate", "mem_len")
    if isinstance(config, list):
        return [w for each in config for w in _windows(each)]
    if not isinstance(config, dict):
        return []
    found = [w for value in config.values() for w in _windows(value)]
    for key, value in config.items():
        values = value.values() if isinstance(value, dict) else (value,)
        if any(name in key for name in names) and "vision" not in key:
            found += [v for v in values if type(v) is int and 1 < v <= 2**15]
    return found


def _positions(config: dict[str, Any]) -> int:
    """Positions a table of the model may end at."""
    names = ("max_position_embeddings", "n_positions", "max_target_positions", "n_ctx")
    return min([v for k in names if type(v := config.get(k)) is int and v > 1], default=2**20)


def _line(error: Exception | None) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
