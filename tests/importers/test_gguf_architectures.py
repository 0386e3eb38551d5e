"""A model is the same by preset, by configuration, and by the header of its GGUF file."""

import json
from pathlib import Path

import gguf
import pytest

from calculator.catalog import load_model
from calculator.errors import UnsupportedModel
from calculator.importers.gguf import model_from_gguf
from calculator.importers.gguf.architectures import ARCHITECTURES, REFUSED
from calculator.importers.gguf.types import TENSOR_TYPES
from calculator.importers.hf_config import model_from_config
from tests.importers.gguf_files import LLAMA, geometry, write
from tests.importers.gguf_pairs import CONFIG, GGUF, PAIRS, PLAIN

# What llama.cpp's convert_hf_to_gguf.py (August 2026) writes for the published configurations.
HEADERS = json.loads(Path(__file__).with_name("gguf_headers.json").read_text())
KNOWN = set(gguf.MODEL_ARCH_NAMES.values())


@pytest.mark.parametrize("preset", HEADERS)
def test_a_published_model_is_the_same_by_its_gguf_header(preset, tmp_path):
    metadata = dict(HEADERS[preset])
    architecture = metadata.pop("general.architecture")
    found = load_model(write(tmp_path / "model.gguf", architecture, other=metadata))
    expected = load_model(preset)
    assert geometry(found) == geometry(expected)
    assert found.num_hidden_layers == expected.num_hidden_layers


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_architecture_is_the_same_by_its_configuration(name, tmp_path):
    found = model_from_gguf(write(tmp_path / "model.gguf", name, GGUF))
    config = CONFIG | {"model_type": ARCHITECTURES[name].model_type}
    assert geometry(found) == geometry(model_from_config(config))


@pytest.mark.parametrize("name", PAIRS)
def test_a_special_architecture_is_the_same_by_its_configuration(name, tmp_path):
    figures, config = PAIRS[name]
    found = model_from_gguf(write(tmp_path / "model.gguf", name, figures))
    assert geometry(found) == geometry(model_from_config(config))


def test_at_least_sixty_architectures_are_held_equal_to_another_way_in():
    published = {metadata["general.architecture"] for metadata in HEADERS.values()}
    assert len(published | set(PLAIN) | set(PAIRS)) >= 60


def test_every_architecture_of_the_gguf_package_has_a_rule_or_a_reason():
    assert KNOWN - set(ARCHITECTURES) - set(REFUSED) == set()
    assert not set(ARCHITECTURES) & set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_an_architecture_without_a_cache_is_refused_by_name(name, tmp_path):
    path = write(tmp_path / "model.gguf", name, LLAMA)
    with pytest.raises(UnsupportedModel, match=rf"architecture {name} is (an?|no|a draft) "):
        model_from_gguf(path)


def test_an_unknown_architecture_is_refused_by_name(tmp_path):
    path = write(tmp_path / "model.gguf", "llama99", LLAMA)
    with pytest.raises(UnsupportedModel, match="no rule for GGUF architecture 'llama99'"):
        model_from_gguf(path)


def test_a_key_that_could_touch_the_cache_and_is_not_understood_is_refused(tmp_path):
    path = write(tmp_path / "model.gguf", "llama", LLAMA | {"attention.kv_merge_factor": 2})
    with pytest.raises(UnsupportedModel, match=r"llama\.attention\.kv_merge_factor could change"):
        model_from_gguf(path)


def test_a_window_on_an_architecture_without_one_is_refused(tmp_path):
    path = write(tmp_path / "model.gguf", "qwen3", LLAMA | {"attention.sliding_window": 4096})
    with pytest.raises(UnsupportedModel, match=r"qwen3\.attention\.sliding_window"):
        model_from_gguf(path)


def test_block_sizes_are_those_of_the_gguf_package():
    ours = {number: tuple(found[1:]) for number, found in TENSOR_TYPES.items()}
    assert ours == {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    names = {number: found.name.upper() for number, found in TENSOR_TYPES.items()}
    assert names == {int(kind): kind.name.upper() for kind in gguf.GGML_QUANT_SIZES}
