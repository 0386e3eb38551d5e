"""Verify end to end, with a real child process, and Learn, in a real Chromium."""

import re
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.parts import button, heading, turn_to

playwright = pytest.importorskip("playwright.sync_api")
expect, Error = playwright.expect, playwright.Error
ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.browser, pytest.mark.slow]
WITHIN = 150_000
"""Milliseconds: a minute on an idle machine, more where tests run side by side."""
with_torch = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None,
    reason="torch or transformers is not installed",
)


@with_torch
def test_predicted_allocated_and_run_are_the_same_gibibyte(visit):
    with visit("/?model=llama-3-8b&context=8192") as page:
        turn_to(page, "Verify")
        expect(heading(page)).to_contain_text("predicted 1,073,741,824 B")
        button(page, "Allocate real tensors").click()
        button(page, "Run transformers' own code").click()
        expect(button(page, "Cancel the allocation")).to_be_visible()
        expect(button(page, "Cancel transformers' code")).to_be_visible()
        expect(heading(page)).to_contain_text("allocated 1,073,741,824 B", timeout=WITHIN)
        expect(heading(page)).to_contain_text(
            "transformers’ own code 1,073,741,824 B", timeout=WITHIN
        )
        expect(page.get_by_role("status").first).to_have_text("✓ Equal")
        assert "context=8192" in page.url or "model=llama-3-8b" in page.url
        with page.expect_download() as loading:
            button(page, "Result as JSON: allocation").click()
        assert '"measured_bytes": 1073741824' in loading.value.path().read_text()


@with_torch
def test_a_check_can_be_cancelled_and_leaves_the_page_usable(visit):
    with visit("/?model=llama-3-8b&context=4096") as page:
        turn_to(page, "Verify")
        expect(heading(page)).to_contain_text("4,096 tokens × 1")
        button(page, "Generate with and without the cache").click()
        button(page, "Cancel the generation").click()
        expect(page.get_by_text("Cancelled; nothing is left of it.")).to_be_visible()
        expect(button(page, "Generate with and without the cache")).to_be_enabled()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["Verify", "Learn"])
def test_nothing_is_wider_than_the_window(visit, width, name):
    with visit("/?model=deepseek-v3", width=1280) as page:
        turn_to(page, name)
        expect(heading(page)).to_contain_text("DeepSeek-V3")
        page.set_viewport_size({"width": width, "height": 800})
        main = page.get_by_test_id("stMain")
        assert main.evaluate("e => e.scrollWidth - e.clientWidth") == 0


def test_inputs_stay_in_the_link_from_page_to_page(visit):
    with visit("/?model=gemma-3-27b") as page:
        for name in ("Learn", "Verify"):
            turn_to(page, name)
            expect(heading(page)).to_contain_text("Gemma-3-27B")
            address = re.compile(f"/{name.lower()}\\?.*model=gemma-3-27b")
            expect(page).to_have_url(address, timeout=WITHIN)


@pytest.fixture
def unvisited(tmp_path):
    """A server that has not drawn any page yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def test_the_first_visitor_may_come_by_a_link_to_a_page(chromium, unvisited):
    page = chromium.new_page()
    for _ in range(600):
        try:
            page.goto(f"{unvisited}/learn?model=gemma-3-27b")
            break
        except Error:  # not listening yet
            time.sleep(0.1)
    expect(page.get_by_test_id("stTopNav")).to_contain_text("Catalogue")
    expect(heading(page)).to_contain_text("Gemma-3-27B")
    page.close()


def test_answers_open_with_the_keyboard(visit):
    with visit("/") as page:
        turn_to(page, "Learn")
        summary = page.locator("summary", has_text="how large is the cache?")
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("102,400 B (100 KiB).")).to_be_visible()
