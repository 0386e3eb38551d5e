"""Configurations and a table of models checked against two sources → preset files, all of them.

    python tools/write_presets.py CONFIGS_FOLDER MODELS_TABLE

CONFIGS_FOLDER holds config.json files named Organisation__Model.json, also in folders below it.
MODELS_TABLE is a Markdown table with the columns "HF id", "max pos", "params total / active",
"sources" and "verified by n". A row confirmed by fewer than two sources, or recalled, gets no
preset. One whose sources do not begin with [verbatim] gets a preset that says what was read.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from calculator.importers.hf_config import model_from_config
from calculator.importers.schema import read_json
from calculator.importers.to_preset import preset_text
from calculator.model import ModelSpec

CHECKED = "2026-11-29"
MODELS = Path(__file__).parents[1] / "presets/models"

# ids and names people use, where the rule below would not give them
NAMES = {
    "mistralai/Mistral-7B-v0.1": "Mistral-7B-v0.1",
    "mistralai/Mixtral-8x7B-v0.1": "Mixtral-8x7B",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "Mixtral-8x7B-Instruct",
    "mistralai/Mixtral-8x22B-v0.1": "Mixtral-8x22B",
    "mistralai/Mistral-Nemo-Instruct-2407": "Mistral-Nemo",
    "Qwen/Qwen3-Next-80B-A3B-Instruct": "Qwen3-Next-80B",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": "Qwen3-Coder-480B-A35B",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "Llama-4-Scout",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": "Llama-4-Maverick",
    "meta-llama/Llama-3.2-11B-Vision-Instruct": "Llama-3.2-11B-Vision",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": "Llama-3.3-Nemotron-Super-49B",
    "ai21labs/Jamba-v0.1": "Jamba-v0.1",
    "openai/gpt-oss-20b": "gpt-oss-20b",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "facebook/opt-13b": "OPT-13B",
    "facebook/opt-350m": "OPT-350M",
}
FOLDERS = {
    "meta-llama": "meta", "facebook": "meta", "openai-community": "openai",
    "deepseek-ai": "deepseek",
    "mistralai": "mistral", "Qwen": "qwen", "zai-org": "zai", "THUDM": "zai",
    "moonshotai": "moonshot", "MiniMaxAI": "minimax", "HuggingFaceTB": "huggingface",
    "state-spaces": "state-spaces", "ibm-granite": "ibm", "CohereLabs": "cohere",
    "XiaomiMiMo": "xiaomi", "LGAI-EXAONE": "lg", "ByteDance-Seed": "bytedance",
    "baichuan-inc": "baichuan", "stepfun-ai": "stepfun", "LiquidAI": "liquid",
}  # fmt: skip
# Rebuilt files that leave out a key which the published one has as null: full attention.
NULL_WINDOW = {
    "mistralai/Mistral-Large-Instruct-2407", "mistralai/Mistral-Nemo-Instruct-2407",
    "mistralai/Mistral-Small-24B-Instruct-2501", "mistralai/Ministral-8B-Instruct-2410",
}  # fmt: skip

# Files that leave out the type, which copies of the published one in two other projects have.
DTYPES = {
    "meta-llama/Meta-Llama-3-8B-Instruct": "bfloat16",
    "meta-llama/Llama-2-70b-hf": "float16",
    "Qwen/Qwen2.5-7B-Instruct": "bfloat16",
}

# Bytes of checkpoints that keep some weights in one type and some in another, experts in MXFP4
# (24 or 36 layers × 32 or 128 experts × 3 × 2880² weights) and the rest in bf16; the model card
# prints them as 12.8 and 60.8 GiB.
WEIGHTS_BYTES = {
    "openai/gpt-oss-20b": 24 * 32 * 3 * 2880**2 * 17 // 32
    + (20_914_757_184 - 24 * 32 * 3 * 2880**2) * 2,
    "openai/gpt-oss-120b": 36 * 128 * 3 * 2880**2 * 17 // 32
    + (116_829_156_672 - 36 * 128 * 3 * 2880**2) * 2,
}


# What a file is that is not the published one, and how many transcriptions agree on its model.
TABLES = "tables and code of other projects; {} agree on layers, heads and head_dim"
COPY = "an edited copy of the configuration; {} projects agree on layers, heads and head_dim"


class Row(NamedTuple):
    """What the table says of a model beside its cache."""

    hub_id: str
    max_position_embeddings: int | None
    num_parameters: int | None
    num_active_parameters: int | None
    is_confirmed: bool
    read_from: str
    """What its file is when it is not the published one; else empty."""


def main(configs: Path, table: Path) -> None:
    files = {path.stem.replace("__", "/"): path for path in sorted(configs.rglob("*.json"))}
    for row in rows(table):
        if row.is_confirmed and row.hub_id in files:
            try:
                write_preset(row, files[row.hub_id])
            except ValueError as error:
                print(f"{row.hub_id}: {error}", file=sys.stderr)


def write_preset(row: Row, path: Path) -> None:
    config = read_json(path)
    if row.hub_id in NULL_WINDOW:
        config["sliding_window"] = None
    if row.hub_id in DTYPES:
        config["torch_dtype"] = DTYPES[row.hub_id]
    name = model_name(row.hub_id)
    model = with_facts(model_from_config(config, id=name.lower(), name=name), row)
    organisation = row.hub_id.split("/")[0]
    folder = MODELS / FOLDERS.get(organisation, organisation.lower())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{model.id}.toml").write_text(preset_text(model), encoding="utf-8")


def with_facts(model: ModelSpec, row: Row) -> ModelSpec:
    provenance = dict(model.provenance)
    if row.hub_id in DTYPES:
        provenance["dtype"] = "torch_dtype in two other copies"
    if row.max_position_embeddings not in (None, model.max_position_embeddings):
        provenance["max_position_embeddings"] = "tables of other projects"
    return replace(
        model,
        source=f"https://huggingface.co/{row.hub_id}",
        read_from=row.read_from,
        assumptions=tuple(of_what_was_read(a, row.read_from) for a in model.assumptions),
        provenance=tuple(provenance.items()),
        checked=CHECKED,
        max_position_embeddings=row.max_position_embeddings or model.max_position_embeddings,
        num_parameters=row.num_parameters,
        num_active_parameters=row.num_active_parameters,
        weights_bytes=WEIGHTS_BYTES.get(row.hub_id),
    )


def of_what_was_read(assumption: str, read_from: str) -> str:
    """The same sentence, claiming nothing of a published configuration that was not read."""
    if not read_from:
        return assumption
    plain = assumption.replace("The configuration", "What was read")
    return plain.replace("the configuration", "what was read")


def model_name(hub_id: str) -> str:
    """The card's name without what says how it was tuned: Meta-Llama-3-8B-Instruct → Llama-3-8B."""
    if hub_id in NAMES:
        return NAMES[hub_id]
    name = hub_id.split("/")[1].removeprefix("Meta-").removeprefix("NVIDIA-")
    name = re.sub(r"-(Instruct|it|hf|chat|Chat|chat-hf|instruct|PT)$", "", name)
    name = re.sub(r"^(gemma|phi|starcoder|bloom|falcon|mamba|stablelm|granite|internlm|chatglm)",
                  lambda found: found[0].capitalize(), name)  # fmt: skip
    return re.sub(r"(?<=[-\d.])(\d*[bm])(?=-|$)", lambda found: found[0].upper(), name)


def rows(table: Path) -> list[Row]:
    lines = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in table.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    header = next(line for line in lines if line[0] == "HF id")
    column = {name.split(" (")[0]: i for i, name in enumerate(header)}
    return [row_of(line, column) for line in lines if "/" in line[0] and len(line) == len(header)]


def row_of(line: list[str], column: dict[str, int]) -> Row:
    verified = line[column["verified by n"]]
    total, _, active = line[column["params total / active"]].partition(" / ")
    notes = " ".join(line[-2:])
    known = "recalled" not in active.lower()
    return Row(
        line[0],
        int(line[column["max pos"]]) if line[column["max pos"]].isdecimal() else None,
        parameters(total) if known or "active recalled" in active else None,
        parameters(active) if known else None,
        int(verified.split()[0]) >= 2 and not re.search("RECALLED|needs? a second check", notes),
        read_from(line[column["sources"]], int(verified.split()[0])),
    )


def read_from(sources: str, num_agreeing: int) -> str:
    """[derived] from another repository's config.json is a copy, too, only more edited."""
    if sources.startswith("[verbatim]"):
        return ""
    is_copy = re.match(r"\[edited copy\]|\[derived\] github:\S+\.json@", sources)
    return (COPY if is_copy else TABLES).format(num_agreeing)


def parameters(text: str) -> int | None:
    """An exact count, or one rounded by its publisher; of several, what the tensors hold."""
    held = re.search(r"\(([\d.]+)B tensors\)", text) or re.search(r"\(([\d,]{9,})\)", text)
    text = held[1] + ("B" if "." in held[1] else "") if held else text
    if exact := re.match(r"\d{1,3}(,\d{3})+", text):
        return int(exact[0].replace(",", ""))
    if rounded := re.match(r"([\d.]+)([BT])", text):
        units: dict[Any, int] = {"B": 10**9, "T": 10**12}
        return round(float(rounded[1]) * units[rounded[2]])
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
