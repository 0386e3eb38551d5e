"""vLLM's cache types → the tensors a layer's cache becomes, scales included."""

from __future__ import annotations

from calculator.dtypes import DTYPES, Dtype
from calculator.errors import InvalidInput, UnsupportedModel, shown
from calculator.layers.attention import FullAttention
from calculator.layers.cross import CrossAttention
from calculator.layers.latent import LatentAttention, SparseIndexer
from calculator.layers.windows import ChunkedAttention, SlidingAttention
from calculator.tensors import EveryToken, Growth, StateTensor

AttentionCache = FullAttention | SlidingAttention | ChunkedAttention | CrossAttention
FP32, BF16, FP8 = DTYPES["fp32"], DTYPES["bf16"], DTYPES["fp8"]

# `--kv-cache-dtype` → our name of it (config/cache.py:CacheDType)
FLAGS = {
    "bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16",
    "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8",
    "nvfp4": "nvfp4", "nvfp4_4over6": "nvfp4",
    "int8_per_token_head": "int8_per_token_head",
    "fp8_per_token_head": "fp8_per_token_head",
    "int4_per_token_head": "int4_per_token_head",
    "fp8_ds_mla": "fp8_ds_mla", "nvfp4_ds_mla": "nvfp4_ds_mla",
}  # fmt: skip
SIXTEEN_BIT = ("float16", "bfloat16")
_SHORT = {FLAGS[name]: name for name in SIXTEEN_BIT}
PER_TOKEN_HEAD = {
    "int8_per_token_head": DTYPES["int8"],
    "fp8_per_token_head": DTYPES["fp8"],
    "int4_per_token_head": DTYPES["int4"],
}
DS_MLA = ("fp8_ds_mla", "nvfp4_ds_mla")
_NOT_COMPUTED = ("turboquant_", "octave_", "ultraquant_")


def cache_format(flag: object, *, field: str = "kv_cache_dtype") -> str | None:
    """Our name of a `--kv-cache-dtype`, None for auto.

    >>> cache_format("fp8_e5m2"), cache_format("auto"), cache_format("bfloat16")
    ('fp8', None, 'bf16')
    """
    if flag is None or flag == "auto":
        return None
    if not isinstance(flag, str) or flag not in FLAGS:
        later = isinstance(flag, str) and flag.startswith(_NOT_COMPUTED)
        raise InvalidInput(
            f"{field} is {shown(flag)}{', whose slots are not computed yet' if later else ''}; "
            f"vLLM's types here are auto, {', '.join(FLAGS)}.",
            field=field,
        )
    return FLAGS[flag]


def one_for_both(key: str | None, value: str | None) -> str | None:
    """What a request asks of keys and values, which vLLM stores in one type; None is auto."""
    if key == value:
        return key
    field, asked, rest = ("key", key, value) if key else ("value", value, key)
    other = "value" if key else "key"
    raise InvalidInput(
        f"{field}_dtype is {asked} and the {other}s' is {rest or 'auto'}; vLLM has one type for "
        "both, --kv-cache-dtype.",
        field=f"{field}_dtype",
    )


def spelled(flag: str, cache_type: str) -> str:
    """vLLM's name of a cache type: of the flag that was given, else of the type decided on.

    >>> spelled("fp8_e5m2", "fp8"), spelled("fp16", "fp16"), spelled("auto", "bf16")
    ('fp8_e5m2', 'float16', 'bfloat16')
    """
    name = cache_type if flag == "auto" else flag
    return _SHORT.get(name, name)


def attention_tensors(cache: AttentionCache, growth: Growth, name: str) -> tuple[StateTensor, ...]:
    """Keys and values of one type; with scales an fp32 for each token and head of both.

    nvfp4 stores half a byte an element and an fp8 scale for every 16
    (`utils/nvfp4_utils.py:nvfp4_kv_cache_full_dim`), per-token-head types one fp32 a side
    (`triton_attn.py:TritonAttentionBackend.customize_spec`).
    """
    kept = tuple(t._replace(growth=growth) for t in cache.tensors())
    if name == "nvfp4" and any(t.width % 16 for t in kept):
        raise InvalidInput(
            f"kv_cache_dtype is nvfp4; head_dim {kept[0].width} is no multiple of its 16 elements.",
            field="kv_cache_dtype",
        )
    if name not in PER_TOKEN_HEAD:
        return tuple(t._replace(dtype=DTYPES[name]) for t in kept)
    data = tuple(t._replace(dtype=PER_TOKEN_HEAD[name]) for t in kept)
    scales = tuple(StateTensor(f"{t.name} scale", t.heads, 1, growth, FP32) for t in kept)
    return (*data, *scales)


def latent_tensors(cache: LatentAttention, name: str) -> tuple[StateTensor, ...]:
    """MLA: latent and rope key of one type, or one of DeepSeek's packed rows.

    fp8_ds_mla: 512 fp8 + 4 fp32 scales + 64 bf16 = 656 B; nvfp4_ds_mla: 512 nvfp4 + 64 fp8 = 352 B
    (`mla_attention.py:MLAAttention.get_kv_cache_spec`, `flashmla_sparse.py`).
    """
    if name == "nvfp4":
        raise InvalidInput(
            "kv_cache_dtype is nvfp4; vLLM refuses it for latent attention "
            "(config/vllm.py:validate_nvfp4_kv_cache_with_mla). Use fp8 or nvfp4_ds_mla.",
            field="kv_cache_dtype",
        )
    if name in DS_MLA:
        return _packed_row(cache, name)
    if name in PER_TOKEN_HEAD:
        dtype = PER_TOKEN_HEAD[name]
        scale = StateTensor("latent scales", 1, 2, EveryToken(), FP32)
        return (*(t._replace(dtype=dtype) for t in cache.tensors()), scale)
    return tuple(t._replace(dtype=DTYPES[name]) for t in cache.tensors())


def _packed_row(cache: LatentAttention, name: str) -> tuple[StateTensor, ...]:
    if (cache.kv_lora_rank, cache.qk_rope_head_dim) != (512, 64):
        raise UnsupportedModel(
            f"kv_cache_dtype is {name}, a row for kv_lora_rank 512 and qk_rope_head_dim 64; this "
            f"model has {cache.kv_lora_rank} and {cache.qk_rope_head_dim}.",
            field="kv_cache_dtype",
        )
    every = EveryToken()
    if name == "fp8_ds_mla":
        return (
            StateTensor("latent", 1, 512, every, FP8),
            StateTensor("latent scales", 1, 4, every, FP32),
            StateTensor("rope key", 1, 64, every, BF16),
        )
    return (
        StateTensor("latent", 1, 512, every, DTYPES["nvfp4"]),
        StateTensor("rope key", 1, 64, every, FP8),
    )


def indexer_tensors(cache: SparseIndexer, plain: Dtype | None) -> tuple[StateTensor, ...]:
    """Index keys in fp8, with an fp32 scale for every 128 elements: 132 B for 128; or plain ones.

    Source: `deepseek_v2.py:Indexer` (head_dim + head_dim // quant_block_size × 4).
    """
    if plain is not None:
        return (StateTensor("index key", 1, cache.index_head_dim, EveryToken(), plain),)
    if cache.index_head_dim % 128:
        raise UnsupportedModel(
            f"index_head_dim is {cache.index_head_dim}; vLLM's indexer cache is computed for "
            "multiples of 128 only.",
            field="index_head_dim",
        )
    every = EveryToken()
    return (
        StateTensor("index key", 1, cache.index_head_dim, every, FP8),
        StateTensor("index scale", 1, cache.index_head_dim // 128, every, FP32),
    )


def state_dtype(flag: str, *, field: str) -> Dtype | None:
    """Element type of `--mamba-cache-dtype` or `--mamba-ssm-cache-dtype`, None for auto."""
    known = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
    if flag == "auto":
        return None
    if flag not in known:
        raise InvalidInput(
            f"{field} is {shown(flag)}; vLLM's types here are auto, {', '.join(known)}.",
            field=field,
        )
    return DTYPES[known[flag]]
