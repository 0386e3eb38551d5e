"""What a running request's blocks hold in vLLM, how it is spread, and what is refused."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calculator as kv
from calculator.engines.vllm.releases import CHANGES
from tests.engines.vllm_models import named
from tests.models import full, model, sliding

VLLM = kv.engine("vllm")
TP8 = kv.Parallelism(tensor_parallel_size=8)


def footprint(name, seq_len, engine=VLLM, parallelism=None, **request):
    spread = parallelism or kv.Parallelism()
    asked = kv.Request(seq_len=seq_len, **request)
    return kv.footprint(named(name), asked, engine=engine, parallelism=spread)


def both(name):
    return {"key_dtype": name, "value_dtype": name}


def tensors(fp, name):
    return [item for item in fp.items if item.row.tensor == name]


# facts: ⌈T ÷ block⌉ blocks of full attention; a window gives back (T − W) // block of them
@pytest.mark.parametrize(
    ("name", "seq_len", "num_bytes", "why"),
    [
        ("llama-3-8b", 1, 2_097_152, "one block of 16 tokens × 131,072 B"),
        ("llama-3-8b", 8_192, 1_073_741_824, "512 blocks, no more than the textbook's"),
        ("llama-3-8b", 8_193, 1_075_838_976, "a block more"),
        ("gemma-3-27b", 1, 7 * 1_310_720, "a block of each of 7 groups"),
        ("gemma-3-27b", 8_192, (512 + 6 * 64) * 1_310_720, "6 groups of windows at 64 blocks"),
        ("gemma-3-27b", 8_193, (513 + 6 * 65) * 1_310_720, "a window inside 65 blocks"),
        ("gpt-oss-20b", 8_192, (512 + 8) * 393_216, "128-token windows: 8 blocks"),
        ("llama-4-scout", 20_000, (1_250 + 3 * 512) * 786_432, "a chunk before it is given back"),
        ("deepseek-v3", 8_192, 575_668_224, "512 blocks of latents"),
        ("qwen3-next-80b", 8_192, (15 + 3) * 12 * 1_179_648, "15 blocks of 576, a state a group"),
        ("qwen3-next-80b", 8_641, (16 + 6) * 12 * 1_179_648, "first token of block 16: 2 states"),
    ],
)
def test_blocks_held(name, seq_len, num_bytes, why):
    assert footprint(name, seq_len).num_bytes == num_bytes, why


def test_windows_and_chunks_that_are_kept_whole():
    off = kv.engine("vllm", disable_hybrid_kv_cache_manager=True)
    assert footprint("gemma-3-27b", 8_192, off).num_bytes == 512 * 8_126_464
    assert footprint("llama-4-scout", 20_000, off).num_bytes == 1_250 * 3_145_728


def test_phantom_layers_are_items():
    (phantom,) = tensors(footprint("gemma-3-27b", 8_192), "phantom layers")
    assert (phantom.row.layer_type, phantom.row.layers) == ("sliding_attention", 8)
    assert phantom.num_bytes == 8 * 64 * 131_072


def test_padding_of_states_is_an_item():
    (padding,) = tensors(footprint("qwen3-next-80b", 8_192), "page padding")
    assert padding.row.layers == 36
    assert padding.num_bytes == 36 * (1_179_648 - 1_097_728)


def test_heads_are_dealt_and_latents_copied():
    one = footprint("llama-3-8b", 8_192)
    assert footprint("llama-3-8b", 8_192, parallelism=TP8).bytes_per_device == (2**27,) * 8
    twice = footprint("llama-3-8b", 8_192, parallelism=kv.Parallelism(tensor_parallel_size=16))
    assert twice.num_bytes == 2 * one.num_bytes
    assert {item.row.copies for item in twice.items} == {2}
    latent = footprint("deepseek-v3", 8_192, parallelism=TP8)
    assert latent.bytes_per_device == (575_668_224,) * 8


def test_the_one_group_of_a_mamba2_is_on_every_rank():
    fp = footprint("falcon-h1-7b", 8_192, parallelism=kv.Parallelism(tensor_parallel_size=2))
    (group,) = tensors(fp, "group convolution")
    assert (group.row.heads, group.row.copies) == (2 * 256, 2)


def test_compressed_attention_holds_blocks_of_four_lengths():
    # blocks of 1,002,240 B: windows 2 groups × 2, entries 32, open groups 2 (of 4) and 16 (of 8)
    fp = footprint("deepseek-v4-flash", 8_192)
    assert fp.num_bytes == (2 * 2 + 32 + 2 + 16) * 1_002_240
    assert tensors(fp, "compressed key")[0].slots == 2_048
    assert sum(i.row.slot_bytes for i in fp.items[:3]) == 584


def test_compressed_attention_lies_whole_on_every_rank():
    one = footprint("deepseek-v4-flash", 8_192)
    assert footprint("deepseek-v4-flash", 8_192, parallelism=TP8).num_bytes == 8 * one.num_bytes


def test_an_indexer_beside_plain_attention_keeps_16_bit_keys():
    fp = footprint("minimax-m3", 128, kv.engine("vllm", kv_cache_dtype="fp8"))
    assert tensors(fp, "index key")[0].num_bytes == 57 * 128 * 128 * 2
    assert tensors(fp, "key")[0].row.dtype.name == "fp8"


def test_the_largest_stage_decides_the_pool():
    # 62 layers on 4 stages: 15, 16, 16, 15
    spread = kv.Parallelism(pipeline_parallel_size=4)
    plan = VLLM.plan(named("gemma-3-27b"), 20 * 10**9, 8_192, spread)
    assert plan.bytes_per_block == max(plan.bytes_per_block_of_stages)
    assert plan.num_blocks == 20 * 10**9 // plan.bytes_per_block


def test_context_ranks_hold_different_tokens():
    spread = kv.Parallelism(tensor_parallel_size=16)
    plain = footprint("qwen3-235b-a22b", 8_192, parallelism=spread)
    shared = footprint(
        "qwen3-235b-a22b", 8_192, parallelism=replace(spread, decode_context_parallel_size=4)
    )
    assert 4 * shared.num_bytes == plain.num_bytes
    assert 4 * shared.bytes_per_token == plain.bytes_per_token
    assert "4 neighbouring tensor ranks" in " ".join(shared.assumptions)


def test_context_ranks_each_keep_their_states():
    spread = kv.Parallelism(tensor_parallel_size=8)
    plain = footprint("qwen3-next-80b", 8_192, parallelism=spread)
    shared = footprint(
        "qwen3-next-80b", 8_192, parallelism=replace(spread, decode_context_parallel_size=4)
    )
    state = "recurrent state"
    assert tensors(shared, state)[0].num_bytes == tensors(plain, state)[0].num_bytes
    # 8,192 tokens fill 42.7 blocks of 192 and 10.7 of 4 × 192
    assert tensors(plain, "key")[0].slots == 43 * 192
    assert tensors(shared, "key")[0].slots == 11 * 768


def test_a_shared_prefix_is_whole_blocks_once():
    fp = footprint("llama-3-8b", 1_000, batch_size=4, shared_prefix_len=100)
    assert fp.num_bytes == (4 * 63 - 3 * 6) * 2_097_152


def test_one_more_token_is_counted_before_rounding():
    fp = footprint("gemma-3-27b", 8_192, batch_size=3)
    assert (fp.bytes_per_token, fp.grows(fp.items[0].row)) == (81_920, False)
    assert fp.fixed_bytes == 3 * 6 * 64 * 1_310_720


@pytest.mark.parametrize(
    ("engine", "request_types", "cache"),
    [
        ({}, {}, "bf16"),
        ({"kv_cache_dtype": "fp8_e5m2"}, {}, "fp8"),
        ({}, both("fp8"), "fp8"),
        ({"kv_cache_dtype": "bfloat16"}, both("bf16"), "bf16"),
    ],
)
def test_the_cache_type_is_the_flags_then_the_requests_then_the_models(
    engine, request_types, cache
):
    fp = footprint("llama-3-8b", 16, kv.engine("vllm", **engine), **request_types)
    assert fp.dtypes == (cache, cache)


def test_the_checkpoints_cache_type_comes_before_the_models():
    asked = kv.Request(seq_len=16)
    assert VLLM.dtypes(named("qwen3.6-27b-nvfp4"), asked).key == "fp8"
    assert VLLM.dtypes(model(dtype="fp32", full=full()), asked).key == "bf16"


# Bytes of a token and layer of 8 heads × 128: kv_cache_interface.py, triton_attn.py, flashinfer.py
@pytest.mark.parametrize(
    ("flags", "num_bytes"),
    [
        ({}, 4_096),
        ({"kv_cache_dtype": "fp8"}, 2_048),
        ({"kv_cache_dtype": "int8_per_token_head"}, 8 * (256 + 8)),
        ({"kv_cache_dtype": "fp8_per_token_head"}, 8 * (256 + 8)),
        ({"kv_cache_dtype": "int4_per_token_head"}, 8 * (128 + 8)),
        ({"kv_cache_dtype": "nvfp4", "attention_backend": "FLASHINFER"}, 16 * (64 + 8)),
    ],
)
def test_bytes_of_a_token_by_type(flags, num_bytes):
    asked = kv.Request(seq_len=16)
    fp = kv.footprint(model(layers=1, full=full()), asked, engine=kv.engine("vllm", **flags))
    assert (fp.bytes_per_token, fp.num_bytes) == (num_bytes, 16 * num_bytes)


# mla_attention.py:MLAAttention.get_kv_cache_spec; deepseek_v2.py:Indexer
@pytest.mark.parametrize(
    ("flags", "latent", "block_size"),
    [
        ({}, 1_152, 64),
        ({"kv_cache_dtype": "fp8"}, 656, 64),
        ({"kv_cache_dtype": "fp8_ds_mla"}, 656, 64),
        ({"kv_cache_dtype": "nvfp4_ds_mla", "attention_backend": "FLASHMLA_SPARSE"}, 352, 64),
        ({"kv_cache_dtype": "fp8", "attention_backend": "FLASHINFER_MLA_SPARSE"}, 576, 64),
    ],
)
def test_rows_of_sparse_latent_attention(flags, latent, block_size):
    engine = kv.engine("vllm", **flags)
    fp = footprint("deepseek-v3.2", 64, engine)
    assert fp.num_bytes == 61 * 64 * (latent + 132)
    assert engine.plan(named("deepseek-v3.2"), 40 * 10**9, 8_192).block_size == block_size


# releases.py; the planner's own numbers of 0.33.0 are in test_vllm.py
@pytest.mark.parametrize(
    ("name", "version", "states", "block_size"),
    [
        ("qwen3-next-80b", "0.33.0", 3, 576),
        ("qwen3-next-80b", "0.32.0", 2, 544),
        ("nemotron-h-8b", "0.32.0", 3, 1_040),
        ("nemotron-h-8b", "0.31.0", 2, 1_040),
    ],
)
def test_state_blocks_of_a_release(name, version, states, block_size):
    plan = kv.engine("vllm", version=version).plan(named(name), 40 * 10**9, 8_192)
    assert (plan.groups[0].blocks_per_request, plan.block_size) == (states, block_size)


@pytest.mark.parametrize(
    ("name", "before", "since", "tokens"),
    [
        ("nemotron-h-8b", "0.31.0", "0.32.0", (1_876_712, 1_651_507)),
        ("qwen3-next-80b", "0.32.0", "0.33.0", (1_570_907, 1_506_335)),
    ],
)
def test_the_effect_of_a_change_is_what_the_releases_give(name, before, since, tokens):
    plans = [
        kv.engine("vllm", version=v).plan(named(name), 40 * 2**30, 32_768) for v in (before, since)
    ]
    assert tuple(plan.num_tokens for plan in plans) == tokens
    effect = next(change.effect for change in CHANGES if change.since == since)
    assert all(f"{number:,}" in effect for number in tokens)


def test_the_logged_lines():
    plan = VLLM.plan(named("llama-3-8b"), 40 * 10**9, 8_192)
    assert plan.log_lines == (
        "Available KV cache memory: 37.25 GiB",
        "GPU KV cache size: 305,168 tokens, Maximum concurrency for 8,192 tokens per request: "
        "37.25x",
    )


def test_one_request_must_fit_beside_the_null_block():
    needed = 513 * 2_097_152
    assert VLLM.plan(named("llama-3-8b"), needed, 8_192).num_blocks == 513
    with pytest.raises(kv.DoesNotFit, match=r"longest that fits is 8,176 tokens"):
        VLLM.plan(named("llama-3-8b"), needed - 1, 8_192)


@pytest.mark.parametrize(
    ("name", "engine", "request_types", "spread", "field"),
    [
        ("llama-3-8b", {"kv_cache_dtype": "fp8"}, both("bf16"), {}, "kv_cache_dtype"),
        ("llama-3-8b", {}, {"key_dtype": "fp8", "value_dtype": "bf16"}, {}, "key_dtype"),
        ("llama-3-8b", {}, {"key_dtype": "fp8"}, {}, "key_dtype"),  # one type for both
        ("llama-3-8b", {}, {"value_dtype": "fp8"}, {}, "value_dtype"),
        ("llama-3-8b", {}, both("q8_0"), {}, "key_dtype"),
        ("llama-3-8b", {}, {}, {"tensor_parallel_size": 3}, "tensor_parallel_size"),
        ("llama-3-8b", {"block_size": 24}, {}, {}, "block_size"),
        ("llama-3-8b", {"attention_backend": "FLASHMLA"}, {}, {}, "attention_backend"),
        ("llama-3-8b", {"kv_cache_dtype": "nvfp4", "attention_backend": "FLASH_ATTN"}, {}, {},
         "kv_cache_dtype"),
        ("deepseek-v3", {"kv_cache_dtype": "nvfp4"}, {}, {}, "kv_cache_dtype"),
        ("gpt-oss-20b", {"kv_cache_dtype": "nvfp4"}, {}, {}, "kv_cache_dtype"),
        # flash_attn.py:_get_sm90_fa4_fp8_kv_block_size is 64; unasked, vLLM takes another backend
        ("gemma-4-31b-it-nvfp4", {"attention_backend": "FLASH_ATTN", "block_size": 16}, {}, {},
         "block_size"),
        ("gemma-3-27b", {}, {},
         {"tensor_parallel_size": 32, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("llama-3-8b", {}, {}, {"tensor_parallel_size": 8, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("mamba-2.8b", {}, {}, {"tensor_parallel_size": 2, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("deepseek-v3.2", {}, {}, {"tensor_parallel_size": 8, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("llama-3-8b", {"attention_backend": "TRITON_ATTN"}, {},
         {"tensor_parallel_size": 16, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("qwen3-next-80b", {"disable_hybrid_kv_cache_manager": True}, {}, {},
         "disable_hybrid_kv_cache_manager"),
        ("qwen3-next-80b", {}, {}, {"tensor_parallel_size": 3}, "tensor_parallel_size"),
        ("deepseek-v4-flash", {"kv_cache_dtype": "bfloat16"}, {}, {}, "kv_cache_dtype"),
        ("deepseek-v4-flash", {"block_size": 512}, {}, {}, "block_size"),
        ("deepseek-v4-flash", {"attention_backend": "FLASHMLA_SPARSE"}, {}, {},
         "attention_backend"),
        ("deepseek-v4-flash", {"disable_hybrid_kv_cache_manager": True}, {}, {},
         "disable_hybrid_kv_cache_manager"),
        ("deepseek-v4-flash", {}, {"batch_size": 2, "shared_prefix_len": 9}, {},
         "shared_prefix_len"),
        ("deepseek-v4-flash", {}, {},
         {"tensor_parallel_size": 8, "decode_context_parallel_size": 2},
         "decode_context_parallel_size"),
        ("minimax-text-01", {}, {}, {}, "engine"),
    ],
)  # fmt: skip
def test_refused(name, engine, request_types, spread, field):
    found, ranks = kv.engine("vllm", **engine), kv.Parallelism(**spread)
    with pytest.raises(kv.CalculatorError) as refused:
        footprint(name, 64, found, ranks, **request_types)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "options",
    [
        {"kv_cache_dtype": "turboquant_4bit_nc"}, {"kv_cache_dtype": "int8"},
        {"version": "0.20.0"}, {"version": "next"}, {"block_size": 0}, {"block_size": True},
        {"enable_prefix_caching": "yes"}, {"attention_backend": "FASTEST"},
        {"mamba_ssm_cache_dtype": "fp8"}, {"gdn_prefill_backend": "cute"}, {"gpu": "h100"},
    ],
)  # fmt: skip
def test_options_that_are_refused(options):
    with pytest.raises(kv.InvalidInput) as refused:
        kv.engine("vllm", **options)
    assert refused.value.field == next(iter(options))


def test_two_windows_cannot_be_kept_whole():
    off = kv.engine("vllm", disable_hybrid_kv_cache_manager=True)
    two = model(full=full(), narrow=sliding(64), wide=sliding(128))
    with pytest.raises(kv.UnsupportedModel):
        kv.footprint(two, kv.Request(seq_len=64), engine=off)


@settings(deadline=None, max_examples=60)
@given(
    name=st.sampled_from(
        ["llama-3-8b", "gemma-3-27b", "qwen3-next-80b", "deepseek-v3.2", "nemotron-h-8b", "glm-5.2"]
    ),
    lengths=st.lists(st.integers(1, 20_000), min_size=1, max_size=4),
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.integers(1, 3),
    dp=st.integers(1, 2),
)
def test_items_devices_and_sweep_agree(name, lengths, tp, pp, dp):
    spread = kv.Parallelism(tp, pp, dp)
    fp = kv.footprint(named(name), kv.Request(seq_lens=tuple(lengths)), VLLM, spread)
    assert fp.num_bytes == sum(item.num_bytes for item in fp.items) == sum(fp.bytes_per_device)
    table = kv.sweep(named(name), lengths, [1, 3], engine=VLLM, parallelism=spread)
    alike = kv.Request(seq_len=lengths[0], batch_size=3)
    assert table[0, 1] == kv.footprint(named(name), alike, VLLM, spread).num_bytes


def test_capacity_gives_the_pool():
    asked = {"request": kv.Request(seq_len=8_192), "engine": VLLM}
    exact = kv.capacity(named("llama-3-8b"), kv_bytes_per_device=40 * 10**9, **asked).to_dict()
    assert (exact["num_blocks"], exact["num_tokens"]) == (19_073, 305_168)
    assert exact["max_concurrency"] == 37.251953125
    ranged = kv.capacity(named("llama-3-8b"), device="h100-sxm-80gb", **asked).to_dict()
    assert ranged["num_blocks"]["low"] < ranged["num_blocks"]["high"]
    typed = kv.engine("vllm", kv_cache_dtype="int8_per_token_head")
    for engine in (VLLM, typed):
        asked["engine"] = engine
        small = kv.capacity(named("llama-3-8b"), kv_bytes_per_device=2**20, **asked).to_dict()
        assert small["num_blocks"] is None
    plain = kv.capacity(named("llama-3-8b"), kv_bytes_per_device=2**20).to_dict()
    assert "num_blocks" not in plain


def test_capacity_counts_blocks():
    found = kv.capacity(
        named("llama-3-8b"), kv_bytes_per_device=10 * 2_097_152, engine=VLLM,
        request=kv.Request(seq_len=17),
    )  # fmt: skip
    assert (found.max_seq_len.low, found.max_batch_size.low) == (144, 4)  # one is the null block
