"""What someone does with the page, in a real Chromium."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.parts import choose, copied, copy_button, heading, tag, turn_to

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

GEMMA = "/?model=gemma-3-27b&context=131072&engine=ideal"
# A figure that is being redrawn is out of the document for a moment.
FIRST_LINE = "document.querySelector('.js-plotly-plot')?.data?.[0]?.line?.color"


def context_box(page):
    return page.get_by_role("textbox", name="Context, tokens")


def test_pick_type_read_copy_and_open_elsewhere(visit, stranger):
    with visit() as page:
        expect(heading(page)).to_contain_text("Llama-3.1-8B")
        choose(page, "Model", "gemma-3-27b")
        expect(heading(page)).to_contain_text("Gemma-3-27B")
        context_box(page).fill("128k")
        context_box(page).press("Enter")
        expect(heading(page)).to_contain_text("131,072")
        expect(heading(page)).to_contain_text("vllm: 10.47 GiB")
        expect(page.locator("h2", has_text="From ideal to vllm")).to_be_visible()
        choose(page, "Engine", "ideal")
        expect(heading(page)).to_contain_text("ideal: 10.41 GiB")
        formula = page.locator(".formula")
        expect(formula).to_contain_text("10,737,418,240")
        expect(formula).to_contain_text("436,207,616")
        expect(formula).to_contain_text("11,173,625,856")
        said = heading(page).inner_text()
        link = copied(page, "Link")
    assert "v=1" in link
    assert "context=128k" in link
    with visit(link, by=stranger) as other:
        expect(heading(other)).to_have_text(said)
        expect(context_box(other)).to_have_value("128k")


def test_the_answer_is_above_the_fold(visit):
    with visit(GEMMA) as page:
        expect(page.locator(".formula tr.total")).to_be_visible()
        assert page.locator(".formula").bounding_box()["y"] < 800
        assert page.locator(".bar").bounding_box()["y"] < 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_and_text_take_the_browsers_scheme(visit, scheme):
    with visit(GEMMA, scheme=scheme) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")
        ours = {"light": "rgb(16, 22, 31)", "dark": "rgb(232, 236, 242)"}[scheme]
        assert heading(page).evaluate("e => getComputedStyle(e).color") == ours
        accent = {"light": "#174ea6", "dark": "#7db3ff"}[scheme]
        assert page.evaluate(FIRST_LINE) == accent


def test_a_change_of_scheme_redraws_the_figures(visit):
    with visit(GEMMA) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"{FIRST_LINE} === '#7db3ff'")


def test_a_phone_scrolls_one_way_only(visit):
    with visit(GEMMA, width=390, height=844) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")
        main = page.get_by_test_id("stMain")
        assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        expect(page.locator(".stack")).to_be_visible()
        expect(page.locator(".formula")).to_be_hidden()


def test_an_embed_is_sentence_bar_and_one_chart(visit):
    with visit(f"{GEMMA}&embed=true", width=700) as page:
        expect(heading(page)).to_contain_text("10.41")
        expect(page.locator(".bar")).to_be_visible()
        expect(page.locator(".js-plotly-plot")).to_have_count(1)
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)
        expect(page.get_by_test_id("stTopNav")).to_have_count(0)
        expect(page.locator(".formula")).to_have_count(0)


def test_a_pasted_config_is_computed_and_its_link_works_elsewhere(visit, stranger):
    config = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 4, "hidden_size": 32, "torch_dtype": "bfloat16",
              "vocab_size": 1000}  # fmt: skip
    with visit("/?context=100&device=none&engine=ideal") as page:
        page.get_by_role("button", name="Paste or upload a config").click()
        page.get_by_role("textbox", name="config.json").fill(json.dumps(config))
        page.get_by_role("textbox", name="config.json").press("Control+Enter")
        page.get_by_role("button", name="Use this configuration").click()
        expect(heading(page)).to_contain_text("25,600")
        expect(page).to_have_url(re.compile("config="))
        page.reload()
        expect(heading(page)).to_contain_text("25,600")
        link = copied(page, "Link")
    with visit(link, by=stranger) as other:
        expect(heading(other)).to_contain_text("25,600")


def test_a_mistyped_model_offers_the_nearest_and_takes_it(visit):
    with visit() as page:
        choose(page, "Model", "gemma-3-27bb")
        expect(tag(page)).to_have_text("✕ No size")
        page.get_by_role("button", name="Use gemma-3-27b").click()
        expect(heading(page)).to_contain_text("Gemma-3-27B")


def test_everything_has_a_name_for_those_who_do_not_see_it(visit):
    with visit(GEMMA) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")
        expect(page.locator("h1")).to_have_count(1)
        assert page.locator("h2").count() >= 7
        expect(page.locator("[role=status]")).to_have_text("✓ Fits")
        expect(page.locator(".bar")).to_have_attribute("aria-label", re.compile("Weights, bf16"))
        expect(page.locator(".strip")).to_have_attribute("aria-label", re.compile("62 layers"))
        assert page.title() == "KV cache calculator"
        names = page.locator('[data-testid="stPlotlyChart"]').evaluate_all(
            "es => es.map(e => (e.getAttribute('aria-label') || e.querySelector('[aria-label]')"
            "?.getAttribute('aria-label') || ''))"
        )
        assert len(names) == 3
        assert all(name.endswith(".") for name in names)


def test_keys_alone_reach_the_inputs_and_open_a_table(visit):
    with visit(GEMMA) as page:
        summary = page.locator("summary", has_text="Where each number comes from")
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.locator("details[open]")).to_contain_text("Source")
        context_box(page).focus()
        page.keyboard.press("Control+a")
        page.keyboard.type("8192")
        page.keyboard.press("Enter")
        expect(heading(page)).to_contain_text("8,192")


def test_keys_alone_copy_and_come_back(visit, stranger):
    stranger.grant_permissions(["clipboard-read", "clipboard-write"])
    with visit("/?model=llama-3-8b&device=none&engine=ideal", by=stranger) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")  # drawn, and all scripts are there
        copy = copy_button(page)
        copy.focus()
        page.keyboard.press("Enter")
        texts = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode")
        expect(texts.first).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        said = "Llama-3-8B, 8,192 tokens × 1, bf16 cache, ideal: 1.00 GiB (1.07 GB)."
        page.wait_for_function(
            "start => navigator.clipboard.readText().then(t => t.startsWith(start))", arg=said
        )
        page.keyboard.press("Escape")
        expect(copy).to_be_focused()


def test_the_engines_command_is_copied(visit, stranger):
    stranger.grant_permissions(["clipboard-read", "clipboard-write"])
    with visit("/?model=llama-3-8b", by=stranger) as page:
        page.wait_for_selector(".js-plotly-plot .main-svg")
        page.locator(".to-copy button").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".to-copy [role=status]")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("vllm serve meta-llama/Meta-Llama-3-8B")


def test_a_chart_gives_its_table_and_csv(visit):
    with visit(GEMMA) as page:
        switch = page.get_by_role("radiogroup", name="Size against context")
        switch.get_by_text("table").click()
        expect(page.locator(".catalogue table")).to_contain_text("11,173,625,856")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert "131072,11173625856" in text
        switch.get_by_text("linear").click()
        expect(page.locator(".catalogue table")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_wide_table_of_a_chart_scrolls_by_itself(visit, width):
    with visit(GEMMA, width=width) as page:
        page.get_by_role("radiogroup", name="What fits").get_by_text("table").click()
        table = page.locator(".catalogue")
        expect(table).to_contain_text("262,144 tokens, B")
        assert table.evaluate("e => e.scrollWidth > e.clientWidth")
        assert page.get_by_test_id("stMain").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_pages_show_which_has_the_focus(visit):
    with visit() as page:
        link = page.get_by_test_id("stTopNavLink").nth(1)
        page.get_by_test_id("stTopNavLink").nth(0).focus()
        page.keyboard.press("Tab")
        assert link.evaluate("e => getComputedStyle(e).outline").endswith("solid 2px")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_a_switch_stands_beside_its_title_or_below(visit, width):
    with visit(GEMMA, width=width) as page:
        switch = page.get_by_role("radiogroup", name="Size against context").bounding_box()
        title = page.get_by_role("heading", name="Size against context").bounding_box()
        verdict = tag(page).bounding_box()
        copy = copy_button(page).bounding_box()
    if width == 320:
        assert switch["y"] >= title["y"] + title["height"]
    else:
        assert switch["x"] > title["x"] + 130  # the width of its text
        assert abs(switch["y"] - title["y"]) < title["height"]
    assert copy["x"] > verdict["x"] + verdict["width"]
    assert abs(copy["y"] - verdict["y"]) < verdict["height"]


def test_the_catalogue_leads_to_plan(visit):
    with visit("/?sequences=4") as page:
        turn_to(page, "Catalogue")
        page.get_by_label("Filter models").fill("gemma-3-27b")
        page.get_by_label("Filter models").press("Enter")
        page.get_by_role("link", name="Gemma-3-27B", exact=True).click()
        expect(heading(page)).to_contain_text("Gemma-3-27B, 8,192 tokens")
        expect(page.get_by_role("spinbutton", name="Sequences at once")).to_have_value("4")


def test_the_api_answers_beside_the_page(visit, app_url):
    with visit("/?model=llama-3-8b") as page:
        answer = page.request.get(f"{app_url}/api/v1/estimate?model=llama-3-8b&context=8192")
        assert answer.json()["num_bytes"] == 1_073_741_824
        assert page.request.get(f"{app_url}/healthz").ok
        expect(heading(page)).to_contain_text("1.00")


def test_who_turns_the_page_at_once_keeps_what_the_link_says(reader):
    page = reader.new_page()
    page.goto("/?model=gemma-3-27b&context=64")
    page.get_by_test_id("stTopNav").get_by_role("link", name="Verify").click(timeout=90_000)
    expect(heading(page)).to_contain_text("Gemma-3-27B, 64 tokens × 1")
    box = page.get_by_role("spinbutton", name="Sequences at once")
    box.fill("2")
    box.press("Enter")
    expect(heading(page)).to_contain_text("Gemma-3-27B, 64 tokens × 2")
    assert "model=gemma-3-27b" in page.url
    page.close()


def test_the_catalogue_is_whole_on_a_desktop(visit):
    with visit() as page:
        turn_to(page, "Catalogue")
        tables = page.locator(".catalogue")
        expect(tables).to_have_count(2)
        assert all(tables.evaluate_all("all => all.map(e => e.scrollWidth <= e.clientWidth)"))
