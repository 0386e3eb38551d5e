"""Speed of the core beside kvfit, one numpy multiplication and bare Python.

    python benchmarks/core.py        exit status 1 when a goal is missed

Needs kvfit and numpy: pip install -r requirements-dev.txt
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from kvfit.architectures import estimate_cache
from ratios import Ratio, best_in_turns, table

import calculator as kv

# google/gemma-3-27b-it, its 5:1 pattern written out as kvfit asks for
GEMMA = {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "num_hidden_layers": 62,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "hidden_size": 5376,
    "sliding_window": 1024,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10
    + ["sliding_attention"] * 2,
    "vocab_size": 262208,
    "torch_dtype": "bfloat16",
}
# openai/gpt-oss-20b: fewer layers to walk, so the harder goal
GPT_OSS = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_size": 2880,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "vocab_size": 201088,
    "torch_dtype": "bfloat16",
}
TOKENS = 131_072
BYTES = 11_173_625_856  # Gemma-3-27B: 10 full layers and 52 windows of 1,024, bf16


def estimate_ratio(name: str, config: dict[str, object]) -> Ratio:
    """`footprint` of Gemma-3-27B beside kvfit's estimate of `config`."""
    model, request = kv.load_model("gemma-3-27b"), kv.Request(seq_len=TOKENS)
    assert kv.footprint(model, request).num_bytes == BYTES
    assert sum(c.bytes for c in estimate_cache(GEMMA, context_tokens=TOKENS).components) == BYTES
    ours, theirs = best_in_turns(
        lambda: kv.footprint(model, request).num_bytes,
        lambda: estimate_cache(config, context_tokens=TOKENS),
        calls=500,
        rounds=9,
    )
    return Ratio("footprint of gemma-3-27b", ours, f"kvfit's estimate of {name}", theirs, 0.6)


def sweep_ratio() -> Ratio:
    """A table of 1,000 lengths × 1,000 batch sizes beside one multiplication of that shape."""
    model = kv.load_model("gemma-3-27b")
    lengths, batches = np.arange(1, 1001) * 131, np.arange(1, 1001)
    found = kv.sweep(model, seq_lens=lengths, batch_sizes=batches)
    request = kv.Request(seq_len=int(lengths[-1]), batch_size=1000)
    assert int(found[-1, -1]) == kv.footprint(model, request).num_bytes
    ours, theirs = best_in_turns(
        lambda: kv.sweep(model, seq_lens=lengths, batch_sizes=batches),
        lambda: np.multiply.outer(lengths, batches),
        calls=5,
        rounds=9,
    )
    return Ratio("sweep of 1,000 × 1,000", ours, "one numpy outer multiplication", theirs, 20)


def command_ratio() -> Ratio:
    """One estimate as a process beside a Python that does nothing."""
    command = ["-m", "calculator", "estimate", "llama-3-8b", "--context", "8192", "--json"]
    ours, theirs = best_in_turns(
        lambda: subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL),
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        calls=1,
        rounds=40,
    )
    return Ratio("kvcalc estimate … --json", ours, "python -c pass", theirs, 6)


def main() -> int:
    ratios = [
        estimate_ratio("the same model", GEMMA),
        estimate_ratio("gpt-oss-20b", GPT_OSS),
        sweep_ratio(),
        command_ratio(),
    ]
    print(table(ratios))
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
