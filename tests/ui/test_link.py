"""A copied link says everything, and opening it shows the same."""

import json
from urllib.parse import parse_qs

import pytest

from calculator.scenario import scenario
from tests.ui.pages import markup, opened, plain, sentence, typed
from tests.ui.test_plan import TINY_LLAMA, UNKNOWN, pasted
from ui.answer import answer
from ui.blocks.verdict import copies
from ui.link import link_query
from ui.pasted import link_code
from ui.scenario import DEFAULTS

SCENARIOS = [
    {},
    {"model": "gemma-3-27b", "context": "32k", "sequences": "6", "kv_dtype": "fp8"},
    {"model": "deepseek-v3", "devices": "8", "weights_dtype": "auto", "device": "h200-sxm-141gb"},
    {"device": "64 GB", "overhead": "1GiB..2GiB", "share": "0.9"},
    {"device": "none", "context": "max"},
    {"engine": "ideal"},
    {"context": "32k", "shared_prefix": "16k"},
    {"devices": "4", "pp": "2", "shared_prefix": "1024", "sequences": "3"},
]


def query(options):
    shown = answer(tuple(options.items()), "")
    return {name: values[0] for name, values in parse_qs(link_query(options, shown.found)).items()}


@pytest.mark.parametrize("changed", SCENARIOS)
def test_a_copied_link_shows_the_same(changed):
    options = DEFAULTS | changed
    link = query(options)
    again = opened(**link)
    first = opened(**options)
    assert not again.exception
    assert not again.session_state["link_notes"]
    assert sentence(again) == sentence(first)


@pytest.mark.parametrize("changed", SCENARIOS)
def test_a_link_names_every_default_and_its_version(changed):
    link = query(DEFAULTS | changed)
    assert link["v"] == "1"
    assert set(DEFAULTS) <= set(link)
    if link["device"] != "none":
        assert ".." in link["overhead"]
        assert link["share"] == changed.get("share", "0.92")


def test_several_flags_of_a_link_of_the_core_are_joined():
    flags = ["block_size=32", "max_num_batched_tokens=4096"]
    page = opened(engine="vllm", set=flags)
    assert not page.session_state["link_notes"]
    assert page.session_state["set"] == ",".join(flags)


@pytest.mark.parametrize(
    ("given", "devices"),
    [
        ({"tp": "4"}, 4),
        ({"tp": "4", "pp": "2"}, 8),
        ({"tp": "2", "dp": "2", "devices": "4"}, 4),
        ({"tp": "1"}, 1),
    ],
)
def test_tensor_ranks_of_a_link_are_devices(given, devices):
    page = opened(**given)
    assert not page.session_state["link_notes"]
    assert page.session_state["devices"] == devices


def test_tensor_ranks_that_contradict_the_devices_are_said():
    page = opened(tp="4", devices="8")
    assert page.session_state["link_notes"] == [
        "tp 4 × pp 1 × dp 1 in the link is 4 devices, but devices is 8; tp is ignored."
    ]
    assert page.session_state["devices"] == 8


def test_what_the_core_writes_the_page_reads():
    asked = scenario({
        "model": "llama-3.1-8b", "engine": "vllm", "tp": "2", "device": "h100-sxm-80gb",
        "devices": "2", "set": ["block_size=32", "max_num_batched_tokens=4096"],
    })  # fmt: skip
    page = opened(**parse_qs(asked.query()))
    assert not page.session_state["link_notes"]
    assert f"{asked.footprint().num_bytes:,}" in plain(markup(page))


def test_what_the_core_writes_in_other_words_the_page_reads():
    asked = scenario({
        "model": "llama-3.1-8b", "context": "8192", "k_dtype": "fp8", "v_dtype": "fp8",
        "device_memory": "80GiB",
    })  # fmt: skip
    page = opened(**parse_qs(asked.query()))
    assert not page.session_state["link_notes"]
    assert page.session_state["engine"] == "ideal"
    assert page.session_state["device"] == "80GiB"
    assert f"{asked.footprint().num_bytes:,}" in plain(markup(page))


@pytest.mark.parametrize("config", [TINY_LLAMA, UNKNOWN])
def test_a_pasted_configuration_travels_in_the_link(config):
    page = pasted(json.dumps(config))
    code = link_code(page.session_state["pasted"])
    assert len(code) < 300
    again = opened(model="pasted-config", config=code)
    assert not again.exception
    assert sentence(again) == sentence(page)


def test_a_link_that_unpacks_to_megabytes_is_refused():
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 2_000_000)).decode()
    page = opened(model="pasted-config", config=bomb)
    assert any("config in the link" in note for note in page.session_state["link_notes"])
    assert sentence(page).startswith("Llama-3.1-8B")


def test_what_can_be_copied_says_the_same_number_four_times():
    options = DEFAULTS | {"model": "gemma-3-27b", "context": "131072", "engine": "ideal"}
    found = copies(answer(tuple(options.items()), ""), options)
    assert found["Sentence"].startswith("Gemma-3-27B, 131,072 tokens × 1, bf16 cache, ideal: 10.41")
    assert "model=gemma-3-27b&context=131072" in found["Link"]
    assert found["Command"].startswith("kvcalc capacity gemma-3-27b --context 131072")
    assert "| 11,173,625,856 B | 10.41 GiB |" in found["Markdown row"]


# 36 GiB of memory, of which macOS lends three quarters: 27; an H100's 79.18 GiB × 0.92 are 72.8
APPLE = {"device": "m3-max-36gb", "engine": "ideal"}


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, "27.0"),
        ({"share": "0.75"}, "27.0"),
        ({"share": "0.92"}, "33.1"),
        ({"share": "1"}, "36.0"),
    ],
)
def test_a_device_has_its_own_share_unless_one_is_given(given, limit):
    page = opened(**APPLE, **given)
    assert not page.session_state["link_notes"]
    assert f"limit {limit}" in plain(markup(page))


def test_a_link_says_the_share_that_was_used_and_another_device_brings_its_own():
    link = query(DEFAULTS | APPLE)
    assert link["share"] == "0.75"
    page = opened(**link)
    assert "limit 27.0" in plain(markup(page))
    assert "limit 72.8" in plain(markup(typed(page, device="h100-sxm-80gb")))
    page = opened(**(link | {"share": "0.5", "overhead": "1GiB..2GiB"}))
    assert "limit 39.6" in plain(markup(typed(page, device="h100-sxm-80gb")))
    assert page.text_input(key="overhead").value == "1GiB..2GiB"


@pytest.mark.parametrize(
    ("device", "hint"), [("m3-max-36gb", "0.75"), ("m1-max-32gb", "0.667"), ("none", "0.92")]
)
def test_an_empty_share_shows_the_devices_own(device, hint):
    page = opened(device=device)
    assert "share" not in [box.key for box in page.text_input]
    page.session_state["other_needs"] = True
    assert page.run().text_input(key="share").placeholder == hint


def test_what_the_link_does_not_hold_is_said():
    page = opened(model="pasted-config", device="none")
    (note,) = page.session_state["link_notes"]
    assert note.startswith("model is pasted-config, and the link does not hold what was brought")
    assert sentence(page).startswith("Llama-3.1-8B")


def test_the_address_holds_what_was_brought_while_it_is_chosen():
    page = pasted(json.dumps(TINY_LLAMA))
    held = link_code(page.session_state["pasted"])
    assert page.query_params["config"] == held
    typed(page, model="llama-3-8b")
    assert "config" not in page.query_params
    typed(page, model="pasted-config")
    assert page.query_params["config"] == held
