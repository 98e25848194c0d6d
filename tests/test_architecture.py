"""The shape of the package: imports point one way, files and functions stay short, `import tokenflock` stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tokenflock

ROOT = Path(tokenflock.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# Lowest first; names on one line may import each other. Function-local imports count too.
LAYERS = [
    "errors geometry arguments",
    "options rules",
    "model",
    "start weights theory",
    "trajectory store schemes",
    "analysis",
    "networks",
    "engine",
    "runner simulation ending",
    "merging extension dynamics adjoint flow transformer spec",
    "sweeps",
    "plot dendrogram",
    "figures claims studies diagnosis",
    "report",
    "citations cli explorer",
]
RANK = {name: rank for rank, line in enumerate(LAYERS) for name in line.split()}
HEAVY = ("numba", "torch", "matplotlib", "xarray", "scipy", "pandas", "zarr", "rich", "typer")


def part_of(path):
    """The file or folder directly under the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def only_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imported(tree):
    """Names of the parts of tokenflock that a file imports, anywhere in it; imports for type checkers do not count."""
    skipped = {
        child for node in ast.walk(tree) if only_for_types(node) for body in node.body for child in ast.walk(body)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("tokenflock."):
                yield name.split(".")[1]


SOURCES = {str(path.relative_to(ROOT)): path for path in FILES}
each_file = pytest.mark.parametrize("path", SOURCES.values(), ids=SOURCES.keys())


@each_file
def test_every_file_has_its_place(path):
    assert part_of(path) in RANK or path.name in ("__init__.py", "__main__.py")


# The front door imports by name, when asked.
INSIDE = {name: path for name, path in SOURCES.items() if not name.startswith("__")}


@pytest.mark.parametrize("path", INSIDE.values(), ids=INSIDE.keys())
def test_imports_point_downwards(path):
    part = part_of(path)
    for other in imported(ast.parse(path.read_text())):
        if other in RANK:  # the rest are names of the front door: __version__
            assert RANK[other] <= RANK[part], f"{path.name} imports {other}: arrows go down only"


def test_the_model_knows_no_engine_and_the_analysis_no_simulation():
    reached = {part: set() for part in RANK}
    for path in FILES:
        if part_of(path) in reached:
            reached[part_of(path)] |= set(imported(ast.parse(path.read_text())))
    assert reached["model"] <= {"geometry", "options", "rules", "errors"}
    assert not reached["analysis"] & {"engine", "simulation", "runner", "plot"}
    assert not reached["engine"] & {"simulation", "runner", "trajectory", "store", "analysis"}
    assert "model" in reached["engine"]


@each_file
def test_no_file_is_long(path):
    assert len(path.read_text().splitlines()) <= 400


@each_file
def test_no_function_is_long(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 80, node.name


@each_file
def test_nothing_is_left_to_do(path):
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text())


@each_file
def test_every_file_says_what_it_is(path):
    assert not path.read_text().strip() or ast.get_docstring(ast.parse(path.read_text()))


@each_file
def test_names_say_what_a_file_is_about(path):
    assert path.stem not in {"utils", "util", "helpers", "misc", "common", "core", "base", "manager"}


def test_every_equation_has_its_tag():
    text = (ROOT / "model.py").read_text()
    header = ast.get_docstring(ast.parse(text))
    tags = [f"(E{k})" for k in range(1, 14)]
    for tag in tags:
        assert tag in header
        assert tag in text.replace(header, "") or any(tag in p.read_text() for p in (ROOT / "engine").glob("*.py")), tag
    everywhere = {tag for path in FILES for tag in re.findall(r"\(E\d+\)", path.read_text())}
    assert everywhere <= set(tags), "a tag that no equation has"


def test_import_is_light():
    code = f"import tokenflock, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_and_a_start_need_no_compiler():
    code = (
        "import sys, tokenflock as flock; m = flock.Model(dim=2); x = flock.uniform(5, 2); flock.velocity(m, x);"
        "print([n for n in ('numba', 'torch', 'matplotlib', 'xarray', 'zarr') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_exported_name_is_there():
    for name in tokenflock.__all__:
        assert getattr(tokenflock, name) is not None
    assert dir(tokenflock) == tokenflock.__all__
    with pytest.raises(AttributeError, match="module 'tokenflock' has no attribute 'simulat'"):
        tokenflock.simulat  # noqa: B018
