"""The child process: a job on standard input → progress and a result, a JSON line each.

    python -m calculator.verify.worker < job.json

It ends with its parent: standard input stays open until then. Whatever libraries print goes to
standard error, so that standard output holds nothing but JSON lines.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

from calculator.errors import CalculatorError
from calculator.units import GIB
from calculator.verify.jobs import TAKES_LESS, Job, Method, run_job

PARENT_GONE = 3
SLACK_BYTES = GIB
"""What torch itself may take beside the tensors."""
PROGRESS_EVERY_S = 0.2


def main() -> int:
    out = _own_output()
    text = sys.stdin.readline()
    limits = json.loads(text)
    _end_after(limits.pop("time_limit_s"))
    folder = limits.pop("folder")
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    try:
        job = Job(**limits)
        _limit_memory(job)
        result = run_job(job, _Reporter(out))
    except CalculatorError as error:
        kind = type(error).__name__
        _say(out, error={"type": kind, "message": str(error), "field": error.field})
    except Exception as error:
        _say(out, error=_told(error, limits["method"]))
    else:
        _say(out, result=result)
    out.flush()
    # not a normal end: taking apart a large cache and torch's threads may take seconds
    os._exit(0)


def _own_output() -> TextIO:
    """The pipe to the parent under a number of its own; number 1 becomes standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "w", encoding="utf-8")


def _told(error: Exception, method: Method) -> dict[str, str]:
    """Memory that ran out is the user's to know, all else a fault of ours."""
    from calculator.verify.device import is_out_of_memory

    if is_out_of_memory(error):
        message = f"Out of memory; everything was freed again. {TAKES_LESS[method]}"
        return {"type": "DoesNotFit", "message": message, "field": "device"}
    message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return {"type": "Fault", "message": message, "field": ""}


def _say(out: TextIO, **line: Any) -> None:
    try:
        out.write(json.dumps(line) + "\n")
        out.flush()
    except OSError:  # nobody listens any more
        os._exit(PARENT_GONE)


class _Reporter:
    """Progress lines, a few a second at most."""

    def __init__(self, out: TextIO):
        self.out = out
        self.last = 0.0

    def __call__(self, done: int, total: int, text: str) -> None:
        now = time.monotonic()
        if now - self.last >= PROGRESS_EVERY_S or done >= total:
            self.last = now
            _say(self.out, progress=[done, total, text])


def _end_with_parent(folder: str) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    shutil.rmtree(folder, ignore_errors=True)  # the parent would have done it
    os._exit(PARENT_GONE)


def _end_after(seconds: float) -> None:
    """The parent ends a child that takes too long; this is for a parent that cannot any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds + 5)


def _limit_memory(job: Job) -> None:
    """A hard limit a little above the budget, and first to go if the machine runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    from calculator.verify.device import chosen_device, free_memory

    on_cuda = job.method != "real-model" and chosen_device(job.device) == "cuda"
    if sys.platform != "linux" or on_cuda:
        return  # CUDA maps far more than it uses
    import resource

    budget = job.budget_bytes
    if budget is None:
        budget = free_memory(chosen_device("cpu")).budget_bytes
    limit = _data_bytes() + budget + SLACK_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _data_bytes() -> int:
    """Private writable memory that is mapped so far, which is what RLIMIT_DATA counts."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(x for x in file if x.startswith("VmData:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    sys.exit(main())
