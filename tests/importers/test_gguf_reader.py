"""The header of a GGUF file, whole or cut, old or broken: an answer or one sentence."""

import os
import struct
import time
import tracemalloc

import pytest

from calculator.catalog import load_model
from calculator.errors import InvalidInput, SourceUnavailable
from calculator.importers.gguf import model_from_gguf, model_from_gguf_bytes
from calculator.layers.attention import FullAttention
from tests.importers.gguf_bytes import ARRAY, Bytes, llama
from tests.importers.gguf_files import BIG, LLAMA, geometry, write

EXPECTED = [("full_attention", (FullAttention("full_attention", 2, 32),))] * 4


@pytest.mark.parametrize(("version", "order"), [(1, "<"), (2, "<"), (3, "<"), (3, ">"), (2, ">")])
def test_all_versions_and_both_byte_orders_are_read(version, order):
    b = Bytes(version, order)
    tensors = [b.tensor("token_embd.weight", (256, 10), 8)]
    model = model_from_gguf_bytes(b.file(llama(b), tensors))
    assert geometry(model) == EXPECTED
    assert (model.num_parameters, model.weights_bytes) == (2560, 2560 // 32 * 34)


def test_a_big_endian_file_of_the_gguf_package_is_read(tmp_path):
    path = write(tmp_path / "big.gguf", "llama", LLAMA, endian=BIG)
    assert geometry(model_from_gguf(path)) == EXPECTED


def test_weights_are_what_the_tensors_take_by_type(tmp_path):
    tensors = {
        "token_embd.weight": ((10, 256), "Q4_K"),
        "blk.0.attn_k.weight": ((64, 256), "Q6_K"),
        "output_norm.weight": ((256,), "F32"),
    }
    model = model_from_gguf(write(tmp_path / "model.gguf", "llama", LLAMA, tensors=tensors))
    assert model.num_parameters == 10 * 256 + 64 * 256 + 256
    assert model.weights_bytes == 10 * 144 + 64 * 210 + 256 * 4
    assert model.weights_dtype == "q6_K"


def test_a_tensor_of_an_unknown_type_leaves_the_weights_unknown_and_says_so():
    b = Bytes()
    model = model_from_gguf_bytes(b.file(llama(), [b.tensor("x", (256, 10), 99)]))
    assert model.weights_bytes is None
    assert any("a tensor is of type 99" in note for note in model.assumptions)


def test_a_vocabulary_is_stepped_over_not_stored():
    b = Bytes()
    words = b.entry("tokenizer.ggml.tokens", [f"word {i}" for i in range(5000)])
    scores = b.entry("tokenizer.ggml.scores", list(range(5000)))
    template = b.entry("tokenizer.chat_template", "x" * 100_000)
    rest = llama()[1:]
    data = b.file([llama()[0], words, scores, template, *rest])
    assert geometry(model_from_gguf_bytes(data)) == EXPECTED


def test_a_file_of_200_gb_is_read_by_its_header_alone(tmp_path):
    tensors = {f"blk.{i}.attn_k.weight": ((40_000, 8192), "Q8_0") for i in range(500)}
    path = write(tmp_path / "large.gguf", "llama", LLAMA, tensors=tensors)
    os.truncate(path, 200 * 10**9)
    model_from_gguf(path)
    tracemalloc.start()
    started = time.process_time()
    model = model_from_gguf(path)
    elapsed = time.process_time() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.weights_bytes == 500 * 40_000 * 8192 // 32 * 34
    assert peak < 50_000_000
    assert elapsed < 0.2  # 50 ms without tracemalloc; benchmarks hold the figure itself


@pytest.mark.parametrize("length", [0, 3, 4, 10, 23, 30, 100, 200])
def test_a_file_cut_inside_its_metadata_is_incomplete(tmp_path, length):
    path = tmp_path / "cut.gguf"
    path.write_bytes(Bytes().file(llama())[:length])
    with pytest.raises(InvalidInput, match=r"cut\.gguf ends inside .*not complete"):
        model_from_gguf(path)


def test_a_file_cut_inside_its_tensors_has_weights_of_unknown_size(tmp_path):
    b = Bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(b.file(llama(), [b.tensor("x", (256, 10), 8)])[:-5])
    model = model_from_gguf(path)
    assert (geometry(model), model.weights_bytes) == (EXPECTED, None)
    assert any("ends inside its list of tensors" in note for note in model.assumptions)


def test_an_upload_may_end_within_the_tokenizer():
    b = Bytes()
    tokens = b.entry("tokenizer.ggml.tokens", ["word"] * 1000)
    data = b.file([*llama(), tokens])[:-500]
    model = model_from_gguf_bytes(data)
    assert geometry(model) == EXPECTED
    assert any("ends inside tokenizer.ggml.tokens" in note for note in model.assumptions)


def test_an_upload_that_ends_before_the_tokenizer_is_too_short():
    data = Bytes().file(llama())[:-2]
    with pytest.raises(InvalidInput, match=r"end inside llama\.attention\.head_count_kv; more of"):
        model_from_gguf_bytes(data)


def lie(what: str) -> bytes:
    b = Bytes()
    head = llama()
    broken = {
        "keys": lambda: b.file(head, keys=2**63),
        "tensors": lambda: b.file(head, weights=2**63),
        "name": lambda: b.file([*head, b.count(2**63) + b"x"]),
        "text": lambda: b.file([*head, b.text("k") + b.u32(8) + b.count(2**63)]),
        "list": lambda: b.file(
            [*head, b.text("k") + b.u32(ARRAY) + b.u32(4) + b.count(2**62)]
        ),
        "texts": lambda: b.file([*head, b.text("k") + b.u32(ARRAY) + b.u32(8) + b.count(2**63)]),
        "nested": lambda: b.file([*head, b.text("k") + b.u32(ARRAY) + b.u32(ARRAY) + b.count(1)]),
        "kind": lambda: b.file([*head, b.text("k") + b.u32(77) + b"\0" * 99]),
        "kind of list": lambda: b.file(
            [*head, b.text("k") + b.u32(ARRAY) + b.u32(77) + b.count(1) + b"\0" * 99]
        ),
        "version": lambda: b"GGUF" + struct.pack("<I", 4) + b"\0" * 99,
        "magic": lambda: b"GGML" + b"\0" * 99,
        "twice": lambda: b.file([*head, head[1]]),
        "no architecture": lambda: b.file(head[1:]),
        "name bytes": lambda: b.file([*head, b.count(2) + b"\xff\xfe" + b.u32(4) + b.u32(1)]),
        "dimensions": lambda: b.file(head, [b.text("x") + b.u32(9) + b"\0" * 99]),
        "elements": lambda: b.file(head, [b.tensor("x", (2**62, 2**62), 8)]),
        "row": lambda: b.file(head, [b.tensor("x", (33, 2), 8)]),
    }  # fmt: skip
    return broken[what]()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("keys", "claims 9223372036854775808 keys; at most 1,024"),
        ("tensors", "claims 9223372036854775808 tensors"),
        ("name", "is 9223372036854775808 bytes long"),
        ("text", "end inside k; more"),
        ("list", "end inside k; more"),
        ("texts", "claims 9223372036854775808 texts"),
        ("nested", "is a list of lists"),
        ("kind", "is of value type 77"),
        ("kind of list", "is a list of value type 77"),
        ("version", "is of version 4"),
        ("magic", "starts with b'GGML', not with GGUF"),
        ("twice", "has the key 'llama.block_count' twice"),
        ("no architecture", "has no general.architecture"),
        ("name bytes", "no UTF-8 text"),
        ("dimensions", "has 9 dimensions"),
        ("elements", "elements"),
        ("row", "has rows of 33 elements; q8_0 stores 32 together"),
    ],
)
def test_a_lie_in_a_header_is_named(what, message):
    with pytest.raises(InvalidInput, match=message):
        model_from_gguf_bytes(lie(what))


def parts(tmp_path, count, **changes):
    """A split model: the first file has the metadata, each a tensor of 320 elements of q8_0."""
    for number in range(count):
        other = {"split.no": number, "split.count": count} | changes.get(f"part_{number}", {})
        figures = LLAMA if number == 0 else {}
        tensors = {f"blk.{number}.x": ((10, 32), "Q8_0")}
        name = f"model-{number + 1:05}-of-{count:05}.gguf"
        write(tmp_path / name, "llama", figures, other=other, tensors=tensors)
    return [tmp_path / f"model-{n + 1:05}-of-{count:05}.gguf" for n in range(count)]


@pytest.mark.parametrize("given", [0, 1, 2])
def test_a_split_model_is_read_from_any_of_its_parts(tmp_path, given):
    model = model_from_gguf(parts(tmp_path, 3)[given])
    assert geometry(model) == EXPECTED
    assert (model.num_parameters, model.weights_bytes) == (3 * 320, 3 * 340)


def test_a_missing_part_leaves_the_weights_unknown(tmp_path):
    paths = parts(tmp_path, 3)
    paths[1].unlink()
    model = model_from_gguf(paths[0])
    assert (geometry(model), model.weights_bytes) == (EXPECTED, None)
    assert any("model-00002-of-00003.gguf is not beside it" in n for n in model.assumptions)


def test_parts_that_stand_for_each_other_are_refused(tmp_path):
    paths = parts(tmp_path, 3)
    paths[2].unlink()
    paths[2].symlink_to(paths[1])
    with pytest.raises(InvalidInput, match="says that it is part 2 of 3"):
        model_from_gguf(paths[0])


def test_parts_that_link_in_a_circle_are_refused(tmp_path):
    paths = parts(tmp_path, 2)
    paths[0].unlink()
    paths[0].symlink_to(paths[0].name)
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        model_from_gguf(paths[1])


def test_a_first_part_that_says_it_is_another_is_refused(tmp_path):
    paths = parts(tmp_path, 2, part_0={"split.no": 1})
    with pytest.raises(InvalidInput, match="part 2 of 2"):
        model_from_gguf(paths[0])


@pytest.mark.parametrize(
    "split", [{"split.count": 60_000}, {"split.no": 5, "split.count": 2}, {"split.no": 1}]
)
def test_impossible_splits_are_refused(tmp_path, split):
    path = write(tmp_path / "model.gguf", "llama", LLAMA, other=split)
    with pytest.raises(InvalidInput, match=r"split\.(count|no) is"):
        model_from_gguf(path)


def test_a_later_part_with_another_name_cannot_be_followed(tmp_path):
    split = {"split.no": 1, "split.count": 2}
    path = write(tmp_path / "second.gguf", "llama", LLAMA, other=split)
    with pytest.raises(InvalidInput, match=r"part 2 of 2 .*first part, which holds its metadata"):
        model_from_gguf(path)


def test_a_first_part_with_another_name_has_weights_of_unknown_size(tmp_path):
    split = {"split.no": 0, "split.count": 2}
    model = model_from_gguf(write(tmp_path / "first.gguf", "llama", LLAMA, other=split))
    assert (geometry(model), model.weights_bytes) == (EXPECTED, None)


def test_load_model_knows_a_gguf_file_by_its_bytes_too(tmp_path):
    path = write(tmp_path / "blob", "llama", LLAMA)
    assert geometry(load_model(path)) == EXPECTED


def test_a_folder_of_gguf_files_names_one_of_them(tmp_path):
    write(tmp_path / "a.gguf", "llama", LLAMA)
    with pytest.raises(SourceUnavailable, match=r"give one of its GGUF files, such as a\.gguf"):
        load_model(tmp_path)


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(SourceUnavailable, match="not a regular file"):
        load_model(tmp_path / "pipe.gguf")


def test_the_name_in_the_file_is_shown_and_what_was_assumed_said(tmp_path):
    path = write(tmp_path / "model.gguf", "llama", LLAMA, other={"general.name": "My model"})
    model = model_from_gguf(path)
    assert (model.name, model.id, model.dtype) == ("My model", "model", "fp16")
    assert model.max_position_embeddings == 8192
    assert "fp16" in model.assumptions[0]
    assert dict(model.provenance)["num_key_value_heads"] == "llama.attention.head_count_kv"
