"""What single model types need for their code to run without weights: the table of tricks.

On purpose not the table of tests/conformance/transformers: a test shares no trick with what it
tests.
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
    Python loop goes over the tokens. `no_hits` lets searches among values (`nonzero`) find nothing,
    so that no token goes to any expert: the cache is not theirs. `unmeasured` is why the type
    cannot be run at all.
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
    unmeasured: str = ""


SEQ2SEQ = Override(auto_class="AutoModelForSeq2SeqLM", encoder="encoder_outputs")
# one step of a Python loop takes about a millisecond, in every layer
SCAN = Override(max_tokens=24)
# a loop over chunks of 64 tokens
CHUNKS = Override(max_tokens=8192)
NO_HITS = Override(no_hits=True)
ASSISTANT = Override(unmeasured="it reads the cache of the model it assists and keeps none")


def _codebooks(batch_size: int, seq_len: int) -> Any:
    import torch

    return torch.zeros((batch_size * 4, seq_len), dtype=torch.long)


def _all(model_types: str, override: Override) -> dict[str, Override]:
    return dict.fromkeys(model_types.split(), override)


OVERRIDES: Mapping[str, Override] = {
    # encoder-decoder types, given an encoder's output
    **_all("bart bigbird_pegasus blenderbot blenderbot-small marian mbart mt5 mvp", SEQ2SEQ),
    **_all("pegasus plbart prophetnet t5 umt5", SEQ2SEQ),
    "whisper": replace(SEQ2SEQ, auto_class="AutoModelForSpeechSeq2Seq"),
    "trocr": Override(encoder="encoder_hidden_states"),
    "musicgen": Override(
        encoder="encoder_hidden_states", text_part=True, inputs={"input_ids": _codebooks}
    ),
    "musicgen_melody": Override(text_part=True, inputs={"input_ids": _codebooks}),
    "mllama": Override(encoder="cross_attention_states"),
    "mllama_text_model": Override(encoder="cross_attention_states"),
    # loops where no kernel is installed
    **_all("mamba falcon_mamba jamba zamba rwkv xlstm", SCAN),
    **_all("qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text", CHUNKS),
    **_all("kimi_linear olmo_hybrid minimax", CHUNKS),
    # values are looked at, which a meta tensor does not have
    "longcat_flash": NO_HITS,
    "qwen4_exp": replace(NO_HITS, max_tokens=24),
    "qwen4_exp_text": replace(NO_HITS, max_tokens=24),
    "dbrx": NO_HITS,
    "xmod": NO_HITS,
    "jetmoe": Override(device="cpu"),
    "xlm": Override(device="cpu"),
    "xlnet": Override(device="cpu"),
    "reformer": Override(device="cpu"),
    # real values where a class has none
    "deepseek_v2": Override({"num_experts_per_tok": 6, "moe_intermediate_size": 1408}),
    "dots1": Override({"n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1}),
    # parts
    "gemma3n": Override(text_part=True),
    # what cannot be run
    "blt": Override(
        unmeasured="bytes are grouped into patches by what they say, so the size is the text's own"
    ),
    "gemma4_assistant": ASSISTANT,
    "gemma4_unified_assistant": ASSISTANT,
}


def override(model_type: str) -> Override:
    return OVERRIDES.get(model_type, Override())
