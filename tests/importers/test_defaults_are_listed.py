"""Every figure that rests on a class default is listed as an assumption."""

import pytest

import calculator as kv


def unlisted(model: kv.ModelSpec) -> list[str]:
    """Figures from a default that no assumption names."""
    resting = [figure for figure, origin in model.provenance if origin.startswith("default of")]
    said = " ".join(model.assumptions)
    return [] if not resting else [figure for figure in resting if figure not in said]


@pytest.mark.parametrize("preset", [m.id for m in kv.presets()])
def test_no_figure_of_a_preset_rests_on_an_unlisted_default(preset):
    assert unlisted(kv.load_model(preset)) == []


def test_an_unlisted_default_would_be_found():
    from dataclasses import replace

    model = kv.load_model({"model_type": "mistral", "num_hidden_layers": 2})
    assert unlisted(model) == []
    assert unlisted(replace(model, assumptions=()))
