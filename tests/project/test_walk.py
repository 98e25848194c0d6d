"""The walk of a call: how many functions, in how many files, someone reads who follows a warm run from door to door."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import tokenflock as flock

ROOT = str(Path(flock.__file__).parent)
MOST_FUNCTIONS, MOST_FILES = 58, 14


class Walk(NamedTuple):
    """The functions of the package that a call goes through, as (file, name)."""

    functions: set[tuple[str, str]]

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}


def walk(call: Callable[[], object]) -> Walk:
    """What a call goes through when all has been prepared. Comprehensions, which some Pythons inline, do not count."""
    call()
    call()
    seen = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            seen.add((code.co_filename[len(ROOT) + 1 :], code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Walk(seen)


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (flock.Model(dim=2, beta=64.0), flock.uniform(n_tokens=200, dim=2, seed=0)),  # the first example of the README
        (flock.Model(dim=3, beta=4.0), flock.uniform(n_tokens=8, dim=3, seed=0)),
    ],
    ids=["waves", "pairs"],
)
def test_the_walk_of_a_warm_call_is_short(model, start):
    found = walk(lambda: flock.simulate(model, start, 2.0, progress=False))
    assert len(found.functions) <= MOST_FUNCTIONS, sorted(found.functions)
    assert len(found.files) <= MOST_FILES, sorted(found.files)


def test_the_walk_of_a_new_model_is_longer():
    start = flock.uniform(n_tokens=8, dim=3, seed=0)
    found = walk(lambda: flock.simulate(flock.Model(dim=3, beta=4.0), start, 2.0, progress=False))
    assert len(found.functions) > MOST_FUNCTIONS  # the counter counts
    assert ("preparation.py", "prepared.<locals>.found") in found.functions
