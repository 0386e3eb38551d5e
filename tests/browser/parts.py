"""Where things are on the page, as whoever uses it finds them."""

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
COPIES = ("Sentence", "Link", "Command", "Markdown row")


def heading(page):
    return page.locator("h1.sentence")


def tag(page):
    return page.locator(".kv .tag")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def turn_to(page, name):
    page.get_by_test_id("stTopNav").get_by_role("link", name=name, exact=True).click()


def choose(page, label, text):
    """Types into a select box and takes what is offered."""
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=label)
    box.fill(text)
    box.press("Enter")


def copy_button(page):
    return page.get_by_test_id("stPopoverButton").filter(has_text="Copy")


def copied(page, label):
    """What the page offers to copy."""
    copy_button(page).click()
    texts = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode")
    expect(texts).to_have_count(len(COPIES))
    return texts.nth(COPIES.index(label)).inner_text().strip()
