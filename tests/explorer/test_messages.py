"""What a page may ask, and what it is told when it may not."""

import json
import tracemalloc

import pytest
from bombs import BOMBS, asked, measured

from tokenflock.errors import SpecError
from tokenflock.explorer import schedule
from tokenflock.explorer.messages import Limits, check_run, parse

RUN = {"model": {"dim": 2}, "start": {"n_tokens": 10}, "simulate": {"t_end": 5.0}}

BIG = {"model": {"dim": 20}, "start": {"n_tokens": 20_000}, "simulate": {"t_end": 5.0, "times": 10}}


def with_(section, **changes):
    return {**RUN, section: {**RUN[section], **changes}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\x00", "JSON text"),
        ("{", "JSON"),
        ("[" * 100_000, "JSON"),
        ("[1]", "an object with a type"),
        ('{"type": 3}', "an object with a type"),
        ('{"type": "strat"}', "Did you mean 'start'"),
        ('{"type": "seen", "run": 1}', "lacks frame"),
        ('{"type": "seen", "run": -1, "frame": 0}', "seen.run = "),
        ('{"type": "seen", "run": true, "frame": 0}', "the number of a run"),
        ('{"type": "seen", "run": 1, "frame": 0, "x": 0}', "unknown key of message 'seen' 'x'"),
        ('{"type": "start", "spec": []}', "a run as in run.toml"),
        ('{"type": "start", "spec": {"a": NaN}}', "JSON"),
        ('{"type": "start", "spec": {"a": 1e999}}', "below 1e300"),
        ('{"type": "statement", "name": "' + "x" * 300 + '"}', "the name of a claim"),
        ('{"type": "look", "how": "sideways", "frame": 0}', "'eigenvectors' or 'principal'"),
        ('{"type": "start", "spec": {"a": ' + "[" * 20 + "]" * 20 + "}}", "deeply nested"),
        ('{"type": "start", "spec": {"a": [' + "1," * 60_000 + "1]}}", "fewer"),
        ('{"type": "start", "spec": {"a": "' + "x" * 300_000 + '"}}', "characters"),
    ],
)
def test_a_message_that_is_none_is_refused_in_words(text, words):
    with pytest.raises(SpecError, match=words.replace("[", r"\[")):
        parse(text)


def test_a_message_is_taken_as_it_is():
    assert parse(json.dumps({"type": "start", "spec": RUN})) == {"type": "start", "spec": RUN}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**RUN, "extra": {}}, "unknown section 'extra'"),
        ({"model": {"dim": 2}}, r"the section \[start\] is missing"),
        (with_("model", dim=65), "a whole number from 1 to 64"),
        (with_("model", dim=2.5), "a whole number from 1 to 64"),
        (with_("model", betta=2), "Did you mean 'beta'"),
        (with_("start", n_tokens=20_001), "from 1 to 20000"),
        (with_("start", runs=5), "a page shows one run"),
        (with_("simulate", times=2001), "2 to 2000 frames"),
        (with_("simulate", times="log:0.1:9999999"), "2 to 2000 frames"),
        (with_("simulate", t_end=0), "a finite number > 0"),
        (with_("simulate", dtype="float32"), "float64"),
        (with_("simulate", scheme="layers"), "a step > 0"),
        (with_("model", value={"file": "/etc/passwd"}), "a page cannot read files"),
        (with_("model", value="secret.npy"), "a page cannot read files"),
        (with_("model", value=["identity", {"file": "v.npy"}]), "a page cannot read files"),
        ({**RUN, "start": {"file": "x.npy"}}, "a page cannot read files"),
        (with_("model", value=["identity"] * 9), "at most 8"),
        ({**with_("start", n_tokens=20_000), "simulate": {"t_end": 5.0, "times": 2000}}, "Keep 279 frames or fewer"),
        (BIG, "s for one velocity"),
        (
            with_("simulate", scheme="rosenbrock") | {"model": {"dim": 3, "mask": "full"}, "start": {"n_tokens": 2000}},
            "implicit steps of 4000 unknowns",
        ),
        (with_("simulate", engine="reference", times=10) | {"start": {"n_tokens": 5000}}, "s for one velocity"),
    ],
)
def test_a_run_beyond_the_limits_is_refused_with_the_limit(given, words):
    with pytest.raises(SpecError, match=words):
        check_run(given, Limits())


def test_what_is_allowed_is_planned():
    assert check_run(with_("model", beta="inf"), Limits()).model.beta == float("inf")
    assert len(check_run(RUN, Limits()).options["times"]) == 300
    layers = check_run(with_("simulate", scheme="layers", dt=0.5, times=4), Limits())
    assert layers.options["times"].tolist() == [0.0, 1.5, 3.5, 5.0]
    assert check_run(with_("start", n_tokens=10_000), Limits()).start.shape == (10_000, 2)


def test_sizes_inside_of_texts_and_tables_are_seen_before_anything_is_made():
    """Every bomb is refused, or is small: what it allocates is counted, so that nothing of it was made."""
    for name, run in BOMBS.items():
        said = ""
        tracemalloc.start()
        try:
            schedule.stages({key: value for key, value in run.items() if key != "look"}, Limits())
        except SpecError as error:
            said = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
        assert peak < 100, f"{name} takes {peak:.0f} MB"
        assert len(said) < 1_000, name


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_no_small_message_takes_a_hundred_megabytes_or_a_second(name):
    """In a process of its own."""
    taken = measured(BOMBS[name])
    assert taken["mb"] is not None, taken
    assert taken["mb"] < 100, taken
    assert taken["s"] < 1, taken
    assert not taken["said"].startswith("RAW"), taken


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (asked({"value": {"family": "diagonal", "values": [1] * 65}}), "values = '65 numbers' .* at most 64"),
        (asked({"value": [[1, 2]] * 65}), "value = '65 x 2 numbers' .* at most 64 x 64"),
        (asked({"value": [[[1, 0], [0, 1]]] * 9}), "at most 8 x 64 x 64"),
        (asked({"value": [["identity"], "identity"]}), "rows of numbers"),
        (asked({"feedforward": {"w": [[1] * 513] * 2}}), r"feedforward.w = '2 x 513 numbers' .* at most 64 x 512"),
        (asked({"frozen": {"tokens": [[1, 0]], "weights": [1] * 20_001}}), "at most 20000. "),
        (asked({"frozen": {"tokens": [["identity"]]}}), "rows of numbers"),
        (asked(start={"kind": "uniform:runs=5"}), "a page shows one run"),
        (asked() | {"start": {"kind": "uniform:n_tokens=20001"}}, "from 1 to 20000"),
        (asked() | {"start": {"kind": "uniform:n_tokens=1e9"}}, "from 1 to 20000"),
        (asked(start={"kind": "planted:n_clusters=-1,spread=1"}), "a whole number >= 0"),
        (asked(start={"kind": "uniform:seed=1.5"}), "a whole number >= 0"),
        (asked(start={"kind": 3}), "a name in quotes"),
        (asked(then=3), "then = 'int' cannot be used. Allowed: a list"),
        (asked(then={"at": 1}), "then = 'dict' cannot be used. Allowed: a list"),
    ],
)
def test_each_bound_is_said(run, words):
    with pytest.raises(SpecError, match=words):
        schedule.stages(run, Limits())


def test_what_may_grow_may_be_as_large_as_its_bound():
    value = {"family": "diagonal", "values": [1.0] * 64}
    check_run(asked({"dim": 64, "value": [value] * 8, "frozen": {"tokens": [[1] + [0] * 63] * 9}}), Limits())
    check_run(asked({"feedforward": {"w": [[1] * 512] * 2, "a": [[1, 1]] * 512, "b": [0] * 512}}), Limits())
    check_run(asked() | {"start": {"kind": "cap:n_tokens=30,angle=0.5,center=0,center=1"}}, Limits())
    assert check_run(asked({"value": [[[1, 0], [0, 1]]] * 8}), Limits()).model.n_heads == 8


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"redrawn": "ginibre", "every": 1e-6}, "weights that change too often"),
        ({"redrawn": "ginibre", "every": 1.0, "heads": 500}, "value.heads = 500"),
        ({"knots": list(range(500)), "values": [0.0] * 500}, "value.knots = '500 numbers'"),
    ],
)
def test_weights_that_change_have_bounds(value, words):
    with pytest.raises(SpecError, match=words):
        check_run({"model": {"dim": 2, "value": value}, "start": {"n_tokens": 3}, "simulate": {"t_end": 9.0}}, Limits())
