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
    send_at_once()
    yield


def send_at_once() -> None:
    """Connections inherit the option from the sockets this process listens on."""
    for listening in listening_sockets():
        with listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@cache
def keep_imports_out_of_collections() -> None:
    """Once, when all is imported: else each full collection walks every library, for 0.1 s."""
    gc.collect()
    gc.freeze()


def listening_sockets() -> list[socket.socket]:
    """Duplicates of the TCP sockets this process listens on."""
    found = []
    for name in os.listdir(OPEN_FILES) if OPEN_FILES.is_dir() else ():
        candidate = _duplicate(int(name))
        if candidate is None:
            continue
        if _listens(candidate):
            found.append(candidate)
        else:
            candidate.close()
    return found


def _duplicate(number: int) -> socket.socket | None:
    """None for what is no socket; a duplicate that stayed open would keep a pipe from ending."""
    try:
        copy = os.dup(number)
    except OSError:  # gone since it was listed
        return None
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None


def _listens(candidate: socket.socket) -> bool:
    if candidate.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    return bool(candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
