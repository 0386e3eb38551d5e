"""A server of our own, and a probe that asks it from a process of its own: for `crowd.py`."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROC = Path("/proc")
PATHS = ("/healthz", "/api/v1/estimate?model=llama-3-8b&context=8k")
EVERY_S = 0.1


class Held(NamedTuple):
    """What a process holds: MiB resident, open files, threads; and children, files left lying."""

    mib: int
    files: int
    threads: int
    children: int
    temporary: tuple[str, ...]


class Server:
    """README's command on a free port, its temporary files in a folder of their own."""

    def __enter__(self) -> Server:
        self.folder = tempfile.TemporaryDirectory(prefix="kvcalc-crowd-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self.folder.name},
        )  # fmt: skip
        while self.process.poll() is None:
            with suppress(OSError):
                answer(self.url + PATHS[0])
                return self
            time.sleep(0.05)
        raise SystemExit("The server did not start.")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()

    def held(self) -> Held:
        own = PROC / str(self.process.pid)
        status = (own / "status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return Held(
            int(resident.split()[1]) // 1024,
            len(list((own / "fd").iterdir())),
            len(list((own / "task").iterdir())),
            len(self.workers()),
            tuple(path.name for path in Path(self.folder.name).iterdir()),
        )

    def workers(self) -> set[int]:
        """Children of the server that do a check."""
        found = set()
        for path in PROC.glob("[0-9]*"):
            with suppress(OSError):
                command = (path / "cmdline").read_bytes()
                parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self.process.pid and b"calculator.verify.worker" in command:
                    found.add(int(path.name))
        return found

    def kill_worker(self) -> bool:
        """Whether there was one to kill."""
        for pid in self.workers():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False


def answer(url: str) -> float:
    """Seconds until the whole answer is there."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as reply:
        reply.read()
    return time.perf_counter() - began


class Probe:
    """Asks both paths ten times a second until it is stopped: a list of seconds for each."""

    def __init__(self, url: str):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_ask, args=(url, theirs), daemon=True)
        self.process.start()

    def so_far(self) -> dict[str, list[float]]:
        """The answers since this was asked last."""
        self.ours.send("so far")
        found: dict[str, list[float]] = self.ours.recv()
        return found

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


def _ask(url: str, theirs: Connection) -> None:
    found: dict[str, list[float]] = {path: [] for path in PATHS}
    while True:
        for path in PATHS:
            found[path].append(answer(url + path))
        if theirs.poll(EVERY_S):
            theirs.recv()
            theirs.send(found)
            found = {path: [] for path in PATHS}
