"""Which attention backend vLLM 0.33.0 takes on a Hopper GPU for a cache type and head widths."""

import pytest

import calculator as kv
from calculator.parallel import SINGLE
from tests.engines.vllm_models import named
from tests.models import full, model, sliding

DCP = kv.Parallelism(tensor_parallel_size=16, decode_context_parallel_size=2)


def backend(name, spread=SINGLE, **flags):
    preset = named(name) if isinstance(name, str) else name
    return kv.engine("vllm", **flags).pool(preset, None, spread).backend


def heads(*widths):
    """A model with a layer of each head width."""
    return model(**{f"wide{w}": full(8, w) for w in widths})


# Lists and head sizes of v1/attention/backends/: `supported_kv_cache_dtypes`,
# `supports_head_size` and `get_supported_head_sizes` of each; order and refusals of
# platforms/cuda.py:_get_backend_priorities and v1/attention/backend.py:validate_configuration.
PICKED = [
    # model, --kv-cache-dtype, backend
    ("llama-3-8b", "auto", "FLASH_ATTN"),
    ("llama-3-8b", "bfloat16", "FLASH_ATTN"),
    ("llama-3-8b", "fp8", "FLASH_ATTN"),
    ("llama-3-8b", "fp8_e4m3", "FLASH_ATTN"),
    # flash_attn.py:FlashAttentionBackend has no fp8_e5m2, flashinfer.py:FlashInferBackend does
    ("llama-3-8b", "fp8_e5m2", "FLASHINFER"),
    # flashinfer.py:get_supported_head_sizes is 64, 128, 256, 512
    ("phi-2", "fp8_e5m2", "TRITON_ATTN"),
    ("phi-3-mini-4k", "fp8_e5m2", "TRITON_ATTN"),
    ("phi-3-mini-4k", "fp8", "FLASH_ATTN"),
    # flashinfer.py:supports_attn_type is the base's: decoders only
    ("whisper-large-v3", "fp8_e5m2", "TRITON_ATTN"),
    ("llama-3-8b", "nvfp4", "FLASHINFER"),
    ("gemma-3-1b", "nvfp4", "FLASHINFER"),
    # is_mm_prefix_lm: gemma3, and gemma4 with use_bidirectional_attention "vision"
    ("gemma-3-27b", "fp8", "FLASH_ATTN"),
    ("gemma-3-27b", "fp8_e5m2", "TRITON_ATTN"),
    ("gemma-4-26b-a4b", "fp8_e5m2", "TRITON_ATTN"),
    ("gemma-4-e2b", "fp8_e5m2", "FLASHINFER"),
    ("llama-3-8b", "int8_per_token_head", "TRITON_ATTN"),
    ("phi-2", "int8_per_token_head", "TRITON_ATTN"),
    # mla_attention.py:MLACommonBackend.get_supported_head_sizes is 320, 512, 576
    ("deepseek-v3", "auto", "FLASH_ATTN_MLA"),
    ("mistral-small-4-119b-2603", "auto", "FLASH_ATTN_MLA"),
    ("deepseek-v3", "fp8", "FLASHMLA"),
    ("deepseek-v3", "fp8_e4m3", "FLASHMLA"),
    ("deepseek-v3.2", "auto", "FLASH_ATTN_MLA_SPARSE"),
    ("deepseek-v3.2", "fp8", "FLASHMLA_SPARSE"),
    # flashmla_sparse.py lists fp8, not fp8_e4m3; flashinfer_mla_sparse_sm90.py lists both
    ("deepseek-v3.2", "fp8_e4m3", "FLASHINFER_MLA_SPARSE_SM90"),
    ("minimax-m3", "fp8_e5m2", "MINIMAX_M3_SPARSE"),
    # flash_attn.py:supports_head_size: multiples of 8 up to 512; flex_attention.py: all
    (heads(512), "auto", "FLASH_ATTN"),
    (heads(100), "auto", "TRITON_ATTN"),
    (heads(20), "auto", "FLEX_ATTENTION"),
    (heads(576), "auto", "TRITON_ATTN"),
    (heads(128, 256), "nvfp4", "FLASHINFER"),
    (model(sliding=sliding(64, 8, 80)), "fp8_e5m2", "TRITON_ATTN"),
]


@pytest.mark.parametrize(("name", "cache", "picked"), PICKED, ids=lambda v: str(v)[:24])
def test_picked(name, cache, picked):
    assert backend(name, kv_cache_dtype=cache) == picked


REFUSED = [
    # model, flags, field, what the message says
    ("phi-2", {"kv_cache_dtype": "nvfp4"}, "kv_cache_dtype", "with heads of 80"),
    ("phi-3-mini-4k", {"kv_cache_dtype": "nvfp4"}, "kv_cache_dtype", "with heads of 96"),
    # flashinfer.py:supports_combination: "fa2 prefill misreads an NVFP4 KV cache at head_size 64"
    ("gpt-oss-20b", {"kv_cache_dtype": "nvfp4"}, "kv_cache_dtype", "with heads of 64"),
    (heads(128, 80), {"kv_cache_dtype": "nvfp4"}, "kv_cache_dtype", "with heads of 80 or 128"),
    (heads(20), {"kv_cache_dtype": "fp8"}, "kv_cache_dtype", "with heads of 20"),
    ("phi-2", {"kv_cache_dtype": "nvfp4", "attention_backend": "FLASHINFER"}, "attention_backend",
     "does not take this model's heads of 80"),
    # flashinfer.py:supports_kv_cache_dtype: of nvfp4 only the plain one below SM100
    ("llama-3-8b", {"kv_cache_dtype": "nvfp4_4over6"}, "kv_cache_dtype", "nvfp4_4over6"),
    # Gaudi's (config/cache.py:CacheConfig.cache_dtype); no CUDA backend lists it
    ("llama-3-8b", {"kv_cache_dtype": "fp8_inc"}, "kv_cache_dtype", "fp8_inc"),
    ("llama-3-8b", {"kv_cache_dtype": "fp8_e5m2", "attention_backend": "FLASH_ATTN"},
     "kv_cache_dtype", "takes float16, bfloat16, fp8, fp8_e4m3."),
    # triton_mla.py and the other latent backends list no type with a scale for each token
    ("deepseek-v3", {"kv_cache_dtype": "int8_per_token_head"}, "kv_cache_dtype", "latent"),
    ("deepseek-v3", {"kv_cache_dtype": "fp8_e5m2"}, "kv_cache_dtype", "latent"),
    # flashmla_sparse.py:supports_combination: "only supports … on SM100 (Blackwell)"
    ("deepseek-v3.2", {"kv_cache_dtype": "nvfp4_ds_mla"}, "kv_cache_dtype", "nvfp4_ds_mla"),
    # config/vllm.py:_reject_mismatched_float_kv_cache
    ("llama-3-8b", {"kv_cache_dtype": "float16"}, "kv_cache_dtype", "the model's own type, bf16"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "flags", "field", "says"), REFUSED, ids=lambda v: str(v)[:24])
def test_refused(name, flags, field, says):
    with pytest.raises(kv.InvalidInput) as refused:
        backend(name, **flags)
    assert refused.value.field == field
    assert says in str(refused.value)


def test_nvfp4_of_sequences_over_ranks_is_not_read():
    # flashinfer.py: "The DCP prefill wrapper cannot read NVFP4 block scales."
    with pytest.raises(kv.InvalidInput, match="nvfp4"):
        backend("llama-3-8b", DCP, kv_cache_dtype="nvfp4")


def test_rows_of_another_fp8_are_plain_ones():
    # fp8 on FLASHMLA_SPARSE is 656 B a token (mla_attention.py), elsewhere an fp8 of each of 576
    asked, sparse = kv.Request(seq_len=64), kv.load_model("deepseek-v3.2")
    sizes = [
        kv.footprint(sparse, asked, kv.engine("vllm", kv_cache_dtype=t)).num_bytes
        for t in ("fp8", "fp8_e4m3")
    ]
    assert sizes == [61 * 64 * (656 + 132), 61 * 64 * (576 + 132)]


# v1/attention/backend.py:supports_block_size: a whole number of kernel blocks
@pytest.mark.parametrize(
    ("name", "flags", "says"),
    [
        ("llama-3-8b", {"block_size": 17},
         "block_size is 17; vLLM's attention backends for bfloat16 take a multiple of 16: 16 or "
         "32."),
        ("llama-3-8b", {"block_size": 8, "kv_cache_dtype": "fp8"},
         "block_size is 8; vLLM's attention backends for fp8 take a multiple of 16: 16."),
        ("deepseek-v3.2", {"block_size": 100},
         "block_size is 100; vLLM's attention backends for bfloat16 take a multiple of 64: 64 or "
         "128."),
        ("minimax-m3", {"block_size": 64},
         "block_size is 64; vLLM's attention backends for bfloat16 take a multiple of 128: 128."),
    ],
)  # fmt: skip
def test_a_block_size_that_no_backend_takes(name, flags, says):
    with pytest.raises(kv.InvalidInput) as refused:
        backend(name, **flags)
    assert (str(refused.value), refused.value.field) == (says, "block_size")


# the nearest that works: the widths another model would need, a type, or another GPU's backend
@pytest.mark.parametrize(
    ("name", "spread", "cache", "says"),
    [
        ("phi-2", SINGLE, "nvfp4",
         "with heads of 80 (FLASHINFER takes 128, 256, 512: v1/attention/backends/). Take fp8."),
        ("gpt-oss-20b", SINGLE, "nvfp4", "Take fp8, or attention_backend FLASHINFER for another"),
        ("gemma-3-27b", SINGLE, "nvfp4",
         "takes it with image tokens that see each other (supports_mm_prefix). Take fp8."),
        (heads(20), SINGLE, "fp8", "TRITON_ATTN takes 32, …: v1/attention/backends/). Take auto."),
        ("deepseek-v3.2", SINGLE, "nvfp4_ds_mla", "attention_backend FLASHMLA_SPARSE for another"),
        ("llama-3-8b", DCP, "int8_per_token_head", "decode_context_parallel_size is more than 1"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_works(name, spread, cache, says):
    with pytest.raises(kv.InvalidInput) as refused:
        backend(name, spread, kv_cache_dtype=cache)
    assert says in str(refused.value)


# flash_attn.py:_get_sm90_fa4_fp8_kv_block_size: "The SM90 FP8-KV-dequant kernel uses a 64-token TMA
# tile/page"; a window's heads are 256 wide, and its block follows these alone
@pytest.mark.parametrize(
    ("asked", "picked", "window_block", "full_block"),
    [
        (None, "FLASH_ATTN", 64, 128),
        (192, "FLASH_ATTN", 192, 384),
        # its image tokens see each other: FLASHINFER, next in the order, has no supports_mm_prefix
        (16, "TRITON_ATTN", 16, 32),
        (48, "TRITON_ATTN", 48, 96),
    ],
)
def test_fp8_of_heads_of_512_is_in_pages_of_64(asked, picked, window_block, full_block):
    gemma = named("gemma-4-26b-a4b")
    pool = kv.engine("vllm", kv_cache_dtype="fp8", block_size=asked).pool(gemma, None, SINGLE)
    blocks = [spec.block_size for spec, _ in pool.buckets]
    assert (pool.backend, blocks) == (picked, [window_block, full_block])
