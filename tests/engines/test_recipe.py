"""CONTRIBUTING's smallest engine: the file, the line and the table there are all that it takes."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import calculator as kv
import calculator.engines
from calculator.cli import main
from calculator.differences import differences

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = TEXT[TEXT.index("**An engine.**") :]
FILE, LINE, TABLE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
GEMMA = 62 * 8_192 * 2 * 16 * 128 * 2  # layers × tokens × K and V × heads × width × bytes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The file where the registry's line says it is."""
    path = tmp_path / "whole.py"
    path.write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(
        calculator.engines, "__path__", [*calculator.engines.__path__, str(tmp_path)]
    )
    name, target = re.fullmatch(r'"(.+)": "(.+)",\n', LINE).groups()
    monkeypatch.setitem(calculator.engines.ENGINES, name, target)
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("calculator.engines.whole", None)


def test_the_table_holds(folder):
    found = {}
    exec(compile(TABLE, "test_whole.py", "exec"), found)
    for row in found["LOGGED"]:
        found["test_logged"](*row)


def test_python(folder):
    fp = kv.footprint(kv.load_model("gemma-3-27b"), kv.Request(8_192), kv.engine("whole"))
    assert fp.num_bytes == GEMMA
    assert "windows are not used" in " ".join(fp.assumptions)
    assert differences(fp)
    for option in ("nope", "engine", "verified_with"):
        with pytest.raises(kv.InvalidInput, match=r"its options are row_alignment\."):
            kv.engine("whole", **{option: 1})


def test_the_command_line(folder, capsys):
    words = ["estimate", "gemma-3-27b", "--context", "8192", "--engine", "whole"]
    assert main(words) == 0
    assert f"{GEMMA:,}" in capsys.readouterr().out
    assert main([*words, "--set", "row_alignment=8192", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["engine"] == {"engine": "whole", "row_alignment": 8192}
    assert found["num_bytes"] == 2 * GEMMA
    assert main([*words, "--set", "row_alignment=0"]) == 2


def test_capacity_and_sweep(folder):
    model, engine = kv.load_model("gemma-3-27b"), kv.engine("whole")
    held = kv.capacity(model, kv_bytes_per_device=GEMMA, request=kv.Request(8_192), engine=engine)
    assert (held.max_seq_len.low, held.max_batch_size.low) == (8_192, 1)
    table = kv.sweep(model, numpy.array([1, 8_192]), numpy.array([1, 3]), engine=engine)
    assert table.tolist() == [[GEMMA // 8_192, 3 * GEMMA // 8_192], [GEMMA, 3 * GEMMA]]


def test_the_file_keeps_the_style(folder):
    for words in (["ruff", "check"], ["ruff", "format", "--check"]):
        config = ["--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run(
            [sys.executable, "-m", *words, *config, str(folder / "whole.py")],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
