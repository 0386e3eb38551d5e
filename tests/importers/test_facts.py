"""188 configurations read again: equal to the presets, and to a table of facts made by others."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from calculator.catalog import presets
from calculator.errors import CalculatorError
from calculator.footprint import footprint
from calculator.importers.hf_config import model_from_config
from calculator.importers.schema import read_json
from calculator.model import ModelSpec
from calculator.request import Request
from calculator.tensors import EveryNthToken, EveryToken

FACTS = Path(__file__).parents[3] / "shared/facts"
FILES = {f.stem.replace("__", "/"): f for f in sorted(FACTS.glob("configs/**/*.json"))}
PRESETS = {m.source.removeprefix("https://huggingface.co/"): m for m in presets()}

pytestmark = pytest.mark.skipif(not FILES, reason=f"{FACTS} is not there")

REFUSED = {
    "RWKV/RWKV7-2.9B-20260805": "no rule for model type rwkv7",
    "openbmb/MiniCPM3-4B": "model_type is missing",
    "mistralai/Mistral-Large-3-675B-Instruct-2512": "kv_lora_rank",
}
# Where the model's own code and the table differ: the code decides.
CODE_DECIDES = {
    # rebuilt files that leave sliding_window out, which means 4,096 to MistralConfig
    "mistralai/Ministral-8B-Instruct-2410",
    "mistralai/Mistral-Large-Instruct-2407",
    "mistralai/Mistral-Nemo-Instruct-2407",
    "mistralai/Mistral-Small-24B-Instruct-2501",
    # a window as long as the longest context: never full there, but transformers applies it
    "microsoft/Phi-3.5-MoE-instruct",
    "microsoft/Phi-3.5-mini-instruct",
    "microsoft/Phi-4-mini-instruct",
}


def load(hub_id: str) -> ModelSpec:
    return model_from_config(read_json(FILES[hub_id]))


@pytest.mark.parametrize("hub_id", [name for name in FILES if name not in REFUSED])
def test_a_configuration_gives_what_its_preset_holds(hub_id):
    spec, preset = load(hub_id), PRESETS.get(hub_id)
    if preset is None or hub_id in CODE_DECIDES:
        assert spec.num_hidden_layers > 0
        return
    assert spec.every_layer_type() == preset.every_layer_type()
    for tokens in (1, 1_000, 100_000):
        assert size(spec, tokens) == size(preset, tokens)


def size(spec: ModelSpec, tokens: int) -> int:
    encoder = 1_500 if spec.has_encoder else None
    return footprint(spec, Request(seq_len=tokens, encoder_seq_len=encoder)).num_bytes


@pytest.mark.parametrize("hub_id", REFUSED)
def test_what_cannot_be_known_is_refused(hub_id):
    with pytest.raises(CalculatorError, match=REFUSED[hub_id]):
        load(hub_id)


def test_the_table_agrees():
    """Bytes that each token adds in bf16, index keys apart; 7 rows differ, each for a reason."""
    table = dict(bytes_per_token_of(line) for line in rows())
    wrong = {
        name: (growing(load(name)), table[name])
        for name in FILES
        if name in table and name not in REFUSED and growing(load(name)) != table[name]
    }
    assert set(wrong) == CODE_DECIDES


def rows() -> list[list[str]]:
    lines = (FACTS / "models.md").read_text(encoding="utf-8").splitlines()
    cells = [[c.strip() for c in line.strip().strip("|").split("|")] for line in lines]
    return [c for c in cells if len(c) == 16 and "/" in c[0] and re.match(r"\d", c[12])]


def bytes_per_token_of(cells: list[str]) -> tuple[str, int]:
    return cells[0], int(re.match(r"[\d,]+", cells[12])[0].replace(",", ""))


def growing(spec: ModelSpec) -> int:
    tokens = 10**7
    encoder = 1 if spec.has_encoder else None
    request = Request(seq_len=tokens, encoder_seq_len=encoder, key_dtype="bf16", value_dtype="bf16")
    items = footprint(replace(spec, dtype="bf16"), request).items
    return (
        sum(
            i.num_bytes
            for i in items
            if isinstance(i.row.growth, EveryToken | EveryNthToken) and i.row.tensor != "index key"
        )
        // tokens
    )
