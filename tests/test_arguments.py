"""Arguments: the helpers at every door, and a fuzz that walks all public names by itself.

A new public name is fuzzed from its first day, by the example of docs/reference; one that no call can be made of fails.
"""

import time

import numpy as np
import pytest
import xarray as xr

import fuzzing
import hostile
import tokenflock as flock
from calls import HEAVY, Calls, public_functions
from tokenflock import arguments
from tokenflock.errors import FileError, SpecError, TokenflockError, bad, unknown

QUICK = 600  # calls of the fast tests, of names that compile nothing
FULL, PART = 10_000, 2_500
REFUSED = {
    "a run": lambda: arguments.dataset("run", 3, "a trajectory"),
    "a path": lambda: arguments.path("path", 3),
    "a path without a name": lambda: arguments.path("path", ""),
    "a path with a zero": lambda: arguments.path("path", "a\0b"),
    "a long name": lambda: arguments.path("path", "x" * 300),
    "a name": lambda: arguments.named("mask", np.eye(2), ["causal", "full"]),
    "a flag": lambda: arguments.flag("quick", np.eye(2)),
    "a function": lambda: arguments.function("loss", 3, "a function"),
    "a generator": lambda: arguments.generator(0),
    "a count": lambda: arguments.count("runs", 2**64),
    "a count that no memory holds": lambda: arguments.count("n", 2**40, each=2**20),
    "a huge number": lambda: arguments.whole("n", 10**5000, 0, most=9),
    "a word among numbers": lambda: arguments.real("x", [1.0, "2"], "numbers"),
    "digits": lambda: arguments.scalar("x", "2", "a number"),
    "a date": lambda: arguments.real("x", np.array(["2020-01-01"], dtype="datetime64[D]"), "numbers"),
    "a masked number": lambda: arguments.real("x", np.ma.masked_array([1.0, 2.0], [0, 1]), "numbers"),
    "complex numbers": lambda: arguments.real("x", [1j], "numbers"),
    "a Dataset": lambda: arguments.real("x", xr.Dataset({"a": 1.0}), "numbers"),
    "a number beyond float64": lambda: arguments.scalar("x", 10**400, "a number"),
    "an empty list": lambda: arguments.some("x", [], "numbers"),
    "words for indices": lambda: arguments.whole_numbers("ids", ["a"], "whole numbers"),
    "indices beyond 64 bits": lambda: arguments.whole_numbers("ids", np.array([2**63], dtype=np.uint64), "numbers"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_with_a_sentence(call):
    with pytest.raises(TokenflockError, match=r"[.]") as caught:
        call()
    assert len(str(caught.value)) < 300


def test_what_fits_comes_out_as_it_was():
    assert arguments.path("path", "run.zarr").name == "run.zarr"
    assert arguments.named("mask", "full", ["causal", "full"]) == "full"
    assert arguments.count("runs", np.int8(3)) == 3
    assert arguments.flag("quick", np.bool_(True)) is True
    assert arguments.numbers([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert arguments.numbers(np.asfortranarray(np.ones((3, 2)))).flags.c_contiguous


def test_an_error_shows_large_things_by_their_kind():
    assert "an array of shape (20, 20) of float64" in str(bad("bias", np.eye(20), "None"))
    assert "a whole number of" in str(bad("runs", 10**5000, "an integer >= 1"))
    assert "an xarray.Dataset" in str(bad("path", xr.Dataset(), "a path"))
    assert " at 0x" not in str(bad("reduce", object(), "{name: function}"))
    assert "(50 in all)" in str(unknown("claim", 3, [f"claim-{k}" for k in range(50)]))


def test_a_file_that_cannot_have_its_name_is_an_error_of_files():
    with pytest.raises(FileError):
        arguments.path("path", "y" * 5000)
    with pytest.raises(SpecError):
        arguments.path("path", b"x")


HOSTILE = {
    "a scale whose tokens are infinite": lambda: flock.gaussian(5, 2, scale=1e308),
    "more runs than can be, of equal overlaps": lambda: flock.equiangular(3, 4, 0.1, runs=2**64),
    "more runs than can be, around a direction": lambda: flock.von_mises_fisher(3, 2, 1.0, runs=2**64),
    "an array for a figure": lambda: flock.figure(np.eye(2)),
    "an array for a mask": lambda: flock.Model(dim=2, mask=0.5 * np.eye(2)),
    "an array for a scheme": lambda: flock.simulate(flock.Model(dim=2), flock.uniform(4, 2), 1.0, scheme=np.eye(2)),
    "an array for an engine": lambda: flock.simulate(flock.Model(dim=2), flock.uniform(4, 2), 1.0, engine=np.eye(2)),
    "a number for a run": lambda: flock.again(3),
    "a number for a path": lambda: flock.load(3),
    "a number for a start": lambda: flock.simulate(flock.Model(dim=2), 3.0, 1.0),
    "no tokens": lambda: flock.simulate(flock.Model(dim=2), np.zeros((0, 2)), 1.0),
}


@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE)
def test_what_hung_or_gave_a_raw_error_is_refused_at_once(call):
    """Found by the first fuzz: two of them took for ever, one gave tokens at infinity."""
    began = time.process_time()
    with pytest.raises(SpecError, match=r"cannot be used\. Allowed: .*\.$|unknown .*\. Known: .*\.$"):
        call()
    assert time.process_time() - began < 5.0


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_public_name_can_be_called_by_the_fuzz(in_a_folder):
    calls = Calls()
    for name in public_functions():
        if not HEAVY.match(name):
            calls.valid(name)()


@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_of_light_names_are_refused_or_right(in_a_folder):
    fuzz = fuzzing.Fuzz(0, HEAVY)
    assert len(fuzz.names) > 100
    found = {}
    for number in range(QUICK):
        kind, call = fuzz.call(number)
        shown = fuzzing.shown(call)
        if wrong := fuzzing.wrong(kind, call, fuzz.calls.valid(call.name)):
            found[number] = (*wrong, shown)
    assert not found


def test_the_fuzz_finds_what_is_wrong(in_a_folder):
    """Every kind of failure, by a function that has it."""
    calls = Calls()

    def kind_of(function, kind="value", **given):
        return fuzzing.wrong(kind, calls.made(function, given), calls.made(function, {"x": np.ones((2, 2))}))

    def changes(x):
        x[0] = 2.0
        return x

    bits = lambda x: np.asarray(x.strides, dtype=float)  # noqa: E731
    assert kind_of(lambda x: x / 0, x=1)[0] == "raw error"
    assert kind_of(lambda x: np.array(x) / 0, x=np.zeros(2))[0] == "warning"
    assert kind_of(lambda x: float("nan"), x=1)[0] == "not finite"
    assert kind_of(changes, x=np.ones(2))[0] == "input changed"
    assert kind_of(bits, "layout", x=np.asfortranarray(np.ones((2, 2))))[0] == "other bits"
    assert kind_of(lambda x: arguments.whole("x" * 2000, x, 3), x=1)[0] == "sentence"
    assert kind_of(lambda x: x, x=1.0) is None


def test_layouts_hold_the_same_numbers():
    array = np.random.default_rng(0).standard_normal((3, 2, 4))
    found = [hostile.relaid(array, number) for number in range(7)]
    assert all((other == array).all() for other in found)
    assert len({(other.strides, other.dtype.str, other.flags.writeable, other.flags.aligned) for other in found}) == 7


def test_a_child_that_hangs_is_ended():
    """A call that never comes back is found by its processor time, and the calls after it are made."""
    found = fuzzing.stretch(0, 0, 2, limit_s=0.5, flags=("--hang",))
    assert [(number, kind) for number, _, kind, _ in found] == [(0, "hang"), (1, "hang")]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, FULL, PART))
def test_ten_thousand_hostile_calls_are_refused_or_right(first):
    found = fuzzing.stretch(1, first, first + PART)
    assert len(found) == PART
    assert not [call for call in found if call[2]]


def test_a_function_is_asked_how_many_arguments_it_takes():
    with pytest.raises(
        SpecError, match=r"progress = 'a function that does not take 2 .*a function of \(what, fraction\)"
    ):
        flock.check("causal/lemma-3.1", trials=1, quick=True, progress=lambda fraction: None)


def test_a_form_whose_squares_do_not_exist_is_refused():
    with pytest.raises(SpecError, match=r"A = 'numbers up to 1.0e\+200'.*whose squares exist"):
        flock.analysis.polytope.residual([[1.0, 0.0]], 1e200 * np.eye(2), np.eye(2))


def test_a_film_of_no_tokens_is_refused(tmp_path):
    run = flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0).isel(token=slice(0))
    with pytest.raises(SpecError, match="without one finite frame of tokens"):
        flock.plot.animate(run, tmp_path / "run.gif")
