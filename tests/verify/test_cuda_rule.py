"""The CUDA allocator's rule, on sizes worked out by hand from its constants."""

import pytest

from calculator.units import MIB
from calculator.verify.cuda_rule import set_aside


@pytest.mark.parametrize(
    ("sizes", "allocated", "reserved"),
    [
        ([1], 512, 2 * MIB),
        ([512, 513], 512 + 1024, 2 * MIB),
        ([MIB, MIB, MIB], 3 * MIB, 4 * MIB),
        ([MIB + 1], MIB + 512, 20 * MIB),
        # the second finds room in the first one's segment, the third does not
        ([9 * MIB, 9 * MIB, 9 * MIB], 27 * MIB, 40 * MIB),
        # 11 MiB are left, and the 1 MiB then left over is not split off: it stays with the second
        ([9 * MIB, 10 * MIB], 9 * MIB + 11 * MIB, 20 * MIB),
        ([10 * MIB], 10 * MIB, 10 * MIB),
        # rounded up to 14 MiB, 1 MiB left over and not split off
        ([13 * MIB], 14 * MIB, 14 * MIB),
        # 1 MiB and 512 B left over: split off, and too large for the small pool to use
        ([13 * MIB - 512, 512], 13 * MIB - 512 + 512, 14 * MIB + 2 * MIB),
        ([0, 0], 0, 0),
    ],
)
def test_blocks_and_segments(sizes, allocated, reserved):
    assert set_aside(sizes) == (allocated, reserved)


def test_llama_3_8b_at_8192_tokens_wastes_nothing():
    assert set_aside([16 * MIB] * 64) == (1024 * MIB, 1024 * MIB)
