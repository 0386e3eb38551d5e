"""How a check can end on the page, with a real child process, in a real Chromium."""

import os
import signal
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.parts import button, heading, tag, turn_to

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PROC = Path("/proc")
WITHIN = 150_000
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not PROC.is_dir(), reason="looks at /proc"),
]
ALLOCATE, GENERATE = "Allocate real tensors", "Generate with and without the cache"


def turn_to_verify(page):
    turn_to(page, "Verify")
    expect(heading(page)).to_contain_text("predicted")


def worker_of(app_url) -> int:
    """The child of this server, and of no other that runs on the machine; 0 while there is none."""
    port = app_url.rsplit(":", 1)[1]
    for path in PROC.glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            server = (PROC / parent / "cmdline").read_bytes()
        except OSError:
            continue
        if b"calculator.verify.worker" in command and port.encode() in server:
            return int(path.name)
    return 0


def until(condition, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_a_child_that_is_killed_is_told_and_can_be_started_again(visit, app_url):
    with visit("/?model=llama-3-8b&context=64") as page:
        turn_to_verify(page)
        button(page, GENERATE).click()  # seconds long, so that it is there to be killed
        pid = until(lambda: worker_of(app_url))
        assert pid  # 0 would be this whole process group
        os.kill(pid, signal.SIGKILL)
        told = page.get_by_role("alert")
        expect(told).to_contain_text("ended by signal 9 before it had a result")
        expect(told).to_contain_text("It can be started again.")
        expect(tag(page)).to_have_text("No result, see below")
        button(page, GENERATE).click()
        expect(told).to_have_count(0)
        expect(button(page, "Cancel the generation")).to_be_visible()
        button(page, "Cancel the generation").click()
        expect(page.get_by_text("Cancelled; nothing is left of it.")).to_be_visible()


def test_ten_terabytes_are_refused_with_the_part_that_fits(visit):
    with visit("/?model=llama-3.1-405b&context=128k&sequences=160") as page:
        turn_to_verify(page)
        button(page, ALLOCATE).click()
        told = page.get_by_role("alert")
        expect(told).to_contain_text("of cache", timeout=WITHIN)
        expect(told).to_contain_text("The largest part that fits")
        assert "--slice" not in told.inner_text()
        expect(page.get_by_role("button", name=" of 131,072 tokens")).to_be_visible()


def test_a_page_that_is_closed_ends_its_check(stranger, app_url):
    page = stranger.new_page()
    page.goto("/verify?model=llama-3-8b&context=64")
    button(page, GENERATE).click()
    pid = until(lambda: worker_of(app_url))
    assert pid
    page.close()
    assert until(lambda: worker_of(app_url) != pid, 60)


def test_a_check_is_started_and_cancelled_with_the_keyboard_and_read_aloud(visit):
    with visit("/?model=llama-3-8b&context=64") as page:
        turn_to_verify(page)
        aloud = page.locator("[aria-live=polite]").filter(has_text=GENERATE)
        button(page, GENERATE).focus()
        page.keyboard.press("Enter")
        expect(button(page, "Cancel the generation")).to_be_visible()
        expect(aloud).to_contain_text("running")
        expect(page.get_by_role("progressbar").first).to_be_attached()
        button(page, "Cancel the generation").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Cancelled; nothing is left of it.")).to_be_visible()
        expect(aloud).to_have_text(f"{GENERATE}: cancelled.")
