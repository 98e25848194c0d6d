"""Groups (E20): their meaning written out, and the laws: groups that are alike are one, what sees nobody rests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tokenflock.errors import SpecError
from tokenflock.model import attention
from tokenflock.weights import ginibre
from tolerances import close

N, D = 9, 4
X = flock.uniform(N, D, seed=3)
LABELS = ["a", "b", "a", "b", "b", "a", "a", "b", "a"]
SAME = close("float64", N, 100.0)
OWN = {
    name: {"a": ginibre(D, 10 * k), "b": ginibre(D, 10 * k + 1)} for k, name in enumerate(("query", "key", "value"), 1)
}


def rows(labels):
    return np.array(labels) == "a", np.array(labels) == "b"


def test_every_pair_has_the_q_and_beta_of_who_looks_and_the_k_and_v_of_who_is_seen():
    groups = flock.Groups(LABELS, sees={"a": ["a", "b"], "b": ["a"]}, beta={"a": 0.7, "b": 2.0}, **OWN)
    model = flock.Model(dim=D, mask="full", groups=groups, space="euclidean")
    expected = np.zeros((N, D))
    for i, mine in enumerate(LABELS):
        seen = [j for j, other in enumerate(LABELS) if mine == "a" or other == "a"]
        beta = {"a": 0.7, "b": 2.0}[mine]
        s = [beta * (OWN["query"][mine] @ X[i]) @ (OWN["key"][LABELS[j]] @ X[j]) for j in seen]
        w = np.exp(s) / np.exp(s).sum()
        expected[i] = sum(a * OWN["value"][LABELS[j]] @ X[j] for a, j in zip(w, seen, strict=True))
    assert_allclose(flock.velocity(model, X), expected, **SAME)
    on_sphere = flock.velocity(model.with_options(space="sphere"), X)
    assert_allclose(on_sphere, expected - (expected * X).sum(axis=1, keepdims=True) * X, **SAME)


@pytest.mark.parametrize("mask", ["causal", "full", flock.Window(4)])
@pytest.mark.parametrize("normaliser", ["softmax", "count"])
def test_groups_that_are_alike_and_see_each_other_are_one(mask, normaliser):
    q, k, v = ginibre(D, 1), ginibre(D, 2), ginibre(D, 3)
    plain = flock.Model(dim=D, beta=1.5, mask=mask, normaliser=normaliser, query=q, key=k, value=v)
    each = {name: dict.fromkeys("ab", one) for name, one in (("query", q), ("key", k), ("value", v))}
    groups = flock.Groups(LABELS, beta={"a": 1.5, "b": 1.5}, **each)
    split = flock.Model(dim=D, mask=mask, normaliser=normaliser, groups=groups)
    assert_allclose(flock.velocity(split, X), flock.velocity(plain, X), **SAME)
    other = flock.Model(dim=D, mask=mask, normaliser=normaliser, groups=flock.Groups(LABELS, beta=[1.5, 2.5], **each))
    assert np.abs(flock.velocity(other, X) - flock.velocity(plain, X)).max() > 1e-3, "the test cannot fail"


def test_groups_that_do_not_see_each_other_are_two_runs():
    a, b = rows(LABELS)
    groups = flock.Groups(LABELS, sees={"a": ["a"], "b": ["b"]}, value={"a": np.eye(D), "b": -np.eye(D)})
    both = flock.simulate(flock.Model(dim=D, beta=3.0, mask="full", groups=groups), X, 2.0, scheme="rk4", dt=0.1)
    for mine, value in ((a, np.eye(D)), (b, -np.eye(D))):
        alone = flock.Model(dim=D, beta=3.0, mask="full", value=value)
        run = flock.simulate(alone, X[mine], 2.0, scheme="rk4", dt=0.1)
        assert_allclose(both["x"].values[:, mine], run["x"].values, **close("float64", N, 1e3))


def test_a_group_that_sees_nobody_rests_and_is_seen_as_frozen_tokens_are():
    still = rows(LABELS)[1]
    model = flock.Model(dim=D, beta=2.0, mask="full", groups=flock.Groups(LABELS, sees={"a": ["a", "b"], "b": []}))
    run = flock.simulate(model, X, 1.5, scheme="rk4", dt=0.1)["x"].values
    assert_allclose(run[-1, still], X[still], **close("float64", 20))  # put back on the sphere, and nothing else
    frozen = flock.Model(dim=D, beta=2.0, mask="full", frozen=flock.Frozen(X[still]))
    alone = flock.simulate(frozen, X[~still], 1.5, scheme="rk4", dt=0.1)["x"].values
    assert_allclose(run[:, ~still], alone, **close("float64", N, 1e3))
    assert (attention(model, X)[0][still] == 0).all()


def test_a_memory_is_written_and_read():
    """Text that sees the memory only, and a memory that sees the text only: either moves because of the other."""
    labels = ["text"] * 6 + ["memory"] * 3
    groups = flock.Groups(labels, sees={"text": ["memory"], "memory": ["text"]})
    model = flock.Model(dim=D, beta=4.0, mask="full", groups=groups)
    a = attention(model, X)[0]
    assert (a[:6, :6] == 0).all()
    assert (a[6:, 6:] == 0).all()
    assert_allclose(a.sum(axis=1), 1.0)
    moved = X.copy()
    moved[7] = X[0]
    change = np.abs(flock.velocity(model, moved) - flock.velocity(model, X)).max(axis=1)
    assert (change[:6] > 1e-6).all()
    assert (change[[6, 8]] == 0).all()


def test_the_names_do_not_matter():
    groups = flock.Groups(LABELS, beta={"a": 1.0, "b": 3.0}, sees={"a": ["b", "a"], "b": ["b"]}, **OWN)
    turned = {name: {"y": pair["a"], "x": pair["b"]} for name, pair in OWN.items()}
    labels = [{"a": "y", "b": "x"}[label] for label in LABELS]
    others = flock.Groups(
        labels, names=("x", "y"), beta={"y": 1.0, "x": 3.0}, sees={"x": ["x"], "y": ["x", "y"]}, **turned
    )
    velocities = [flock.velocity(flock.Model(dim=D, mask="full", groups=g), X) for g in (groups, others)]
    assert_allclose(*velocities, **SAME)


def test_the_dataset_has_an_axis_of_labels_and_a_file_keeps_it(tmp_path):
    groups = flock.Groups(LABELS, sees={"a": ["a", "b"], "b": ["b"]}, beta={"a": 1.0, "b": 2.0}, **OWN)
    run = flock.simulate(flock.Model(dim=D, groups=groups, mask="full"), X, 1.0)
    assert run["group"].values.tolist() == LABELS
    assert run["x"].groupby("group").mean().sizes["group"] == 2
    for name in ("run.zarr", "run.nc"):
        back = flock.load(flock.save(run, tmp_path / name))
        assert back["group"].values.tolist() == LABELS
        assert_array_equal(flock.again(back)["x"].values, run["x"].values)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: flock.Groups("ab"), "the name of its group for every token"),
        (lambda: flock.Groups(LABELS, sees={"a": ["c"], "b": []}), r"unknown group that 'a' sees 'c'.*Known: a, b"),
        (lambda: flock.Groups(LABELS, beta={"a": 1.0}), "Give beta for b too"),
        (lambda: flock.Groups(LABELS, value={"a": np.eye(2), "b": np.eye(3)}), "matrices of one shape"),
        (lambda: flock.Groups([0, 1, 3], names=("a", "b")), "one axis of numbers from 0 to 1"),
        (lambda: flock.Groups([0, 0], names=("a", "b")), "Leave the empty group out"),
        (lambda: flock.Model(dim=3, groups=flock.Groups(LABELS, **OWN)), r"\(4, 3\) for every group"),
        (lambda: flock.Model(dim=D, value=np.eye(D), groups=flock.Groups(LABELS, **OWN)), "Say it in one place"),
        (
            lambda: flock.Model(dim=D, beta=2.0, groups=flock.Groups(LABELS, beta=[1, 2])),
            "stands in place of the model's",
        ),
        (lambda: flock.Model(dim=D, space="rescaled", groups=flock.Groups(LABELS)), "Use space='euclidean'"),
        (
            lambda: flock.Model(dim=D, frozen=flock.Frozen(X[:1]), groups=flock.Groups(LABELS)),
            "a group that sees nobody",
        ),
    ],
)
def test_what_cannot_be_is_said(make, words):
    with pytest.raises(SpecError, match=words):
        make()


def test_groups_that_do_not_add_up_are_said_with_their_sizes():
    model = flock.Model(dim=D, groups=flock.Groups(LABELS))
    with pytest.raises(SpecError, match=r"5 of a \+ 4 of b = 9 tokens.*labels of the 7 tokens there are"):
        flock.simulate(model, X[:7], 1.0)


def test_a_token_that_sees_nobody_is_named():
    groups = flock.Groups(LABELS, sees={"a": ["b"], "b": ["b"]})
    with pytest.raises(SpecError, match=r"token 0 of group 'a', which sees nobody at any time.*take mask='full'"):
        flock.simulate(flock.Model(dim=D, groups=groups), X, 1.0)


def test_a_plot_shows_groups_and_names_them():
    groups = flock.Groups(LABELS, sees={"a": ["a", "b"], "b": ["b"]})
    run = flock.simulate(flock.Model(dim=D, mask="full", groups=groups), X, 1.0, engine="reference")
    figure = flock.plot.draw(run)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a (5)", "b (4)"]
    middle = figure.axes[1]
    assert [line.get_label() for line in middle.lines] == ["a", "a, b", "b"]
    last = run["x"].values[-1]
    within = last[np.array(LABELS) == "a"].mean(axis=0)
    assert_allclose(middle.lines[0].get_ydata()[-1], within @ within)
