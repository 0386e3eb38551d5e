"""What a configuration says of element types → the model's, its weights', its cache's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculator.errors import InvalidInput, shown
from calculator.importers.hf_config.reader import Reader

_MODEL_DTYPES = {
    "float32": "fp32", "fp32": "fp32", "float": "fp32",
    "float16": "fp16", "fp16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "bf16": "bf16",
}  # fmt: skip
_CACHE_DTYPES = {
    "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "int8": "int8", "nvfp4": "nvfp4",
    "fp4": "nvfp4", "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16",
}  # fmt: skip
_CACHE_KEYS = ("kv_cache_scheme", "kv_cache_quant_algo")
_EXPERT_DTYPES = {"fp4": "mxfp4", "fp8": "fp8"}
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}


def model_dtype(r: Reader, outer: Mapping[str, Any]) -> str:
    """The type the model computes in; bf16, as an assumption, where the file has none."""
    for place, prefix in ((r.config, r.prefix), (outer, "")):
        for key in ("dtype", "torch_dtype"):
            value = place.get(key)
            if value is None or value == "auto":
                continue
            is_torch = type(value).__module__ == "torch"  # as a configuration object holds it
            text = str(value).removeprefix("torch.") if is_torch or isinstance(value, str) else ""
            if text not in _MODEL_DTYPES:
                raise InvalidInput(
                    f"{prefix}{key} is {shown(value)}; expected bfloat16, float16 or float32.",
                    field=key,
                )
            r.derived("dtype", prefix + key)
            return _MODEL_DTYPES[text]
    r.derived("dtype", "assumed")
    r.assume("The configuration names no dtype: bf16 is assumed.")
    return "bf16"


def cache_dtype(quantization: Mapping[str, Any]) -> str | None:
    """The cache's type, if the checkpoint's quantisation configuration names one."""
    for key, value in quantization.items():
        if "kv_cache" in str(key) and value and key not in _CACHE_KEYS:
            _refused(str(key), value)
    scheme = quantization.get("kv_cache_scheme")
    algo = quantization.get("kv_cache_quant_algo")
    if isinstance(scheme, Mapping):
        bits, kind = scheme.get("num_bits"), scheme.get("type")
        named = {(8, "float"): "fp8", (8, "int"): "int8", (4, "float"): "nvfp4"}
        for known, name in named.items():
            if known == (bits, kind):
                return name
        return _refused("kv_cache_scheme", scheme)
    found = scheme or algo
    if found is None:
        return None
    if isinstance(found, str) and found.lower() in _CACHE_DTYPES:
        return _CACHE_DTYPES[found.lower()]
    return _refused("kv_cache_scheme" if scheme else "kv_cache_quant_algo", found)


def _refused(key: str, value: object) -> str:
    raise InvalidInput(
        f"quantization_config.{key} is {shown(value)}; known cache types are fp8, int8 and nvfp4.",
        field=key,
    )


def weights_dtype(quantization: Mapping[str, Any], expert_dtype: object) -> str | None:
    """What most weights are stored in, where the quantisation configuration is unambiguous.

    DeepSeek-V4 keeps its experts, nearly all of it, in another type than its `quant_method`.
    """
    if expert_dtype is not None:
        return _EXPERT_DTYPES.get(expert_dtype) if isinstance(expert_dtype, str) else None
    method, algo = quantization.get("quant_method"), quantization.get("quant_algo")
    for named in (algo, method):
        if isinstance(named, str) and named.lower() in _METHODS:
            return _METHODS[named.lower()]
    bits = quantization.get("bits", quantization.get("w_bit"))
    if method in ("gptq", "awq") and bits == 4 and not isinstance(bits, bool):
        return "int4"
    if method == "bitsandbytes" and quantization.get("load_in_4bit") is True:
        return "int4"
    return _compressed_tensors_dtype(quantization)


def _compressed_tensors_dtype(quantization: Mapping[str, Any]) -> str | None:
    """compressed-tensors and ModelOpt: one type over all groups, or none is named."""
    groups = quantization.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        return None
    found = {_group_dtype(group) for group in groups.values()}
    return found.pop() if len(found) == 1 else None


def _group_dtype(group: object) -> str | None:
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping):
        return None
    bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    match (bits, kind):
        case (8, "float"):
            return "fp8"
        case (8, "int"):
            return "int8"
        case (4, "int"):
            return "int4"
        case (4, "float"):
            return {16: "nvfp4", 32: "mxfp4"}.get(size) if isinstance(size, int) else None
        case _:
            return None
