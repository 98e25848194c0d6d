"""The tree of a run: its tree, its times, its staircase; ensembles; its pictures."""

import numpy as np
import pytest
from scipy.integrate import simpson

import tokenflock as flock
from tokenflock import Model, dendrogram, ending, simulate
from tokenflock.analysis import clusters, metastability
from tokenflock.engine.contract import Outcome
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import distance
from tokenflock.request import Request

N, BETA, RADIUS = 60, 40.0, 0.05
MODEL, START = Model(dim=2, beta=BETA), flock.uniform(60, 2, seed=0)


@pytest.fixture(scope="module")
def tree():
    return flock.merge_tree(MODEL, START)


@pytest.fixture(scope="module")
def run(tree):
    """The positions at the times of the tree, by the same steps."""
    times = tree["time"].values
    return simulate(MODEL, START, ending.LAST, times=[*times, ending.LAST], scheme="rosenbrock").isel(
        time=slice(len(times))
    )


def test_the_final_cluster_is_the_first_token(tree, run):
    assert tree["root"].values.tolist() == [0]
    assert tree["count"].values[-1] == 1
    assert distance(run["x"].values[-1], START[0]).max() < 1e-6


def test_the_tree_is_that_of_the_tracked_clusters(tree, run):
    assert tree["count"].values.tolist() == clusters.count(run, RADIUS).values.tolist()
    slow = metastability.tree(run, radius=RADIUS)
    names = ["merged", "into", "size_merged", "size_into"]
    rows = [sorted(zip(*(one[name].values.tolist() for name in names), strict=True)) for one in (tree, slow)]
    assert rows[0] == rows[1]
    ratio = 10 ** (1 / tree.attrs["per_decade"])
    away = np.sort(tree["merge_time"].values) / slow["merge_time"].values
    assert (np.abs(np.log(away)) <= np.log(ratio)).all(), "refined inside its own interval"
    assert (np.diff(tree["merge_time"].values) >= 0).all()


def test_every_late_merge_costs_one_cluster(tree):
    late = tree.isel(merge=np.flatnonzero(tree["merge_time"].values > 1e4))
    at, precision = late["merge_time"].values, tree.attrs["precision"]
    assert len(at) >= 3, "or there is nothing to see"
    around = np.stack([at * (1 - 3 * precision), at * (1 + 3 * precision)], axis=1)
    x = simulate(MODEL, START, ending.LAST, times=[*around.ravel(), ending.LAST], scheme="rosenbrock")["x"].values
    before, after = clusters.count(x[:-1], RADIUS).reshape(-1, 2).T
    assert (after == late["left"].values).all()
    assert (before == after + 1).all()


@pytest.mark.parametrize(("beta", "angle"), [(9.0, 2.0), (30.0, 2.5)])
def test_merge_times_have_the_precision(beta, angle):
    """Two tokens: the time to come from an angle to the radius is an integral."""
    s = np.linspace(np.log(np.tan(RADIUS / 2)), np.log(np.tan(angle / 2)), 100_001)
    a = 2 * np.arctan(np.exp(s))
    truth = simpson(1 + np.exp(2 * beta * np.sin(a / 2) ** 2), x=s)
    pair = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    found = flock.merge_tree(Model(dim=2, beta=beta), pair, radius=RADIUS, precision=1e-4)["merge_time"].values
    assert len(found) == 1
    assert abs(found[0] / truth - 1) < 1e-4
    coarse = flock.merge_tree(Model(dim=2, beta=beta), pair, radius=RADIUS, precision=10.0)["merge_time"].values
    assert abs(coarse[0] / truth - 1) > 1e-4, "without refinement it is a grid time"


def test_the_energy_is_a_staircase_of_the_sizes_of_the_clusters(tree, run):
    t = tree["time"].values
    waits = [p for p in metastability.plateaus(t, tree["count"].values, ratio=3.0) if p.begin > 1e3]
    assert len(waits) >= 3
    levels = []
    for wait in waits:
        k = np.flatnonzero((t > wait.begin * 1.5) & (t < wait.end / 1.5))
        share = clusters.sizes(run["x"].values[k[0]], RADIUS) / N
        assert np.abs(tree["energy"].values[k] - (share**2).sum()).max() < 0.02 * (share**2).sum()
        assert np.ptp(tree["energy"].values[k]) < 0.01, "flat while nobody merges"
        levels.append((share**2).sum())
    assert (np.diff(levels) > 0.01).all(), "up at every merge"
    assert levels[-1] == 1.0
    rows = tree.isel(merge=slice(-len(waits) + 1, None))
    jumps = 2 * rows["size_merged"].values * rows["size_into"].values / N**2
    assert jumps.sum() == pytest.approx(levels[-1] - levels[0]), "2 p q each"


def test_a_value_matrix_with_one_leading_direction_has_two_roots():
    """Theorem 4.1 needs V = I: without it the end is xi and -xi, and not the first token."""
    model, x = Model(dim=2, beta=9.0, value=np.diag([1.0, 0.5])), flock.uniform(20, 2, seed=3)
    tree = flock.merge_tree(model, x)
    assert tree.sizes["tree"] == 2
    assert tree["count"].values[-1] == 2
    assert (tree["left"].values[-1:] == 2).all()
    last = simulate(model, x, np.inf)["x"].values[-1]
    assert np.abs(np.abs(last[:, 0]) - 1).max() < 1e-6
    assert distance(last[0], x[0]) > 0.1


def test_full_attention_has_a_merge_tree_too():
    tree = flock.merge_tree(Model(dim=2, beta=9.0, mask="full"), flock.uniform(12, 2, seed=0))
    assert tree["root"].values.tolist() == [0]
    assert (np.diff(tree["energy"].values) > -1e-6).all(), "full attention climbs it"


@pytest.mark.parametrize(("n_tokens", "beta", "seed"), [(20, 16.0, 1), (20, 64.0, 0), (50, 40.0, 2), (50, 64.0, 1)])
def test_full_attention_comes_to_one_cluster_when_its_bodies_do(n_tokens, beta, seed):
    model, x = Model(dim=2, beta=beta, mask="full"), flock.uniform(n_tokens, 2, seed=seed)
    tree = flock.merge_tree(model, x, energy=False)
    at = tree["merge_time"].values
    assert tree["left"].values[-1] == 1
    assert tree["count"].values[-1] == 1
    assert (np.diff(at) >= 0).all()
    assert at[-1] > 100 * at[0], "or there was nothing to wait for"
    bodies = Request(model, ending.LAST, scheme="rosenbrock", engine="cpu").starting(x).begin()
    while bodies.outcome is None:
        bodies.advance(np.array([ending.LAST]), np.empty((1, n_tokens, 2)), 10_000)
    assert bodies.outcome is Outcome.COLLAPSED
    mergers = bodies.bodies.mergers
    assert len(mergers) == n_tokens - 1
    assert abs(at[-1] / mergers[-1].t - 1) < 0.1


@pytest.mark.parametrize(
    ("beta", "angle", "masses"), [(9.0, 2.0, (1.0, 3.0)), (30.0, 2.5, (5.0, 1.0)), (64.0, 1.2, (20.0, 31.0))]
)
def test_two_bodies_of_full_attention_merge_when_the_integral_says(beta, angle, masses):
    """(E2), (E6): the first sees the second by m2 w / (m1 + m2 w), w = e^(-beta (1 - cos)), and both move."""
    s = np.linspace(np.log(np.tan(RADIUS / 2)), np.log(np.tan(angle / 2)), 100_001)  # ds = d angle / sin angle
    w = np.exp(-2 * beta * np.sin(np.arctan(np.exp(s))) ** 2)
    (m1, m2), pair = masses, flock.geometry.circle(np.array([0.0, angle]))

    def until(m1, m2):
        return simpson(1 / (m2 * w / (m1 + m2 * w) + m1 * w / (m2 + m1 * w)), x=s)

    model = Model(dim=2, beta=beta, mask="full", masses=masses)
    found = flock.merge_tree(model, pair, radius=RADIUS, precision=1e-4)["merge_time"].values
    assert len(found) == 1
    assert abs(found[0] / until(m1, m2) - 1) < 1e-3
    assert abs(until(1.0, 1.0) / until(m1, m2) - 1) > 1e-2, "the masses matter"


def test_an_ensemble_is_its_runs_with_the_last_merges_in_one_column():
    starts = flock.uniform(16, 2, seed=7, runs=4)
    model = Model(dim=2, beta=16.0)
    every = flock.merge_tree(model, starts, precision=1e-3)
    singles = [flock.merge_tree(model, x) for x in starts]
    lengths = {one.sizes["merge"] for one in singles}
    assert len(lengths) > 1, "or there is nothing to fill in"
    assert every.sizes["merge"] == max(lengths)
    for r, one in enumerate(singles):
        for name in ("merged", "into", "merge_time", "size_merged", "left"):
            values, blank = every[name].values[r], every.sizes["merge"] - one.sizes["merge"]
            assert values[blank:].tolist() == one[name].values.tolist()
            assert all(v == -1 or v != v for v in values[:blank])
        k = one.sizes["time"]
        assert every["count"].values[r, :k].tolist() == one["count"].values.tolist()
        assert (every["count"].values[r, k:] == 1).all()
    found = metastability.quantiles(every, 0.5)
    last = [one["merge_time"].values[-1] for one in singles]
    assert found["merge_time"].values[0, 0] == pytest.approx(np.exp(np.median(np.log(last))))
    assert found["runs"].values[0] == 4
    quick = flock.merge_tree(model, starts, energy=False)
    assert "energy" not in quick
    assert (quick["merged"].values[:, -1] == every["merged"].values[:, -1]).all()
    away = np.log10(quick["merge_time"].values[:, -1] / every["merge_time"].values[:, -1])
    assert 0 < np.abs(away).max() <= 0.5 / 20 + 1e-3, "half way between two looks, twenty a decade"


@pytest.mark.slow
def test_merge_times_of_twenty_runs_of_two_hundred_tokens():
    """Part of a thousand: the last merge of a run waits e^(beta (1 - cos angle)), up to e^(2 beta)."""
    tree = flock.merge_tree(Model(dim=2, beta=64.0), flock.uniform(200, 2, seed=0, runs=20), energy=False)
    assert (tree["count"].values[:, -1] == 1).all()
    assert (tree["root"].values[:, 0] == 0).all()
    found = metastability.quantiles(tree)
    assert (np.diff(found["merge_time"].values[:, :6], axis=1) < 0).all(), "later merges wait longer"
    assert found["merge_time"].values[1, 0] > 1e20
    assert found["merge_time"].values.max() < np.exp(2 * 64.0) * 1e3


def test_a_run_that_never_rests_is_given_up(monkeypatch):
    monkeypatch.setattr(ending, "STEPS", 300)
    monkeypatch.setattr(ending, "STEPS_A_TOKEN", 0)
    turning = Model(dim=2, beta=4.0, value=np.array([[1.0, 1.0], [-1.0, 1.0]]))
    with pytest.raises(EngineError, match="may never come to rest"):
        flock.merge_tree(turning, flock.uniform(8, 2))


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (Model(dim=2, noise=0.1), {}, r"flock\.merge_tree cannot be used with noise\. It needs implicit steps"),
        (MODEL, {"radius": 0.0}, "radius = 0.0 cannot be used"),
        (MODEL, {"per_decade": 1}, "per_decade = 1 cannot be used. Allowed: an integer >= 2"),
        (MODEL, {"precision": -1.0}, "precision = -1.0"),
        ("model", {}, "a flock.Model"),
        (Model(dim=2, beta=-1.0), {}, "energy = True cannot be used. Allowed: False where beta < 0"),
    ],
)
def test_bad_input_is_named(model, options, words):
    with pytest.raises(SpecError, match=words):
        flock.merge_tree(model, START, **options)


def test_an_interruption_ends_every_run():
    began = []

    def stop(fraction):
        if not began:
            began.append(fraction)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flock.merge_tree(MODEL, flock.uniform(60, 2, runs=200), energy=False, progress=stop)


def test_progress_tells_how_many_runs_are_done():
    told = []
    flock.merge_tree(Model(dim=2), flock.uniform(4, 2, runs=2), progress=told.append)
    assert told[-1] == 1.0


def test_no_branch_of_the_dendrogram_crosses_another(tree):
    tree = tree.isel(merge=np.flatnonzero(tree["merge_time"].values > 5))  # before, a few break away again
    rows = {name: k for k, name in enumerate(dendrogram.order(tree))}
    gone = dict(zip(tree["merged"].values.tolist(), tree["merge_time"].values, strict=True))
    assert set(rows) == {*gone, 0}
    for merged, into in zip(tree["merged"].values.tolist(), tree["into"].values.tolist(), strict=True):
        between = [name for name, k in rows.items() if rows[into] < k < rows[merged]]
        assert rows[into] < rows[merged]
        assert all(gone[name] <= gone[merged] for name in between)


def test_the_pictures_are_of_one_run(tree):
    from matplotlib.figure import Figure

    axes = Figure().subplots(3)
    dendrogram.draw(axes[0], tree, since=10.0)
    late = int((tree["merge_time"].values >= 10.0).sum())
    assert len(axes[0].lines) == 2 * late + 1
    assert axes[0].get_xscale() == "log"
    assert axes[0].get_yticklabels()[0].get_text() == "1", "tokens are counted from 1 in pictures"
    dendrogram.staircase(axes[1], tree)
    dendrogram.counts(axes[2], tree)
    pair = flock.merge_tree(Model(dim=2, beta=4.0), flock.uniform(6, 2, runs=2), energy=False)
    dendrogram.draw(axes[0], pair.isel(run=0))
    dendrogram.counts(axes[2], metastability.quantiles(pair))
    for call, words in [
        (lambda: dendrogram.draw(axes[0], pair), r"tree\.isel\(run=0\)"),
        (lambda: dendrogram.counts(axes[0], pair), r"metastability\.quantiles\(trees\)"),
        (lambda: dendrogram.staircase(axes[0], pair.isel(run=0)), "energy=True"),
        (lambda: dendrogram.draw(axes[0], {}), r"flock\.merge_tree"),
    ]:
        with pytest.raises(SpecError, match=words):
            call()
