"""A header-only GGUF file and options → the bytes llama.cpp gives the cache, or why it refuses.

The library is the one inside the `xllamacpp` wheel, called through ctypes. A model is built from
metadata alone (`llama_model_init_from_user`, as llama.cpp's tests/test-llama-archs.cpp does); with
`no_alloc` weights, keys and values get sizes and no memory. Exact bytes come from the C++ methods
that its log lines round.
"""

from __future__ import annotations

import ctypes as c
import glob
import importlib.util
import os
import re
from typing import Any

Pointer = c.c_void_p
TYPES = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20,
    "bf16": 30,
}  # fmt: skip
LogCallback = c.CFUNCTYPE(None, c.c_int, c.c_char_p, Pointer)
TensorCallback = c.CFUNCTYPE(None, Pointer, Pointer)

# include/llama.h:llama_model_params, llama_context_params
_MODEL_FIELDS = (
    "devices:p tensor_buft_overrides:p n_gpu_layers:i split_mode:i load_mode:i lazy_mode:i "
    "main_gpu:i tensor_split:p progress_callback:p progress_user:p kv_overrides:p vocab_only:b "
    "check_tensors:b use_extra_bufts:b no_host:b no_alloc:b load_mtp:b"
)
_CONTEXT_FIELDS = (
    "n_ctx:u n_batch:u n_ubatch:u n_seq_max:u n_rs_seq:u n_outputs_max:u n_outputs_max_per_seq:u "
    "n_threads:i n_threads_batch:i ctx_type:i rope_scaling_type:i pooling_type:i attention_type:i "
    "flash_attn_type:i rope_freq_base:f rope_freq_scale:f yarn_ext_factor:f yarn_attn_factor:f "
    "yarn_beta_fast:f yarn_beta_slow:f yarn_orig_ctx:u defrag_thold:f cb_eval:p cb_eval_user:p "
    "type_k:i type_v:i abort_callback:p abort_user:p {later}embeddings:b offload_kqv:b no_perf:b "
    "op_offload:b swa_full:b kv_unified:b samplers:p n_samplers:q ctx_other:p slack:q"
)
_C_TYPES = {
    "p": Pointer, "i": c.c_int32, "u": c.c_uint32, "f": c.c_float, "b": c.c_bool, "q": c.c_uint64,
}  # fmt: skip
_DEFAULT_BOOLS = {
    "embeddings": False, "offload_kqv": True, "no_perf": True, "op_offload": True,
    "swa_full": True, "kv_unified": False,
}  # fmt: skip
# which methods of a memory class lead to the caches it is made of, and which count bytes
_PARTS = {
    "llama_kv_cache_iswa": ("get_base", "get_swa"),
    "llama_kv_cache_dsa": ("get_mla", "get_lid"),
    "llama_kv_cache_msa": ("get_base", "get_idx"),
    "llama_kv_cache_dsv4": (
        "get_raw", "get_csa", "get_hca", "get_lid",
        "get_csa_state", "get_hca_state", "get_lid_state",
    ),
    "llama_memory_hybrid": ("get_mem_attn", "get_mem_recr"),
    "llama_memory_hybrid_iswa": ("get_mem_attn", "get_mem_recr"),
}  # fmt: skip
# llama_dsv4_comp_state has no virtual methods, so no run-time type
_PART_CLASS = dict.fromkeys(
    ("get_csa_state", "get_hca_state", "get_lid_state"), "llama_dsv4_comp_state"
)
_SIZES = {
    "llama_kv_cache": ("size_k_bytes", "size_v_bytes"),
    "llama_memory_recurrent": ("size_r_bytes", "size_s_bytes", "size_p_bytes"),
    "llama_dsv4_comp_state": ("total_size",),
}


_CACHE_LINE = re.compile(
    r"llama_(kv_cache|memory|dsv4)\w*: (creating |size = |\w+ ratio = | *\S+ .*buffer size = )"
)


class Refused(Exception):
    """llama.cpp made no context, with its reason."""


def _struct(name: str, layout: str) -> Any:
    fields = [(f, _C_TYPES[t]) for f, t in (word.split(":") for word in layout.split())]
    return type(name, (c.Structure,), {"_fields_": fields})


ModelParams = _struct("ModelParams", _MODEL_FIELDS)


def path_of_library() -> str | None:
    """The shared library inside the wheel, None where it is not installed."""
    found = importlib.util.find_spec("xllamacpp")
    if found is None or found.origin is None:
        return None
    return next(iter(glob.glob(os.path.join(os.path.dirname(found.origin), "xllamacpp*.so"))), None)


class LlamaCppLibrary:
    """One loaded library with one model; a failed assertion in it ends the process."""

    def __init__(self, path: str):
        self.lib = c.CDLL(path)
        self.log: list[str] = []
        self._log = LogCallback(
            lambda level, text, user: self.log.append(text.decode(errors="replace"))
        )
        self._no_weights = TensorCallback(lambda tensor, user: None)
        self.lib.llama_log_set(self._log, None)
        self.lib.llama_model_default_params.restype = ModelParams
        self.context_params = self._context_params()
        self._declare()

    def _context_params(self) -> Any:
        """The layout whose defaults read right; it changed between builds."""
        for later in ("", "later:q "):
            layout = _struct("ContextParams", _CONTEXT_FIELDS.format(later=later))
            self.lib.llama_context_default_params.restype = layout
            d = self.lib.llama_context_default_params()
            numbers = (d.n_ctx, d.n_batch, d.n_ubatch, d.n_seq_max, d.type_k, d.type_v)
            bools = all(getattr(d, name) == value for name, value in _DEFAULT_BOOLS.items())
            if bools and numbers == (512, 2048, 512, 1, 1, 1):
                return layout
        raise RuntimeError("the layout of llama_context_params is not one of those known")

    def _declare(self) -> None:
        class GgufParams(c.Structure):
            _fields_ = [("no_alloc", c.c_bool), ("ctx", Pointer)]

        self.gguf_params = GgufParams
        signatures = {
            "gguf_init_from_file": (Pointer, [c.c_char_p, GgufParams]),
            "llama_model_init_from_user": (
                Pointer,
                [Pointer, TensorCallback, Pointer, ModelParams],
            ),
            "llama_init_from_model": (Pointer, [Pointer, self.context_params]),
            "llama_get_memory": (Pointer, [Pointer]),
            "llama_free": (None, [Pointer]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments

    def model(self, path: str, *, no_alloc: bool = True) -> int:
        header = self.lib.gguf_init_from_file(path.encode(), self.gguf_params(True, None))
        params = self.lib.llama_model_default_params()
        params.n_gpu_layers, params.no_alloc = 0, no_alloc
        self.log.clear()
        found = self.lib.llama_model_init_from_user(header, self._no_weights, None, params)
        if not found:
            raise Refused(self._reason())
        return int(found)

    def cache_bytes(self, model: int, options: dict[str, Any]) -> int:
        """Bytes of all tensors of the memory that a context with these options has; logs lines."""
        params = self.lib.llama_context_default_params()
        for name in ("n_ctx", "n_seq_max", "n_batch", "n_ubatch", "swa_full", "kv_unified"):
            setattr(params, name, options[name])
        params.type_k, params.type_v = TYPES[options["type_k"]], TYPES[options["type_v"]]
        params.flash_attn_type = int(options["flash_attn"])
        params.offload_kqv = False
        self.log.clear()
        context = self.lib.llama_init_from_model(model, params)
        if not context:
            raise Refused(self._reason())
        total = self._bytes(self.lib.llama_get_memory(context))
        self.lib.llama_free(context)
        return total

    def cache_lines(self) -> list[str]:
        """What the last context said of the sizes of its caches."""
        lines = "".join(self.log).splitlines()
        return [line for line in lines if _CACHE_LINE.match(line)]

    def _bytes(self, memory: int, cls: str = "") -> int:
        cls = cls or self._class(memory)
        if cls in _SIZES:
            return sum(self._call(cls, name, memory, c.c_size_t) for name in _SIZES[cls])
        parts = _PARTS[cls]
        found = [
            (self._call(cls, name, memory, Pointer), _PART_CLASS.get(name, "")) for name in parts
        ]
        return sum(self._bytes(part, part_class) for part, part_class in found)

    def _call(self, cls: str, name: str, this: int, result: Any) -> int:
        """A const method without arguments, by its mangled name (Itanium C++ ABI)."""
        method = getattr(self.lib, f"_ZNK{len(cls)}{cls}{len(name)}{name}Ev")
        method.restype, method.argtypes = result, [Pointer]
        return int(method(this))

    @staticmethod
    def _class(this: int) -> str:
        """The run-time class of an object, from the type information before its method table."""
        table = c.cast(this, c.POINTER(Pointer))[0]
        info = c.cast(table - 8, c.POINTER(Pointer))[0]
        name = c.cast(c.cast(info + 8, c.POINTER(Pointer))[0], c.c_char_p).value
        return re.sub(r"^\d+", "", (name or b"").decode())

    def _reason(self) -> str:
        lines = "".join(self.log).strip().splitlines()
        return lines[-1].split(": ", 1)[-1] if lines else "no reason given"
