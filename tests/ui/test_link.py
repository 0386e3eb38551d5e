"""A copied link says everything, and opening it shows the same."""

import json
from urllib.parse import parse_qs

import pytest

from tests.ui.pages import opened, sentence
from tests.ui.test_plan import TINY_LLAMA, UNKNOWN, pasted
from ui.answer import answer
from ui.blocks.verdict import copies
from ui.link import link_query
from ui.scenario import DEFAULTS

SCENARIOS = [
    {},
    {"model": "gemma-3-27b", "context": "32k", "sequences": "6", "kv_dtype": "fp8"},
    {"model": "deepseek-v3", "devices": "8", "weights_dtype": "auto", "device": "h200-sxm-141gb"},
    {"device": "64 GB", "overhead": "1GiB..2GiB", "share": "0.9"},
    {"device": "none", "context": "max"},
    {"engine": "ideal"},
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


@pytest.mark.parametrize("config", [TINY_LLAMA, UNKNOWN])
def test_a_pasted_configuration_travels_in_the_link(config):
    from ui import pasted as configurations

    page = pasted(json.dumps(config))
    code = configurations.link_code(page.session_state["pasted"])
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
