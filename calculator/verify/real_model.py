"""A scenario → what transformers' own model code keeps of it, beside the engine's prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from calculator.engines import engine
from calculator.errors import CalculatorError, DoesNotFit, InvalidInput, UnsupportedModel
from calculator.footprint import Footprint, footprint
from calculator.model import ModelSpec
from calculator.request import Request
from calculator.verify.allocate import Progress
from calculator.verify.device import free_memory, is_out_of_memory, versions
from calculator.verify.hf_config_of import config_of, given_config
from calculator.verify.measure import Measured, measure
from calculator.verify.overrides import Override, override
from calculator.verify.twin import check_twin, twin_of


class RealModel(NamedTuple):
    """Bytes the real code left in its cache; `footprint` is None where no rule predicts them."""

    footprint: Footprint | None
    measured: Measured
    device: str
    seq_len: int
    batch_size: int
    notes: tuple[str, ...]

    @property
    def predicted_bytes(self) -> int | None:
        return self.footprint.num_bytes if self.footprint else None

    @property
    def equal(self) -> bool | None:
        return self.predicted_bytes == self.measured.num_bytes if self.footprint else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "predicted_bytes": self.predicted_bytes,
            "measured_bytes": self.measured.num_bytes,
            "equal": self.equal,
            "method": "real-model",
            "device": self.device,
            "versions": versions("cpu", transformers=True),
            "seq_len": self.seq_len,
            "batch_size": self.batch_size,
            "storage_bytes": self.measured.storage_bytes,
            "tensors": list(self.measured.tensors[:400]),
            "num_tensors": len(self.measured.tensors),
            "notes": list(self.notes),
        }


def real_model(
    model: ModelSpec,
    request: Request,
    *,
    config: Mapping[str, Any] | None = None,
    budget_bytes: int | None = None,
    progress: Progress = lambda done, total, text: None,
) -> RealModel:
    """Run the model's class over the request's tokens and count its cache.

    `config` is the configuration as published, used as it is; without it, one with the same cache
    is rebuilt from `model`. Sequences of different lengths are one padded batch.
    """
    progress(0, 3, "building the configuration")
    built = given_config(config) if config else config_of(model)
    asked = Request(
        seq_len=request.longest,
        batch_size=request.num_sequences,
        encoder_seq_len=request.encoder_seq_len,
    )
    return _run(built, model, asked, _left_out(request, model, rebuilt=not config), budget_bytes,
                progress)  # fmt: skip


def measured_only(
    config: Mapping[str, Any],
    seq_len: int,
    batch_size: int = 1,
    *,
    encoder_seq_len: int | None = None,
    budget_bytes: int | None = None,
    progress: Progress = lambda done, total, text: None,
) -> RealModel:
    """The same for a configuration that the importer refuses: a measurement beside no rule."""
    import transformers

    progress(0, 3, "reading the configuration")
    request = Request(seq_len=seq_len, batch_size=batch_size, encoder_seq_len=encoder_seq_len)
    note = f"Measured from transformers {transformers.__version__}, not from a rule."
    return _run(given_config(config), None, request, (note,), budget_bytes, progress)


def _run(
    config: Any,
    model: ModelSpec | None,
    request: Request,
    notes: tuple[str, ...],
    budget_bytes: int | None,
    progress: Progress,
) -> RealModel:
    special = override(config.model_type)
    if special.unmeasured:
        raise UnsupportedModel(
            f"A model of type {config.model_type} cannot be measured: {special.unmeasured}.",
            field="model_type",
        )
    request, shortened = _within(request, special, config.model_type)
    notes = (*notes, *shortened)
    if special.encoder and request.encoder_seq_len is None:
        raise InvalidInput(
            "encoder_seq_len is missing; say how many tokens the encoder has.",
            field="encoder_seq_len",
        )
    if special.device == "cpu":
        twin = twin_of(config)
        check_twin(config, twin, free_memory("cpu").budget_bytes, budget_bytes)
        notes = (*notes, "A twin on CPU: the same cache, small where the cache is not touched.")
        config = twin
    progress(1, 3, f"building {config.model_type}")
    found, reason = _predicted(model, request)
    measured = _measure(config, special, request)
    progress(3, 3, "done")
    notes = (*notes, *reason)
    tokens, sequences = request.longest, request.num_sequences
    return RealModel(found, measured, special.device, tokens, sequences, notes)


def _predicted(
    model: ModelSpec | None, request: Request
) -> tuple[Footprint | None, tuple[str, ...]]:
    """The engine's prediction; where it refuses the model, why there is none."""
    if model is None:
        return None, ()
    try:
        return footprint(model, request, engine("transformers")), ()
    except UnsupportedModel as error:
        return None, (f"No prediction: {error}",)


def _measure(config: Any, special: Override, request: Request) -> Measured:
    try:
        return measure(
            config, special, request.longest, request.num_sequences, request.encoder_seq_len or 0
        )
    except CalculatorError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise DoesNotFit(
                "Out of memory while the model ran; everything was freed again. "
                "A shorter context takes less.",
                field="model",
            ) from None
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UnsupportedModel(
            f"transformers' code of {config.model_type} does not run without weights: {reason}.",
            field="model_type",
        ) from None


def _within(
    request: Request, special: Override, model_type: str
) -> tuple[Request, tuple[str, ...]]:
    """The request, shortened where the real code would loop over every token."""
    if request.longest <= special.max_tokens:
        return request, ()
    note = (
        f"Run over {special.max_tokens:,} tokens and not {request.longest:,}: without its kernel "
        f"the code of {model_type} is a Python loop over the tokens. Predicted and measured are "
        f"both for {special.max_tokens:,}."
    )
    return replace(request, seq_len=special.max_tokens), (note,)


def _left_out(request: Request, model: ModelSpec, *, rebuilt: bool) -> tuple[str, ...]:
    """What of the scenario the real code does not know, a sentence each."""
    found = []
    if rebuilt:
        found.append(
            "Layers and all that the cache depends on in full size; hidden size, query heads, "
            "experts and vocabulary are the class's own, they do not touch it."
        )
    for name in ("key_dtype", "value_dtype"):
        asked = getattr(request, name)
        if asked and asked != model.dtype:
            found.append(f"{name} {asked} left out: a dynamic cache keeps {model.dtype}.")
    if len(request.lengths) > 1:
        found.append(f"One batch, padded: every sequence counts {request.longest:,} tokens.")
    if request.shared_prefix_len:
        found.append("shared_prefix_len left out: transformers stores every sequence whole.")
    return tuple(found)
