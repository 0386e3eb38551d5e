"""A name on the Hub typed as the model, against a server on this machine that speaks its routes."""

import json

import pytest

from tests.importers.hub_server import HubServer, forget_everything, refuses
from tests.ui.pages import markup, opened, plain, sentence, tag
from tests.ui.test_plan import TINY_LLAMA, UNKNOWN

NAME = "org/name"


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    forget_everything(monkeypatch, tmp_path / "cache")


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("huggingface_hub")
    found = HubServer()
    monkeypatch.setenv("HF_ENDPOINT", found.endpoint)
    found.repositories[NAME] = {"config.json": json.dumps(TINY_LLAMA).encode()}
    yield found
    found.shutdown()
    found.server_close()


def test_a_name_is_read_once_and_is_a_model_like_any_other(server):
    page = opened(model=NAME, device="none", context="4096")
    assert not page.exception
    assert sentence(page).startswith("name, 4,096 tokens × 1, bf16 cache, vllm: 1 MiB")
    asked = server.paths()
    assert asked.count("/api/models/org/name") == 1
    assert sentence(opened(model=NAME, device="none", context="2048")).startswith("name, 2,048")
    assert server.paths() == asked


def test_an_address_of_the_hub_is_a_name(server):
    page = opened(model=f"https://huggingface.co/{NAME}/tree/main", device="none")
    assert "2 MiB" in sentence(page)


def test_an_architecture_without_a_rule_shows_its_keys(server):
    server.repositories[NAME] = {"config.json": json.dumps(UNKNOWN).encode()}
    page = opened(model=NAME)
    assert tag(page) == "✕ No size"
    text = plain(markup(page))
    assert "memory_slots4096✕ could change the size" in text
    assert "config.json, 9 keys" in text
    assert "Measure it with transformers" in [button.label for button in page.button]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("org/missing", "has no model org/missing"),
        ("https://evil.example/org/name", "models are read from"),
        ("https://huggingface.co/org", "names no model on the Hub"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused_in_a_sentence(server, name, said):
    page = opened(model=name)
    assert not page.exception
    assert said in sentence(page)
    assert tag(page) == "✕ No size"
    assert page.session_state["model"] == name
    assert "Ask the Hub again" in [button.label for button in page.button]


def test_a_gated_model_says_what_to_do(server):
    server.behave["/api/"] = refuses(403, "GatedRepo")
    assert "org/name is gated: accept its terms" in sentence(opened(model=NAME))


def test_an_operator_can_switch_it_off_and_nothing_is_asked(server, monkeypatch):
    monkeypatch.setenv("KVCALC_HUB", "off")
    page = opened(model=NAME)
    assert "switched off here (KVCALC_HUB=off)" in sentence(page)
    assert server.requests == []


@pytest.mark.parametrize("path", ["/etc/passwd", "./pyproject.toml", "presets/../pyproject.toml"])
def test_a_file_of_the_server_is_no_model(server, path):
    page = opened(model=path)
    assert not page.exception
    assert "neither a preset" in plain(markup(page))
    assert server.requests == []
