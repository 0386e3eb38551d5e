"""llama.cpp's options: refusals with its reasons, defaults of its front ends, limits, rows."""

import pytest

import calculator as kv
from calculator.engines.llamacpp import MAX_CONTEXT
from calculator.engines.llamacpp.architectures import WINDOW_KEPT, architecture
from calculator.engines.llamacpp.profiles import PROFILES
from calculator.errors import CalculatorError, InvalidInput, UnsupportedModel
from calculator.importers.gguf.architectures import ARCHITECTURES
from tests.engines.llamacpp import DEEPSEEK, GEMMA, LLAMA, QWEN, described, sized

# model, options → what llama.cpp says (llama_init_from_model, or the assertion it fails)
REFUSALS = [
    (DEEPSEEK, {"type_k": "q8_0"}, "does not support different K (q8_0) and V (f16) cache types"),
    (LLAMA, {"type_v": "q8_0", "flash_attn": False}, "quantized V cache requires flash_attn"),
    ("phi-2", {"type_k": "q8_0"}, "block size 32 does not divide n_embd_head_k=80"),
    ("phi-2", {"type_v": "q4_0"}, "block size 32 does not divide n_embd_head_v=80"),
    (LLAMA, {"n_ctx": 8, "n_seq_max": 9}, "n_outputs_max <= cparams.n_outputs_max"),
    ("kimi-linear-48b-a3b", {"n_seq_max": 3}, "n_ubatch 512 is no multiple of n_seq_max 3"),
]


@pytest.mark.parametrize(("model", "options", "reason"), REFUSALS)
def test_refuses_where_llama_cpp_does_with_its_reason(model, options, reason):
    with pytest.raises(InvalidInput) as refusal:
        sized(model, **options)
    assert reason in str(refusal.value)


BAD_OPTIONS = [
    ("n_ctx", 0), ("n_ctx", True), ("n_ctx", 2**31), ("n_seq_max", 257), ("n_ubatch", 0),
    ("n_batch", -1), ("type_k", "fp8"), ("type_v", "q6_k"), ("profile", "kobold"),
    ("version", "b1"), ("swa_full", "yes"), ("flash_attn", 1), ("kv_unified", 0),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), BAD_OPTIONS)
def test_an_option_out_of_range_is_refused_by_name(field, value):
    with pytest.raises(InvalidInput) as refusal:
        kv.engine("llama.cpp", **{field: value})
    assert refusal.value.field == field


def test_a_batch_of_more_sequences_than_llama_cpp_has_ids_for_is_refused():
    assert sized(LLAMA, 256, batch_size=256).num_bytes == 256 * 256 * 131_072
    with pytest.raises(InvalidInput, match="n_seq_max must be <= 256"):
        sized(LLAMA, 256, batch_size=257)
    with pytest.raises(InvalidInput, match="n_ctx must be <= "):
        sized(LLAMA, MAX_CONTEXT, batch_size=2)


@pytest.mark.parametrize(
    "parallelism",
    [kv.Parallelism(tensor_parallel_size=2), kv.Parallelism(pipeline_parallel_size=2)],
)
def test_splits_over_devices_are_refused(parallelism):
    with pytest.raises(InvalidInput):
        sized(LLAMA, parallelism=parallelism)


def test_replicas_are_contexts_of_their_own():
    fp = sized(LLAMA, 1000, batch_size=3, parallelism=kv.Parallelism(data_parallel_size=2))
    assert fp.bytes_per_device == (2 * 1024 * 131_072, 1024 * 131_072)
    many = sized(LLAMA, 256, batch_size=512, parallelism=kv.Parallelism(data_parallel_size=4))
    assert many.num_bytes == 512 * 256 * 131_072
    assert "128 streams × 256 cells" in " ".join(many.assumptions)
    assert kv.explain(many).num_bytes == many.num_bytes


def test_a_shared_prefix_is_refused():
    request = kv.Request(seq_len=100, batch_size=2, shared_prefix_len=50)
    with pytest.raises(InvalidInput):
        kv.footprint(kv.load_model(LLAMA), request, engine=kv.engine("llama.cpp"))


@pytest.mark.parametrize("model_type", ["opt", "zamba2", "whisper", "test"])
def test_a_model_type_llama_cpp_does_not_run_is_refused(model_type):
    model = described(model_type, full_attention={"num_key_value_heads": 8, "head_dim": 64})
    with pytest.raises(UnsupportedModel, match="not known to run"):
        sized(model)


@pytest.mark.parametrize("asked", [{"key_dtype": "q8_0"}, {"value_dtype": "f32"}])
def test_a_type_asked_twice_must_be_the_same(asked):
    flag = {"key_dtype": "type_k", "value_dtype": "type_v"}[next(iter(asked))]
    request = kv.Request(seq_len=512, **asked)
    same = kv.engine("llama.cpp", **{flag: next(iter(asked.values()))})
    other = kv.engine("llama.cpp", **{flag: "f16"})
    llama = kv.load_model(LLAMA)
    assert kv.footprint(llama, request, engine=same).num_bytes
    with pytest.raises(InvalidInput) as refusal:
        kv.footprint(llama, request, engine=other)
    assert refusal.value.field == flag


@pytest.mark.parametrize("name", ["fp8", "int8", "int4", "nvfp4"])
def test_a_requested_type_that_llama_cpp_has_not_is_refused(name):
    request = kv.Request(seq_len=512, key_dtype=name, value_dtype=name)
    with pytest.raises(InvalidInput, match="key_dtype"):
        kv.footprint(kv.load_model(LLAMA), request, engine=kv.engine("llama.cpp"))


def test_types_are_f16_whatever_the_model_is_in():
    assert sized(LLAMA).dtypes == ("fp16", "fp16")
    assert "fp16" in sized(LLAMA).assumptions[0]
    assert sized(LLAMA, type_k="q8_0").dtypes == ("q8_0", "fp16")


# profile → cells of Gemma-3-27B's sliding layers for one sequence of 8,192 tokens
@pytest.mark.parametrize(
    ("profile", "cells"),
    [(None, 1536), ("server-auto", 4608), ("library", 8192), ("ollama", 1536),
     ("lm-studio", 4608)],
)  # fmt: skip
def test_front_ends_differ_in_their_defaults(profile, cells):
    fp = sized(GEMMA, profile=profile)
    assert {i.slots for i in fp.items if i.row.kind == "sliding_attention"} == {cells}
    assert PROFILES[profile].basis in fp.assumptions[1]


def test_sequences_that_wait_for_a_slot_have_no_cells():
    """llama-server without -np: 4 slots, and a fifth request waits (get_available_slot)."""
    fp = sized(GEMMA, 8192, batch_size=5, profile="server-auto")
    assert {i.slots for i in fp.items if i.row.kind == "full_attention"} == {4 * 8192}
    assert any("no cells are set aside" in step for step in fp.assumptions)
    command = fp.engine.command(fp.model, fp.request, fp.parallelism, 0.92)
    assert "-c 32768 -np 4" in command
    ragged = kv.Request(seq_lens=(100, 1000, 300))
    pool = kv.engine("llama.cpp", kv_unified=True, n_seq_max=2)
    held = kv.footprint(kv.load_model(LLAMA), ragged, engine=pool)
    assert {i.slots for i in held.items} == {1536}  # 1,000 + 300, padded


# n_ctx → bytes of the context; sequences of 8,192 tokens
@pytest.mark.parametrize("model", [LLAMA, GEMMA, QWEN, "deepseek-v4-flash"])
@pytest.mark.parametrize("options", [{"n_ctx": 65536}, {"n_ctx": 1}, {"n_ctx": 4096}])
def test_a_context_that_is_given_is_fixed(model, options):
    now, longer = sized(model, 8192, **options), sized(model, 8193, **options)
    assert longer.num_bytes == now.num_bytes
    assert (now.bytes_per_token, now.fixed_bytes) == (0, now.num_bytes)
    assert kv.explain(now).marginal.startswith("One more token adds nothing")


def test_a_context_that_follows_the_request_grows():
    assert sized(LLAMA, 8192).bytes_per_token == 131_072
    assert sized("deepseek-v4-flash", 8192).bytes_per_token > 0


def test_streams_grow_together_and_that_is_said():
    """n_ctx is n_seq_max × the longest: 256 tokens more are 4 × 256 cells of 131,072 B."""
    now, longer = sized(LLAMA, 8192, n_seq_max=4), sized(LLAMA, 8448, n_seq_max=4)
    assert longer.num_bytes - now.num_bytes == 4 * 256 * 131_072
    assert now.bytes_per_token == 131_072
    said = "one more token of it is one more cell in each of 4 streams"
    assert said in " ".join(now.assumptions)
    assert said not in " ".join(sized(LLAMA, 8192, n_seq_max=4, n_ctx=32_768).assumptions)


def test_an_option_beats_the_front_end():
    assert kv.engine("llama.cpp", profile="library", swa_full=False).swa_full is False
    assert kv.engine("llama.cpp", profile="server-auto", n_seq_max=2).n_seq_max == 2


def test_options_make_the_same_engine_again():
    for profile in PROFILES:
        engine = kv.engine("llama.cpp", profile=profile, type_k="f16")
        options = engine.options()
        assert kv.engine(options.pop("engine"), **options) == engine


def test_n_batch_limits_n_ubatch():
    assert sized(GEMMA, n_ubatch=4096).num_bytes == sized(GEMMA, n_ubatch=2048).num_bytes
    assert (
        sized(GEMMA, n_ubatch=4096, n_batch=4096).num_bytes > sized(GEMMA, n_ubatch=2048).num_bytes
    )


def test_a_context_too_small_is_sized_as_it_is_and_says_so():
    small = sized(LLAMA, 8192, batch_size=2, n_ctx=4096)
    assert small.num_bytes == 4096 * 131_072
    assert any("do not fit into n_ctx 4,096" in step for step in small.assumptions)
    waiting = sized(LLAMA, 1024, batch_size=8, profile="server-auto")
    assert any("the others wait" in step for step in waiting.assumptions)


def test_ragged_sequences_share_a_pool_or_all_count_the_longest():
    request = kv.Request(seq_lens=(100, 1000, 3000))
    llama = kv.load_model(LLAMA)
    apart = kv.footprint(llama, request, engine=kv.engine("llama.cpp"))
    pool = kv.footprint(llama, request, engine=kv.engine("llama.cpp", kv_unified=True))
    assert {i.slots for i in apart.items} == {3 * 3072}
    assert {i.slots for i in pool.items} == {4352}  # 4,100 padded


def test_capacity_stops_at_llama_cpps_own_limits():
    def capacity(**options):
        return kv.capacity(
            kv.load_model(LLAMA), kv_bytes_per_device=2**40, request=kv.Request(seq_len=512),
            engine=kv.engine("llama.cpp", **options),
        )  # fmt: skip

    assert capacity().max_batch_size == (256, 256)
    assert capacity(n_ctx=8192, n_seq_max=4).max_seq_len == (2048, 2048)
    assert capacity(profile="server-auto").max_batch_size == (4, 4)


def test_sweep_equals_footprints():
    lengths, batches = [1, 255, 1000, 5000], [1, 2, 7]
    for options in ({}, {"profile": "server-auto"}, {"n_ctx": 4096}):
        engine = kv.engine("llama.cpp", **options)
        table = kv.sweep(kv.load_model(GEMMA), lengths, batches, engine=engine)
        assert table.tolist() == [
            [sized(GEMMA, n, batch_size=b, **options).num_bytes for b in batches] for n in lengths
        ]


def test_rows_of_an_explanation_multiply_out():
    for options in ({}, {"kv_unified": True}, {"type_k": "q8_0", "type_v": "q4_0"}):
        for model in (LLAMA, GEMMA, QWEN, "deepseek-v3.2"):
            if model == "deepseek-v3.2" and "type_k" in options:
                continue
            explained = kv.explain(sized(model, 1000, batch_size=3, **options))
            assert sum(row.num_bytes for row in explained.rows) == explained.num_bytes
            for row in explained.rows:
                top, _, bottom = row.value_bytes.partition("/")
                product = row.layers * len(row.tensors) * row.slots * row.heads * row.width
                assert product * row.sequences * int(top) == row.num_bytes * int(bottom or 1)


def test_every_preset_is_sized_or_refused():
    sizes = 0
    for model in kv.presets():
        try:
            sizes += sized(model, 4096).num_bytes > 0
        except CalculatorError:
            continue
    assert sizes >= 100


def test_model_types_of_gguf_files_are_known_or_absent_from_llama_cpp():
    unknown = set()
    for found in ARCHITECTURES.values():
        try:
            architecture(found.model_type)
        except UnsupportedModel:
            unknown.add(found.model_type)
    assert unknown <= {"gptj", "hrm_text"}  # gptj: no src/models; hrm_text: not read yet
    assert all(architecture(name) == name for name in WINDOW_KEPT)


def test_the_engine_says_what_it_was_checked_against():
    engine = kv.engine("llama.cpp", version="0c1e57098")
    assert engine.verified_with == "0c1e57098 / xllamacpp 2026.10.11549"
