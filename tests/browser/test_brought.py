"""What someone brings to the page, in a real Chromium: described layers, a GGUF file, its lines."""

import json
import os
import time

import pytest

from tests.browser.conftest import IDLE
from tests.browser.parts import choose, copied, heading, tag, turn_to
from tests.importers.gguf_files import LLAMA, write
from tests.importers.test_gguf_dump import LOG
from tests.ui.test_plan import UNKNOWN

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]


COUNT_SENTENCES = """() => {
    window.mostSentences = 0;
    new MutationObserver(() => {
        const now = document.querySelectorAll("h1.sentence").length;
        window.mostSentences = Math.max(window.mostSentences, now);
    }).observe(document.body, {childList: true, subtree: true});
}"""


def open_box(page):
    page.get_by_role("button", name="Paste or upload a config").click()


def paste(page, text):
    open_box(page)
    box = page.get_by_role("textbox", name="config.json")
    box.fill(text)
    box.press("Control+Enter")
    page.get_by_role("button", name="Use this configuration").click()


def write_cell(page, x, y, text):
    """Types into a cell of the grid, which is drawn on a canvas: by its place."""
    editor = page.locator("#portal input, #portal textarea").first
    for _ in range(10):  # a grid that is just being replaced loses the clicks
        page.wait_for_selector(IDLE)
        box = page.get_by_test_id("stDataFrame").bounding_box()
        page.mouse.dblclick(box["x"] + x, box["y"] + y)
        page.wait_for_timeout(500)
        if editor.is_visible():
            break
    editor.fill(text)
    editor.press("Enter")


def test_a_refused_model_is_described_edited_used_and_shared(visit, stranger):
    with visit("/?device=none") as page:
        paste(page, json.dumps(UNKNOWN))
        expect(tag(page)).to_have_text("✕ No size")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Describe its layers yourself").click()
        expect(page.locator("p.under").last).to_contain_text("48 layers of one kind")
        write_cell(page, 60, 50, "40")
        expect(page.locator("p.under").last).to_contain_text("40 layers of one kind")
        page.get_by_role("button", name="Start again").click()
        expect(page.locator("p.under").last).to_contain_text("48 layers of one kind")
        write_cell(page, 60, 50, "12")
        expect(page.locator("p.under").last).to_contain_text("12 layers of one kind")
        page.get_by_role("button", name="Use this description").click()
        expect(heading(page)).to_contain_text("nova_hybrid as described, 8,192 tokens")
        expect(page.locator(".formula")).to_contain_text("402,653,184")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download as a preset").click()
        assert download.value.suggested_filename == "nova-hybrid-as-described.toml"
        page.keyboard.press("Escape")
        said, link = heading(page).inner_text(), copied(page, "Link")
    with visit(link, by=stranger) as other:
        expect(heading(other)).to_have_text(said)


def slowed(socket):
    """Each message to the page comes by itself, so that it draws what stands between two."""
    server = socket.connect_to_server()

    def later(message):
        time.sleep(0.03)
        socket.send(message)

    server.on_message(later)


def test_an_answer_replaces_the_one_before_and_never_stands_beside_it(visit, stranger):
    """What fits and what is refused would be two answers to one question."""
    stranger.route_web_socket("**/_stcore/stream", slowed)
    with visit("/?device=none", by=stranger) as page:
        page.evaluate(COUNT_SENTENCES)
        paste(page, json.dumps(UNKNOWN))
        expect(heading(page)).to_contain_text("nova_hybrid")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Describe its layers yourself").click()
        expect(heading(page)).to_contain_text("Describe the layers")
        page.get_by_role("button", name="Use this description").click()
        expect(heading(page)).to_contain_text("nova_hybrid as described")
        choose(page, "Model", "gemma-3-27bb")
        expect(heading(page)).to_contain_text("gemma-3-27bb")
        page.get_by_role("button", name="Use gemma-3-27b").click()
        expect(heading(page)).to_contain_text("Gemma-3-27B")
        for name in ("Verify", "Learn", "Catalogue", "Plan"):
            turn_to(page, name)
            page.wait_for_selector(IDLE)
        assert page.evaluate("window.mostSentences") == 1


def test_a_row_of_another_kind_asks_for_that_kinds_fields(visit):
    with visit("/?device=none&model=llama-3.1-8b") as page:
        open_box(page)
        page.get_by_role("button", name="Edit the layers of this model").click()
        expect(page.locator("p.under").last).to_contain_text("32 layers of one kind")
        page.keyboard.press("Escape")
        write_cell(page, 160, 50, "sliding_attention")
        problem = page.locator(".notice.bad")
        expect(problem).to_contain_text("sliding_attention has missing field sliding_window")
        expect(page.get_by_role("button", name="Use this description")).to_be_disabled()
        page.get_by_role("button", name="Cancel").click()
        expect(heading(page)).to_contain_text("Llama-3.1-8B, 8,192 tokens")


def test_pasted_lines_of_llama_cpp_are_a_model_and_travel(visit, stranger):
    with visit("/?device=none&context=8192") as page:
        paste(page, LOG)
        expect(heading(page)).to_contain_text("A model, 8,192 tokens")
        page.keyboard.press("Escape")
        said, link = heading(page).inner_text(), copied(page, "Link")
    with visit(link, by=stranger) as other:
        expect(heading(other)).to_have_text(said)


@pytest.fixture
def large_file(tmp_path):
    """Three gigabytes, of which some disk blocks: a vocabulary, then tensors without data."""
    words = {"tokenizer.ggml.tokens": [f"word {i}" for i in range(120_000)]}
    tensors = {"blk.0.attn_k.weight": ((64, 256), "Q6_K"), "output_norm.weight": ((256,), "F32")}
    path = write(tmp_path / "large-q6.gguf", "llama", LLAMA, other=words, tensors=tensors)
    assert path.stat().st_size > 2**21  # more than the server takes as an upload
    os.truncate(path, 3 * 2**30)
    return path


def test_of_a_gguf_file_of_gigabytes_the_header_is_sent(visit, large_file):
    with visit("/?device=none&weights_dtype=auto") as page:
        sent = []
        page.on("websocket", lambda ws: ws.on("framesent", lambda data: sent.append(len(data))))
        page.reload()
        page.wait_for_selector("h1.sentence")
        open_box(page)
        page.locator("input[accept='.gguf']").set_input_files(large_file)
        expect(heading(page)).to_contain_text("large-q6, 8,192 tokens × 1, fp16 cache")
        expect(page.locator(".formula")).to_contain_text("8,388,608")
        assert 0 < max(sent) < 100_000


def test_a_file_that_is_no_gguf_is_said(visit, tmp_path):
    path = tmp_path / "notes.gguf"
    path.write_bytes(b"PK\x03\x04" * 100)
    with visit("/?device=none") as page:
        open_box(page)
        page.locator("input[accept='.gguf']").set_input_files(path)
        expect(page.get_by_test_id("stPopoverBody").get_by_role("alert")).to_contain_text(
            "notes.gguf"
        )
        expect(heading(page)).to_contain_text("Llama-3.1-8B")
