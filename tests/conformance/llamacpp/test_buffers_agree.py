"""Caches really allocated, on the CPU: the buffer lines llama.cpp prints are ours."""

import pytest

import calculator as kv
from tests.conformance.llamacpp.models import TWINS
from tests.conformance.llamacpp.native import LlamaCppLibrary, path_of_library
from tests.conformance.llamacpp.shapes import shaped

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(path_of_library() is None, reason="xllamacpp is not installed"),
]
SMALL = ("gemma-3-27b", "deepseek-v4")  # the widest cache is 124 MiB
OPTIONS = {
    "n_ctx": 512, "n_seq_max": 2, "n_batch": 512, "n_ubatch": 128, "swa_full": False,
    "kv_unified": False, "flash_attn": False, "type_k": "f16", "type_v": "f16",
}  # fmt: skip


@pytest.fixture(scope="module")
def library():
    return LlamaCppLibrary(path_of_library())


@pytest.mark.parametrize(
    "twin",
    [*(t for t in shaped(1) if t.name.endswith("-0")), *(t for t in TWINS if t.name in SMALL)],
    ids=lambda twin: twin.name,
)
def test_every_line(library, twin, tmp_path):
    path = str(twin.write(tmp_path))
    library.cache_bytes(library.model(path, no_alloc=False), OPTIONS)
    request = kv.Request(seq_len=256, batch_size=2)
    engine = kv.engine("llama.cpp", **OPTIONS)
    lines = engine.log_lines(kv.load_model(path), request, kv.Parallelism(), 0)
    assert any("buffer size" in line for line in lines)
    assert [line.replace("<device>", "     CPU") for line in lines] == library.cache_lines()
