"""How many threads a job takes of the machine."""

import pytest

torch = pytest.importorskip("torch")

from calculator.scenario import scenario  # noqa: E402
from calculator.verify.jobs import job_of, run_job  # noqa: E402


@pytest.mark.parametrize(("asked", "taken"), [(None, 1), (2, 2)])
def test_a_generation_takes_one_thread_unless_asked_for_more(asked, taken):
    before = torch.get_num_threads()
    job = job_of(
        scenario({"model": "llama-3-8b"}), "generate", device="cpu", threads=asked,
        generation={"prompt_tokens": 4, "new_tokens": 2},
    )  # fmt: skip
    try:
        torch.set_num_threads(2)
        assert run_job(job, lambda *_: None)["tokens_equal"]
        assert torch.get_num_threads() == taken
    finally:
        torch.set_num_threads(before)
