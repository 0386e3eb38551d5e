"""Heads, layers and sequences over devices."""

import pytest

import calculator as kv
from calculator.fixes import fixes
from calculator.parallel import dealt, stage_sizes
from tests.models import full, model, plain, sliding


def spread(found: kv.ModelSpec, tp: int = 1, pp: int = 1, dp: int = 1, batch: int = 1):
    return kv.footprint(found, kv.Request(100, batch), parallelism=kv.Parallelism(tp, pp, dp))


def test_heads_are_split_evenly():
    found = spread(plain(4, 8, 128), tp=8)
    assert found.bytes_per_device == (found.num_bytes // 8,) * 8


def test_fewer_heads_than_ranks_are_copied_and_counted():
    one, found = spread(plain(4, 2, 128)), spread(plain(4, 2, 128), tp=8)
    assert found.num_bytes == 4 * one.num_bytes
    assert found.items[0].row.copies == 4


def test_a_latent_is_copied_to_every_rank():
    latent = {"kind": "latent_attention", "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    one, found = spread(model(x=latent)), spread(model(x=latent), tp=8)
    assert found.bytes_per_device == (one.num_bytes,) * 8


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(kv.InvalidInput, match="tensor_parallel_size is 3; the 8 heads"):
        spread(plain(4, 8, 128), tp=3)


def test_stages_hold_their_own_layers():
    mixed = model("a", "a", "b", a=full(1, 1), b=full(10, 1))
    assert spread(mixed, pp=3).bytes_per_device == (400, 400, 4000)


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [(4, 2, (2, 2)), (5, 2, (3, 2)), (62, 4, (15, 16, 16, 15)), (3, 3, (1, 1, 1))],
)
def test_stage_sizes(layers, stages, sizes):
    assert stage_sizes(layers, stages) == sizes


def test_more_stages_than_layers_are_refused():
    with pytest.raises(kv.InvalidInput, match="pipeline_parallel_size is 5"):
        spread(plain(4, 8, 128), pp=5)


def test_replicas_hold_their_own_sequences():
    found = spread(plain(1, 1, 1), dp=2, batch=3)
    assert found.bytes_per_device == (2 * 2 * 100 * 2, 2 * 100 * 2)


def test_dealing_goes_on_where_it_stopped():
    assert dealt(((9, 1), (5, 3)), 2) == (((9, 1), (5, 1)), ((5, 2),))


def test_a_shared_prefix_is_stored_once_in_each_replica():
    request = kv.Request(100, 4, shared_prefix_len=90)
    two = kv.Parallelism(data_parallel_size=2)
    found = kv.footprint(plain(1, 1, 1), request, parallelism=two)
    assert found.num_bytes == 4 * (90 + 10 + 10) * 2
    assert sum(found.bytes_per_device) == found.num_bytes


def context(found: kv.ModelSpec, tp: int, dcp: int, engine="ideal", **request):
    asked = kv.Request(**(request or {"seq_len": 101}))
    spread = kv.Parallelism(tensor_parallel_size=tp, decode_context_parallel_size=dcp)
    return kv.footprint(found, asked, kv.engine(engine), spread)


def test_context_ranks_take_the_tokens_in_turn():
    found = context(plain(1, 1, 1), 4, 4)
    assert found.bytes_per_device == tuple(4 * tokens for tokens in (26, 25, 25, 25))
    assert found.num_bytes == 4 * 101


def test_context_ranks_take_part_of_the_copies():
    plain_tp, found = context(plain(4, 2, 128), 8, 1), context(plain(4, 2, 128), 8, 2)
    assert 2 * found.num_bytes == plain_tp.num_bytes == sum(plain_tp.bytes_per_device)
    assert (found.items[0].row.copies, found.parallelism.num_devices) == (2, 8)
    assert sum(found.bytes_per_device) == found.num_bytes


def test_a_shared_prefix_is_shared_out_too():
    found = context(plain(3, 1, 2), 4, 2, seq_lens=(100, 57), shared_prefix_len=33)
    assert sum(found.bytes_per_device) == found.num_bytes == 2 * 3 * 2 * 2 * 2 * (100 + 57 - 33)


def test_context_ranks_keep_windows_whole():
    found = context(model("a", a=sliding(1, 1, 8)), 2, 2)
    assert found.bytes_per_device == (2 * 2 * 8, 2 * 2 * 8)


def test_context_ranks_are_said():
    found = context(plain(1, 1, 1), 4, 4)
    assert found.to_dict()["parallelism"]["decode_context_parallel_size"] == 4
    assert any("4 neighbouring tensor ranks" in sentence for sentence in found.assumptions)


@pytest.mark.parametrize(("heads", "tp", "dcp"), [(1, 4, 3), (8, 8, 2), (2, 8, 8), (1, 1, 2)])
def test_context_ranks_that_hold_no_copies_are_refused(heads, tp, dcp):
    with pytest.raises(kv.InvalidInput) as refused:
        context(plain(1, heads, 64), tp, dcp)
    assert refused.value.field == "decode_context_parallel_size"


@pytest.mark.parametrize("engine", ["transformers", "llama.cpp"])
def test_engines_without_context_ranks_refuse_them(engine):
    with pytest.raises(kv.InvalidInput, match=f"decode_context_parallel_size is 2.*{engine}"):
        context(kv.load_model("llama-3-8b"), 16, 2, engine)


@pytest.mark.parametrize("name", ["tensor_parallel_size", "decode_context_parallel_size"])
def test_a_size_given_as_an_engines_option_is_sent_to_the_parallelism(name):
    with pytest.raises(kv.InvalidInput, match=f"a size of the parallelism: .*{name}=2.*--dcp"):
        kv.engine("vllm", **{name: 2})


def test_sharing_tokens_is_offered_where_copies_do_not_fit():
    spread = kv.Parallelism(tensor_parallel_size=8)
    found = kv.capacity(
        kv.load_model("deepseek-v3"), kv_bytes_per_device=10**9, request=kv.Request(32_768),
        engine=kv.engine("vllm"), parallelism=spread,
    )  # fmt: skip
    (fix,) = (fix for fix in fixes(found) if "Decode-context" in fix.change)
    assert (fix.change, fix.changes_outputs) == ("Decode-context parallel 4", False)
    plain = kv.capacity(
        kv.load_model("llama-3-8b"), kv_bytes_per_device=10**8, request=kv.Request(32_768),
        engine=kv.engine("vllm"), parallelism=spread,
    )  # fmt: skip
    assert not [fix for fix in fixes(plain) if "Decode-context" in fix.change]


def test_capacity_counts_the_fullest_context_rank():
    spread = kv.Parallelism(tensor_parallel_size=4, decode_context_parallel_size=4)
    found = kv.capacity(
        plain(1, 1, 1), kv_bytes_per_device=4 * 25, request=kv.Request(100), parallelism=spread
    )
    assert (found.cache_bytes_per_device, found.max_seq_len.low) == (100, 100)


@pytest.mark.parametrize("value", [0, -1, 2**20, 1.0, True])
def test_impossible_sizes_are_refused(value):
    with pytest.raises(kv.InvalidInput, match="tensor_parallel_size"):
        kv.Parallelism(tensor_parallel_size=value)
