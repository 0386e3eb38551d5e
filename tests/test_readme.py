"""What README says is what happens."""

import doctest
import re
import shlex
from pathlib import Path

from calculator.cli import main

README = Path(__file__).parents[1] / "README.md"


def test_the_worked_examples_print_what_they_say():
    found = doctest.testfile(str(README), module_relative=False)
    assert (found.failed, found.attempted > 5) == (0, True)


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    config = (
        '{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,'
        ' "hidden_size": 128, "vocab_size": 32, "torch_dtype": "float16"}'
    )
    (tmp_path / "config.json").write_text(config)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^kvcalc (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        assert main(shlex.split(command)) == 0
    assert "1073741824" in capsys.readouterr().out
