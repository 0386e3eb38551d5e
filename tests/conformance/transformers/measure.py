"""A transformers configuration → the bytes that its own model code leaves in the cache."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch
import transformers
from transformers import masking_utils
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tests.conformance.transformers.overrides import Override

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
# distributions check their arguments by value, which a meta tensor does not have (gemma3n)
torch.distributions.Distribution.set_default_validate_args(False)

# a meta tensor cannot be asked for its values, like one that is being traced
masking_utils.is_tracing = lambda tensor=None: tensor is not None and tensor.is_meta

CACHE_FIELDS = ("past_key_values", "cache_params", "state", "mems", "past_buckets_states")
"""Where a model output keeps its cache: most in the first, Mamba in the second, RWKV, XLNet and
Reformer in one of their own."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of the floating-point tensors in the cache, and whether there was a cache at all."""

    num_bytes: int
    tensors: tuple[str, ...]


def build(config: Any, override: Override) -> Any:
    """The real model, without weights where the meta device works."""
    part = config.get_text_config(decoder=True) if override.text_part else config
    with torch.device(override.device), parameters_unset(override.device):
        make = getattr(transformers, override.auto_class).from_config
        if part.model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]
            make = getattr(transformers, name)._from_config
        model = make(
            part,
            dtype=config.dtype,
            attn_implementation=override.attention,
            experts_implementation="batched_mm",  # the default one takes bf16 alone
        )
    return model.eval()


def run(model: Any, override: Override, seq_len: int, batch_size: int, encoder: int) -> Measured:
    """One forward pass with `use_cache=True`, and what it left in the cache."""
    inputs: dict[str, Any] = {}
    whole = override.encoder == "encoder_outputs"
    with torch.device(override.device), torch.no_grad(), searches(override):
        if override.encoder:
            width = model.config.get_text_config(decoder=True).hidden_size
            states = torch.zeros((batch_size, encoder, width), dtype=model.dtype)
            inputs[override.encoder] = BaseModelOutput(states) if whole else states
        ids = torch.zeros((batch_size, seq_len), dtype=torch.long)
        inputs["decoder_input_ids" if whole else "input_ids"] = ids
        inputs |= {k: v(batch_size, seq_len) for k, v in override.inputs.items()}
        output = model(use_cache=True, **inputs)
    found: list[tuple[str, torch.Tensor]] = []
    seen: set[int] = set()
    for field in CACHE_FIELDS:
        _collect(getattr(output, field, None), field, seen, found)
    floating = [(path, t) for path, t in found if t.dtype.is_floating_point]
    return Measured(
        sum(t.numel() * t.element_size() for _, t in floating),
        tuple(f"{path} {tuple(t.shape)} {str(t.dtype)[6:]}" for path, t in floating),
    )


def tensors_of(cache: Any) -> list[torch.Tensor]:
    """Every tensor a cache holds, once."""
    found: list[tuple[str, torch.Tensor]] = []
    _collect(cache, "cache", set(), found)
    return [tensor for _, tensor in found]


def _collect(value: Any, path: str, seen: set[int], found: list[tuple[str, torch.Tensor]]) -> None:
    """Every tensor a cache holds, once, however deep it lies."""
    if value is None or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        found.append((path, value))
    elif isinstance(value, dict):
        for key, each in value.items():
            _collect(each, f"{path}.{key}", seen, found)
    elif isinstance(value, list | tuple):
        for i, each in enumerate(value):
            _collect(each, f"{path}[{i}]", seen, found)
    elif type(value).__module__.startswith("transformers") and "Config" not in type(value).__name__:
        for key, each in vars(value).items():
            _collect(each, f"{path}.{key}", seen, found)


@contextlib.contextmanager
def parameters_unset(device: str) -> Iterator[None]:
    """Skip the random initialisation of weights on CPU: their values do not touch the cache."""
    if device == "meta":
        yield
    else:
        with transformers.initialization.no_init_weights():
            yield


@contextlib.contextmanager
def searches(override: Override) -> Iterator[None]:
    """`nonzero` finds nothing among the values of a meta tensor, where the override says so."""
    if not override.no_hits:
        yield
        return
    methods = (torch.Tensor, "nonzero"), (torch, "nonzero"), (torch, "where")
    found = [getattr(owner, name) for owner, name in methods]
    nonzero, _, where = found

    def none(tensor: torch.Tensor, *args: Any, as_tuple: bool = False, **kwargs: Any) -> Any:
        if not tensor.is_meta:
            return nonzero(tensor, *args, as_tuple=as_tuple, **kwargs)
        empty = tensor.new_empty((0, tensor.dim()), dtype=torch.long)
        return empty.unbind(1) if as_tuple else empty

    def none_where(condition: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return where(condition, *args, **kwargs) if args else none(condition, as_tuple=True)

    try:
        for (owner, name), other in zip(methods, (none, none, none_where), strict=True):
            setattr(owner, name, other)
        yield
    finally:
        for (owner, name), original in zip(methods, found, strict=True):
            setattr(owner, name, original)
