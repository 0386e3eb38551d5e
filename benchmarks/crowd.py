"""Twenty browsers press the buttons of Verify at once: whether the server answers in a second.

    python benchmarks/crowd.py [--pages 20] [--seed 0]        ten minutes, 5 GB

One Chromium, a page a visitor, at a lower priority: what is measured is the server, not twenty
browsers on its processors. Most allocate, some run transformers' own code or generate, one asks
for 10 TB. Meanwhile children are killed, pages closed and a check cancelled, while /healthz and an
estimate are asked for ten times a second. Exit status 1 where an answer took longer than a second,
a page that stayed open was told nothing, or anything was left behind. An empty server is asked in
the same moments: what is slow there too is the machine, and is not counted. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright
from served import Answers, Probe, Server

sys.path.insert(0, str(Path(__file__).parents[1]))

from calculator.cli.text import table

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
BROWSERS_NICE = 5
LIMIT_S = 1.0
STILL_S = 0.25
"""An empty server that takes longer says that the machine stood still, for everybody."""
LAST_S = 1200
WAIT_MS = 180_000
MOST_KILLED, MOST_CLOSED = 4, 3
ALLOCATE, REAL, GENERATE = (
    "Allocate real tensors", "Run transformers' own code", "Generate with and without the cache",
)  # fmt: skip
CANCEL = re.compile("^Cancel ")
BUTTONS = (ALLOCATE, ALLOCATE, REAL, ALLOCATE, GENERATE)
MODELS = ("llama-3-8b", "gemma-3-4b", "qwen3-4b", "mistral-7b-v0.1", "deepseek-v2-lite", "gpt2")
TEN_TB = "model=llama-3.1-405b&context=128k&sequences=160"


class Visitor(NamedTuple):
    """One page, and the button it presses."""

    page: Page
    button: str


class Ends(NamedTuple):
    """What was done to checks on their way."""

    killed: list[float]
    closed: list[Visitor]
    cancelled: list[Visitor]


def arrive(browser: Browser, url: str, count: int) -> list[Visitor]:
    """Every page open, its button there; the first of them asks for too much."""
    found = []
    for number in range(count):
        query = f"model={MODELS[number % len(MODELS)]}&context=1024" if number else TEN_TB
        page = browser.new_context(service_workers="block").new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"{url}/verify?{query}")
        button = BUTTONS[number % len(BUTTONS)]
        page.get_by_role("button", name=button, exact=True).wait_for()
        found.append(Visitor(page, button))
    return found


def told(visitor: Visitor) -> str:
    """What the page says of its check in the end; empty while it goes on."""
    page = visitor.page
    if page.get_by_role("button", name=CANCEL).count():
        return ""
    if page.get_by_role("alert").count():
        return page.get_by_role("alert").first.inner_text()
    if page.get_by_text("Cancelled; nothing is left of it.").count():
        return "Cancelled; nothing is left of it."
    if page.get_by_text("Result as JSON").count():
        return "NOT EQUAL" if page.get_by_text("✕").count() else "equal"
    return ""


def disturb(there: list[Visitor], server: Server, chance: random.Random, ends: Ends) -> None:
    """Now and then: a child is killed, a page closed, a check cancelled."""
    what = chance.random()
    if what < 0.15 and len(ends.killed) < MOST_KILLED:
        time.sleep(chance.random() * 2)
        if server.kill_worker():
            ends.killed.append(time.monotonic())
    elif what < 0.25 and len(ends.closed) < MOST_CLOSED and len(there) > 3:
        ends.closed.append(there.pop(chance.randrange(1, len(there))))
        ends.closed[-1].page.context.close()
    elif what < 0.35 and not ends.cancelled:
        for visitor in reversed(there):
            cancel = visitor.page.get_by_role("button", name=CANCEL)
            if not ends.cancelled and cancel.count():
                cancel.click()
                ends.cancelled.append(visitor)


def crowd(visitors: list[Visitor], server: Server, chance: random.Random) -> tuple[Counter, Ends]:
    """Everybody presses, until everybody who is still there has been told something."""
    for visitor in visitors:
        visitor.page.get_by_role("button", name=visitor.button, exact=True).click()
    ends, there, last = Ends([], [], []), list(visitors), time.monotonic() + LAST_S
    answers = [""]
    while not all(answers) and time.monotonic() < last:
        disturb(there, server, chance, ends)
        now = [told(visitor) for visitor in there]
        if now != answers:
            print(f"  {sum(map(bool, now))} of {len(now)} told", flush=True)
        answers = now
        time.sleep(1)
    return Counter(answer or "NOTHING" for answer in answers), ends


def row(name: str, found: Answers) -> list[str]:
    """The slowest answers, beside an empty server's in the same moments."""
    every = [asked for answers in found.values() for asked in answers]
    slowest = [f"{max(asked).seconds * 1000:,.0f}" for asked in found.values()]
    beside = max(asked.beside for asked in every)
    still = sum(asked.beside > STILL_S for asked in every)
    return [name, f"{len(every):,}", *slowest, f"{beside * 1000:,.0f}", f"{still:,}"]


def worst(found: Answers) -> float:
    """The slowest answer while the machine itself did not stand still."""
    every = (asked for answers in found.values() for asked in answers)
    return max(asked.seconds for asked in every if asked.beside <= STILL_S)


def main(count: int, seed: int) -> int:
    rows, slowest = [], 0.0
    with Server() as server, sync_playwright() as started:
        probe = Probe(server.url)

        def phase(name: str) -> None:
            nonlocal slowest
            found = probe.so_far()
            rows.append(row(name, found))
            slowest = max(slowest, worst(found))
            print(f"{name}, load {os.getloadavg()[0]:.1f}", flush=True)

        os.nice(BROWSERS_NICE)  # the server and the probe run already
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visitors = arrive(browser, server.url, count)
        before = server.held()
        phase("pages are opened")
        time.sleep(10)
        phase("pages at rest")
        began = time.monotonic()
        said, ends = crowd(visitors, server, random.Random(seed))
        took = time.monotonic() - began
        phase("everybody checks")
        time.sleep(10)
        after = server.held()
        phase("pages at rest again")
        probe.stop()
        browser.close()
    head = ["", "asked", "healthz, ms", "estimate, ms", "empty server, ms", "stood still"]
    print(table(head, rows))
    print(f"\n{count} pages, {took:,.0f} s; {len(ends.killed)} children killed, "
          f"{len(ends.closed)} pages closed, {len(ends.cancelled)} cancelled. Told:")  # fmt: skip
    for text, times in said.most_common():
        print(f"  {times} × {text}")
    print(f"The server before: {before}\n           after:  {after}")
    left = after.children or after.temporary or after.mib > before.mib + 100
    wrong = said["NOTHING"] or said["NOT EQUAL"]
    holds = slowest <= LIMIT_S and not left and not wrong
    print(f"Answers within {LIMIT_S:.0f} s, nothing left behind: {'yes' if holds else 'NO'}")
    return 0 if holds else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(main(given.pages, given.seed))
