"""The pictures of the page in this folder, taken with Chromium from the page as it is.

python docs/screenshots.py        needs the extras `app` and `dev`, and Chromium
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

FOLDER = Path(__file__).parent
WAIT = 120_000
GEMMA = "model=gemma-3-27b&context=65536"
UNKNOWN = {
    "model_type": "nova_hybrid", "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 4096, "memory_slots": 4096,
    "kv_merge_every": 3, "vocab_size": 128_256, "max_position_embeddings": 131_072,
}  # fmt: skip


class Shot(NamedTuple):
    name: str
    path: str
    width: int = 1280
    scheme: str = "light"
    whole: bool = True


SHOTS = (
    Shot("plan-light", f"/?{GEMMA}"),
    Shot("plan-dark", f"/?{GEMMA}", scheme="dark"),
    Shot("plan-narrow", f"/?{GEMMA}", width=390),
    Shot("marginal", "/?model=gemma-3-27b&context=32768&sequences=6"),
    Shot("catalogue", "/catalogue", whole=False),
    Shot("embed", f"/?{GEMMA}&embed=true", width=720),
)


@contextmanager
def serving() -> Iterator[str]:
    """The page on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(command, cwd=FOLDER.parent, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(10)


def take(browser: BrowserContext, url: str, shot: Shot) -> None:
    height = 844 if shot.width < 500 else 800
    size = {"width": shot.width, "height": height}
    page = browser.new_page()
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=shot.scheme)
    page.goto(url + shot.path)
    page.wait_for_selector("h1.sentence")
    if shot.path != "/catalogue":
        page.wait_for_selector(".js-plotly-plot .main-svg")
    save(page, shot.name, whole=shot.whole)


def take_refused(browser: BrowserContext, url: str) -> None:
    page = browser.new_page()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{url}/?context=131072")
    page.get_by_role("button", name="Paste or upload a config").click()
    box = page.get_by_role("textbox", name="config.json")
    box.fill(json.dumps(UNKNOWN))
    box.press("Control+Enter")
    page.get_by_role("button", name="Use this configuration").click()
    expect(page.locator(".tag")).to_have_text("✕ No size")
    page.keyboard.press("Escape")
    save(page, "refused", whole=False)


def save(page: Page, name: str, *, whole: bool) -> None:
    """The page scrolls inside the window, so a picture of all of it needs a higher window."""
    page.wait_for_timeout(1500)
    if whole:
        height = page.get_by_test_id("stMain").evaluate("e => e.scrollHeight")
        size = page.viewport_size or {"width": 1280, "height": 800}
        page.set_viewport_size({"width": size["width"], "height": height})
        page.wait_for_timeout(1500)
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"{name}.png")
    page.close()


def main() -> None:
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    expect.set_options(timeout=WAIT)
    with serving() as url, sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        browser = launched.new_context()
        browser.set_default_timeout(WAIT)
        for shot in SHOTS:
            take(browser, url, shot)
        take_refused(browser, url)
        launched.close()


if __name__ == "__main__":
    main()
