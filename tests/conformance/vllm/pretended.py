"""A machine without a GPU → one that vLLM takes for an NVIDIA H100, as far as its planner looks.

Weights are built on torch's meta device and no kernel ever runs: what is real is vLLM's choice of
backends, block sizes, specs of every layer, groups and pool. Compiled extensions are empty modules.
"""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

NAME = "NVIDIA H100 80GB HBM3"
MEMORY = 85_520_809_984
CAPABILITY = (9, 0)
EXTENSIONS = (
    "_C_stable_libtorch", "_moe_C_stable_libtorch", "_flashmla_C", "_flashmla_extension_C",
    "_deepselect_C", "_qutlass_C", "_flashkda_C", "cumem_allocator",
    "vllm_flash_attn._vllm_fa2_C", "vllm_flash_attn._vllm_fa3_C",
)  # fmt: skip


IMAGE_MODULES = (
    "torchvision", "torchvision.io", "torchvision.transforms", "torchvision.transforms.functional",
    "torchvision.transforms.v2", "torchvision.transforms.v2.functional",
)  # fmt: skip


class Anything:
    """Stands in for streams, events and drivers: every attribute is a function doing nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class ImageModule(types.ModuleType):
    """torchvision, which image models import and their text parts never call."""

    __path__: list[str] = []

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__, self.__version__ = ModuleSpec(name, None), "0.29.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Operator:
    """An operator that is there; its overloads too. Called, it says yes."""

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return True


class Properties:
    total_memory = MEMORY
    multi_processor_count = 132
    major, minor = CAPABILITY
    name = NAME


def pretend_hopper(devices: int) -> None:
    """Patches torch, triton and vLLM's platform, before the rest of vLLM is imported."""
    import torch

    cuda = torch.cuda
    cuda.get_device_capability = lambda *_: CAPABILITY
    cuda.get_device_name = lambda *_: NAME
    cuda.get_device_properties = lambda *_: Properties
    cuda.device_count = torch.accelerator.device_count = lambda: devices
    cuda.is_available = lambda: True
    cuda.current_device = lambda: torch.device("meta")
    cuda.set_device = lambda *_: None
    cuda.mem_get_info = lambda *_: (MEMORY, MEMORY)
    cuda.Stream = cuda.Event = Anything
    cuda.current_stream = cuda.default_stream = lambda *_: Anything()
    for name in EXTENSIONS:
        sys.modules[f"vllm.{name}"] = types.ModuleType(f"vllm.{name}")
    for name in IMAGE_MODULES:
        sys.modules[name] = module = ImageModule(name)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    _pretend_triton()
    _pretend_platform(devices)


def _pretend_triton() -> None:
    import triton.runtime
    from triton.backends.compiler import GPUTarget

    class Utils:
        @staticmethod
        def get_device_properties(*_: Any) -> dict[str, int]:
            return {
                "multiprocessor_count": 132, "max_shared_mem": 232_448, "max_num_regs": 65_536,
                "warpSize": 32,
            }  # fmt: skip

    class Driver(Anything):
        utils = Utils

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 10 * CAPABILITY[0] + CAPABILITY[1], 32)

        def get_current_device(self) -> int:
            return 0

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cuda", 0)

    triton.runtime.driver.set_active(Driver())


def _pretend_platform(devices: int) -> None:
    import vllm.platforms as platforms
    from vllm.platforms.cuda import NonNvmlCudaPlatform
    from vllm.platforms.interface import DeviceCapability

    class Hopper(NonNvmlCudaPlatform):
        @classmethod
        def device_count(cls) -> int:
            return devices

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> DeviceCapability:
            return DeviceCapability(*CAPABILITY)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return NAME

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return MEMORY

    platforms._current_platform = platforms.current_platform = Hopper()
    import vllm.model_executor.models.registry as registry

    registry._run_in_subprocess = lambda inspect: inspect()  # a child would not pretend


def pretend_operators(every: bool) -> None:
    """Operators of the empty extensions that say what is supported say yes; later all do."""
    import torch

    namespace = torch._ops._OpNamespace
    real = namespace.__getattr__

    def found(self: Any, name: str) -> Any:
        try:
            return real(self, name)
        except AttributeError:
            if name.startswith("__") or not (every or "support" in name):
                raise
            return Operator()

    namespace.__getattr__ = found


def pretend_deep_gemm() -> None:
    """Sparse attention asks for DeepGEMM and a workspace when made; its cache needs neither."""
    import vllm.model_executor.layers.sparse_attn_indexer as indexer
    import vllm.v1.attention.backends.mla.flashmla_sparse as flashmla_sparse

    indexer.has_deep_gemm = lambda: True
    flashmla_sparse.current_workspace_manager = Anything


def on_meta() -> Any:
    """While it lasts, what asks for a CUDA device gets a tensor without storage."""
    import torch
    from torch.overrides import TorchFunctionMode

    def meta(value: Any) -> Any:
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("meta")
        return "meta" if isinstance(value, str) and value.startswith("cuda") else value

    class OnMeta(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            device = kwargs.get("device")
            if device is not None and (isinstance(device, int) or "cuda" in str(device)):
                kwargs["device"] = "meta"
            return func(*map(meta, args), **kwargs)

    return OnMeta()
