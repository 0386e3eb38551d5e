"""A configuration and flags → what vLLM's own planner makes of them, as one line of JSON.

`python -m tests.conformance.vllm.planner CASE.json`, in an environment that has vLLM; a case is
{"config": {...}, "flags": {...}, "tp": n, "pp": n, "available_bytes": n}.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.conformance.vllm.pretended import (
    on_meta,
    pretend_deep_gemm,
    pretend_hopper,
    pretend_operators,
)

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_KIMI_K3_GEMM_AR": "0",
}  # fmt: skip


def planned(case: dict[str, Any]) -> dict[str, Any]:
    """Blocks, tokens, concurrency and groups for a case."""
    os.environ.update(ENVIRONMENT)
    ranks, stages = case["tp"], case.get("pp", 1)
    pretend_hopper(ranks * stages)
    pretend_operators(every=False)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(case["config"]))
        config = _engine_config(folder, case["flags"], ranks, stages)
        return _plan(config, ranks, stages, case["available_bytes"])


def _engine_config(folder: str, flags: dict[str, Any], ranks: int, stages: int) -> Any:
    from vllm.engine.arg_utils import EngineArgs
    from vllm.usage.usage_lib import UsageContext

    arguments = EngineArgs(
        model=folder, load_format="dummy", skip_tokenizer_init=True, enforce_eager=True,
        tensor_parallel_size=ranks, pipeline_parallel_size=stages,
        distributed_executor_backend="mp" if ranks * stages > 1 else None, **flags,
    )  # fmt: skip
    return arguments.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)


def _plan(config: Any, ranks: int, stages: int, available_bytes: int) -> dict[str, Any]:
    from vllm.config import set_current_vllm_config
    from vllm.v1.attention.backends.utils import resolve_kv_cache_layout
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.core import kv_cache_utils
    from vllm.v1.engine.core import register_all_kvcache_specs
    from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
    from vllm.v1.worker.worker_base import WorkerBase

    with set_current_vllm_config(config):
        _pretend_ranks(config, ranks, stages)
        pretend_operators(every=True)
        pretend_deep_gemm()
        specs, layouts, backends = [], [], {}
        for stage in range(stages):
            _build(config, stage)
            specs.append(get_kv_cache_spec(config))
            worker = type("Worker", (), {"vllm_config": config})
            layouts.append(WorkerBase.get_supported_kv_cache_layouts(worker))
            backends |= _backends(config)
        register_all_kvcache_specs(config)
        resolve_kv_cache_layout(config, layouts, [s for of in specs for s in of.values()])
        groups = planning.get_global_kv_cache_groups(config, specs)
        found = planning.get_kv_cache_configs(config, specs, [available_bytes] * stages, groups)
        scheduler = kv_cache_utils.generate_scheduler_kv_cache_config(found)
        tokens, concurrency = kv_cache_utils.get_kv_cache_capacity(config, scheduler)
    return {
        "num_blocks": scheduler.num_blocks,
        "num_tokens": tokens,
        "max_concurrency": concurrency,
        "allocated_bytes": [max(t.size for t in of.kv_cache_tensors) for of in found],
        "block_size": config.cache_config.block_size,
        "max_model_len": config.model_config.max_model_len,
        "in_flight_tokens": config.max_in_flight_tokens,
        "backends": sorted(set(backends.values())),
        "groups": [_group(g, config) for g in groups],
    }


def _pretend_ranks(config: Any, ranks: int, stages: int) -> None:
    """One process that takes itself for the first of all ranks."""
    from vllm.distributed import parallel_state

    parallel = config.parallel_config
    parallel.tensor_parallel_size = parallel.pipeline_parallel_size = parallel.world_size = 1
    context, parallel.decode_context_parallel_size = parallel.decode_context_parallel_size, 1
    file = f"file://{tempfile.mktemp()}"
    parallel_state.init_distributed_environment(1, 0, file, 0, backend="gloo")
    parallel_state.initialize_model_parallel(1, 1)
    parallel.tensor_parallel_size, parallel.pipeline_parallel_size = ranks, stages
    parallel.world_size = ranks * stages
    parallel.decode_context_parallel_size = context
    parallel_state.get_tp_group().world_size = ranks
    parallel_state.get_dcp_group().world_size = context


def _build(config: Any, stage: int) -> None:
    """The layers of one stage, on the meta device, and their block size."""
    import torch
    from vllm.distributed import parallel_state
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.platforms import current_platform
    from vllm.utils.torch_utils import set_default_torch_dtype

    group = parallel_state.get_pp_group()
    group.world_size = config.parallel_config.pipeline_parallel_size
    group.rank_in_group = stage
    group.ranks = list(range(group.world_size))
    group.rank = stage
    config.compilation_config.static_forward_context.clear()
    dtype = config.model_config.dtype
    with set_default_torch_dtype(dtype), torch.device("meta"), on_meta():
        initialize_model(vllm_config=config)
    type(current_platform).update_block_size_for_backend(config)


def _backends(config: Any) -> dict[str, str]:
    layers = config.compilation_config.static_forward_context
    return {
        name: layer.get_attn_backend().__name__
        for name, layer in layers.items()
        if hasattr(layer, "get_attn_backend")
    }


def _group(group: Any, config: Any) -> dict[str, Any]:
    spec = group.kv_cache_spec
    return {
        "spec": type(spec).__name__,
        "layers": len(group.layer_names),
        "block_size": spec.block_size,
        "page_bytes": spec.page_size_bytes,
        "request_bytes": spec.max_memory_usage_bytes(config),
    }


if __name__ == "__main__":
    print("RESULT", json.dumps(planned(json.loads(Path(sys.argv[1]).read_text()))))
