"""1,000 random settings over all architectures: llama.cpp's bytes, lines and refusals are ours."""

from dataclasses import replace

import pytest

from tests.conformance.llamacpp.cases import cases
from tests.conformance.llamacpp.compare import Compared, compared
from tests.conformance.llamacpp.models import TWINS
from tests.conformance.llamacpp.native import path_of_library
from tests.conformance.llamacpp.shapes import shaped

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(path_of_library() is None, reason="xllamacpp is not installed"),
]
CASES, SEED = 1000, 1


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> list[Compared]:
    return compared(cases(CASES, SEED), tmp_path_factory.mktemp("gguf"))


def test_no_byte_is_off_and_refusals_are_the_same(found):
    assert len(found) == CASES
    assert [str(case) for case in found if not case.agree] == []


def test_every_architecture_was_sized_and_most_settings_run(found):
    sized = {case.twin.name for case in found if case.theirs.num_bytes}
    assert sized == {twin.name for twin in (*TWINS, *shaped(SEED))}
    assert len({twin.architecture for twin in TWINS}) >= 14
    assert sum(case.theirs.num_bytes is not None for case in found) > CASES // 2


@pytest.mark.parametrize(
    "reason",
    [
        "quantized V cache requires flash_attn to be enabled",
        "model does not support different K",
        "does not divide n_embd_head_k=80",
        "does not divide n_embd_head_v=80",
        "GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max)",
    ],
)
def test_the_cases_meet_every_kind_of_refusal(found, reason):
    assert any(reason in case.theirs.refused for case in found)


def test_a_byte_too_many_would_be_noticed(found):
    case = next(case for case in found if case.theirs.num_bytes)
    off = replace(case, ours=replace(case.ours, num_bytes=case.theirs.num_bytes + 1))
    assert case.agree and not off.agree and off.bytes_off == 1


def test_a_line_otherwise_would_be_noticed(found):
    assert sum(len(case.theirs.log) for case in found) > 2 * CASES
    case = next(case for case in found if "K (f16)" in "".join(case.theirs.log))
    lines = tuple(line.replace("K (f16)", "K (f32)") for line in case.ours.log)
    off = replace(case, ours=replace(case.ours, log=lines))
    short = replace(case, ours=replace(case.ours, log=case.ours.log[:-1]))
    assert not case.lines_off and off.lines_off and not off.agree and not short.agree


def test_another_reason_would_be_noticed(found):
    case = next(c for c in found if "requires flash_attn" in c.theirs.refused)
    off = replace(case, ours=replace(case.ours, refused="llama.cpp refuses: something else."))
    assert case.agree and not off.agree
