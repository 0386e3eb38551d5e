"""What tools print of a GGUF file, pasted: the same model as from the file."""

import io
import json
import os
import subprocess
import sys
import time

import pytest

from calculator.errors import InvalidInput
from calculator.importers.gguf import gguf_as_json, model_from_gguf, model_from_gguf_dump
from tests.importers.gguf_files import LLAMA, geometry, write

LOG = """\
0.00.178.010 I llama_model_loader: loaded meta data with 9 key-value pairs and 2 tensors from m.gguf
llama_model_loader: Dumping metadata keys/values. Note: KV overrides do not apply in this output.
llama_model_loader: - kv   0:                       general.architecture str              = gemma3
llama_model_loader: - kv   1:                               general.name str              = A model
llama_model_loader: - kv   2:                         gemma3.block_count u32              = 4
llama_model_loader: - kv   3:                      gemma3.context_length u32              = 8192
llama_model_loader: - kv   4:                    gemma3.embedding_length u32              = 256
llama_model_loader: - kv   5:                gemma3.attention.head_count u32              = 8
llama_model_loader: - kv   6:             gemma3.attention.head_count_kv arr[i32,4]       = [2, 1, 2, 2]
llama_model_loader: - kv   7:            gemma3.attention.sliding_window u32              = 512
llama_model_loader: - kv   8:                      tokenizer.ggml.tokens arr[str,262144]  = ["<pad>", "<eos>", "<bos>", ...
llama_model_loader: - type  f32:    1 tensors
"""  # noqa: E501
FIGURES = LLAMA | {"attention.sliding_window": 512, "attention.head_count_kv": [2, 1, 2, 2]}


@pytest.fixture
def path(tmp_path):
    tensors = {"blk.0.attn_k.weight": ((64, 256), "Q6_K"), "output_norm.weight": ((256,), "F32")}
    found = write(tmp_path / "model.gguf", "gemma3", FIGURES, tensors=tensors)
    os.truncate(found, 100_000)  # gguf-dump wants the tensors' bytes to be there
    return found


def printed(path, *options):
    command = [sys.executable, "-m", "gguf.scripts.gguf_dump", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_log_of_llama_cpp_gives_the_model_of_the_file(path):
    model = model_from_gguf_dump(LOG)
    assert geometry(model) == geometry(model_from_gguf(path))
    assert (model.name, model.max_position_embeddings, model.weights_bytes) == (
        "A model",
        8192,
        None,
    )


@pytest.mark.parametrize("options", [(), ("--json", "--json-array")])
def test_what_gguf_dump_prints_gives_the_model_of_the_file(path, options):
    model, expected = model_from_gguf_dump(printed(path, *options)), model_from_gguf(path)
    assert geometry(model) == geometry(expected)
    assert (model.weights_bytes, model.num_parameters) == (64 * 210 + 1024, 64 * 256 + 256)
    assert model.assumptions == expected.assumptions


def test_a_list_that_was_cut_off_when_printing_is_refused():
    text = LOG.replace("arr[i32,4]       = [2, 1, 2, 2]", "arr[i32,4]       = [2, 1, ...")
    with pytest.raises(InvalidInput, match=r"head_count_kv is cut off.*4 entries"):
        model_from_gguf_dump(text)


def test_lines_that_are_missing_are_noticed():
    text = "".join(line for line in LOG.splitlines(keepends=True) if "sliding_window" not in line)
    with pytest.raises(InvalidInput, match="says 9 keys and holds 8"):
        model_from_gguf_dump(text)


def test_lines_without_their_count_are_an_assumption():
    model = model_from_gguf_dump("".join(LOG.splitlines(keepends=True)[1:]))
    assert any("pasted lines" in note for note in model.assumptions)


def test_keys_and_values_alone_are_read():
    figures = {"general.architecture": "llama"} | {f"llama.{k}": v for k, v in LLAMA.items()}
    assert model_from_gguf_dump(json.dumps(figures)).num_hidden_layers == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no GGUF metadata"),
        ("hello\nworld", "holds no GGUF metadata"),
        ("x" * 3_000_000, "longer than 2 MiB"),
        ('{"metadata": 3}', "metadata is 3"),
        ('{"a": ', "is not JSON"),
        (LOG + LOG.replace("8192", "4096"), "context_length' twice"),
        (LOG.replace("= 8192", "= many"), "is 'many' in the dump"),
        ('{"general.architecture": "llama", "llama.block_count": "x"}', "expected a whole number"),
    ],
)
def test_text_that_is_no_dump_is_refused(text, message):
    with pytest.raises(InvalidInput, match=message):
        model_from_gguf_dump(text)


@pytest.mark.parametrize("cut", range(0, len(LOG), 97))
def test_a_cut_log_is_never_another_model(cut):
    try:
        model = model_from_gguf_dump(LOG[:cut])
    except InvalidInput:
        return
    assert geometry(model) == geometry(model_from_gguf_dump(LOG))


def test_an_upload_as_short_text_gives_the_model_of_the_file(path):
    expected = model_from_gguf(path)
    with path.open("rb") as file:
        text = gguf_as_json(file)
    model = model_from_gguf_dump(text)
    assert len(text) < 600
    assert geometry(model) == geometry(expected)
    assert (model.weights_bytes, model.num_parameters, model.weights_dtype) == (
        expected.weights_bytes, expected.num_parameters, expected.weights_dtype,
    )  # fmt: skip
    assert gguf_as_json(text) == text


def test_a_log_as_short_text_gives_the_same_model():
    assert geometry(model_from_gguf_dump(gguf_as_json(LOG))) == geometry(model_from_gguf_dump(LOG))


def test_an_upload_that_is_no_gguf_file_is_refused_before_it_is_kept():
    with pytest.raises(InvalidInput, match="not with GGUF"):
        gguf_as_json(io.BytesIO(b"hello world, this is text"))


@pytest.mark.parametrize(
    "text",
    [
        "1: 1 | " + " " * 1_900_000,
        "1: 1 |" + "1, " * 600_000 + "|",
        "llama_model_loader: - kv 1: " * 70_000,
        "      8: [INT32]    |        4 | a.b = " + "[" * 1_000_000,
    ],
)
def test_a_long_line_is_read_in_a_moment(text):
    started = time.process_time()
    with pytest.raises(InvalidInput):
        model_from_gguf_dump(text)
    assert time.process_time() - started < 1
