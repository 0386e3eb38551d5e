"""A refused model on the page: what was read, and three ways on that each lead somewhere."""

import json
import time
from importlib.util import find_spec

import pytest

from calculator.errors import SourceUnavailable
from calculator.importers.description import DESCRIBED
from tests.importers.test_gguf_dump import LOG
from tests.ui.pages import bringing, markup, opened, plain, press, sentence, tag, typed
from tests.ui.test_plan import TINY_LLAMA, UNKNOWN, pasted
from ui.blocks import ways

SHARING = TINY_LLAMA | {"kv_share_every": 2}  # transformers' code of llama knows no such key
MEASURE, DESCRIBE = "Measure it with transformers", "Describe its layers yourself"


@pytest.fixture(autouse=True)
def checks_on(monkeypatch):
    monkeypatch.setenv("KVCALC_VERIFY", "on")


def labels(page):
    return [button.label for button in page.button]


def captions(page):
    return " ".join(caption.value for caption in page.caption)


def button(page, label):
    return next(b for b in page.button if b.label == label)


def test_a_type_the_engine_cannot_run_can_be_taken_back():
    page = opened(kv_dtype="q8_0")
    assert "key_dtype is" in sentence(page)
    assert "How it is computed" in markup(press(page, "Reset cache type"))
    page = opened(kv_dtype="q8_0")
    assert "How it is computed" in markup(press(page, "Show the ideal size"))


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"dcp": "2"}, "decode-context parallel"),
        ({"set": "foo=1"}, "flags"),
        ({"set": "block_size=7"}, "flags"),
        ({"set": ["block_size=16", "block-size=32"]}, "flags"),
        ({"pp": "3"}, "pipeline parallel"),
        ({"dp": "3"}, "data parallel"),
        ({"model": "llama-3-70b", "devices": "3"}, "number of devices"),
        ({"shared_prefix": "9000"}, "shared prefix"),
    ],
)
def test_the_input_that_is_wrong_is_named_and_can_be_reset(query, named):
    page = opened(**query)
    assert f"Your inputs are kept; change {named.capitalize()}" in plain(markup(page))
    if "devices" not in query:
        assert page.session_state["engine_flags"]  # its fold is open
    page = press(page, f"Reset {named}")
    assert "How it is computed" in markup(page)


def test_what_was_pasted_is_spoken_of_only_where_something_was():
    page = opened(model="mimo-7b-base", engine="llama.cpp")
    assert "A preset." in captions(page)
    page = typed(page, config_text="{")
    assert "what you pasted stays in its box" in captions(page)


def test_unknown_keys_come_first_and_the_rest_is_folded():
    text = plain(markup(pasted(json.dumps(UNKNOWN))))
    assert text.index("memory_slots4096✕ could change") < text.index("num_hidden_layers48✓ read")
    assert "The other 1 key, which does not touch the cache" in text


def test_there_are_three_ways_on_and_one_is_primary():
    page = pasted(json.dumps(UNKNOWN))
    ways_on = [label for label in labels(page) if label in (MEASURE, DESCRIBE)]
    assert ways_on == [MEASURE, DESCRIBE]
    assert button(page, MEASURE).proto.type == "primary"
    assert button(page, DESCRIBE).proto.type == "secondary"
    assert "Start from 48 full-attention layers" in captions(page)
    assert "- memory_slots: 4096" in page.get("code")[0].value


def test_a_server_that_runs_no_checks_says_so_and_keeps_the_other_ways(monkeypatch):
    monkeypatch.setenv("KVCALC_VERIFY", "off")
    page = pasted(json.dumps(UNKNOWN))
    assert button(page, MEASURE).disabled
    assert "switched off on this server (KVCALC_VERIFY=off)" in captions(page)
    assert not button(page, DESCRIBE).disabled


def test_without_torch_the_sentence_says_what_to_install(monkeypatch):
    def missing(method):
        raise SourceUnavailable(f"torch is not installed, which {method} runs.")

    monkeypatch.setattr(ways, "check_packages", missing)
    page = pasted(json.dumps(UNKNOWN))
    assert button(page, MEASURE).disabled
    assert "torch is not installed, which real-model runs." in captions(page)


def until(page, is_there, seconds=150):
    """The page as its timer draws it again, until what is waited for is there."""
    end = time.monotonic() + seconds
    while not is_there(page):
        assert time.monotonic() < end, plain(markup(page))
        time.sleep(0.5)
        page.run()
    return page


needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="runs transformers' own code")


@needs_torch
@pytest.mark.slow
def test_a_measurement_runs_in_a_child_and_is_called_one():
    page = press(pasted(json.dumps(SHARING)), MEASURE)
    assert "Cancel the measurement" in labels(page)
    page = until(page, lambda p: "Measured, no rule" in markup(p))
    text = plain(markup(page))
    assert "llama, 8,192 tokens × 1: 2 MiB (2,097,152 B), measured from transformers" in text
    assert "not from a rule." in text
    assert tag(page) == "✕ No size"
    page.session_state["context"] = "4096"
    assert "Measured, no rule" not in markup(page.run())


@needs_torch
@pytest.mark.slow
def test_what_transformers_has_no_class_for_is_said_in_its_place():
    page = press(pasted(json.dumps(UNKNOWN)), MEASURE)
    page = until(page, lambda p: "has no class for model type" in plain(markup(p)))
    assert MEASURE in labels(page)
    assert "GiB" not in plain(markup(page))


@needs_torch
def test_a_measurement_can_be_cancelled():
    page = press(press(pasted(json.dumps(SHARING)), MEASURE), "Cancel the measurement")
    page = until(page, lambda p: "Cancelled; nothing is left of it." in markup(p))
    assert MEASURE in labels(page)


def test_a_description_shows_no_size_before_it_is_taken():
    page = press(pasted(json.dumps(UNKNOWN)), DESCRIBE)
    assert sentence(page) == "Describe the layers of nova_hybrid."
    assert "What could change the size: memory_slots, kv_merge_every." in plain(markup(page))
    assert "✓ 48 layers of one kind" in plain(markup(page))
    assert "GiB" not in plain(markup(page))


def test_a_description_is_a_model_like_any_other_marked_as_such():
    page = press(press(pasted(json.dumps(UNKNOWN)), DESCRIBE), "Use this description")
    assert not page.exception
    assert sentence(page).startswith("nova_hybrid as described, 8,192 tokens × 1, bf16 cache")
    assert "1,610,612,736" in markup(page)  # 48 × 2 × 8,192 × 8 × 128 × 2 B
    assert DESCRIBED in plain(markup(page))
    assert page.session_state["model"] == "described-layers"
    link = opened(model="described-layers", config=code_of(page), device="none")
    assert not link.session_state["link_notes"]
    assert sentence(link).startswith("nova_hybrid as described, 8,192 tokens × 1")


def code_of(page):
    from ui.pasted import link_code

    return link_code(page.session_state["described"])


def test_a_configuration_that_lacks_a_number_can_be_described():
    lacking = {k: v for k, v in TINY_LLAMA.items() if k != "num_hidden_layers"}
    page = pasted(json.dumps(lacking))
    assert "num_hidden_layers is missing" in sentence(page)
    page = press(page, DESCRIBE)
    assert sentence(page) == "Describe the layers of llama."
    assert "Started from 1 full-attention layer" in plain(markup(page))
    assert page.session_state["layers_longest"] == "4096"


def test_cancel_leads_back_to_the_refusal():
    page = press(press(pasted(json.dumps(UNKNOWN)), DESCRIBE), "Cancel")
    assert tag(page) == "✕ No size"


def test_another_model_hides_the_table_and_its_return_shows_it():
    page = press(bringing(opened()), "Edit the layers of this model")
    assert sentence(page) == "Describe the layers of Llama-3.1-8B."
    page.session_state["model"] = "gemma-3-27b"
    assert sentence(page.run()).startswith("Gemma-3-27B")
    page.session_state["model"] = "llama-3.1-8b"
    assert sentence(page.run()) == "Describe the layers of Llama-3.1-8B."


def test_the_layers_of_a_preset_taken_as_they_are_have_its_size():
    page = press(press(bringing(opened()), "Edit the layers of this model"), "Use this description")
    assert sentence(page).startswith("Llama-3.1-8B as described, 8,192 tokens × 1, bf16 cache")
    assert "1.00 GiB" in sentence(page)


def test_what_is_typed_wrong_beside_the_table_is_said_and_cannot_be_used():
    page = press(bringing(opened()), "Edit the layers of this model")
    page.text_input(key="layers_longest").set_value("a lot")
    page = page.run()
    assert "maximum is 'a lot'" in plain(markup(page))
    assert button(page, "Use this description").disabled


def test_a_described_model_is_a_preset_to_download():
    page = press(press(bringing(opened()), "Edit the layers of this model"), "Use this description")
    assert "Download as a preset" in [b.label for b in page.get("download_button")]


def test_pasted_lines_of_a_gguf_file_are_a_model():
    page = pasted(LOG)
    assert not page.exception
    assert sentence(page).startswith("A model, 8,192 tokens × 1, fp16 cache")
    assert page.session_state["model"] == "pasted-gguf"
    copied = opened(model="pasted-gguf", config=gguf_code(page))
    assert sentence(copied) == sentence(page)


def gguf_code(page):
    from ui.pasted import link_code

    return link_code(page.session_state["pasted_gguf"])


def test_a_gguf_architecture_without_a_rule_is_said_where_it_was_pasted():
    page = pasted(LOG.replace("gemma3", "abacus"))
    assert "no rule for GGUF architecture 'abacus'" in page.error[0].value
    assert sentence(page).startswith("Llama-3.1-8B")


def test_names_in_a_refused_configuration_are_never_html():
    page = pasted(json.dumps(UNKNOWN | {"model_type": "<img src=x>", "<b>kv</b>": "<i>"}))
    assert "<img" not in markup(page)
    page = press(page, DESCRIBE)
    assert "<img" not in markup(page)
    page = press(page, "Use this description")
    assert "<img" not in markup(page)
