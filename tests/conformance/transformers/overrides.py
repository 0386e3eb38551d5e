"""What single model types need to run at all: the one table of special handling.

On purpose not the table of calculator/verify: a test shares no trick with what it tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Override:
    """Special handling of a type; the defaults are no special handling.

    `config` are real values where a class's own defaults do not run. `text_part` builds the model
    from the text part of a composite configuration, which the causal class expects. `encoder`
    names the argument that takes the encoder's output. `max_tokens` keeps prompts short where a
    Python loop goes over the tokens, or a table of positions ends. `unmeasured` is why the type
    cannot be run at all. `no_hits` lets searches among values (`nonzero`) find nothing, so
    that no token goes to any expert: the cache is not theirs.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    device: str = "meta"
    attention: str = "eager"
    auto_class: str = "AutoModelForCausalLM"
    text_part: bool = False
    encoder: str = ""
    max_tokens: int = 2**20
    inputs: Mapping[str, Callable[[int, int], Any]] = field(default_factory=dict)
    no_hits: bool = False
    only_dtype: str = ""
    unmeasured: str = ""


SEQ2SEQ = Override(auto_class="AutoModelForSeq2SeqLM", encoder="encoder_outputs")
SCAN = Override(max_tokens=24)
NO_PADDING = Override({"pad_token_id": None})
NO_HITS = Override(no_hits=True)
QSA = Override(
    {
        "indexer_n_heads": 8,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 256,
        "indexer_budget": 1024,
        "indexer_compress_ratio": 4,
    },
    no_hits=True,
    max_tokens=24,
)


def _codebooks(batch_size: int, seq_len: int) -> Any:
    import torch

    return torch.zeros((batch_size * 4, seq_len), dtype=torch.long)


OVERRIDES: Mapping[str, Override] = {
    # encoder-decoder types, given an encoder's output
    "bart": SEQ2SEQ,
    "bigbird_pegasus": SEQ2SEQ,
    "blenderbot": SEQ2SEQ,
    "blenderbot-small": SEQ2SEQ,
    "marian": SEQ2SEQ,
    "mbart": SEQ2SEQ,
    "mvp": SEQ2SEQ,
    "pegasus": SEQ2SEQ,
    "plbart": SEQ2SEQ,
    "prophetnet": SEQ2SEQ,
    "whisper": replace(SEQ2SEQ, auto_class="AutoModelForSpeechSeq2Seq"),
    "trocr": Override(encoder="encoder_hidden_states"),
    "musicgen": Override(
        encoder="encoder_hidden_states", text_part=True, inputs={"input_ids": _codebooks}
    ),
    "musicgen_melody": Override(text_part=True, inputs={"input_ids": _codebooks}),
    "mllama": Override(encoder="cross_attention_states"),
    # a Python loop over the tokens where no kernel is installed
    "mamba": SCAN,
    "falcon_mamba": SCAN,
    "jamba": SCAN,
    "recurrent_gemma": SCAN,
    "zamba": SCAN,
    "rwkv": SCAN,
    "xlstm": SCAN,
    # values are looked at
    "big_bird": NO_PADDING,
    "megatron-bert": NO_PADDING,
    "rembert": NO_PADDING,
    "roformer": NO_PADDING,
    "longcat_flash": NO_HITS,
    "jetmoe": Override(device="cpu"),
    "qwen4_exp": QSA,
    "qwen4_exp_text": QSA,
    "xlm": Override(device="cpu"),
    # real values where a class has none
    "bamba": Override({"attn_layer_indices": [9, 18, 27]}),
    "granitemoehybrid": Override(
        {"layer_types": ["linear_attention"] * 5 + ["full_attention"] + ["linear_attention"] * 26}
    ),
    "cohere_compass_text": Override(
        {
            "rope_parameters": {
                t: {"rope_type": "default", "rope_theta": 10000.0}
                for t in ("full_attention", "sliding_attention")
            }
        }
    ),
    "dbrx": Override(
        {"attn_config": {"kv_n_heads": 8, "rope_theta": 5e5, "clip_qkv": 8}}, no_hits=True
    ),
    "deepseek_v2": Override({"num_experts_per_tok": 6, "moe_intermediate_size": 1408}),
    "dots1": Override({"n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1}),
    "hunyuan_v1_dense": Override({"head_dim": 128}),
    "hunyuan_v1_moe": Override({"head_dim": 128}),
    "ministral": Override({"head_dim": 128, "num_key_value_heads": 8}),
    "nemotron": Override({"num_key_value_heads": 8}),
    "lfm2_moe": Override(
        {"layer_types": (["conv"] * 2 + ["full_attention"] + ["conv"] * 3) * 5 + ["conv"] * 2}
    ),
    "reformer": Override({"is_decoder": True}, device="cpu", only_dtype="float32"),
    "xmod": Override({"default_language": "en_XX"}, no_hits=True),
    "xlnet": Override(device="cpu", only_dtype="float32"),
    # parts
    "gemma3n": Override(text_part=True),
    # what cannot be run
    "blt": Override(
        unmeasured="bytes are grouped into patches by what they say, so the size is the text's own"
    ),
    "gemma4_assistant": Override(
        unmeasured="it reads the cache of the model it assists and keeps none"
    ),
    "gemma4_unified_assistant": Override(
        unmeasured="it reads the cache of the model it assists and keeps none"
    ),
}


def override(model_type: str) -> Override:
    return OVERRIDES.get(model_type, Override())
