"""What gets installed: pinned requirements, and a wheel that holds presets and page."""

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def lines(name: str) -> list[str]:
    return (ROOT / name).read_text().splitlines()


def test_requirements_are_the_extras_that_the_page_uses():
    used = [*EXTRAS["app"], *EXTRAS["verify"], *EXTRAS["hub"]]
    assert lines("requirements.txt") == ["-e .", *used]


def test_dev_requirements_add_the_dev_extra():
    assert lines("requirements-dev.txt") == ["-r requirements.txt", *EXTRAS["dev"]]


def test_the_light_core_needs_numpy_only():
    assert [d.split(">")[0] for d in PROJECT["dependencies"]] == ["numpy"]


@pytest.mark.parametrize("requirement", [r for extra in EXTRAS.values() for r in extra])
def test_extras_are_pinned(requirement):
    assert "==" in requirement


def test_readme_gives_the_two_commands_of_a_fresh_clone():
    start = "python3 -m venv .venv && . .venv/bin/activate && pip install -r "
    readme = lines("README.md")
    assert start + "requirements.txt && streamlit run app.py" in readme
    assert start + "requirements-dev.txt && python -m pytest" in readme


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout, built without isolation, so without a network."""
    if not find_spec("hatchling"):
        pytest.skip("hatchling is not installed (pip install -r requirements-dev.txt)")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*build, "--quiet", "--wheel-dir", folder, ROOT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_preset(wheel):
    inside = set(ZipFile(wheel).namelist())
    presets = (p.relative_to(ROOT) for p in (ROOT / "presets").rglob("*.toml"))
    assert {f"calculator/{p.as_posix()}" for p in presets} <= inside


def test_the_wheel_holds_the_page(wheel):
    inside = set(ZipFile(wheel).namelist())
    ui = [p for p in (ROOT / "ui").rglob("*.*") if "__pycache__" not in p.parts]
    page = [ROOT / "app.py", ROOT / ".streamlit/config.toml", *ui]
    missing = [p for p in page if f"calculator/_app/{p.relative_to(ROOT).as_posix()}" not in inside]
    assert missing == []


def test_the_wheel_puts_nothing_beside_the_package(wheel):
    tops = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    assert tops == {"calculator", f"{wheel.name.split('-py3')[0]}.dist-info"}


def test_the_wheel_alone_estimates_a_preset(wheel, tmp_path):
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import calculator as kv, calculator.cli.app as app\n"
        "fp = kv.footprint(kv.load_model('llama-3-8b'), kv.Request(seq_len=8192))\n"
        "print(fp.num_bytes, kv.load_device('h100').id, app.script())"
    )
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    run = [sys.executable, "-S", "-P", "-c", code]  # -S: nothing that is installed is seen
    done = subprocess.run(run, capture_output=True, text=True, env=path, cwd=tmp_path)
    script = tmp_path / "site/calculator/_app/app.py"
    assert done.stdout.split() == ["1073741824", "h100-sxm-80gb", str(script)], done.stderr
    assert script.is_file()
