"""Presets of the user's own."""

import pytest

import calculator as kv
from calculator.importers.to_preset import preset_text

GOOD = preset_text(kv.load_model("gemma-3-27b"))


def load(tmp_path, text: str) -> kv.ModelSpec:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return kv.load_model(path)


def test_a_written_preset_reads_as_the_same_model(tmp_path):
    assert load(tmp_path, GOOD) == kv.load_model("gemma-3-27b")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('dtype = "bf16"', "dtype = 16", "dtype is 16"),
        ('dtype = "bf16"', 'dtype = "q9"', "dtype is 'q9'"),
        ("num_hidden_layers = 62", "num_hidden_layers = -1", "num_hidden_layers is -1"),
        ("num_hidden_layers = 62", 'num_hidden_layers = "62"', "num_hidden_layers is '62'"),
        ("num_hidden_layers = 62", "", "no field num_hidden_layers"),
        ("sliding_window = 1024", "sliding_window = 0", "sliding_window is 0"),
        ("sliding_window = 1024", "", "missing field sliding_window"),
        ("sliding_window = 1024", "window = 1024", "unknown field window"),
        ('model_type = "gemma3"', "model_type = []", "model_type is"),
        ('model_type = "gemma3"', 'colour = "red"\nmodel_type = "gemma3"', "unknown field colour"),
        ("[[layers.full_attention]]", "[layers.full_attention]", "layers.full_attention is"),
        ("id = ", "id == ", "is no TOML"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, old, new, named):
    assert old in GOOD
    with pytest.raises(kv.CalculatorError, match=named):
        load(tmp_path, GOOD.replace(old, new, 1))


def test_a_large_file_and_one_that_is_no_text_are_refused(tmp_path):
    with pytest.raises(kv.InvalidInput, match="larger than 1 MiB"):
        load(tmp_path, "#" * 2_000_000)
    path = tmp_path / "raw.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(kv.InvalidInput, match="is no TOML"):
        kv.load_model(path)
