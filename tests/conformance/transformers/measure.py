"""A transformers configuration → the bytes that its own model code leaves in the cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch
import transformers
from transformers import masking_utils
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from calculator.verify.measure import CACHE_FIELDS, collect, parameters_unset, searches
from tests.conformance.transformers.overrides import Override

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
# distributions check their arguments by value, which a meta tensor does not have (gemma3n)
torch.distributions.Distribution.set_default_validate_args(False)

# a meta tensor cannot be asked for its values, like one that is being traced
masking_utils.is_tracing = lambda tensor=None: tensor is not None and tensor.is_meta


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
        collect(getattr(output, field, None), field, seen, found)
    floating = [(path, t) for path, t in found if t.dtype.is_floating_point]
    return Measured(
        sum(t.numel() * t.element_size() for _, t in floating),
        tuple(f"{path} {tuple(t.shape)} {str(t.dtype)[6:]}" for path, t in floating),
    )


def tensors_of(cache: Any) -> list[torch.Tensor]:
    """Every tensor a cache holds, once."""
    found: list[tuple[str, torch.Tensor]] = []
    collect(cache, "cache", set(), found)
    return [tensor for _, tensor in found]
