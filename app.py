"""The server: the page and the /api routes in one process. Start: streamlit run app.py"""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from calculator.api import routes  # noqa: E402
from ui.server import without_delay  # noqa: E402

app = st.App(
    HERE / "ui" / "main.py",
    routes=routes,
    lifespan=without_delay,
    middleware=[Middleware(GZipMiddleware, minimum_size=1024, compresslevel=6)],
)
