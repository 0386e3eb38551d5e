"""A server on a free port and a real Chromium; skipped, visibly, where there is none."""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT = 90_000
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'


@pytest.fixture(scope="session")
def app_url(tmp_path_factory) -> Iterator[str]:
    """README's command, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(url, server, log)
            yield url
        finally:
            server.terminate()
            server.wait(10)
    assert "Traceback" not in log.read_text()


def wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health") as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    playwright.expect.set_options(timeout=WAIT)  # a busy machine is slow, not wrong
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def reader(chromium, app_url):
    """One person's browser: what it has loaded once, it keeps."""
    context = chromium.new_context(base_url=app_url, service_workers="block")
    yield context
    context.close()


@pytest.fixture
def stranger(chromium, app_url):
    """Another browser, which shares nothing with the first."""
    context = chromium.new_context(base_url=app_url, service_workers="block")
    yield context
    context.close()


@pytest.fixture
def visit(reader, app_url):
    """Opens a path of the page, and holds it to asking nobody else and to no error."""

    @contextmanager
    def visiting(path: str = "/", *, width=1280, height=800, scheme="light", by=reader):
        elsewhere: list[str] = []
        problems: list[str] = []
        ours = re.compile(rf"{re.escape(app_url)}|data:|blob:|ws://127\.0\.0\.1")
        page = by.new_page()
        page.set_default_timeout(WAIT)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.on("request", lambda r: None if ours.match(r.url) else elsewhere.append(r.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.goto(path)
        page.wait_for_selector(IDLE)  # which is also so before the first run: hence the next line
        page.wait_for_selector("h1.sentence")
        yield page
        page.close()
        assert elsewhere == []
        assert problems == []

    return visiting
