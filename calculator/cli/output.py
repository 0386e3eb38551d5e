"""Text → standard output and standard error, whatever their encoding and however full the disk."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from io import TextIOWrapper
from typing import TextIO

PLAIN = {
    "×": "x", "·": "*", "−": "-", "–": "-", "→": ">", "↔": "-", "÷": "/", "≈": "~", "…": "...",
    "≥": ">=", "≤": "<=", "½": "1/2", "²": "2", "³": "3",
}  # fmt: skip
"""What stands for a character that the output's encoding lacks; for all others, a question mark."""
WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def print_what_can_be() -> None:
    """From now on a character that an encoding lacks is replaced, where it would be an error."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in lacking), error.end


def flush() -> None:
    """A disk that is full shows here at the latest."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    sys.stdout.flush()


def failure(error: Exception) -> str:
    """Why the output could not be written; empty where that is not what happened."""
    if not isinstance(error, OSError) or error.errno not in WRITING or error.filename:
        return ""
    return str(error.strerror)


def complain(text: str) -> None:
    """One line on standard error, if that can be written to."""
    if sys.stderr is None:
        return
    try:
        print(f"error: {text}", file=sys.stderr)
    except OSError:
        give_up(sys.stderr)


def give_up(stream: TextIO | None) -> None:
    """What is still to be written goes nowhere, or the interpreter would fail on it at its end."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
