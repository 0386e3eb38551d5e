"""A job → a child process that does it: one at a time, with a time limit, progress and cancel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, NamedTuple

import calculator
from calculator.errors import (
    CalculatorError,
    DoesNotFit,
    InvalidInput,
    SourceUnavailable,
    UnsupportedModel,
)
from calculator.verify.jobs import TAKES_LESS, Job, check_packages

State = Literal["queued", "running", "done", "failed", "cancelled"]
TIME_LIMIT_S = 300.0
MAX_WAITING = 50
TICK_S = 0.05
FOLDER_PREFIX = "kvcalc-verify-"

_ERRORS = {
    cls.__name__: cls for cls in (InvalidInput, UnsupportedModel, DoesNotFit, SourceUnavailable)
}


class Status(NamedTuple):
    """Where a run is: `ahead` runs before it, `done` of `total` of what it does."""

    state: State
    ahead: int
    done: int
    total: int
    text: str
    result: dict[str, Any] | None
    error: CalculatorError | None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


class Run:
    """A job on its way. `poll` never waits; `wait` does, and `cancel` ends it at any moment.

    A run that nobody polls for `abandon_after_s` seconds is cancelled: its page was closed. Where
    `is_watched` can tell that somebody is still there, a page that sleeps in a tab counts too.
    """

    def __init__(
        self,
        job: Job,
        time_limit_s: float,
        abandon_after_s: float | None,
        is_watched: Callable[[], bool] = lambda: False,
    ):
        self.job = job
        self.time_limit_s = time_limit_s
        self.abandon_after_s = abandon_after_s
        self._is_watched = is_watched
        self._state: State = "queued"
        self._progress = (0, 1, "")
        self._result: dict[str, Any] | None = None
        self._error: CalculatorError | None = None
        self._cancelled = threading.Event()
        self._over = threading.Event()
        self._polled = time.monotonic()

    def poll(self) -> Status:
        self._polled = time.monotonic()
        ahead = _QUEUE.ahead_of(self) if self._state == "queued" else 0
        return Status(self._state, ahead, *self._progress, self._result, self._error)

    def cancel(self) -> None:
        self._cancelled.set()

    def wait(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The result; raises what the child found wrong, in the child's words."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._over.wait(TICK_S):
            self._polled = time.monotonic()
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"no result in {timeout_s} s")
        if self._error:
            raise self._error
        if self._result is None:
            raise DoesNotFit("The check was cancelled.", field="method")
        return self._result

    def _follow(self) -> None:
        """The supervising thread: wait for the turn, run, clean up; never leaves a process."""
        try:
            if _QUEUE.wait_for_turn(self, self._must_stop):
                self._state = "running"
                self._supervise()
        except OSError as error:
            reason = error.strerror or "unknown reason"
            self._error = DoesNotFit(
                f"The child process could not be started: {reason}.", field="method"
            )
        finally:
            self._end("cancelled" if self._cancelled.is_set() else "failed")
            _QUEUE.leave(self)
            self._over.set()

    def _end(self, otherwise: State) -> None:
        self._state = "done" if self._result is not None else otherwise
        if self._state == "failed" and self._error is None:
            self._error = DoesNotFit("The check ended without a result.", field="method")

    def _must_stop(self) -> bool:
        limit = self.abandon_after_s
        if limit is None or self._cancelled.is_set():
            return self._cancelled.is_set()
        if self._is_watched():
            self._polled = time.monotonic()
        if time.monotonic() - self._polled > limit:
            self._error = DoesNotFit(
                f"Nobody looked at the page for {limit:,.0f} s, so its check was ended. It can be "
                "started again.",
                field="method",
            )
            self._cancelled.set()
        return self._cancelled.is_set()

    def _supervise(self) -> None:
        with TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True) as folder:
            self._run_child(folder)

    def _run_child(self, folder: str) -> None:
        process = _process(folder)
        assert process.stdin and process.stdout
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        end = time.monotonic() + self.time_limit_s
        try:
            if self.abandon_after_s is not None:
                _give_way(process.pid)
            reader.start()
            with suppress(OSError):
                limits = {"time_limit_s": self.time_limit_s, "folder": folder}
                document = {**json.loads(self.job.to_json()), **limits}
                process.stdin.write(json.dumps(document).encode() + b"\n")
                process.stdin.flush()
            while process.poll() is None and not self._must_stop():
                if time.monotonic() > end:
                    self._error = DoesNotFit(
                        f"The check took longer than {self.time_limit_s:,.0f} s and was ended. "
                        f"{TAKES_LESS[self.job.method]}",
                        field="method",
                    )
                    break
                time.sleep(TICK_S)
        finally:
            process.kill()
            process.wait()
            reader.join(timeout=5)
            with suppress(OSError):  # of one that ended before it had read its job
                process.stdin.close()
            process.stdout.close()
        self._explain(process.returncode)

    def _explain(self, status: int) -> None:
        """What to say of a child that ended without a word."""
        if self._result is None and self._error is None and not self._cancelled.is_set():
            what = f"by signal {-status}" if status < 0 else f"with status {status}"
            self._error = DoesNotFit(
                f"The child process was ended {what} before it had a result: by somebody, or "
                "because the machine ran out of memory. It can be started again. "
                f"{TAKES_LESS[self.job.method]}",
                field="method",
            )

    def _read(self, stdout: IO[bytes]) -> None:
        with suppress(ValueError, OSError):  # closed while reading
            for line in stdout:
                found = json.loads(line)
                if "progress" in found:
                    self._progress = tuple(found["progress"])
                elif "result" in found:
                    self._result = found["result"]
                else:
                    self._error = _error(found["error"])


class _Queue:
    """Runs in the order in which they came; the first one has its turn."""

    def __init__(self) -> None:
        self._runs: deque[Run] = deque()
        self._changed = threading.Condition()

    def join(self, run: Run) -> None:
        with self._changed:
            if len(self._runs) > MAX_WAITING:
                raise DoesNotFit(
                    f"{MAX_WAITING} checks are waiting already; try again in a few minutes.",
                    field="method",
                )
            self._runs.append(run)

    def leave(self, run: Run) -> None:
        with self._changed:
            if run in self._runs:
                self._runs.remove(run)
            self._changed.notify_all()

    def ahead_of(self, run: Run) -> int:
        with self._changed:
            return self._runs.index(run) if run in self._runs else 0

    def wait_for_turn(self, run: Run, must_stop: Callable[[], bool]) -> bool:
        """True once it is this run's turn, False if it must stop before."""
        with self._changed:
            while self._runs[0] is not run:
                self._changed.wait(TICK_S)
                if must_stop():
                    return False
        return not must_stop()


_QUEUE = _Queue()


def start(
    job: Job,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    abandon_after_s: float | None = None,
    is_watched: Callable[[], bool] = lambda: False,
) -> Run:
    """Queue a job and return at once; SourceUnavailable where torch is not installed."""
    check_packages(job.method)
    run = Run(job, time_limit_s, abandon_after_s, is_watched)
    _QUEUE.join(run)
    threading.Thread(target=run._follow, daemon=True, name="kvcalc-verify").start()
    return run


def _process(folder: str) -> subprocess.Popen[bytes]:
    """The child in a session of its own, so that an interrupt reaches its parent alone.

    Its temporary files are in `folder`: torch leaves some, and a killed process cannot clean up.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(calculator.__file__)))
    path = os.pathsep.join(x for x in (root, os.environ.get("PYTHONPATH")) if x)
    environment = {
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder),
        "PYTHONPATH": path,
        "PYTHONIOENCODING": "utf-8",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "calculator.verify.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


def _give_way(pid: int) -> None:
    """A page's check runs after the page: whoever looks at it is answered first."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, 10)


def _error(found: dict[str, Any]) -> CalculatorError:
    cls = _ERRORS.get(found["type"])
    if cls is None:
        return CalculatorError(f"A fault of the check, not of your input: {found['message']}")
    return cls(found["message"], field=found["field"])
