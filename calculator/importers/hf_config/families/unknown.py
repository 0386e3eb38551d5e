"""A model type nobody here has read, but whose keys are all of the plain attention kind."""

from __future__ import annotations

from calculator.errors import InvalidInput, UnsupportedModel
from calculator.importers.hf_config.layers import FULL, Layers, attention_heads, every_layer
from calculator.importers.hf_config.reader import Reader

PLAIN_KEYS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers",
    "num_attention_heads", "n_head", "n_heads", "num_heads",
    "num_key_value_heads", "head_dim", "hidden_size", "n_embd", "d_model",
)  # fmt: skip


def plain_attention(r: Reader) -> Layers:
    """Keys and values of every token in every layer, as an assumption."""
    try:
        num_layers = r.num_hidden_layers()
        heads = attention_heads(r)
    except InvalidInput as error:
        if "missing" not in str(error):
            raise
        raise UnsupportedModel(
            f"There is no rule for model type {r.model_type[:48]}, and its configuration has no "
            f"{error.field}.",
            field=error.field,
            model_type=r.model_type,
            keys_read=tuple(r.keys_read.items()),
        ) from None
    r.assume(
        f"Model type {r.model_type[:48]} is not known here; none of its keys can touch the cache, "
        "so every layer is taken to keep a key and a value of every token."
    )
    return every_layer(FULL, num_layers, heads.full())
