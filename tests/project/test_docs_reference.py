"""Every public name has its formula, its arguments, what it gives and an example that runs: docstring and reference."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest

import tokenflock as flock
from trained import trained

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
try:
    import entries
finally:
    sys.path.remove(str(ROOT / "docs"))

ENTRIES, NAMES = entries.read(), entries.callables()
FILES = sorted({file for file, _, _ in ENTRIES.values()})
NEEDS_WEIGHTS = {"networks", "transformer"}
#: names that compute nothing: no formula can be asked of them
PLAIN = re.compile(
    r"flock\.(errors|claims|studies|sweeps?|study|check|figure|diagnose|view|export|save|load|validate|dendrogram|Schedule|networks"
    r"|trajectory\.(describe|model_of)|analysis\.(positive|tokens)|transformer\.(wording|stack|states|record|block))"
)
FORMULA = re.compile(r"[=<>~^+]|->|\bsum\b|sqrt|exp|\bdiag\b|\blog\b|\((?:E|L|[A-F]\.)\d+|\bP_|\[\[|\|")
#: arguments that mean the same everywhere
USUAL = {"self", "args", "kwargs", "progress", "changes", "options"}


def told(name):
    """All words about a name."""
    docstring = inspect.getdoc(NAMES[name]) or ""
    return "\n".join([docstring, *(ENTRIES[name][1] if name in ENTRIES else [])])


def test_every_public_name_has_an_entry_and_no_entry_is_left_over():
    assert not sorted(set(NAMES) - set(ENTRIES)), "write these into docs/reference"
    members = {name for name in ENTRIES if name not in NAMES and inspect.isfunction(entries.resolve(name))}
    assert not sorted(set(ENTRIES) - set(NAMES) - members)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_what_it_takes_and_gives(name):
    thing, words = NAMES[name], told(name)
    assert inspect.getdoc(thing)
    try:
        arguments = set(inspect.signature(thing).parameters) - USUAL
    except (TypeError, ValueError):
        arguments = set()
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        assert not [argument for argument in sorted(arguments) if not re.search(rf"\b{argument}\b", words)], name
    if not inspect.isclass(thing):
        assert re.search(r"\bGives\b", "\n".join(ENTRIES[name][1])), f"{name}: what does it give?"
    if not PLAIN.match(name):
        assert FORMULA.search(words), f"{name}: its formula or its equation"


@pytest.mark.parametrize("name", ENTRIES)
def test_an_example_uses_its_name(name):
    _, words, example = ENTRIES[name]
    assert words, name
    code = "\n".join(line for line in example if line.startswith((">>>", "...")))
    assert code, f"{name} has no example"
    if inspect.isclass(entries.resolve(name)):  # what returns one will do
        return
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", code), name


@pytest.mark.parametrize("file", FILES)
def test_examples_run(file, tmp_path, monkeypatch):
    if file in NEEDS_WEIGHTS and trained("rxnmapper") is None:
        pytest.skip("no weights/rxnmapper-*.whl: make weights fetches it")
    if file == "flow":
        pytest.importorskip("torch")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    if (ROOT / "weights").exists():
        (tmp_path / "weights").symlink_to(ROOT / "weights")
    model, start = flock.Model(dim=2, beta=9.0), flock.uniform(12, 2, seed=0)  # as the page of public names says
    names = {"flock": flock, "np": np, "model": model, "start": start, "run": flock.simulate(model, start, 5.0)}
    parser, runner, said = doctest.DocTestParser(), doctest.DocTestRunner(), []
    for name, (home, _, example) in ENTRIES.items():
        if home == file:
            test = parser.get_doctest("\n".join(example) + "\n", names, name, file, 0)
            runner.run(test, out=said.append, clear_globs=False)
            names |= test.globs
    matplotlib.pyplot.close("all")
    assert not runner.failures, "".join(said)
