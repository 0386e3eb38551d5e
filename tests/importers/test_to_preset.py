"""A preset is written from a model, and read back as the same."""

import tomllib

import pytest

from calculator.catalog import model_from_record, preset_paths, presets
from calculator.cli import main
from calculator.importers.to_preset import preset_text, toml_key, toml_value
from tests.importers.configs import model


@pytest.mark.parametrize("preset", presets(), ids=lambda m: m.id)
def test_a_preset_is_what_the_writer_makes_of_it(preset):
    assert preset_paths_text(preset.id) == preset_text(preset)


def preset_paths_text(preset_id: str) -> str:
    with open(preset_paths()[preset_id], encoding="utf-8") as file:
        return file.read()


def test_layers_that_keep_nothing_survive_the_way():
    spec = model(model_type="gemma3n_text", num_hidden_layers=10, num_kv_shared_layers=5)
    assert model_from_record(tomllib.loads(preset_text(spec))) == spec


@pytest.mark.parametrize("text", ['a"b', "ä\\", "line\nbreak", "\x7f", "#", "[x]"])
def test_any_text_survives_as_a_value_and_as_a_key(text):
    read = tomllib.loads(f"{toml_key(text)} = {toml_value(text)}")
    assert read == {text: text}


def test_import_toml_prints_the_preset(capsys):
    assert main(["import", "llama-3-8b", "--toml"]) == 0
    assert capsys.readouterr().out == preset_paths_text("llama-3-8b")


def test_import_shows_where_each_figure_comes_from(capsys):
    assert main(["import", "gemma-3-27b"]) == 0
    out = capsys.readouterr().out
    assert "text_config.num_key_value_heads" in out
    assert "sliding_window 1024" in out


def test_import_refuses_in_one_line(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "nova_hybrid", "memory_slots": 4096}')
    assert main(["import", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: There is no rule for model type 'nova_hybrid', and 1")
