"""A transformers configuration → the bytes that its own model code leaves in the cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from calculator.errors import UnsupportedModel
from calculator.verify.overrides import Override

if TYPE_CHECKING:
    import torch

CACHE_FIELDS = ("past_key_values", "cache_params", "state", "mems", "past_buckets_states")
"""Where a model output keeps its cache: most in the first, Mamba in the second, RWKV, XLNet and
Reformer in one of their own."""


class Measured(NamedTuple):
    """Bytes of the cache's floating-point tensors, and of the storage they are views of.

    The two differ where a layer keeps a view: after one pass over a long prompt a sliding layer
    still holds every token until the next step.
    """

    num_bytes: int
    storage_bytes: int
    tensors: tuple[str, ...]


def measure(
    config: Any, override: Override, seq_len: int, batch_size: int, encoder: int
) -> Measured:
    """Build the model and run it once over `seq_len` tokens with `use_cache=True`."""
    with values_unseen():
        return run(build(config, override), override, seq_len, batch_size, encoder)


def build(config: Any, override: Override) -> Any:
    """The real model, without weights where the meta device works."""
    import torch

    part = config.get_text_config(decoder=True) if override.text_part else config
    make = _class_of(part, override)
    with torch.device(override.device), parameters_unset(override.device):
        model = make(
            part,
            dtype=config.dtype,
            attn_implementation=override.attention,
            experts_implementation="batched_mm",  # the default one takes bf16 alone
        )
    return model.eval()


def _class_of(config: Any, override: Override) -> Any:
    """The causal class of the configuration, else the bare model, whose cache is the same."""
    import transformers
    from transformers.models.auto import modeling_auto as auto

    asked = getattr(transformers, override.auto_class)
    wanted = [asked, transformers.AutoModelForCausalLM, transformers.AutoModelForImageTextToText]
    for auto_class in (*wanted, transformers.AutoModel):
        if type(config) in auto_class._model_mapping:
            found = auto_class._model_mapping[type(config)]
            for cls in found if isinstance(found, tuple | list) else (found,):
                if cls.config_class is type(config):
                    return cls._from_config
    # a text part whose causal class is listed under the type that wraps it (mllama)
    outer = config.model_type.removesuffix("_model").removesuffix("_text")
    name = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(outer)
    if name is None:
        raise UnsupportedModel(
            f"transformers {transformers.__version__} has no class for model type "
            f"{config.model_type} that generates text.",
            field="model_type",
        )
    return getattr(transformers, name)._from_config


def run(model: Any, override: Override, seq_len: int, batch_size: int, encoder: int) -> Measured:
    """One forward pass with `use_cache=True`, and what it left in the cache."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

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
    return measured(output)


def measured(output: Any) -> Measured:
    """The bytes of every floating-point tensor in a model output's cache."""
    found: list[tuple[str, torch.Tensor]] = []
    seen: set[int] = set()
    for name in CACHE_FIELDS:
        collect(getattr(output, name, None), name, seen, found)
    floating = [(path, t) for path, t in found if t.dtype.is_floating_point]
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for _, t in floating}
    return Measured(
        sum(t.numel() * t.element_size() for _, t in floating),
        sum(storages.values()),
        tuple(f"{path} {tuple(t.shape)} {str(t.dtype)[6:]}" for path, t in floating),
    )


def collect(value: Any, path: str, seen: set[int], found: list[tuple[str, torch.Tensor]]) -> None:
    """Every tensor a cache holds, once, however deep it lies."""
    import torch

    if value is None or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        found.append((path, value))
    elif isinstance(value, dict):
        for key, each in value.items():
            collect(each, f"{path}.{key}", seen, found)
    elif isinstance(value, list | tuple):
        for i, each in enumerate(value):
            collect(each, f"{path}[{i}]", seen, found)
    elif type(value).__module__.startswith("transformers") and "Config" not in type(value).__name__:
        for key, each in vars(value).items():
            collect(each, f"{path}.{key}", seen, found)


@contextlib.contextmanager
def values_unseen() -> Iterator[None]:
    """Let code that looks at values run on meta tensors, which have none."""
    import torch
    import transformers
    from transformers import masking_utils

    checks = torch.distributions.Distribution
    before = masking_utils.is_tracing, checks._validate_args
    masking_utils.is_tracing = lambda tensor=None: tensor is not None and tensor.is_meta
    checks.set_default_validate_args(False)  # gemma3n: Normal(0, 1) checks its arguments
    transformers.logging.set_verbosity_error()
    try:
        yield
    finally:
        masking_utils.is_tracing = before[0]
        checks.set_default_validate_args(before[1])


@contextlib.contextmanager
def parameters_unset(device: str) -> Iterator[None]:
    """Skip the random initialisation of weights on CPU: their values do not touch the cache."""
    if device == "meta":
        yield
        return
    from transformers import initialization

    with initialization.no_init_weights():
        yield


@contextlib.contextmanager
def searches(override: Override) -> Iterator[None]:
    """`nonzero` finds nothing among the values of a meta tensor, where the override says so."""
    import torch

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
