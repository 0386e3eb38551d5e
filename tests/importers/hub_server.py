"""A server on this machine that speaks the Hub's routes, soundly or not."""

from __future__ import annotations

import json
import re
import struct
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from calculator.importers import hub

VARIABLES = (
    "HF_TOKEN", "KVCALC_HUB", "HF_HUB_OFFLINE", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy",
    "https_proxy", "ALL_PROXY", "all_proxy",
)  # fmt: skip
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def forget_everything(monkeypatch: Any, cache: Path) -> None:
    """No variable of who runs this counts, and nothing that was asked for before."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    hub._remembered.clear()


def safetensors(**tensors: tuple[str, list[int], int]) -> bytes:
    """A file of (dtype, shape, bytes) tensors, the data left out after the header."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


class HubServer(ThreadingHTTPServer):
    """Repositories as {name: {file: bytes}}; `requests` holds (path, headers) as they came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.behave: dict[str, Any] = {}
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


class _Handler(BaseHTTPRequestHandler):
    server: HubServer

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        for pattern, act in self.server.behave.items():
            if re.search(pattern, self.path):
                act(self)
                return
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", self.path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path)
        name = (api or file or [None, ""])[1]
        files = self.server.repositories.get(name)
        if files is None:
            self.answer(401, code="RepoNotFound")
        elif api:
            listed = [{"rfilename": path} for path in files]
            body = json.dumps({"id": name, "sha": COMMIT, "siblings": listed}).encode()
            self.answer(200, body)
        elif file and file[3] in files:
            self._file(files[file[3]])
        else:
            self.answer(404, code="EntryNotFound")

    def _file(self, data: bytes) -> None:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not found:
            self.answer(200, data)
            return
        start, end = int(found[1]), min(int(found[2]) + 1, len(data))
        span = {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}
        self.answer(206, data[start:end], **span)

    def answer(self, status: int, body: bytes = b"", code: str = "", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1234"')
        self.send_header("X-Repo-Commit", COMMIT)
        if code:
            self.send_header("X-Error-Code", code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with suppress(OSError):  # whoever asked has gone
            self.wfile.write(body)


def refuses(status: int, code: str = "", **headers: str):
    return lambda handler: handler.answer(status, code=code, **headers)


def redirects(address: str):
    return lambda handler: handler.answer(302, Location=address)


def never_answers(handler: _Handler) -> None:
    time.sleep(5)


def trickles(handler: _Handler) -> None:
    """One byte at a time, for ever."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        return


def hangs_up(handler: _Handler) -> None:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"{")


def floods(handler: _Handler) -> None:
    """More than any configuration has."""
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(1000):
            handler.wfile.write(b" " * 100_000)
    except OSError:
        return
