"""Does it fit, how long, how many: ranges and the term that decides."""

import pytest

import calculator as kv
from calculator.fixes import fixes
from calculator.search import Search, largest
from calculator.units import GIB
from calculator.verdict import limits_text, verdict_sentence

GEMMA = "gemma-3-27b"


def fit(seq_len=131_072, batch_size=1, model=GEMMA, device="h100-sxm-80gb", **more):
    more.setdefault("overhead", (1_610_612_736, 6_442_450_944))  # 1.5 to 6 GiB
    request = kv.Request(seq_len, batch_size)
    return kv.capacity(kv.load_model(model), device=device, request=request, **more)


def test_available_is_usable_times_share_less_weights_less_other_needs():
    found = fit()
    usable = kv.load_device("h100-sxm-80gb").usable_bytes
    left = usable * 92 // 100 - 27_432_406_640 * 2
    assert found.budget.available == (left - 6 * GIB, left - 3 * GIB // 2)


@pytest.mark.parametrize(
    ("batch_size", "verdict"), [(1, "fits"), (6, "marginal"), (16, "does-not-fit")]
)
def test_verdicts(batch_size, verdict):
    found = fit(32_768, batch_size)
    assert found.verdict == verdict
    assert (found.spare.low >= 0, found.spare.high >= 0) == {
        "fits": (True, True),
        "marginal": (False, True),
        "does-not-fit": (False, False),
    }[verdict]


def test_limits_are_the_largest_that_fit():
    found = fit(32_768, 6)
    available = found.budget.available
    for tokens, limit in zip(found.max_seq_len, available, strict=True):
        assert fit(tokens, 6).cache_bytes_per_device <= limit
        assert fit(tokens + 1, 6).cache_bytes_per_device > limit
    for sequences, limit in zip(found.max_batch_size, available, strict=True):
        assert fit(32_768, sequences).cache_bytes_per_device <= limit
        assert fit(32_768, sequences + 1).cache_bytes_per_device > limit


def test_the_deciding_term_is_named():
    assert fit().decided_by[0] == "weights"
    assert fit(131_072, 100, model="llama-3.1-8b").decided_by[0] == "cache"


def test_a_given_cache_size_makes_low_and_high_equal():
    model = kv.load_model("llama-3-8b")
    found = kv.capacity(model, kv_bytes_per_device=40_000_000_000, request=kv.Request(8_192))
    assert found.max_batch_size == (37, 37)  # 40e9 ÷ 1,073,741,824 = 37.25
    assert found.max_seq_len == (305_175, 305_175)  # 40e9 ÷ 131,072


def test_several_devices_are_one_tensor_parallel_group():
    found = fit(num_devices=2)
    assert found.footprint.parallelism == kv.Parallelism(tensor_parallel_size=2)
    assert found.cache_bytes_per_device * 2 == fit().cache_bytes_per_device


def test_devices_that_contradict_the_parallel_sizes_are_refused():
    with pytest.raises(kv.InvalidInput, match="num_devices is 3"):
        fit(num_devices=3, parallelism=kv.Parallelism(2))


def test_every_fix_is_certain_and_the_largest_gain_comes_first():
    found = fixes(fit(32_768, 6))
    assert next(fix.change for fix in found) == "2 × H100 80 GB, tensor parallel 2"
    assert all(fix.spare.low >= 0 for fix in found)
    assert [f.spare.low for f in found] == sorted((f.spare.low for f in found), reverse=True)
    assert {f.changes_outputs for f in found if f.change.startswith(("Cache", "Weights"))} == {True}


def test_no_fix_for_what_fits():
    assert fixes(fit()) == ()


def test_nothing_grows_in_a_window_so_there_is_no_longest_context():
    assert fit(32_768, model="mistral-7b-v0.1").max_seq_len == (None, None)


def test_weights_that_do_not_fit_leave_nothing():
    found = fit(model="llama-3.1-405b")
    assert (found.verdict, found.max_seq_len.high) == ("does-not-fit", 0)


def test_a_model_without_parameters_asks_for_its_weights():
    from dataclasses import replace

    model = replace(kv.load_model("llama-3-8b"), num_parameters=None)
    with pytest.raises(kv.InvalidInput, match="weights_bytes is missing"):
        kv.capacity(model, device="h100", request=kv.Request(1))
    found = kv.capacity(model, device="h100", request=kv.Request(1), weights_bytes=16 * GIB)
    assert found.verdict == "fits"


def test_checkpoint_bytes_beat_parameters_times_type():
    from dataclasses import replace

    model = replace(kv.load_model("llama-3-8b"), weights_bytes=5 * GIB)
    found = kv.capacity(model, device="h100", request=kv.Request(1))
    assert found.budget.weights.num_bytes == 5 * GIB
    assert "published checkpoint" in found.budget.basis[0]


def test_a_nominal_memory_is_marked_in_the_sentence():
    text = verdict_sentence(fit(8_192, device="mi350x-288gb"))
    assert "memory from the vendor's name, not the driver" in text


def test_typical_context_is_answered_too():
    model = kv.load_model("llama-3-8b")
    found = kv.capacity(
        model, kv_bytes_per_device=40_000_000_000, request=kv.Request(8_192), typical_context=800
    )
    assert found.typical == (800, (381, 381))  # 40e9 ÷ (800 × 131,072)


@pytest.mark.parametrize("share", [0, -1, 1.01, float("nan"), "x"])
def test_impossible_shares_are_refused(share):
    with pytest.raises(kv.InvalidInput, match="share is"):
        fit(share=share)


def test_an_overhead_the_wrong_way_round_is_refused():
    with pytest.raises(kv.InvalidInput, match="put the smaller first"):
        fit(overhead=(2, 1))


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (6, 6), (99, 99), (100, None)])
def test_largest(limit, found):
    assert largest(lambda n: n <= limit, 100) == found


def test_the_memory_behind_views_decides_what_fits():
    """transformers' windows are views of the whole prompt: 4.16 GB behind 1.11 GB of tensors."""
    request, engine = kv.Request(seq_len=8192), kv.engine("transformers")
    found = kv.capacity(
        kv.load_model("gemma-3-27b"), kv_bytes_per_device=4_000_000_000, request=request,
        engine=engine,
    )  # fmt: skip
    assert found.needed_bytes_per_device == 4_160_749_568
    assert found.cache_bytes_per_device < found.budget.available.low
    assert found.verdict == "does-not-fit"
    assert found.max_seq_len.low == 4_000_000_000 * 8192 // 4_160_749_568


@pytest.mark.parametrize(
    ("engine", "options", "seq_len", "batch_size", "change", "again"),
    [
        # a stream of n_ctx ÷ n_seq_max cells a sequence; one pool of n_ctx cells for all
        ("llama.cpp", {"n_ctx": 8192}, 8192, 4, "n_ctx 32,768 instead of 8,192", {"n_ctx": 32768}),
        ("llama.cpp", {"n_ctx": 8192, "kv_unified": True}, 5000, 4, "n_ctx 20,000 instead of 8,192",
         {"n_ctx": 20_000}),
        ("vllm", {"max_model_len": 4096}, 8192, 1, "--max-model-len 8192", {"max_model_len": 8192}),
        # 2,000,000 tokens × 131,072 B are no 80 GB; the model's maximum does not matter here
        ("llama.cpp", {"n_ctx": 8192}, 2_000_000, 1, None, {}),
        ("llama.cpp", {"n_ctx": 8192}, 2**30, 8, None, {}),  # n_ctx is an int32_t
    ],
)  # fmt: skip
def test_a_limit_is_raised_where_that_makes_it_fit(
    engine, options, seq_len, batch_size, change, again
):
    def asked(**more):
        flags = kv.engine(engine, **options | more)
        return fit(seq_len, batch_size, model="llama-3.1-8b", engine=flags)

    assert asked().limit
    raised = [fix for fix in fixes(asked()) if "n_ctx" in fix.change or "max-model" in fix.change]
    assert [fix.change for fix in raised] == ([change] if change else [])
    for fix in raised:
        assert (asked(**again).verdict, asked(**again).spare) == ("fits", fix.spare)


def test_sequences_are_of_all_replicas_and_blocks_of_one():
    """Two replicas of a pool of 512 blocks of 2 MiB, one the null block: 8,192 tokens are 512."""
    llama, vllm = kv.load_model("llama-3-8b"), kv.engine("vllm")
    found = kv.capacity(
        llama, kv_bytes_per_device=513 * 2_097_152, engine=vllm, request=kv.Request(8192, 2),
        parallelism=kv.Parallelism(data_parallel_size=2),
    )  # fmt: skip
    assert found.max_batch_size == (2, 2)
    assert found.pool_of_blocks()["num_blocks"] == 513
    assert "At this context: 2 sequences on all 2 replicas together." in limits_text(found)
    said = " ".join(found.footprint.assumptions)
    assert "max_batch_size counts the sequences of all 2." in said


# presets/devices.toml: macOS lends the GPU two thirds of up to 32 GiB, three quarters of more
# (llama.cpp, discussion 2182); given, a share is taken as it is
@pytest.mark.parametrize(
    ("device", "share", "limit_bytes"),
    [
        ("m3-max-64gb", None, 48 * 2**30),
        ("m1-max-32gb", None, 2**35 * 667 // 1000),
        ("m3-max-64gb", 0.9, 2**36 * 9 // 10),
        ("64GiB", None, 2**36 * 92 // 100),
    ],
)
def test_the_default_share_is_no_more_than_the_device_lends(device, share, limit_bytes):
    found = kv.capacity(kv.load_model("llama-3.1-8b"), device=device, share=share)
    assert found.budget.limit_bytes == limit_bytes
    lent = "share 0.75, what the device lends by default" in found.budget.basis[1]
    assert lent == (limit_bytes == 48 * 2**30)


@pytest.mark.parametrize(
    ("flags", "replicas", "gigabytes"),
    [({}, 1, 2), ({}, 1, 9), ({}, 1, 500), ({"n_ubatch": 640}, 1, 9), ({}, 2, 9)],
)
def test_the_largest_batch_is_one_that_runs(flags, replicas, gigabytes):
    """Kimi-Linear in llama.cpp: only divisors of n_ubatch, so 3 is refused and 4 runs."""
    model, engine = kv.load_model("kimi-linear-48b-a3b"), kv.engine("llama.cpp", **flags)
    parallelism = kv.Parallelism(data_parallel_size=replicas)
    available = gigabytes * GIB

    def runs_in(number: int) -> bool:
        try:
            request = kv.Request(seq_len=4096, batch_size=number)
            found = kv.footprint(model, request, engine, parallelism).bytes_per_device
        except kv.CalculatorError:
            return False
        return max(found) <= available

    search = Search(model, kv.Request(seq_len=4096), engine, parallelism)
    assert search.most(available, 4096) == max(n for n in range(1, 1100) if runs_in(n)) > 3


def test_sequences_of_a_length_that_never_runs_are_none():
    """transformers' quantised cache takes whole groups: 20 values × 300 tokens are none of 64."""
    config = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 1,
              "head_dim": 20, "hidden_size": 20, "vocab_size": 100}  # fmt: skip
    engine = kv.engine("transformers", cache="quantized")
    model, request = kv.load_model(config), kv.Request(seq_len=128)
    search = Search(model, request, engine, kv.Parallelism())
    assert search.most(2**30, 300) == 0
    assert search.most(2**30, 128) > 1
    assert search.longest(2**30) % 16 == 0
