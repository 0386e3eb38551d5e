"""llama.cpp's rules as tables of facts: sizes it printed for published models.

tests/conformance/llamacpp asks llama.cpp itself.
"""

import pytest

from calculator.layers import layer_cache
from calculator.model import ModelSpec
from tests.engines.llamacpp import DEEPSEEK, GEMMA, LLAMA, QWEN, described, sized

MIB = 2**20
LOG = "size line of the log, llama.cpp 0c1e57098, no_alloc"
WHEEL = "size_k_bytes and its like, xllamacpp 2026.10.11549, no_alloc"
Q8 = {"type_k": "q8_0", "type_v": "q8_0"}


def table(names, rows):
    """Each row's last entry is where its figure was read."""
    return pytest.mark.parametrize(names, [pytest.param(*row[:-1], id=row[-1]) for row in rows])


def of_kind(fp, kind, tensor=None):
    rows = [i for i in fp.items if i.row.kind == kind and tensor in (None, i.row.tensor)]
    return sum(item.num_bytes for item in rows)


# n_ctx, n_seq_max, kv_unified → cells of a stream, cells in all, where that was read
CONTEXTS = [
    (8192, 1, False, 8192, 8192, LOG),
    (8192, 4, True, 8192, 8192, LOG),
    (8192, 4, False, 2048, 8192, LOG),
    (1000, 3, False, 512, 1536, LOG),  # 1000 → 1024, ÷ 3 = 341 → 512
    (1000, 3, True, 1024, 1024, LOG),
    (131_072, 1, False, 131_072, 131_072, LOG),
    (8192, 5, False, 1792, 8960, WHEEL),
    (1, 1, False, 256, 256, WHEEL),
    (257, 1, False, 512, 512, WHEEL),
    (131_072, 64, False, 2048, 131_072, WHEEL),
]


@table("n_ctx, n_seq_max, unified, cells, total", CONTEXTS)
def test_context_is_padded_and_every_share_of_it_again(n_ctx, n_seq_max, unified, cells, total):
    fp = sized(LLAMA, n_ctx=n_ctx, n_seq_max=n_seq_max, kv_unified=unified)
    assert fp.num_bytes == total * 131_072  # 32 layers × 2 × 8 × 128 × 2 B a cell
    assert any(f"{cells:,} cells" in step for step in fp.assumptions)


# type_k, type_v → K and V in MiB, Llama-3-8B with n_ctx 8192
TYPES = [
    ("f16", "f16", 512, 512, LOG),
    ("bf16", "bf16", 512, 512, LOG),
    ("f32", "f32", 1024, 1024, LOG),
    ("q8_0", "q8_0", 272, 272, LOG),
    ("q4_0", "q4_0", 144, 144, LOG),
    ("q4_1", "q5_0", 160, 176, LOG),
    ("q5_1", "iq4_nl", 192, 144, LOG),
]


@table("type_k, type_v, k_mib, v_mib", TYPES)
def test_nine_types_take_their_blocks(type_k, type_v, k_mib, v_mib):
    fp = sized(LLAMA, type_k=type_k, type_v=type_v)
    assert of_kind(fp, "full_attention", "key") == k_mib * MIB
    assert of_kind(fp, "full_attention", "value") == v_mib * MIB


# options → MiB of the layers with every token, and of those with a window of 1,024
WINDOWS = [
    ({"n_ctx": 8192}, 640, 624, LOG),  # 1,536 cells
    ({"n_ctx": 8192, "n_seq_max": 4, "kv_unified": True}, 640, 1872, LOG),  # 4,608 cells
    ({"n_ctx": 8192, "n_seq_max": 4}, 640, 2496, LOG),  # 1,536 cells × 4 streams
    ({"n_ctx": 8192, "swa_full": True}, 640, 3328, LOG),
    ({"n_ctx": 32_768, **Q8, "n_ubatch": 2048}, 1360, 663, LOG),  # 3,072 cells
    ({"n_ctx": 512}, 40, 208, LOG),
    ({"n_ctx": 131_072, "n_seq_max": 8, "kv_unified": True}, 10_240, 3536, LOG),  # 8,704 cells
]


@table("options, full_mib, sliding_mib", WINDOWS)
def test_sliding_layers_hold_windows_and_a_batch(options, full_mib, sliding_mib):
    fp = sized(GEMMA, **options)
    assert of_kind(fp, "full_attention") == full_mib * MIB
    assert of_kind(fp, "sliding_attention") == sliding_mib * MIB


POOL = {"n_seq_max": 4, "kv_unified": True}
STATES = 79_036_416  # R 3.38 MiB and S 72.00 MiB of a sequence, in the log
# model, options → bytes of all tensors
WHOLE = [
    (DEEPSEEK, {"n_ctx": 8192}, 549 * MIB, LOG),  # V 0.00
    (DEEPSEEK, {"n_ctx": 8192, **Q8}, 305_823_744, WHEEL),  # log: 291.66 MiB
    (DEEPSEEK, {"n_ctx": 32_768, **POOL}, 2196 * MIB, LOG),
    (DEEPSEEK, {"n_ctx": 163_840}, 10_980 * MIB, LOG),
    (QWEN, {"n_ctx": 8192}, 192 * MIB + STATES, LOG),
    (QWEN, {"n_ctx": 8192, "n_seq_max": 4}, 192 * MIB + 4 * STATES, LOG),
    (QWEN, {"n_ctx": 8192, **POOL, **Q8}, 102 * MIB + 4 * STATES, LOG),
    (LLAMA, {"n_ctx": 131_072, "type_k": "q8_0", "type_v": "q8_0"}, 8704 * MIB, LOG),
    ("deepseek-v3.2", {"n_ctx": 131_072}, 11_257_511_936, WHEEL),  # 61 × (576 + 128) × 2 a cell
    ("gpt-oss-20b", {"n_ctx": 131_072, **POOL}, 3_246_391_296, WHEEL),
    ("gemma-2-9b", {"n_ctx": 131_072, **POOL}, 25_455_230_976, WHEEL),
    ("jamba-v0.1", {"n_ctx": 131_072}, 2_164_916_224, WHEEL),
    ("lfm2-1.2b", {"n_ctx": 131_072}, 1_610_776_576, WHEEL),
    ("gemma-3n-e4b", {"n_ctx": 32_768}, 301_989_888, WHEEL),  # 15 of 35 layers share
]


@table("model, options, num_bytes", WHOLE)
def test_whole_caches(model, options, num_bytes):
    assert sized(model, **options).num_bytes == num_bytes


def test_states_are_fp32_and_a_convolution_one_column_short_of_its_kernel():
    fp = sized(QWEN, n_ctx=8192, n_seq_max=4, batch_size=4)
    rows = {i.row.tensor: i.num_bytes for i in fp.items if i.row.kind == "gated_delta_net"}
    assert rows == {"convolution": 14_155_776, "recurrent state": 288 * MIB}  # log: R 13.50, S 288
    assert {i.row.dtype.name for i in fp.items if i.row.kind == "gated_delta_net"} == {"fp32"}


def test_without_flash_attention_values_are_as_wide_as_the_widest_layer():
    heads = (8, 4, 8, 4, 2, 8, 8, 4)
    caches = {
        f"h{n}": (layer_cache(kind="full_attention", num_key_value_heads=n, head_dim=128),)
        for n in set(heads)
    }
    decilm = ModelSpec(
        id="d", name="DeciLM", model_type="nemotron-nas", num_hidden_layers=8,
        layer_types=tuple(f"h{n}" for n in heads), caches=tuple(caches.items()),
    )  # fmt: skip
    with_fa, without = (sized(decilm, 4096, flash_attn=on).num_bytes for on in (True, False))
    assert (with_fa, without) == (48_234_496 * 2, 48_234_496 + 67_108_864)  # K and V as measured


def test_a_row_is_all_heads_together_where_blocks_do_not_divide_a_head():
    phi = described("phi", 32, full_attention={"num_key_value_heads": 32, "head_dim": 80})
    fp = sized(phi, n_ctx=8192, type_k="q8_0", flash_attn=False)
    assert fp.num_bytes == 2_055_208_960  # size_k_bytes + size_v_bytes, phi2 with these heads


def test_a_window_is_kept_only_where_the_architecture_has_one():
    """Mistral runs as `llama`; `phi3.cpp`: "Phi SWA is currently disabled"."""
    assert sized("mistral-7b-v0.1", 32_768).num_bytes == 32_768 * 131_072
    assert any("not used" in step for step in sized("mistral-7b-v0.1").assumptions)


def test_deepseek_v4_has_a_whole_context_a_sequence_even_when_unified():
    """Two layers of each ratio: 8 × 512 keys, compressed ones, states (llama-kv-cache-dsv4.cpp)."""
    fields = {"num_key_value_heads": 1, "head_dim": 512, "sliding_window": 128}
    sparse = described(
        "deepseek_v4", 1, compressed_attention=dict(fields, compress_ratio=4, index_head_dim=128)
    )
    apart = sized(sparse, n_ctx=8192, n_seq_max=2).num_bytes
    together = sized(sparse, n_ctx=8192, n_seq_max=2, kv_unified=True).num_bytes
    states = 2 * 2 * 8 * (2 * 512 + 2 * 128) * 4
    assert apart == 2 * 768 * 1024 + 2 * 1024 * (1024 + 256) + states
    assert together == 2 * 768 * 1024 + 2 * 2048 * (1024 + 256) + states
