"""The transformers engine's caches: worked examples with their source, options, refusals."""

from __future__ import annotations

import pytest

import calculator as kv
from calculator.differences import storage_differences
from calculator.footprint import Footprint
from calculator.layers import layer_cache
from calculator.model import ModelSpec

MEASURED = "transformers 5.23.0, the real model on meta at full size"
QUANTO = "optimum-quanto 0.2.7 on CPU"
STATIC = {"cache": "static"}

# model, tokens, options, bytes of the tensors, bytes of the storages behind them, source
WORKED = [
    ("llama-3-8b", 8192, {}, 1_073_741_824, 1_073_741_824, MEASURED),
    ("llama-3-8b", 8193, {"decoded_tokens": 1}, 1_073_872_896, 1_073_872_896, MEASURED),
    ("deepseek-v3", 8192, {}, 575_668_224, 575_668_224, MEASURED),
    ("deepseek-v3", 8193, {"decoded_tokens": 1}, 575_738_496, 575_738_496, MEASURED),
    ("gemma-3-27b", 8192, {}, 1_106_870_272, 4_160_749_568, MEASURED),
    ("gemma-3-27b", 8193, {"decoded_tokens": 1}, 1_106_952_192, 1_107_378_176, MEASURED),
    ("qwen3-next-80b", 8192, {}, 279_183_360, 279_183_360, MEASURED),
    ("llama-3-8b", 8191, STATIC | {"max_cache_len": 8192}, 1_073_741_824, 1_073_741_824, MEASURED),
    ("llama-3-8b", 100, STATIC | {"max_cache_len": 32768}, 4_294_967_296, 4_294_967_296, MEASURED),
    ("deepseek-v3", 100, STATIC | {"max_cache_len": 32768}, 2_302_672_896, 2_302_672_896, MEASURED),
    ("gemma-3-27b", 512, STATIC | {"max_cache_len": 512}, 260_046_848, 260_046_848, MEASURED),
    ("gemma-3-27b", 8191, STATIC | {"max_cache_len": 8192}, 1_107_296_256, 1_107_296_256, MEASURED),
    ("qwen3-next-80b", 512, STATIC | {"max_cache_len": 512}, 90_439_680, 90_439_680, MEASURED),
    ("llama-3-8b", 8192, {"cache": "quantized", "backend": "fp8"}, 536_871_168, 536_871_168,
     MEASURED),
    ("deepseek-v3", 8192, {"cache": "quantized", "backend": "fp8"}, 287_834_600, 287_834_600,
     MEASURED),
]  # fmt: skip


@pytest.mark.parametrize(("preset", "seq_len", "options", "tensors", "storage", "source"), WORKED)
def test_worked_examples(preset, seq_len, options, tensors, storage, source):
    found = of(kv.load_model(preset), seq_len, **options)
    assert (found.num_bytes, found.storage_bytes) == (tensors, storage), source


FULL = {"kind": "full_attention", "num_key_value_heads": 8, "head_dim": 128}
GROUPED = {"cache": "quantized"}
# one layer of 8 heads of 128 in bf16: tokens, of which decoded, options, bytes, source
QUANTISED = [
    (1024, 0, {}, 1_179_648, QUANTO),
    (1124, 100, {}, 1_589_248, QUANTO),
    (1152, 128, {}, 1_327_104, QUANTO),
    (1024, 0, {"nbits": 2}, 655_360, QUANTO),
    (1024, 0, {"backend": "hqq"}, 1_179_648, "hqq 0.2.8.post1 on CPU"),
    (1024, 0, {"backend": "hqq", "nbits": 3}, 1_048_576, "hqq 0.2.8.post1: 28 B for 64 values"),
    (1024, 0, {"backend": "fp8"}, 2_097_160, MEASURED),
]


@pytest.mark.parametrize(("seq_len", "decoded", "options", "expected", "source"), QUANTISED)
def test_quantised_layers(seq_len, decoded, options, expected, source):
    found = of(model(FULL), seq_len, decoded_tokens=decoded, **GROUPED | options)
    assert found.num_bytes == expected, source


def test_a_single_group_has_a_scale_a_value():
    # optimum-quanto 0.2.7, one token of one head of 64: a packed row, 64 scales, 64 zeros
    one = model(FULL | {"num_key_value_heads": 1, "head_dim": 64})
    assert of(one, 1, **GROUPED).num_bytes == 2 * (64 + 2 * 2 * 64)
    assert of(one, 2, **GROUPED).num_bytes == 2 * (64 + 2 * 2 * 2)


SLIDING = {
    "kind": "sliding_attention",
    "num_key_value_heads": 1,
    "head_dim": 1,
    "sliding_window": 10,
}


@pytest.mark.parametrize(
    ("seq_len", "decoded", "tensors", "storage"),
    [
        (5, 0, 5, 5),
        (9, 0, 9, 9),
        (10, 0, 9, 10),
        (500, 0, 9, 500),
        (500, 1, 9, 10),
        (500, 499, 9, 10),
        (1, 5, 1, 1),
    ],
)
def test_a_window_is_a_view_of_what_the_last_pass_made(seq_len, decoded, tensors, storage):
    found = of(model(SLIDING), seq_len, decoded_tokens=decoded)
    assert (found.num_bytes, found.storage_bytes) == (2 * tensors * 2, 2 * storage * 2)


@pytest.mark.parametrize(
    ("seq_len", "max_cache_len", "slots"), [(5, 8, 8), (5, 10, 10), (5, 500, 10), (5, None, 5)]
)
def test_a_static_window_has_all_its_slots(seq_len, max_cache_len, slots):
    found = of(model(SLIDING), seq_len, max_cache_len=max_cache_len, **STATIC)
    assert found.num_bytes == 2 * slots * 2


def test_the_memory_behind_is_said_stepped_and_countable():
    gemma = kv.load_model("gemma-3-27b")
    found, behind = of(gemma, 8192), of(gemma, 8192, count="storage")
    steps = storage_differences(found)
    assert any("4,160,749,568 B" in sentence for sentence in found.assumptions)
    assert found.to_dict()["storage_bytes"] == behind.num_bytes == 4_160_749_568
    assert sum(step.ideal_bytes for step in steps) == found.num_bytes
    assert sum(step.engine_bytes for step in steps) == found.storage_bytes
    assert [step.why for step in steps] == [
        "8,192 slots instead of min(T, 1,023) = 1,023",
        "the same",
    ]
    assert storage_differences(of(kv.load_model("llama-3-8b"), 8192)) == ()


def test_a_verdict_counts_the_memory_behind():
    gemma, engine = kv.load_model("gemma-3-27b"), kv.engine("transformers")
    asked = {"request": kv.Request(8192), "engine": engine}
    short = kv.capacity(gemma, kv_bytes_per_device=4_160_749_567, **asked)
    enough = kv.capacity(gemma, kv_bytes_per_device=4_160_749_568, **asked)
    assert (short.verdict, enough.verdict) == ("does-not-fit", "fits")
    assert enough.max_seq_len == (8192, 8192)


@pytest.mark.parametrize("cache", ["offloaded", "offloaded_static"])
def test_an_offloaded_cache_has_the_same_bytes_and_says_where(cache):
    gemma = kv.load_model("gemma-3-27b")
    plain = {"offloaded": "dynamic", "offloaded_static": "static"}[cache]
    found = of(gemma, 8192, cache=cache)
    assert found.num_bytes == found.storage_bytes == of(gemma, 8192, cache=plain).num_bytes
    assert any("host memory" in sentence for sentence in found.assumptions)


def test_every_row_multiplies_out():
    from calculator.explain import explain

    for options in (GROUPED, GROUPED | {"backend": "fp8"}, {"count": "storage"}, STATIC):
        found = of(model(FULL | {"head_dim": 80}), 33, batch_size=3, decoded_tokens=1, **options)
        for row in explain(found).rows:
            above, _, below = row.value_bytes.partition("/")
            values = row.slots * row.heads * row.width * row.sequences * row.copies
            product = row.layers * len(row.tensors) * values * int(above)
            assert product == row.num_bytes * int(below or 1)


def test_sweep_and_footprint_agree_on_groups_across_sequences():
    narrow = model(FULL | {"num_key_value_heads": 1, "head_dim": 64})
    engine = kv.engine("transformers", **GROUPED)
    table = kv.sweep(narrow, [1, 7], [1, 3], engine=engine)
    for i, seq_len in enumerate((1, 7)):
        for j, batch_size in enumerate((1, 3)):
            assert table[i, j] == of(narrow, seq_len, batch_size=batch_size, **GROUPED).num_bytes


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cache": "quantized", "nbits": 8}, "nbits is 8; backend quanto takes 2, 4"),
        ({"cache": "quantized", "backend": "hqq", "nbits": 5}, "takes 1, 2, 3, 4, 8"),
        ({"cache": "quantized", "axis_key": 1}, "axis_key is 1; backend quanto takes 0, -1"),
        ({"cache": "quantized", "backend": "hqq", "nbits": 3, "axis_value": 1}, "nbits is 3"),
        ({"cache": "quantized", "backend": "fp8", "nbits": 4}, "nbits does not belong"),
        ({"cache": "quantized", "backend": "int8"}, "backend is 'int8'"),
        ({"cache": "quantized", "q_group_size": 0}, "q_group_size"),
        ({"cache": "quantized", "max_cache_len": 8}, "max_cache_len does not belong"),
        ({"backend": "quanto"}, "backend does not belong"),
        ({"count": "views"}, "count is 'views'"),
        ({"decoded_tokens": -1}, "decoded_tokens"),
        ({"cache": "static", "version": "5.20.0"}, "version is 5.20.0"),
        ({"count": "storage", "version": "5.20.0"}, "version is 5.20.0"),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(options, named):
    with pytest.raises(kv.InvalidInput, match=named):
        kv.engine("transformers", **options)


@pytest.mark.parametrize(
    ("seq_len", "heads", "head_dim", "options"),
    [
        # optimum-quanto 0.2.7: "Group size (64) must be a divisor of (240)"
        (3, 1, 80, {}),
        # the same of the 7 values of a channel
        (7, 1, 64, {"axis_key": -1}),
        # hqq 0.2.8.post1, 7 rows packed two by two: "The size of tensor a (3) must match ... b (4)"
        (7, 1, 64, {"backend": "hqq", "axis_key": 1}),
    ],
)
def test_groups_that_do_not_divide_are_refused(seq_len, heads, head_dim, options):
    spec = model(FULL | {"num_key_value_heads": heads, "head_dim": head_dim})
    with pytest.raises(kv.InvalidInput, match=r"q_group_size|nbits"):
        of(spec, seq_len, **GROUPED | options)


def test_groups_must_divide_whenever_everything_is_quantised_anew():
    spec = model(FULL | {"num_key_value_heads": 1, "head_dim": 80})
    assert of(spec, 5, decoded_tokens=1, **GROUPED).num_bytes > 0
    with pytest.raises(kv.InvalidInput, match="must be a multiple of 4, not 5"):
        of(spec, 5, decoded_tokens=1, residual_length=1, **GROUPED)


def test_a_static_cache_does_not_grow():
    with pytest.raises(kv.InvalidInput, match="max_cache_len is 8 and a sequence has 9"):
        of(model(FULL), 9, max_cache_len=8, **STATIC)
    held = kv.capacity(
        model(FULL), kv_bytes_per_device=10**9, engine=kv.engine("transformers", max_cache_len=8,
        **STATIC), request=kv.Request(4),
    )  # fmt: skip
    assert held.max_seq_len == (8, 8)


MINIMAX = {"kind": "lightning_attention", "num_attention_heads": 2, "head_dim": 8}
CROSS = {"kind": "cross_attention", "num_key_value_heads": 1, "head_dim": 1}


@pytest.mark.parametrize(
    ("caches", "model_type", "cache", "named"),
    [
        ((SLIDING,), "test", "quantized", "full attention layers only"),
        ((CROSS,), "mllama", "quantized", "past its cache"),
        ((), "test", "quantized", "share or keep no cache"),
        ((FULL, CROSS), "bart", "quantized", "reads an encoder"),
        ((MINIMAX,), "minimax", "static", "brings its own cache"),
        ((FULL, CROSS), "prophetnet", "static", "does not run with a static cache"),
        ((FULL, CROSS), "bart", "offloaded", "offloading"),
    ],
)
def test_models_that_have_no_such_cache_are_refused(caches, model_type, cache, named):
    with pytest.raises(kv.UnsupportedModel, match=named):
        of(model(*caches, model_type=model_type), 8, encoder_seq_len=4, cache=cache)


def test_states_beside_attention_are_not_offloaded():
    with pytest.raises(kv.UnsupportedModel, match="attention and states in one layer"):
        of(kv.load_model("falcon-h1-7b"), 8, cache="offloaded")


def test_a_decoder_with_one_cache_has_as_many_slots_for_its_encoder():
    alone, beside = model(CROSS), model(FULL, CROSS)
    options = STATIC | {"max_cache_len": 20}
    assert of(alone, 8, encoder_seq_len=4, **options).num_bytes == 2 * 20 * 2
    assert of(beside, 8, encoder_seq_len=4, **options).num_bytes == 2 * 2 * (20 * 8 * 128 + 4)
    with pytest.raises(kv.InvalidInput, match="its encoder has 21 tokens"):
        of(alone, 8, encoder_seq_len=21, **options)


def test_the_cache_type_is_the_one_it_is_quantised_to():
    spec = model(FULL)
    assert of(spec, 64, **GROUPED).dtypes == ("int4", "int4")
    assert of(spec, 64, nbits=2, **GROUPED).dtypes == ("int2", "int2")
    with pytest.raises(kv.InvalidInput, match="key_dtype is fp8"):
        of(spec, 64, key_dtype="fp8", **GROUPED)


def model(*caches: dict[str, object], model_type: str = "test") -> ModelSpec:
    return ModelSpec(
        id="test",
        name="Test",
        model_type=model_type,
        num_hidden_layers=1,
        layer_types=("layer",),
        caches=(("layer", tuple(layer_cache(**c) for c in caches)),),
        dtype="bf16",
    )


def of(spec: ModelSpec, seq_len: int, **given: object) -> Footprint:
    """A footprint; request and engine each take their own options."""
    asked = {k: given.pop(k) for k in ("batch_size", "encoder_seq_len", "key_dtype") if k in given}
    request = kv.Request(seq_len, **asked)
    return kv.footprint(spec, request, kv.engine("transformers", **given))


@pytest.mark.parametrize(
    ("decoded", "said"),
    [
        (0, "all 100 tokens came in the first pass; later ones wait in the model's type"),
        (1, "of 100 tokens the last came after the first pass, and waits in the model's type"),
        (30, "of 100 tokens the last 30 came one by one, and wait in the model's type"),
    ],
)
def test_tokens_that_came_one_by_one_are_said(decoded, said):
    engine = kv.engine("transformers", cache="quantized", decoded_tokens=decoded)
    found = kv.footprint(kv.load_model("llama-3.1-8b"), kv.Request(100), engine)
    assert any(said in sentence for sentence in found.assumptions)


@pytest.mark.parametrize(("cache", "named"), [("offloaded", "an offloaded"), ("static", "a stat")])
def test_another_type_is_refused_for_the_cache(cache, named):
    engine = kv.engine("transformers", cache=cache)
    with pytest.raises(kv.InvalidInput, match=f"key_dtype is fp8; {named}"):
        kv.footprint(kv.load_model("llama-3.1-8b"), kv.Request(100, key_dtype="fp8"), engine)
