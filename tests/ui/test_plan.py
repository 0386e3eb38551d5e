"""Plan, from links and widgets to what it says."""

import json
import re

import pytest

from calculator.catalog import preset_paths
from calculator.devices import devices
from calculator.errors import SourceUnavailable
from calculator.units import GIB
from tests.ui.pages import bringing, markup, opened, plain, press, sentence, tag, typed
from ui.answer import answer
from ui.blocks import bar, details, formula, ladder, layers, verdict
from ui.blocks import engine as engine_block
from ui.markup import gib, unmarked
from ui.scenario import DEFAULTS

GEMMA = {"model": "gemma-3-27b", "context": "131072", "device": "h100-sxm-80gb"}
UNKNOWN = {
    "model_type": "nova_hybrid", "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 4096, "memory_slots": 4096,
    "kv_merge_every": 3, "vocab_size": 1000,
}  # fmt: skip
TINY_LLAMA = {
    "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "hidden_size": 32, "torch_dtype": "bfloat16",
    "max_position_embeddings": 4096, "vocab_size": 1000,
}  # fmt: skip


def test_the_first_screen_answers_before_anything_is_clicked():
    page = opened()
    assert not page.exception
    assert not page.error
    assert sentence(page).startswith(
        "Llama-3.1-8B, 8,192 tokens × 1, bf16 cache, vllm: 1.00 GiB (1.07 GB). "
        "Fits one H100 80 GB with "
    )
    assert tag(page) == "✓ Fits"
    assert "From ideal to vllm" in markup(page)


def test_the_formula_has_a_row_a_layer_type_and_adds_up():
    text = plain(markup(opened(**GEMMA, engine="ideal")))
    assert "10,737,418,240" in text
    assert "436,207,616" in text
    assert "11,173,625,856" in text
    assert "1,024 = min(T, 1,024)" in text


def test_rows_beyond_a_dozen_are_folded_and_counted():
    page = opened(model="deepseek-v4-flash", devices="8")
    shown, _, folded = markup(page).partition("20 more rows, ")
    assert shown.count('<td class="kind">') == 12
    assert folded.count('<td class="kind">') == 20
    assert "Compressed attention (heavily compressed) compressor state" in plain(shown)


@pytest.mark.parametrize(("model", "devices"), [("deepseek-v3", "8"), ("gpt-oss-120b", "1")])
def test_weights_are_as_published_where_nothing_is_said(model, devices):
    device = "h200-sxm-141gb" if devices == "8" else "h100-sxm-80gb"
    assert tag(opened(model=model, devices=devices, device=device)) == "✓ Fits"


def test_a_size_too_small_for_its_unit_is_said_by_its_bound():
    assert [gib(size) for size in (0, 1, GIB // 100, GIB)] == ["0.00", "&lt;0.01", "0.01", "1.00"]


# 30 layers × 2 × 16 tokens × 3 heads × 64 × 2 B are 368,640 B, 360 KiB
@pytest.mark.parametrize("engine", ["ideal", "vllm", "transformers"])
def test_the_smallest_cache_is_nowhere_zero(engine):
    options = DEFAULTS | {"model": "smollm2-135m", "context": "16", "engine": engine}
    shown = answer(tuple(options.items()), "")
    text = " ".join(page_of(shown))
    assert "360 KiB" in plain(text)
    assert not re.search(r"(?<![\d.,])0\.0+(?!\d)", plain(text))
    assert "| 360 KiB |" in verdict.markdown_row(shown)


def test_one_token_is_no_tokens():
    options = DEFAULTS | {"model": "smollm2-135m", "context": "1", "engine": "ideal"}
    shown = answer(tuple(options.items()), "")
    said = plain(" ".join(page_of(shown)))
    assert "1 token × 1, " in said
    assert not re.search(r"\b1 (?:tokens|sequences)\b", said)


def test_a_scale_of_a_huge_cache_has_no_exponents():
    options = DEFAULTS | {"model": "llama-3.1-405b", "context": "max", "sequences": "1000000"}
    text = plain(bar.html(answer(tuple(options.items()), "")))
    assert "e+" not in text
    assert "20,000,000" in text  # GiB; needed are 63 million


def page_of(shown):
    """All of an answer that is HTML."""
    yield from (block.html(shown) for block in (bar, formula, ladder, layers, verdict))
    yield from engine_block.sections(shown)
    yield details.growth_html(shown)


@pytest.fixture(scope="module")
def one_page():
    return opened()


@pytest.mark.parametrize("model", sorted(preset_paths()))
def test_every_preset_shows_its_size(model, one_page):
    """By vLLM's rules, or in one click without where vLLM has none or is refused them."""
    page = typed(one_page, model=model, engine="vllm")
    assert not page.exception
    assert not page.error
    if "vLLM" in sentence(page) or "Give block_size" in sentence(page):
        assert tag(page) == "✕ No size"
        page = press(page, "Show the ideal size")
    assert "How it is computed" in markup(page)


@pytest.mark.parametrize("device", [device.id for device in devices()][::7])
def test_devices_of_every_maker_give_a_verdict(device):
    page = opened(device=device)
    assert not page.exception
    assert tag(page) in ("✓ Fits", "≈ Marginal", "✕ Does not fit")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("context", "-5", "context is '-5'"),
        ("context", "1" * 31, "context is 1"),
        ("sequences", "0", "sequences is 0"),
        ("sequences", "NaN", "sequences is 'NaN'"),
        ("model", "../../etc/passwd", "model is '../../etc/passwd'"),
        ("device", "abacus", "device is 'abacus'"),
        ("kv_dtype", "fp3", "key_dtype is 'fp3'"),
        ("share", "1.5", "share is '1.5'"),
        ("engine", "warp", "engine is 'warp'"),
        ("v", "9", "version '9'"),
        ("colour", "red", "'colour' is no option"),
        ("config", "%%%", "config in the link cannot be read"),
    ],
)
def test_a_bad_parameter_gets_a_sentence_and_the_default(name, value, said):
    page = opened(**{name: value})
    assert not page.exception
    assert said in plain(markup(page))
    assert sentence(page).startswith("Llama-3.1-8B, 8,192 tokens × 1")


def test_marginal_says_what_would_make_it_certain():
    page = opened(model="gemma-3-27b", context="32768", sequences="6")
    assert tag(page) == "≈ Marginal"
    text = plain(markup(page))
    assert "Marginal on one H100 80 GB: from " in text
    assert "To be certain that it fits" in text
    assert "changes outputs: measure" in text


def test_what_does_not_fit_is_short_by_a_range():
    page = opened(model="llama-3.1-405b")
    assert tag(page) == "✕ Does not fit"
    assert sentence(page).endswith(" GiB short.")


def test_without_a_device_there_is_a_size_and_no_verdict():
    page = opened(device="none")
    assert "1.00 GiB" in sentence(page)
    assert sentence(page).endswith("Choose a device, or type its memory, to see whether it fits.")
    assert "Memory of" not in markup(page)


def test_a_typed_device_is_named_as_typed():
    page = opened(device="64 GB")
    assert "Fits a device with 64 GB" in sentence(page)
    assert "59.60 GiB as typed" in plain(markup(page))


def test_a_mistyped_device_keeps_the_size():
    shown = answer(tuple((DEFAULTS | {"device": "abacus"}).items()), "")
    said = unmarked(verdict.sentence(shown))
    assert "1.00 GiB" in said
    assert "device is 'abacus'" in said
    assert shown.found is None


def test_a_mistyped_model_is_refused_with_the_nearest_one():
    with pytest.raises(SourceUnavailable, match=r"did you mean gemma-3-27b\?"):
        answer(tuple((DEFAULTS | {"model": "gemma-3-27bb"}).items()), "")


def test_a_length_that_is_typed_wrong_stays_in_its_box():
    page = typed(opened(), context="a lot")
    assert tag(page) == "✕ No size"
    assert page.text_input(key="context").value == "a lot"


def test_beyond_the_trained_maximum_is_computed_and_marked():
    page = opened(model="llama-3-8b", context="16k")
    assert "beyond the model's trained maximum of 8,192" in sentence(page)
    assert "2.00 GiB" in sentence(page)


def test_the_common_lengths_fill_the_context():
    page = opened(model="gemma-3-27b")
    quick = next(group for group in page.get("button_group") if group.key == "context_quick")
    quick.set_value("max").run()
    assert sentence(page).startswith("Gemma-3-27B, 131,072 tokens")


def pasted(text: str):
    page = bringing(opened())
    page.text_area(key="config_text").set_value(text).run()
    return press(page, "Use this configuration")


def test_a_pasted_configuration_is_a_model_like_any_other():
    page = pasted(json.dumps(TINY_LLAMA))
    assert not page.exception
    assert "2,097,152 B" in sentence(page)  # 2 layers × 2 × 8,192 × 4 heads × 8 × 2 B
    assert "weights_bytes" in [t.key for t in page.text_input]


def test_an_unknown_architecture_is_refused_by_its_keys():
    page = pasted(json.dumps(UNKNOWN))
    text = plain(markup(page))
    assert tag(page) == "✕ No size"
    assert "nova_hybrid" in sentence(page)
    assert text.index("memory_slots") < text.index("num_key_value_heads")
    assert "could change the size" in text
    assert "GiB" not in text
    assert not page.get("plotly_chart")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ("[1]", "expected an object"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ("[" * 10_000, "nested deeper"),
        ('{"a": ' + "9" * 400 + "}", "400 digits"),
        (" " * (2 * 2**20 + 1), "empty"),
        ('{"a": "' + "x" * 2**21 + '"}', "larger than 2 MiB"),
    ],
)
def test_what_is_no_configuration_is_said_in_a_sentence(text, said):
    page = pasted(text)
    assert not page.exception
    assert said in page.error[0].value
    assert page.text_area(key="config_text").value == text
    assert sentence(page).startswith("Llama-3.1-8B")


def test_what_was_typed_stays_when_its_box_is_closed():
    page = bringing(opened())
    page.text_area(key="config_text").set_value("{").run()
    page.session_state["bring"] = False
    page.run()
    assert not page.text_area
    page.text_input(key="context").set_value("4096").run()
    assert bringing(page).text_area(key="config_text").value == "{"


def test_an_uploaded_configuration_is_read():
    page = bringing(opened())
    file = ("config.json", json.dumps(TINY_LLAMA).encode(), "application/json")
    page.file_uploader[0].set_value(file).run()
    page = press(page, "Use this configuration")
    assert "2,097,152 B" in sentence(page)


def test_names_from_outside_are_never_html():
    page = opened(model="<script>alert(1)</script>", device="<b>x</b>")
    assert "<script>" not in markup(page)
    page = pasted(json.dumps(UNKNOWN | {"model_type": "<img src=x>"}))
    assert "<img" not in markup(page)


@pytest.mark.parametrize("devices", ["2", "8"])
def test_several_devices_are_one_tensor_parallel_group(devices):
    page = opened(model="llama-3-70b", context="8192", devices=devices)
    assert f"each of {devices} × H100 80 GB" in sentence(page)


def test_heads_that_do_not_divide_are_said():
    page = opened(model="llama-3-70b", devices="3")
    assert not page.exception
    assert "tensor_parallel_size is 3" in plain(markup(page))


def test_an_encoder_decoder_asks_for_the_encoders_length():
    page = opened(model="flan-t5-xxl", engine="ideal")
    assert not page.exception
    assert page.text_input(key="encoder_context").value == "1500"
    assert "1,500 = S" in plain(markup(page))
