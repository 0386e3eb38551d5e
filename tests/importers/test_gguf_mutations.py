"""No header, however broken, gives anything but a model or one sentence, and at once."""

import subprocess
import sys
import time

from calculator.errors import CalculatorError
from calculator.importers.gguf import model_from_gguf_bytes
from calculator.model import ModelSpec
from tests.importers.gguf_bytes import ARRAY, Bytes, llama
from tests.importers.gguf_mutations import mutations, sound


def test_the_headers_that_are_mutated_are_sound():
    assert {model_from_gguf_bytes(head).num_hidden_layers for head in sound()} == {4}


def outcome(data: bytes) -> ModelSpec | str:
    try:
        return model_from_gguf_bytes(data)
    except CalculatorError as error:
        return str(error)


def test_mutated_headers_are_answered_or_refused():
    """3,000 here; tools/mutate_gguf.py runs as many as asked, with the limits on each."""
    outcomes = [outcome(data) for data in mutations(3000, seed=20261129)]
    sentences = [text for text in outcomes if isinstance(text, str)]
    assert all(20 < len(text) < 400 and text.isprintable() for text in sentences)
    assert 1000 < len(sentences) < len(outcomes) - 100


def worst() -> list[bytes]:
    """Headers within all limits on counts that take as much as they can."""
    b = Bytes()
    empty_texts = b.text("k") + b.u32(ARRAY) + b.u32(8) + b.count(1_000_000) + b"\0" * 8_000_000
    numbers = [b.entry(f"k{i}", [1] * 1024) for i in range(1000)]
    tensors = [b.tensor("x" * 900, (1,), 0) for _ in range(2**14)]
    return [
        b.file([*llama(), empty_texts]),
        b.file([*llama(), *numbers]),
        b.file(llama(), tensors),
    ]


MEASURE = """
import resource, sys
from calculator.importers.gguf import model_from_gguf
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model_from_gguf(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_largest_header_that_is_not_refused_stays_within_100_mb(tmp_path):
    for data in worst():
        path = tmp_path / "worst.gguf"
        path.write_bytes(data)
        command = [sys.executable, "-c", MEASURE, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(done.stdout) < 100_000  # KiB


def test_the_largest_header_that_is_not_refused_takes_no_second():
    for data in worst():
        started = time.process_time()
        model_from_gguf_bytes(data)
        assert time.process_time() - started < 1
