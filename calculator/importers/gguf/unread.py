"""Keys of a GGUF file that no rule has read → those that could change the size of the cache."""

from __future__ import annotations

import re

from calculator.errors import UnsupportedModel, shown
from calculator.importers.gguf.metadata import Metadata

_TOUCHES = re.compile(
    r"^(attention|ssm|wkv|kda|shortconv|hrm|ple)\.|window|swa|(^|[._])kv([._]|$)|cache|recurr"
    r"|indexer|compress|loop|full_attention|share|token_shift"
)
_HARMLESS = re.compile(
    r"rope\..*|expert.*|interleave.*|attention\.("
    r"layer_norm_epsilon|layer_norm_rms_epsilon|group_norm_epsilon|group_norm_groups|causal"
    r"|clamp_kqv|max_alibi_bias|q_lora_rank|decay_lora_rank|iclr_lora_rank|gate_lora_rank"
    r"|value_residual_mix_lora_rank|relative_buckets_count|scale|output_scale|output_gate"
    r"|temperature_length|temperature_scale|value_scale|head_count|indexer\.head_count"
    r"|indexer\.top_k|indexer\.block_size|indexer\.local_blocks|output_group_count"
    r"|output_lora_rank|compress_rope_freq_base|rope_pattern|recurrent_layers"
    r"|(key|value)_length(_swa)?)"
    r"|ssm\.(time_step_rank|dt_b_c_rms)|kda\.(safe_gate|gate_lower_bound)|hrm\..*"
)


def refuse_unread(m: Metadata) -> None:
    """Refuse a file with a key of its architecture that could matter and that nothing read."""
    prefix = f"{m.architecture}."
    unread = tuple(
        name
        for name, value in m.values.items()
        if name.startswith(prefix)
        and name not in m.read
        and value not in (0, False, ())
        and _TOUCHES.search(name.removeprefix(prefix))
        and not _HARMLESS.fullmatch(name.removeprefix(prefix))
    )
    if unread:
        raise UnsupportedModel(
            f"{', '.join(shown(name).strip(chr(39)) for name in unread[:4])} could change the size "
            f"of the cache, and the rule for architecture {m.architecture} does not cover "
            f"{'it' if len(unread) == 1 else 'them'}.",
            field="model",
            model_type=m.architecture,
            unknown_keys=unread,
            keys_read=tuple(m.read.items()),
        )
