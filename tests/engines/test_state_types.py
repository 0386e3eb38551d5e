"""Tables of element types know a model by its own type and by that of its text part alone."""

import pytest

from calculator.engines.transformers import STATE_DTYPES
from calculator.engines.vllm.chosen import PLAIN_INDEX
from calculator.engines.vllm.pool import FP32_STATES
from calculator.importers.hf_config.registry import text_type_of

BY_KIND = {kind: {t for t, k in STATE_DTYPES if k == kind} for _, kind in STATE_DTYPES}
TABLES = {**BY_KIND, "FP32_STATES": set(FP32_STATES), "PLAIN_INDEX": set(PLAIN_INDEX)}


# text types: transformers' own, of the composite configuration's `sub_configs`
@pytest.mark.parametrize("name", TABLES)
def test_a_composite_type_and_its_text_part_stand_together(name):
    for model_type in TABLES[name]:
        assert (text_type_of(model_type) or model_type) in TABLES[name]
