"""Open the page in a browser (needs the extra `app`)."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from calculator.errors import SourceUnavailable
from calculator.units import parse_count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", default="8501", metavar="N", help="port (default 8501)")
    parser.add_argument("--address", default="127.0.0.1", help="address (default 127.0.0.1)")


def run(arguments: argparse.Namespace) -> NoReturn:
    port = parse_count("port", arguments.port, at_most=65_535)
    if find_spec("streamlit") is None:
        raise SourceUnavailable(
            "The page needs Streamlit, which is not installed; "
            'pip install "kv-cache-calculator[app]" brings it.'
        )
    # Streamlit reads its config.toml beside the script; address and port are passed, since
    # environment variables are not read by every way of starting it. The server takes the place
    # of this process, so that stopping it stops the server.
    os.execv(
        sys.executable,
        [
            sys.executable, "-m", "streamlit", "run", str(script()),
            "--server.port", str(port), "--server.address", arguments.address,
        ],
    )  # fmt: skip


def script() -> Path:
    """app.py: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "_app" / "app.py"
    return inside if inside.is_file() else package.parent / "app.py"
