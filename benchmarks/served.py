"""A server of our own, and a probe that asks it from a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
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

    def __init__(self, app: str = "app.py", **environment: str) -> None:
        self.app, self.environment = app, environment

    def __enter__(self) -> Server:
        self.folder = tempfile.TemporaryDirectory(prefix="kvcalc-crowd-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "streamlit", "run", self.app, "--server.port", str(port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment, "TMPDIR": self.folder.name},
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


class Asked(NamedTuple):
    """Seconds an answer took, and those of an empty server asked at the same moment."""

    seconds: float
    beside: float


Answers = dict[str, list[Asked]]


class Probe:
    """Asks both paths ten times a second, from a process of its own, until it is stopped."""

    def __init__(self, url: str):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_ask, args=(url, theirs), daemon=True)
        self.process.start()

    def so_far(self) -> Answers:
        """The answers since this was asked last."""
        self.ours.send("so far")
        found: Answers = self.ours.recv()
        return found

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


def _ask(url: str, theirs: Connection) -> None:
    beside, found = _empty_server(), _nothing()
    with ThreadPoolExecutor(1) as pool:
        while True:
            for path in PATHS:
                other = pool.submit(answer, beside)
                found[path].append(Asked(answer(url + path), other.result()))
            if theirs.poll(EVERY_S):
                theirs.recv()
                theirs.send(found)
                found = _nothing()


def _nothing() -> Answers:
    return {path: [] for path in PATHS}


def _empty_server() -> str:
    """Its address: a process that does nothing but answer. What delays it delays everybody."""
    server = HTTPServer(("127.0.0.1", 0), _Empty)
    # not a multiprocessing child: those of a daemon are not allowed
    if not os.fork():
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
        server.serve_forever()
    server.socket.close()
    return f"http://127.0.0.1:{server.server_port}"


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY_S)
    os._exit(0)


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""
