"""Heads, layers and sequences over devices."""

import pytest

import calculator as kv
from calculator.parallel import dealt, stage_sizes
from tests.models import full, model, plain


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


@pytest.mark.parametrize("value", [0, -1, 2**20, 1.0, True])
def test_impossible_sizes_are_refused(value):
    with pytest.raises(kv.InvalidInput, match="tensor_parallel_size"):
        kv.Parallelism(tensor_parallel_size=value)
