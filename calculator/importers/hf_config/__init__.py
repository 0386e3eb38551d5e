"""A Hugging Face config.json → ModelSpec: exact, or refused by name; never a guess."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.importers.hf_config.dtypes import cache_dtype, model_dtype, weights_dtype
from calculator.importers.hf_config.layers import Layers
from calculator.importers.hf_config.reader import Reader
from calculator.importers.hf_config.registry import FAMILIES, class_defaults
from calculator.importers.hf_config.text_model import TextModel, text_model
from calculator.importers.hf_config.watch import touching_keys, touching_names
from calculator.layers import LayerCache
from calculator.model import ModelSpec, shortest_pattern
from calculator.units import MAX_TOKENS

UNKNOWN = "calculator.importers.hf_config.families.unknown:plain_attention"
REFUSED = "calculator.importers.hf_config.families.refused:refused"


def model_from_config(
    config: Mapping[str, Any], *, source: str = "", id: str = "", name: str = ""
) -> ModelSpec:
    """The model that a configuration describes.

    Raises UnsupportedModel for an unknown model type with keys that could touch the cache, and for
    a known one with such keys that its family does not understand; InvalidInput for a figure that
    is missing or cannot be right.

    >>> config = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    ...           "num_key_value_heads": 2, "hidden_size": 64, "torch_dtype": "float16"}
    >>> model_from_config(config).layer_groups[0].caches[0].head_dim
    16
    """
    text = text_model(checked_keys(config))
    r = Reader(text.config, text.model_type, class_defaults(text.model_type), text.prefix)
    layers = _layers(r, text)
    dtype = model_dtype(r, text.outer)
    if note := text.media_note():
        r.assume(note)
    quantization = text.quantization_config
    label = name or _label(config, source, text.model_type)
    return ModelSpec(
        id=id or label,
        name=label,
        model_type=text.outer_type,
        num_hidden_layers=len(layers.layer_types),
        layer_types=shortest_pattern(layers.layer_types),
        caches=_caches(layers),
        dtype=dtype,
        source=source,
        max_position_embeddings=_max_position_embeddings(r),
        weights_dtype=weights_dtype(quantization, text.config.get("expert_dtype")),
        kv_cache_dtype=cache_dtype(quantization),
        image_prefix=r.image_prefix,
        assumptions=tuple(r.assumptions),
        provenance=tuple(r.provenance.items()),
    )


def checked_keys(config: object) -> Mapping[str, Any]:
    """`config` if it is a mapping whose keys are text."""
    if not isinstance(config, Mapping) or not all(isinstance(key, str) for key in config):
        raise InvalidInput(
            f"The configuration is {shown(config)}; expected an object with text keys.",
            field="config",
        )
    return config


def _layers(r: Reader, text: TextModel) -> Layers:
    """The family's reading, refused if a key that could change the size was left unread."""
    family = FAMILIES.get(text.model_type, UNKNOWN)
    if FAMILIES.get(text.outer_type) == REFUSED:
        from calculator.importers.hf_config.families.refused import refused

        refused(r, text.outer_type)  # an assistant wraps a text model, but keeps nothing itself
    module, function = family.split(":")
    if family == UNKNOWN:
        _refuse_unknown(r, text)
    layers: Layers = getattr(import_module(module), function)(r)
    if family != UNKNOWN:
        _refuse_unread(r, text)
    return layers


def _caches(layers: Layers) -> tuple[tuple[str, tuple[LayerCache, ...]], ...]:
    """Types that keep nothing come first, as they do in a preset's file."""
    found = ((t, tuple(caches)) for t, caches in layers.caches.items())
    return tuple(sorted(found, key=lambda pair: bool(pair[1])))


def _refuse_unread(r: Reader, text: TextModel) -> None:
    unread = touching_keys(r) + touching_names(text.around())
    if unread:
        raise UnsupportedModel(
            f"{_listed(unread)} could change the size of the cache, and the rule for model type "
            f"{text.model_type} does not cover {'it' if len(unread) == 1 else 'them'}.",
            field=unread[0],
            model_type=text.outer_type,
            unknown_keys=unread,
            keys_read=tuple(r.keys_read.items()),
        )


def _refuse_unknown(r: Reader, text: TextModel) -> None:
    """An unknown type is read only if each of its keys is of the plain attention kind."""
    from calculator.importers.hf_config.families.unknown import PLAIN_KEYS

    read = tuple((k, r.config[k]) for k in PLAIN_KEYS if k in r.config)
    r.waive(*PLAIN_KEYS)
    unknown = touching_keys(r) + touching_names(text.around())
    r.waived.clear()
    if unknown:
        raise UnsupportedModel(
            f"There is no rule for model type {shown(text.model_type)}, and {len(unknown)} of its "
            f"keys could change the size of the cache: {_listed(unknown)}.",
            field="model_type",
            model_type=text.outer_type,
            unknown_keys=unknown,
            keys_read=read,
        )


def _listed(names: tuple[str, ...], limit: int = 8) -> str:
    cut = [shown(name, 48).strip("'") for name in names[:limit]]
    more = len(names) - limit
    return ", ".join(cut) + (f" and {more} more" if more > 0 else "")


def _label(config: Mapping[str, Any], source: str, model_type: str) -> str:
    """What to call a model nobody has named: the Hub name it carries, else its type."""
    given = config.get("_name_or_path")
    if isinstance(given, str) and 0 < len(given) <= 96 and given.isprintable():
        return given.strip("/").rsplit("/", 1)[-1] or model_type
    path = source.replace("\\", "/").removesuffix("/config.json").removesuffix(".json")
    if path != source and (last := path.rsplit("/", 1)[-1]) not in ("", ".", "..", "config"):
        return last[:96]
    return f"a {model_type[:48]} model"


def _max_position_embeddings(r: Reader) -> int | None:
    names = (
        "max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
        "max_sequence_length", "model_max_length", "n_ctx", "max_target_positions",
    )  # fmt: skip
    for name in names:
        if r.config.get(name) is not None:
            return r.named("max_position_embeddings", name, MAX_TOKENS)
    return None
