"""A fixed sample of model types, run through transformers' own code and compared to the byte.

Every type there is, and any shapes: `python -m tests.conformance.transformers --all --seed …`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.conformance.transformers import compare as comparing  # noqa: E402
from tests.conformance.transformers import geometry, measure  # noqa: E402
from tests.conformance.transformers.compare import Case, Result, compare  # noqa: E402
from tests.conformance.transformers.overrides import OVERRIDES, override  # noqa: E402
from tests.conformance.transformers.sample import SAMPLE, all_types  # noqa: E402

pytestmark = pytest.mark.slow
SEEDS = ("ci-0", "ci-1")


@pytest.mark.parametrize("model_type", SAMPLE)
def test_the_cache_of_the_real_model_has_the_bytes_predicted(model_type):
    result = compare(model_type, SEEDS)
    assert (result.outcome, result.problems) == ("exact", []), result.reason
    assert result.geometries == 1 + len(SEEDS)


def test_an_encoder_keeps_no_cache():
    shape = geometry.default("bert", override("bert"))
    model = measure.build(shape.config, override("bert"))
    assert measure.run(model, override("bert"), 8, 1, 0).num_bytes == 0


def test_the_release_is_the_one_that_the_engine_was_verified_with():
    from calculator.engines.transformers import Transformers

    assert transformers.__version__ == Transformers.verified_with


def test_every_override_is_of_a_type_in_the_mapping():
    assert set(OVERRIDES) <= set(all_types())


def test_a_published_file_leaves_defaults_out_but_never_the_layer_count():
    shape = geometry.default("llama", override("llama"))
    assert set(shape.forms["bare"]) == {"model_type", "num_hidden_layers", "dtype"}
    assert shape.forms["bare"]["num_hidden_layers"] == 32


def test_a_byte_too_many_is_wrong(monkeypatch):
    monkeypatch.setattr(comparing, "predict", lambda *_: (measured_bytes() + 1, ""))
    assert compare("gpt_bigcode", ()).outcome == "wrong"


def measured_bytes() -> int:
    return 49_152


@pytest.mark.parametrize(
    ("measured", "predicted", "outcome"),
    [
        (5, 5, "exact"),
        (5, 6, "wrong"),
        (5, None, "refused"),
        (0, 0, "no cache"),
        (0, None, "no cache"),
        (0, 5, "wrong"),
        (5, 0, "wrong"),
    ],
)
def test_outcomes(measured, predicted, outcome):
    assert Case("", measured, predicted).outcome == outcome


def test_a_type_is_as_good_as_its_worst_case():
    cases = [Case("", 5, 5), Case("", 5, None, "why"), Case("", 5, 6)]
    assert Result("t", "meta", cases).outcome == "wrong"
    assert Result("t", "meta", cases[:2]).outcome == "refused"
    assert Result("t", "meta", cases[:1]).outcome == "exact"
    assert Result("t", "meta", []).outcome == "refused"
