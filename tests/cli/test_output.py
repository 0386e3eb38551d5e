"""What is printed where the encoding lacks characters, or nothing can be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    (),
    ("--help",),
    ("estimate", "--help"),
    ("verify", "--help"),
    ("estimate", "qwen3-next-80b"),
    ("capacity", "llama-3.1-405b", "--device", "t4-16gb", "--engine", "vllm"),
    ("import", "gemma-3-27b"),
    ("presets",),
    ("devices",),
]
FULL = Path("/dev/full")


def kvcalc(*words, encoding="utf-8", **more) -> subprocess.CompletedProcess[bytes]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(
        [sys.executable, "-m", "calculator", *words],
        env={**os.environ, "PYTHONIOENCODING": encoding}, timeout=60, **streams,
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_prints_in_every_encoding(words, encoding):
    found = kvcalc(*words, encoding=encoding)
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout.decode(encoding)


def test_signs_have_plain_equivalents():
    out = kvcalc("estimate", "qwen3-next-80b", encoding="ascii").stdout.decode("ascii")
    assert "Qwen3-Next-80B, 8,192 tokens x 1, bf16 cache, ideal: 0.26 GiB (0.28 GB)." in out
    assert "kernel - 1 columns" in out
    assert "?" not in out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_json_says_the_same_in_every_encoding(encoding):
    words = ("estimate", "qwen3-next-80b", "--json")
    expected = kvcalc(*words).stdout
    assert not expected.isascii()
    found = kvcalc(*words, encoding=encoding).stdout.decode(encoding)
    assert json.loads(found) == json.loads(expected)


def test_an_error_is_one_line_in_every_encoding():
    found = kvcalc("estimate", "llama-→", encoding="ascii")
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.startswith(b"error: model is 'llama->'")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("words", [*COMMANDS, ("presets", "--json")], ids=" ".join)
def test_a_full_disk_is_said(words):
    with FULL.open("wb") as full:
        found = kvcalc(*words, stdout=full)
        assert kvcalc(*words, stdout=full, stderr=full).returncode == 2
    assert found.returncode == 2
    assert found.stderr == b"error: the output cannot be written: No space left on device.\n"


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
def test_a_mistake_is_exit_2_where_it_cannot_be_said():
    with FULL.open("wb") as full:
        assert kvcalc("estimate", "nope", stderr=full).returncode == 2
