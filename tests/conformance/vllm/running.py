"""vLLM's own block manager, a request decoded token by token → the blocks it holds at some lengths.

`python -m tests.conformance.vllm.running` in an environment that has vLLM prints what
`recorded_running.json` holds: for every spec, [tokens, blocks held] while the last is computed.
"""

from __future__ import annotations

import json
from typing import Any

LENGTHS = (
    1,
    2,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    129,
    130,
    160,
    161,
    191,
    192,
    193,
    257,
)
BLOCK = 16
SPECS: tuple[dict[str, Any], ...] = (
    {"rule": "full"},
    *({"rule": "sliding", "reach": window} for window in (1, 2, 16, 17, 40, 64, 128)),
    *({"rule": "chunked", "reach": chunk} for chunk in (32, 64, 128)),
    {"rule": "state", "mode": "none"},
    {"rule": "state", "mode": "align"},
    # DeepSeek-V4's window and open groups, in blocks of their own
    {"rule": "sliding", "reach": 128, "block_size": 64, "latent": True},
    {"rule": "sliding", "reach": 8, "block_size": 4, "latent": True},
    {"rule": "sliding", "reach": 128, "block_size": 8, "latent": True},
    {"rule": "full", "context_ranks": 4},
)


def main() -> None:
    from tests.conformance.vllm.pretended import pretend_hopper

    pretend_hopper(1)
    found = [{**spec, "held": held(spec)} for spec in SPECS]
    print(json.dumps({"vllm": "0.33.0", "block_size": BLOCK, "specs": found}))


def held(asked: dict[str, Any]) -> list[tuple[int, int]]:
    """The request's blocks that are not the null block, after each of `LENGTHS` is scheduled."""
    from vllm.sampling_params import SamplingParams
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.kv_cache_interface import KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.request import Request

    spec = spec_of(asked)
    config = KVCacheConfig(1000, [], [KVCacheGroupSpec(["layer"], spec)])
    ranks = asked.get("context_ranks", 1)
    manager = KVCacheManager(
        config, max_model_len=1024, scheduler_block_size=spec.block_size * ranks,
        hash_block_size=spec.block_size * ranks, enable_caching=asked.get("mode") == "align",
        dcp_world_size=ranks,
    )  # fmt: skip
    request = Request("r", [1], SamplingParams(max_tokens=1000), None, block_hasher=lambda _: [])
    result = []
    for length in range(1, max(LENGTHS) + 1):
        manager.new_step_starts()
        assert manager.allocate_slots(request, 1) is not None
        (blocks,) = manager.get_blocks("r").blocks
        if length in LENGTHS:
            result.append((length, sum(not block.is_null for block in blocks)))
        request.num_computed_tokens = length
        request.append_output_token_ids(1)
    return result


def spec_of(asked: dict[str, Any]) -> Any:
    import torch
    from vllm.v1 import kv_cache_interface as specs

    block = asked.get("block_size", BLOCK)
    heads = {"block_size": block, "num_kv_heads": 1, "head_size": 8, "dtype": torch.bfloat16}
    match asked["rule"]:
        case "full":
            return specs.FullAttentionSpec(**heads)
        case "sliding":
            kind = specs.SlidingWindowMLASpec if "latent" in asked else specs.SlidingWindowSpec
            return kind(**heads, sliding_window=asked["reach"])
        case "chunked":
            return specs.ChunkedLocalAttentionSpec(**heads, attention_chunk_size=asked["reach"])
    block = BLOCK if asked["mode"] == "align" else 1024
    return specs.MambaSpec(
        block, shapes=((8,),), dtypes=(torch.float32,), mamba_cache_mode=asked["mode"]
    )


if __name__ == "__main__":
    main()
