"""The shape of the package: imports point one way, files and functions stay short, `import tokenflock` stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tokenflock
from waiting import LONG_S

ROOT = Path(tokenflock.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# Lowest first; names on one line may import each other. A folder that is cut into rooms is named with its rooms.
# Imports inside functions count, and so do the names of modules in strings, by which some are imported when asked for.
LAYERS = [
    "errors geometry arguments markup lock memory sphere expressions functions",
    "varying of_runs drift",
    "options positions groups common_noise looking rescaling rules interaction masks graphs",
    "model",
    "stretches",
    "start weights theory layers parking schemes preparation",
    "accessor door trajectories store",
    "analysis",
    "networks",
    "engine.contract engine.traits engine.status engine.machine engine.randomness engine.boolean",
    "engine.reference",
    "engine.compiled",
    "engine.explicit",
    "engine.implicit",
    "engine.harmonic",
    "engine.torch",
    "engine.triton",
    "engine.cpu engine.gpu",
    "engine.choose",
    "cores runner ending request events simulation stepping faults",
    "merging extension dynamics adjoint flow transformer spec given caches",
    "sweeps",
    "plot dendrogram",
    "papers.layout papers.merge_time papers.closest_first papers.token_layers",
    "papers.figures papers.claims papers.studies diagnosis papers.citations",
    "papers.report",
    "cli explorer",
]
RANK = {name: rank for rank, line in enumerate(LAYERS) for name in line.split()}
ROOMS = ("engine", "papers")  # folders that are cut into rooms
HEAVY = ("numba", "torch", "matplotlib", "xarray", "scipy", "pandas", "zarr", "rich", "typer")


def part_of(path):
    """The part of LAYERS that a file belongs to: a file or a folder under the package, or a room of a folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] in ROOMS else parts[0]


def only_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


MODULES = {".".join(("tokenflock", *path.relative_to(ROOT).with_suffix("").parts)): path for path in FILES}
MODULES = {name.removesuffix(".__init__"): path for name, path in MODULES.items()}


def imported(tree):
    """Modules of tokenflock that a file imports, anywhere in it or by a string; imports for type checkers do not
    count."""
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        else:
            continue
        for name in names:
            for known in (name, name.rpartition(".")[0]):
                if known in MODULES and known != "tokenflock":
                    yield known
                    break


def parts_imported(path):
    return {part_of(MODULES[name]) for name in imported(ast.parse(path.read_text()))}


SOURCES = {str(path.relative_to(ROOT)): path for path in FILES}
each_file = pytest.mark.parametrize("path", SOURCES.values(), ids=SOURCES.keys())


# The doors of the package and of folders that are cut into rooms import nothing, or by name when asked.
INSIDE = {name: path for name, path in SOURCES.items() if part_of(path).split(".")[-1] not in ("__init__", "__main__")}
each_inside = pytest.mark.parametrize("path", INSIDE.values(), ids=INSIDE.keys())


@each_inside
def test_every_file_has_its_place(path):
    assert part_of(path) in RANK


@each_inside
def test_imports_point_downwards(path):
    part = part_of(path)
    for other in parts_imported(path):
        assert RANK[other] <= RANK[part], f"{path.name} imports {other}: arrows go down only"


def test_no_module_imports_itself_by_a_detour():
    graph = {name: set(imported(ast.parse(path.read_text()))) - {name} for name, path in MODULES.items()}
    del graph["tokenflock"]
    while leaves := [name for name, reached in graph.items() if not reached & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, f"among these there is a cycle: {sorted(graph)}"


def test_the_model_knows_no_engine_and_the_analysis_no_simulation():
    reached = {part: set() for part in RANK}
    for path in INSIDE.values():
        reached[part_of(path)] |= parts_imported(path)
    allowed = "arguments geometry options positions groups common_noise looking rescaling rules errors sphere drift"
    assert reached["model"] <= {*allowed.split(), "functions", "interaction", "varying", "masks", "graphs", "of_runs"}
    assert not any(part.startswith("engine") for part in reached["analysis"])
    assert not reached["analysis"] & {"simulation", "runner", "plot"}
    for part in (name for name in RANK if name.startswith("engine.")):
        assert not reached[part] & {"simulation", "runner", "trajectories", "store", "analysis"}, part
    assert "model" in reached["engine.reference"]


def test_kernels_are_made_from_files_of_the_engine_and_from_the_top_of_the_package_only():
    # The name of the folder of compiled kernels is a digest over these files: see engine/compiled/declare.py.
    for path in (path for path in INSIDE.values() if part_of(path).startswith("engine.")):
        for name in imported(ast.parse(path.read_text())):
            home = MODULES[name].relative_to(ROOT).parts
            assert len(home) == 1 or home[0] == "engine", f"{path.name} imports {name}"


@each_file
def test_no_file_is_long(path):
    assert len(path.read_text().splitlines()) <= 400


@each_file
def test_no_function_is_long(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 60, node.name


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
    tags = [f"(E{k})" for k in range(1, len(set(re.findall(r"\(E\d+\)", header))) + 1)]
    for tag in tags:
        assert tag in header
        assert tag in text.replace(header, "") or any(tag in p.read_text() for p in (ROOT / "engine").rglob("*.py")), (
            tag
        )
    everywhere = {tag for path in FILES for tag in re.findall(r"\(E\d+\)", path.read_text())}
    assert everywhere <= set(tags), "a tag that no equation has"


def test_import_is_light():
    code = f"import tokenflock, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "[]"


def test_a_model_and_a_start_need_no_compiler():
    code = (
        "import sys, tokenflock as flock; m = flock.Model(dim=2); x = flock.uniform(5, 2); flock.velocity(m, x);"
        "print([n for n in ('numba', 'torch', 'matplotlib', 'xarray', 'zarr') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S)
    assert done.stdout.strip() == "[]"


def test_every_exported_name_is_there():
    for name in tokenflock.__all__:
        assert getattr(tokenflock, name) is not None
    assert dir(tokenflock) == tokenflock.__all__
    with pytest.raises(AttributeError, match="module 'tokenflock' has no attribute 'simulat'"):
        tokenflock.simulat  # noqa: B018


def test_a_class_name_has_one_home():
    homes = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_functions_with_many_arguments_are_few():
    """Public signatures, options of commands, and kernels that Triton launches; each says why beside it."""
    many = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and len(node.args.args + node.args.kwonlyargs) >= 10
    ]
    assert len(many) <= 20, many


def test_no_private_name_is_imported():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tokenflock"):
                names = [alias.name for alias in node.names]
                assert not [name for name in names if name.startswith("_") and not name.endswith("__")], path.name
