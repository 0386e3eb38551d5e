"""Every preset: a source, a date, and the numbers that are published or known exactly."""

import re
from pathlib import Path

import pytest

import calculator as kv
from calculator.catalog import aliases, find_preset, load_model, preset_paths, presets
from calculator.errors import CalculatorError
from tests.importers.configs import num_bytes

MUST_EXIST = """
llama-3-8b llama-3-70b llama-3.1-8b llama-3.1-70b llama-3.1-405b deepseek-v3 gemma-3-27b qwen3-4b
qwen3-next-80b mistral-7b-v0.1 gpt-oss-20b llama-2-7b qwen2.5-7b qwen2.5-72b opt-13b gemma-2-9b
jamba-v0.1 mixtral-8x7b deepseek-v3.2 deepseek-r1 llama-4-scout qwen3-8b qwen3-30b-a3b qwen3.5-27b
gpt-oss-120b gemma-3-4b gemma-3-12b phi-4 mistral-nemo glm-4.5 kimi-k2 deepseek-v4-flash
llama-3.2-1b llama-3.2-3b gemma-4-26b-a4b
""".split()  # noqa: SIM905

BYTES = [  # model, tokens, bytes in bf16, engine ideal
    ("llama-3-8b", 8_192, 1_073_741_824),
    ("llama-3-70b", 8_192, 2_684_354_560),
    ("llama-3.1-405b", 1, 516_096),
    ("deepseek-v3", 8_192, 575_668_224),
    ("gemma-3-27b", 131_072, 11_173_625_856),
    ("qwen3-4b", 8_192, 1_207_959_552),
    ("mistral-7b-v0.1", 32_768, 536_870_912),
    ("gpt-oss-20b", 131_072, 3_224_371_200),
    ("qwen3-next-80b", 32_768, 882_573_312),
    ("llama-2-7b", 1, 524_288),
    ("opt-13b", 1, 819_200),
    ("qwen2.5-72b", 1, 327_680),
]


@pytest.mark.parametrize(("name", "tokens", "expected"), BYTES)
def test_published_size(name, tokens, expected):
    assert num_bytes(load_model(name), tokens, key_dtype="bf16", value_dtype="bf16") == expected


@pytest.mark.parametrize("name", MUST_EXIST)
def test_models_people_ask_for_are_there(name):
    assert find_preset(name) is not None


def test_there_are_at_least_150():
    assert len(preset_paths()) >= 150


@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_a_preset_has_a_source_and_a_date(preset):
    assert preset.source.startswith("https://huggingface.co/")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", preset.checked)
    assert preset.id == preset.name.lower()


@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_every_figure_says_where_it_comes_from(preset):
    found = dict(preset.provenance)
    assert "num_hidden_layers" in found or "layers_block_type" in found
    assert all(found.values())


def test_every_default_is_an_assumption():
    unlisted = [
        (preset.id, figure)
        for preset in presets()
        for figure, origin in preset.provenance
        if origin.startswith("default of") and not any(origin in a for a in preset.assumptions)
    ]
    assert unlisted == []


def test_aliases_lead_to_presets():
    assert [name for name, preset in aliases().items() if preset not in preset_paths()] == []
    assert not set(aliases()) & set(preset_paths())


@pytest.mark.parametrize(
    ("name", "parameters"), [("llama-3-70b", 70_553_706_496), ("gemma-3-27b", 27_432_406_640)]
)
def test_parameters_are_what_the_checkpoint_holds(name, parameters):
    assert load_model(name).num_parameters == parameters


FACTS = Path(__file__).parents[2] / "shared/facts"
READ_FROM = re.compile(
    r"(tables and code of other projects|an edited copy of the configuration); "
    r"([2-9])( projects)? agree on layers, heads and head_dim"
)


@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_nothing_is_claimed_of_a_configuration_that_was_not_read(preset):
    if preset.read_from:
        assert READ_FROM.fullmatch(preset.read_from)
        assert "the configuration" not in " ".join(preset.assumptions).lower()
    sentences = kv.footprint(preset, request_of(preset)).assumptions
    assert any("configuration was not read" in s for s in sentences) == bool(preset.read_from)


@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_a_type_is_assumed_or_the_models_own_never_both(preset):
    for engine in ("ideal", "vllm", "transformers"):
        try:
            found = kv.footprint(preset, request_of(preset), kv.engine(engine))
            text = " ".join(found.assumptions)
        except CalculatorError:  # an engine need not run every model
            continue
        assumed = dict(preset.provenance)["dtype"] == "assumed"
        assert ("bf16 is assumed" in text) == assumed
        assert not (assumed and re.search("the model's own(?! code)", text))


def request_of(preset):
    return kv.Request(1, encoder_seq_len=1 if preset.has_encoder else None)


@pytest.mark.skipif(not FACTS.is_dir(), reason=f"{FACTS} is not there")
@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_a_preset_says_so_where_its_file_is_not_as_published(preset):
    name = preset.source.removeprefix("https://huggingface.co/").replace("/", "__") + ".json"
    (path,) = (FACTS / "configs").rglob(name)
    assert bool(preset.read_from) == (path.parent.name in ("_derived", "_edited"))
