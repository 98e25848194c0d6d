"""docs/reference: for every public name what its arguments mean, what it gives, and an example that a test runs.

An entry begins with the name in the first column; its words and its doctest lines follow, indented. Sphinx shows it
under the docstring. Nothing here needs Sphinx.
"""

import inspect
import types
from pathlib import Path

FOLDER = Path(__file__).parent / "reference"


def read():
    """{name: (file, words, example)}, in the order of the files."""
    found = {}
    for path in sorted(FOLDER.glob("*.txt")):
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                name = line.strip()
                assert name not in found, f"{path.name}: {name} stands twice"
                found[name] = (path.stem, [], [])
            elif line.startswith("    >>>") or found[name][2]:
                found[name][2].append(line[4:])
            else:
                found[name][1].append(line.strip())
    return found


def resolve(name):
    """The thing that an entry is about: flock.analysis.clusters.count."""
    import tokenflock

    thing = tokenflock
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def callables():
    """{public name: function or class}, each once, under its shortest name."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import public_names
    import tokenflock

    found = {}

    def walk(prefix, thing):
        if isinstance(thing, types.ModuleType):
            for name in public_names.inside(thing):
                walk(f"{prefix}.{name}", getattr(thing, name))
        elif callable(thing):
            known = found.get(id(thing))
            if known is None or prefix.count(".") < known[0].count("."):
                found[id(thing)] = (prefix, thing)

    for name in tokenflock.__all__:
        if not name.startswith("_"):
            walk(f"flock.{name}", getattr(tokenflock, name))
    return dict(sorted(found.values(), key=lambda pair: pair[0]))


class Shown:
    """What Sphinx puts under a docstring."""

    def __init__(self):
        self._told = {id(inspect.unwrap(resolve(name))): entry[1:] for name, entry in read().items()}

    def of(self, thing):
        """(words, example) of a thing, as it is or under its decorators; nothing if there is no entry."""
        return self._told.get(id(inspect.unwrap(thing)) if callable(thing) else 0, ([], []))
