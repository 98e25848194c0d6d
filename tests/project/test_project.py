"""The files around the package say what is true: commands, versions, paths, options."""

import dataclasses
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from test_architecture import LAYERS

import tokenflock as flock
from tokenflock.options import LayerNorm
from tokenflock.papers import claims, figures
from tokenflock.papers.claims.ledger import WORDS

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


@pytest.mark.parametrize("target", ["reproduce", "reproduce-full", "test", "test-all", "bench", "docs", "clean"])
def test_the_makefile_has_its_targets(target):
    makefile = read("Makefile")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert target in re.search(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)[1].split()


def test_the_makefile_installs_groups_that_exist():
    makefile = read("Makefile")
    asked = set(re.findall(r"\.stamp-([\w-]+)\b", makefile)) | set(re.findall(r"--group ([\w-]+)", makefile))
    assert {"test", "docs", "bench"} <= asked
    assert asked <= set(tomllib.loads(read("pyproject.toml"))["dependency-groups"])


def test_help_names_every_command_of_the_makefile():
    makefile = read("Makefile")
    named = set(re.findall(r"make ([\w-]+)", " ".join(re.findall(r'@echo "(.*)"', makefile))))
    assert named | {"help"} == set(re.search(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)[1].split())


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert re.findall(r"\bmake .*", read(".ci/run").split("set -euo")[1]) == ["make test"]


@pytest.mark.parametrize("file", [".github/workflows/ci.yml", "CONTRIBUTING.md", ".github/pull_request_template.md"])
def test_commands_of_the_door_exist(file):
    commands = set(re.findall(r"\bmake ([a-z-]+)", read(file)))
    assert commands
    assert commands <= set(re.search(r"^\.PHONY:(.*)$", read("Makefile"), re.MULTILINE)[1].split())


def test_the_workflow_runs_every_python_that_is_declared():
    declared = [c.rpartition(" ")[2] for c in project()["classifiers"] if "Python :: 3." in c]
    tested = re.search(r"python: \[(.*)\]", read(".github/workflows/ci.yml"))[1]
    assert declared == re.findall(r"3\.\d+", tested)
    assert project()["requires-python"] == f">={declared[0]}"


def test_the_workflow_runs_every_system():
    workflow = read(".github/workflows/ci.yml")
    systems = re.search(r"system: \[(.*?)\]", workflow)[1]
    assert re.search("windows-", systems)
    assert re.search(r"macos-(1[4-9]|2\d)", systems), "these are arm64"
    assert re.search(r"ubuntu-[\d.]+-arm", systems)
    for path in re.findall(r"\btests/[\w/.]+|\.github/[\w/.]+", workflow):
        assert (ROOT / path).exists(), path


def test_the_workflow_tries_the_lowest_versions():
    """Bounds that were never tried together did not work together."""
    job = re.search(r"^  lowest:\n(?:(?:    .*)?\n)+", read(".github/workflows/ci.yml"), re.MULTILINE)[0]
    assert f'python-version: "{project()["requires-python"].removeprefix(">=")}"' in job
    assert "--resolution lowest-direct" in job
    assert {"netcdf", "networks"} <= set(re.findall(r"--extra (\w+)", job))
    assert "pytest" in job
    bare = [name for name in project()["dependencies"] if ">=" not in name]
    assert not bare, "a dependency without a lowest version"


def test_the_citation_is_of_this_version():
    lines = read("CITATION.cff").splitlines()
    top = dict(line.split(": ", 1) for line in lines if re.match(r"[a-z-]+: ", line))
    assert top["version"] == project()["version"]
    assert top["license"] == project()["license"]
    assert top["cff-version"] == "1.2.0"
    assert not [line for line in lines if "\t" in line], "YAML has no tabs"
    assert re.search(r"^## Unreleased$", read("CHANGELOG.md"), re.MULTILINE)


def test_the_readme_begins_with_a_picture_and_the_two_commands():
    screen = "\n".join(read("README.md").splitlines()[:30])
    for words in ("![", "make reproduce", "make test", "import tokenflock as flock", "tokenflock simulate --"):
        assert words in screen
    picture = ROOT / re.search(r"!\[[^\]]*\]\(([^)]+)\)", screen)[1]
    assert picture.stat().st_size < 300_000


def test_the_readme_example_runs():
    code = re.search(r"```python\n(.*?)```", read("README.md"), re.DOTALL)[1]
    names = {}
    exec(code, names)
    assert names["run"].attrs["outcome"] == "Reached t_end."


def test_the_readme_command_runs(tmp_path):
    from typer.testing import CliRunner

    from tokenflock.cli import app

    command = re.search(r"^tokenflock (simulate .*)$", read("README.md"), re.MULTILINE)[1].split()
    command[command.index("--out") + 1] = str(tmp_path / "run.zarr")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run.zarr" / "zarr.json").is_file()


def test_every_path_in_the_pages_exists():
    for page in ("ARCHITECTURE.md", "docs/adding.md"):
        named = re.findall(r"`((?:src|tests|docs|benchmarks|\.ci)/[\w./-]*)`", read(page))
        assert len(named) > 10
        assert not [path for path in named if not (ROOT / path).exists()]


def test_the_architecture_names_every_file_and_folder():
    text = read("ARCHITECTURE.md")
    here = [p for p in (ROOT / "src" / "tokenflock").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()]
    missing = [p.name for p in here if p.name != "__init__.py" and f"src/tokenflock/{p.name}" not in text]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", read(page)):
        if not target.startswith("https://"):
            assert ((ROOT / page).parent / target).exists(), target


def test_the_pages_of_the_model_name_every_option_and_equation():
    text = read("docs/model.md")
    for cls in (flock.Model, flock.Window, flock.Alibi, flock.FeedForward, flock.Frozen, LayerNorm):
        for field in dataclasses.fields(cls):
            assert re.search(rf"\b{field.name}\b", text), f"{cls.__name__}.{field.name}"
    tags = set(re.findall(r"^\((E\d+)\)", read("src/tokenflock/model.py"), re.MULTILINE))
    assert len(tags) == 22
    pages = read("docs/equations.md")
    assert tags == set(re.findall(r"^## \((E\d+)\)", pages, re.MULTILINE))
    assert tags == set(re.findall(r"<!-- where (E\d+) -->", pages))


def test_the_api_page_names_every_public_name():
    text = read("docs/api.md")
    assert not [name for name in flock.__all__ if not re.search(rf"\b{name}\b", text)]


def test_the_table_of_contents_holds_every_page():
    listed = set(re.findall(r"^(\w+)$", read("docs/index.md"), re.MULTILINE))
    assert {p.stem for p in (ROOT / "docs").glob("*.md")} == listed | {"index"}


def test_figures_in_the_pages_exist():
    named = {name for page in PAGES for name in re.findall(r"tokenflock figure (\w+/[\w-]+)", read(page))}
    assert named
    assert named <= set(figures.NAMES)


def test_the_architecture_lists_the_layers_of_the_test():
    block = re.search(r"Imports point down only:\n\n((?:    .*\n)+)", read("ARCHITECTURE.md"))[1]
    told = [set(line.split(" · ")) for line in block.replace("    ", "").splitlines()]
    assert told == [set(line.split()) for line in reversed(LAYERS)]


def generated():
    """docs/generated.py, which needs no Sphinx."""
    found = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "generated.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_of_claims_is_the_ledger():
    pages = generated()
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", pages.fill("before\n<!-- claims -->\nafter"))
    for name in claims.NAMES:
        claim = claims.find(name)
        for words in (f"### {name}\n", claim.statement, *claim.hypotheses, claim.rule, claim.erratum, claim.known):
            assert words in shown, name
    assert set(re.findall(r"^## (Paper \w): ", shown, re.MULTILINE)) == {f"Paper {letter}" for letter in "ABCDEF"}
    assert read("docs/claims.md").count("<!-- claims -->") == 1


def test_the_page_of_claims_says_what_a_quick_check_sees():
    """1 - 0.05^(1/N) for claims of "always", standard errors for estimates: of every claim, from its declaration."""
    pages = generated()
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", pages.fill("<!-- power -->"))
    for name in claims.NAMES:
        claim = claims.find(name)
        line = next(line for line in shown.splitlines() if line.startswith(f"| {name} "))
        trials = claim.parameters(quick=True)["trials"]
        assert f"| {trials} |" in line
        if claim.kind != "estimate":
            assert f"| {1 - 0.05 ** (1 / (trials * claim.points)):.2g} |" in line
    assert read("docs/claims.md").count("<!-- power -->") == 1


def test_the_verdicts_on_the_page_are_those_of_the_build(tmp_path, monkeypatch):
    pages = generated()
    monkeypatch.setattr(sys.modules["pieces"], "OUT", tmp_path)
    (tmp_path / "claims").mkdir()
    found = {"verdict": "holds", "trials": 60, "tightest": {"shown": "7.8e-09"}, "wall_s": 1.0}
    (tmp_path / "claims" / "causal-theorem-4.1.json").write_text(json.dumps(found))
    assert "**holds** in 60 trials; measured 7.8e-09" in pages.fill("<!-- claims -->")


def test_every_equation_says_where_it_lives():
    assert "`model.py`" in generated().fill("<!-- where E6 -->")


def test_every_result_is_on_the_page_of_benchmarks():
    page = generated().fill(read("docs/benchmarks.md"))
    stems = {p.stem for p in (ROOT / "benchmarks" / "results").iterdir() if p.is_file()}
    assert stems
    assert all(f", {stem[:10]}\n" in page for stem in stems)
    assert page.count("\n### ") == len(stems)


@pytest.mark.parametrize("page", PAGES)
def test_claims_and_verbs_in_the_pages_exist(page):
    from typer.main import get_command

    from tokenflock.cli import app

    papers = "|".join({name.partition("/")[0] for name in claims.NAMES})
    named = set(re.findall(rf"(?<![\w/])(?:{papers})/[a-z][\w.-]*\w", read(page)))
    assert named <= set(claims.NAMES) | set(figures.NAMES)
    verbs = set(re.findall(r"(?:^|`|# )tokenflock ([a-z]+)", read(page), re.MULTILINE))
    assert verbs <= set(get_command(app).commands)


def test_the_verdicts_in_the_readme_are_words_of_the_ledger():
    section = read("README.md").split("## What it checks")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (causal/[^|]+?) \| \**([a-z]+)\** \|", section, re.MULTILINE)
    assert len(rows) > 5
    for names, word in rows:
        for name in re.findall(r"causal/[\w.-]*\w", names):
            claim = claims.find(name)
            good, wrong = WORDS[claim.kind]
            assert word == (wrong if claim.known else "proved" if "prove" in claim.sizes else good), name


def test_the_counterexample_in_the_findings_runs():
    code = re.search(r"```python\n(.*?)```", read("docs/findings.md"), re.DOTALL)[1]
    lines = code.strip().splitlines()
    names = {}
    exec("\n".join(lines[:-1]), names)
    expression, _, told = lines[-1].partition("#")
    share = eval(expression, names)
    error = (share * (1 - share) / len(names["starts"])) ** 0.5
    assert abs(share - float(told.split()[-1])) < 4 * error
    assert share > 10 * error  # a basin of positive measure
