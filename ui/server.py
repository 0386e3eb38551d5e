"""The server's process: what a page sends leaves at once, and what it imported is left alone."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

OPEN_FILES = Path("/dev/fd")
"""Of this process; Linux and macOS have it, and elsewhere nothing is set."""


@asynccontextmanager
async def without_delay(_app: object) -> AsyncIterator[None]:
    """For the time the server runs.

    Streamlit binds its socket without naming the protocol, so asyncio does not switch Nagle's
    algorithm off for its connections (`asyncio/base_events.py:_set_nodelay`): a small message after
    another then waits for the browser's delayed acknowledgement, 40 ms, twice a rerun.
    """
    for listening in listening_sockets():
        with listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    yield


@cache
def keep_imports_out_of_collections() -> None:
    """Once, when all is imported: else each full collection walks every library, for 0.1 s."""
    gc.collect()
    gc.freeze()


def listening_sockets() -> list[socket.socket]:
    """Duplicates of the TCP sockets this process listens on; connections inherit their options."""
    found = []
    for name in os.listdir(OPEN_FILES) if OPEN_FILES.is_dir() else ():
        try:
            candidate = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # a file, or gone since
            continue
        if _listens(candidate):
            found.append(candidate)
        else:
            candidate.close()
    return found


def _listens(candidate: socket.socket) -> bool:
    if candidate.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    return bool(candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
