"""An empty page, served exactly as the app is: for `page.py`."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from calculator.api import routes  # noqa: E402
from ui.server import without_delay  # noqa: E402

app = st.App(
    HERE / "page.py",
    routes=routes,
    lifespan=without_delay,
    middleware=[Middleware(GZipMiddleware, minimum_size=1024, compresslevel=6)],
)
