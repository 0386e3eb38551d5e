"""What DESIGN promises of the code itself: one-way imports, a light core, whole numbers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import calculator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "calculator"

# Each step may import itself and the steps before it; names on one line may know each other.
STEPS = (
    ("errors",),
    ("units", "textbook"),
    ("dtypes",),
    ("tensors",),
    ("layers",),
    ("model",),
    ("importers",),
    ("catalog",),
    ("request",),
    ("items",),
    ("parallel",),
    ("engines",),
    ("footprint",),
    ("explain", "rates", "sweep", "weights", "budget", "devices"),
    ("differences",),
    ("search",),
    ("capacity", "fixes", "speed", "logs", "workload"),
    ("scenario", "verdict", "flags", "unused"),
    ("verify",),
    ("lesson", "claims"),
    ("charts", "exports"),
    ("cli", "api"),
    ("__main__",),
)
RANK = {name: rank for rank, names in enumerate(STEPS) for name in names}
HEAVY = (
    "streamlit", "torch", "plotly", "duckdb", "ibis", "transformers", "huggingface_hub", "pandas",
    "numpy", "pydantic", "rich", "typer", "httpx", "requests", "urllib.request", "http.client",
)  # fmt: skip

# Where `/` may stand: what is shown, timed or given as a percentage; elsewhere bytes stay whole.
DIVIDES = {
    "units.py": ("format_gib", "format_gb", "format_bytes"),
    "dtypes.py": ("bits",),
    "lesson.py": ("ratio",),  # of times
    "claims.py": ("ratio",),  # of seconds, rates and shares
    "demonstration.py": ("ratio",),  # of times
}
DISPLAY = ("verdict.py", "explain.py", "speed.py", "charts", "exports", "cli")

PUBLIC = (
    "CalculatorError", "Capacity", "Device", "DoesNotFit", "Dtype", "Footprint", "InvalidInput",
    "ModelSpec", "Parallelism", "Request", "SourceUnavailable", "UnsupportedModel", "capacity",
    "devices", "engine", "explain", "footprint", "load_device", "load_model", "presets", "sweep",
    "textbook",
)  # fmt: skip


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def step(path: Path) -> str:
    """The step a file belongs to: its own name, or its folder's inside the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_steps(tree: ast.Module) -> set[tuple[str, int]]:
    """(step, line) of every import of the package, those inside functions included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
            if node.module == "calculator":
                names = [f"calculator.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            head, _, rest = name.partition(".")
            if head == "calculator" and rest and rest != "__version__":
                found.add((rest.split(".")[0], node.lineno))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    here = step(path)
    assert here in RANK, f"give {here} its place in STEPS"
    for name, line in imported_steps(ast.parse(path.read_text())):
        assert RANK[name] <= RANK[here], f"{path.name}:{line} imports {name}, a later step"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_relative_imports_are_not_used(path):
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    assert all(node.level == 0 for node in found)


def counting_modules() -> list[Path]:
    return [p for p in modules() if p.relative_to(PACKAGE).parts[0] not in DISPLAY]


def divisions(tree: ast.AST, function: str = "") -> list[tuple[str, int, str]]:
    """(function, line, code) of every true division; a path joined to text is none."""
    found = []
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            right = node.right if isinstance(node, ast.BinOp) else node.value
            text = isinstance(right, ast.JoinedStr) or (
                isinstance(right, ast.Constant) and isinstance(right.value, str)
            )
            if not text:
                found.append((inside, node.lineno, ast.unparse(node)))
        found += divisions(node, inside)
    return found


@pytest.mark.parametrize("path", counting_modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_bytes_are_never_divided_outside_of_what_is_shown(path):
    allowed = DIVIDES.get(path.name, ())
    found = [d for d in divisions(ast.parse(path.read_text())) if d[0] not in allowed]
    assert not found, f"{path.name} divides; use // or ceil_div: {found}"


def test_divisions_are_found_where_they_are():
    code = "def f(a, b):\n    return a / b\nPATH = HOME / 'x' / f'{y}'\n"
    assert divisions(ast.parse(code)) == [("f", 2, "a / b")]


def test_public_names_are_the_documented_ones():
    assert calculator.__all__ == sorted(PUBLIC)
    assert dir(calculator) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist_and_say_what_they_are(name):
    assert getattr(calculator, name).__doc__


def test_an_estimate_imports_nothing_heavy():
    code = (
        "import sys, calculator as kv\n"
        "fp = kv.footprint(kv.load_model('llama-3-8b'), kv.Request(seq_len=8192))\n"
        f"print(fp.num_bytes, *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.split(), done.stderr) == (["1073741824"], "")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_file_says_what_it_turns_into_what(path):
    assert ast.get_docstring(ast.parse(path.read_text())), "it has no first-line docstring"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_short(path):
    num_lines = path.read_text().count("\n")
    assert num_lines <= 300, "split it by noun"


def test_readme_names_every_file_at_the_top():
    readme = (ROOT / "README.md").read_text()
    shown = [p.name for p in ROOT.iterdir() if not p.name.startswith(".")]
    ours = [name for name in shown if name not in ("build", "dist", "__pycache__")]
    assert [name for name in ours if not name.endswith(".egg-info") and name not in readme] == []
