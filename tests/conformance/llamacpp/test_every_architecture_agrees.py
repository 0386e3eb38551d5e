"""Every GGUF architecture with a rule: its header gives what llama.cpp allocates, to the byte."""

import pytest

from calculator.importers.gguf import model_from_gguf
from calculator.importers.gguf.architectures import ARCHITECTURES
from tests.conformance.llamacpp.asked import answers
from tests.conformance.llamacpp.compare import lines_off, our_answer
from tests.conformance.llamacpp.headers import LEFT_OUT, figures, other_keys
from tests.conformance.llamacpp.native import path_of_library
from tests.importers.gguf_files import write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(path_of_library() is None, reason="xllamacpp is not installed"),
]
SETTINGS = {
    "n_ctx": 8192, "n_seq_max": 2, "n_batch": 2048, "n_ubatch": 512, "type_k": "f16",
    "type_v": "f16", "kv_unified": False, "flash_attn": True,
}  # fmt: skip
# A window of any other size, or on any other layer, would give another number.
BOTH = [SETTINGS | {"swa_full": whole} for whole in (True, False)]
ENCODER = "encoder_seq_len is missing"


@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - set(LEFT_OUT)))
def test_the_model_of_a_header_is_what_llama_cpp_allocates(architecture, tmp_path):
    path = write(
        tmp_path / "model.gguf", architecture, figures(architecture), other=other_keys(architecture)
    )
    model = model_from_gguf(path)
    for options, theirs in zip(BOTH, answers(path, BOTH), strict=True):
        ours = our_answer(model, options)
        if architecture == "t5":  # llama.cpp keeps nothing of the encoder's output
            assert ours.refused.startswith(ENCODER)
        else:
            assert theirs.num_bytes
            assert ours.num_bytes == theirs.num_bytes
            assert lines_off(theirs, ours) == []


def test_few_architectures_are_left_out_and_each_has_a_reason():
    assert set(LEFT_OUT) <= set(ARCHITECTURES)
    assert len(LEFT_OUT) <= 5
