"""The child process: its result, its end at any moment, one at a time, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import calculator as kv
from calculator.scenario import scenario
from calculator.verify import child
from calculator.verify.child import start
from calculator.verify.jobs import Job, job_of

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
PROC = Path("/proc")
linux = pytest.mark.skipif(not PROC.is_dir(), reason="looks at /proc")


def allocation(model: str = "llama-3-8b", **more) -> Job:
    options = {"model": model, "context": "64", **more.pop("options", {})}
    return job_of(scenario(options), "allocate", device="cpu", threads=1, **more)


def endless() -> Job:
    """A run that would take many minutes."""
    return job_of(
        scenario({"model": "llama-3-8b"}), "generate", device="cpu", threads=1,
        generation={"prompt_tokens": 64, "new_tokens": 16_384},
    )  # fmt: skip


def children() -> set[int]:
    """Workers that are alive below this process."""
    found = set()
    for path in PROC.glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if b"calculator.verify.worker" in command and parent == os.getpid():
            found.add(int(path.name))
    return found


def test_a_child_killed_before_it_has_read_its_job_is_told_so(monkeypatch):
    def killed(folder, start_process=child._process):
        process = start_process(folder)
        process.kill()
        process.wait()
        return process

    monkeypatch.setattr(child, "_process", killed)
    with pytest.raises(kv.DoesNotFit, match="ended by signal 9 before it had a result"):
        start(allocation()).wait(60)


def until(condition, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_result_is_the_contract():
    found = start(allocation()).wait(120)
    assert found["predicted_bytes"] == found["measured_bytes"] == 64 * 131_072
    assert (found["equal"], found["method"], found["device"]) == (True, "allocate", "cpu")
    assert found["versions"]["torch"] and found["model"]["id"] == "llama-3-8b"
    json.dumps(found)


def test_several_devices_are_allocated_on_one_and_it_is_said():
    found = start(allocation(options={"tp": "16"})).wait(120)
    assert found["measured_bytes"] == 2 * 64 * 131_072  # 8 heads on 16 ranks: two copies
    assert found["notes"] == ["The tensors of all 16 devices, on this one."]


def test_what_a_child_refuses_is_told_in_its_words():
    with pytest.raises(kv.DoesNotFit, match="may be used"):
        start(allocation(options={"context": "128k", "sequences": "100000"})).wait(120)


@linux
def test_memory_that_runs_out_leaves_this_process_alive():
    """More than the machine has: refused by the hard limit in the child, whatever it believes."""
    code = (
        "import resource, calculator.verify.worker as w, calculator as kv\n"
        "from calculator.verify.allocate import allocate\n"
        "import torch\n"
        "limit = w._data_bytes() + 2**26\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))\n"
        "fp = kv.footprint(kv.load_model('llama-3-8b'), kv.Request(4096))\n"
        "try: allocate(fp, 'cpu', budget_bytes=2**34)\n"
        "except kv.DoesNotFit as error: print(error)\n"
        "print(allocate(kv.footprint(fp.model, kv.Request(64)), 'cpu').equal)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "Out of memory on cpu after" in done.stdout, done.stderr
    assert done.stdout.endswith("True\n")


@linux
def test_memory_that_runs_out_in_a_generation_is_told():
    """Attention over 16,384 tokens at once takes gigabytes; the budget is a tenth of one."""
    job = job_of(
        scenario({"model": "llama-3-8b"}), "generate", device="cpu", threads=1,
        budget_bytes=2**26, generation={"prompt_tokens": 16_384, "new_tokens": 2},
    )  # fmt: skip
    with pytest.raises(kv.DoesNotFit, match=r"Out of memory; .* A shorter prompt or fewer"):
        start(job).wait(120)


@linux
def test_cancel_ends_it_at_any_moment():
    for seconds in (0.0, 0.3, 4.0):
        run = start(endless())
        time.sleep(seconds)
        run.cancel()
        assert until(lambda run=run: run.poll().is_over, 10)
        assert run.poll().state == "cancelled"
        assert not children()


@linux
def test_a_child_that_is_killed_is_told_and_the_next_one_runs():
    run = start(endless())
    assert until(lambda: children() and run.poll().done > 0)
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: run.poll().is_over, 10)
    assert run.poll().state == "failed"
    assert "ended by signal 9 before it had a result" in str(run.poll().error)
    assert "It can be started again. A shorter prompt" in str(run.poll().error)
    assert start(allocation()).wait(120)["equal"]


@linux
def test_a_time_limit_and_a_page_that_was_closed():
    slow = start(endless(), time_limit_s=1)
    closed = start(endless(), abandon_after_s=1)
    assert until(lambda: slow.poll().is_over, 30)
    assert "longer than 1 s and was ended. A shorter prompt or fewer" in str(slow.poll().error)
    time.sleep(2)
    assert until(lambda: not children(), 10)
    assert closed.poll().state == "cancelled"
    assert "Nobody looked at the page for 1 s" in str(closed.poll().error)


@linux
def test_a_page_that_sleeps_in_a_tab_keeps_its_check_until_it_is_closed():
    there = threading.Event()
    there.set()
    start(endless(), abandon_after_s=0.5, is_watched=there.is_set)
    assert until(children)
    time.sleep(2)
    assert children()
    there.clear()
    assert until(lambda: not children(), 10)


@pytest.mark.parametrize(
    ("method", "advice"),
    [
        ("allocate", "A shorter context or fewer sequences take less."),
        ("real-model", "A shorter context takes less."),
        ("generate", "A shorter prompt or fewer new tokens take less."),
    ],
)
def test_a_check_that_takes_too_long_is_told_what_takes_less(method, advice):
    job = job_of(scenario({"model": "llama-3-8b"}), method, device="cpu", threads=1)
    with pytest.raises(kv.DoesNotFit, match=rf"longer than 0 s and was ended\. {advice}"):
        start(job, time_limit_s=0.1).wait(60)


@linux
def test_twenty_at_once_queue_and_nothing_waits_for_them():
    began = time.monotonic()
    runs = [start(endless()) for _ in range(20)]
    assert time.monotonic() - began < 1
    assert until(lambda: len(children()) == 1)
    assert [run.poll().state for run in runs].count("running") == 1
    assert sorted(run.poll().ahead for run in runs)[-1] == 19
    for run in runs:
        run.cancel()
    assert until(lambda: all(run.poll().is_over for run in runs), 20)
    assert not children()


def folder_of_child(inside) -> bool:
    """Whether a child is there whose temporary files go to a folder in this one."""
    for pid in children():
        try:
            given = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if f"TMPDIR={inside}/kvcalc-verify-".encode() in given:
            return True
    return False


@linux
def test_no_temporary_file_outlives_its_check(tmp_path, monkeypatch):
    """transformers' code makes torch create a folder beside a temporary file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    job = job_of(scenario({"model": "gpt2", "context": "8"}), "real-model", threads=1)
    run = start(job)
    assert until(lambda: folder_of_child(tmp_path))
    assert run.wait(120)["equal"]
    assert not list(tmp_path.iterdir())
    run = start(job)
    assert until(lambda: folder_of_child(tmp_path))
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: run.poll().is_over, 10)
    assert not list(tmp_path.iterdir())


@linux
def test_the_child_ends_with_its_parent(tmp_path):
    code = (
        "import time\n"
        "from tests.verify.test_child import children, endless, until\n"
        "from calculator.verify.child import start\n"
        "run = start(endless())\n"
        "until(lambda: run.poll().done > 0)\n"
        "print(*children(), flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 1
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert until(lambda: not alive(pids[0]), 10)
    assert not list(tmp_path.iterdir())


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        state = (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_job_without_a_model_is_refused():
    with pytest.raises(kv.InvalidInput):
        Job(method="allocate")
    with pytest.raises(kv.InvalidInput):
        allocation(slice="half")
