"""docs/architectures.md is what was recorded, and what was recorded is of this release."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from calculator.engines.transformers import Transformers

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("architectures", ROOT / "tools/architectures.py")
architectures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(architectures)
RECORD = architectures.record()


def test_the_page_is_the_record():
    page = (ROOT / "docs/architectures.md").read_text(encoding="utf-8")
    assert page == architectures.page(RECORD)


def test_it_was_recorded_with_the_release_the_engine_was_verified_with():
    assert RECORD["transformers"] == Transformers.verified_with


def test_no_type_is_wrong_and_few_are_refused():
    counts = Counter(entry["outcome"] for entry in RECORD["types"].values())
    assert counts["wrong"] == 0
    assert counts["exact"] + counts["no cache"] >= 165
    assert all(e["reason"] for e in RECORD["types"].values() if e["outcome"] == "refused")


def test_every_type_of_the_mapping_is_there():
    auto = pytest.importorskip("transformers.models.auto.modeling_auto")
    assert set(RECORD["types"]) == set(auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
