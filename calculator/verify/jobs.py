"""What to verify, as one JSON document → the result, as another; what a child process does."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from calculator.catalog import model_from_record
from calculator.errors import InvalidInput, SourceUnavailable, shown
from calculator.footprint import SCHEMA_VERSION
from calculator.importers.to_preset import preset_text
from calculator.model import ModelSpec
from calculator.scenario import Scenario, scenario
from calculator.verify.slices import KINDS, Kind

Method = Literal["allocate", "real-model", "generate"]
METHODS: tuple[Method, ...] = ("allocate", "real-model", "generate")
TAKES_LESS: Mapping[Method, str] = {
    "allocate": "A shorter context or fewer sequences take less.",
    "real-model": "A shorter context takes less.",
    "generate": "A shorter prompt or fewer new tokens take less.",
}
"""What to do about a check that took too long or too much memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A method and a scenario. `preset` is the model's preset text, since it may have no name.

    `config` is a configuration as published, used as it is by `real-model`; with no `preset`
    beside it the importer has refused it, and it is measured without a prediction.
    """

    method: Method
    options: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    config: dict[str, Any] | None = None
    device: str = "auto"
    slice: Kind | None = None
    budget_bytes: int | None = None
    threads: int | None = None
    generation: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidInput(
                f"method is {shown(self.method)}; known: {', '.join(METHODS)}.", field="method"
            )
        if self.slice not in (None, *KINDS):
            raise InvalidInput(
                f"slice is {shown(self.slice)}; known: {', '.join(KINDS)}.", field="slice"
            )
        if self.preset is None and (self.config is None or self.method != "real-model"):
            raise InvalidInput("model is missing.", field="model")

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def job_of(
    asked: Scenario, method: Method, *, config: Mapping[str, Any] | None = None, **more: Any
) -> Job:
    """The job that verifies a scenario."""
    options: dict[str, Any] = {k: v for k, v in asked.options if k not in ("model", "set")}
    options["set"] = [v for k, v in asked.options if k == "set"]
    return Job(
        method=method,
        options=options,
        preset=preset_text(asked.model),
        config=dict(config) if config else None,
        **more,
    )


def check_packages(method: Method) -> None:
    """Refuse in a sentence where torch or transformers is not installed; imports neither."""
    wanted = ("torch", "transformers") if method == "real-model" else ("torch",)
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        raise SourceUnavailable(
            f"{' and '.join(missing)} is not installed, which this check runs; "
            'pip install "kv-cache-calculator[verify]" brings it.',
            field="method",
        )


def run_job(job: Job, progress: Any) -> dict[str, Any]:
    """Do what a job says, in this process."""
    import torch

    if job.threads or job.method == "generate":
        # the small decoder gains nothing from more threads, which wait for each other on a busy
        # machine
        torch.set_num_threads(job.threads or 1)
    if job.preset is None:
        return _measured_only(job, progress)
    model = model_from_record(tomllib.loads(job.preset))
    asked = scenario(job.options, model=model)
    return {
        "schema_version": SCHEMA_VERSION,
        "model": _named(model),
        **_METHODS[job.method](job, asked, progress),
        "context_notes": list(asked.notes),
    }


def _allocate(job: Job, asked: Scenario, progress: Any) -> dict[str, Any]:
    from calculator.verify.allocate import allocate

    found = allocate(
        asked.footprint(),
        job.device,
        budget_bytes=job.budget_bytes,
        slice_of=job.slice,
        progress=progress,
    )
    part = found.footprint.to_dict()
    kept = {k: part[k] for k in ("request", "engine", "parallelism", "assumptions")}
    devices = asked.parallelism.num_devices
    notes = [f"The tensors of all {devices:,} devices, on this one."] if devices > 1 else []
    return {**found.to_dict(), **kept, "notes": notes}


def _real_model(job: Job, asked: Scenario, progress: Any) -> dict[str, Any]:
    from calculator.verify.real_model import real_model

    found = real_model(
        asked.model,
        asked.request,
        config=job.config,
        budget_bytes=job.budget_bytes,
        progress=progress,
    )
    result = found.to_dict()
    if found.footprint:
        part = found.footprint.to_dict()
        result |= {k: part[k] for k in ("request", "engine", "assumptions")}
    if asked.engine.engine not in ("ideal", "transformers"):
        name = asked.engine.engine
        result["notes"].append(f"Engine {name} left out: the real code is transformers' own.")
    return result


def _measured_only(job: Job, progress: Any) -> dict[str, Any]:
    """The context as a scenario reads it, without a model whose maximum could be known."""
    from calculator.units import parse_count, parse_tokens
    from calculator.verify.real_model import measured_only

    assert job.config is not None
    encoder = job.options.get("encoder_context")
    found = measured_only(
        job.config,
        parse_tokens("context", job.options.get("context", 8192)),
        parse_count("sequences", job.options.get("sequences", 1)),
        encoder_seq_len=parse_tokens("encoder_context", encoder) if encoder else None,
        budget_bytes=job.budget_bytes,
        progress=progress,
    )
    named = {"id": "", "name": "", "model_type": str(job.config.get("model_type")), "source": ""}
    return {"schema_version": SCHEMA_VERSION, "model": named, **found.to_dict()}


def _generate(job: Job, asked: Scenario, progress: Any) -> dict[str, Any]:
    from calculator.verify.demonstration import demonstration

    found = demonstration(device=job.device, progress=progress, **job.generation)
    note = f"A small decoder in torch, not {asked.model.name}: it shows what a cache does."
    return {**found.to_dict(), "notes": [note]}


_METHODS = {"allocate": _allocate, "real-model": _real_model, "generate": _generate}


def _named(model: ModelSpec) -> dict[str, str]:
    return {
        "id": model.id,
        "name": model.name,
        "model_type": model.model_type,
        "source": model.source,
    }
