"""Hulls, limit points and hyperplanes of rescaled tokens, against their definitions written out slowly."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tokenflock as flock
from tokenflock import weights
from tokenflock.analysis import polytope
from tokenflock.errors import SpecError
from tolerances import close

seeds = st.integers(0, 10**6)


def is_mixture(point, others):
    """Whether the point is a convex combination of the others: the definition, as a feasible set of weights."""
    if not len(others):
        return False
    A = np.vstack([others.T, np.ones(len(others))])
    done = linprog(np.zeros(len(others)), A_eq=A, b_eq=np.append(point, 1.0), bounds=(0, None), method="highs")
    return done.status == 0


def slow_vertices(z):
    """The points, each once, that are no mixture of the other ones."""
    points = np.unique(z, axis=0)
    return {tuple(p) for k, p in enumerate(points) if not is_mixture(p, np.delete(points, k, axis=0))}


def rotation(d, seed=0):
    return weights.rotation(d, seed=seed)


@pytest.mark.parametrize("method", ["auto", "lp"])
@given(seed=seeds, d=st.integers(1, 4), n=st.integers(1, 14), side=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_vertices_are_no_mixtures_of_other_tokens(method, seed, d, n, side):
    # Whole numbers: repeated, collinear and coplanar tokens are the rule.
    z = np.random.default_rng(seed).integers(0, side, (n, d), endpoint=True).astype(float)
    found = polytope.hull(z, method=method)
    assert {tuple(v) for v in found.vertices} == slow_vertices(z)
    assert len(found.indices) == len(found.vertices)  # each once
    assert (z[found.indices] == found.vertices).all()
    assert found.dim == np.linalg.matrix_rank(z - z[0])
    assert polytope.inside(z, found).all()


@given(seed=seeds, d=st.integers(2, 5), n=st.integers(2, 25))
@settings(max_examples=30, deadline=None)
def test_inside_is_being_a_mixture(seed, d, n):
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, d))
    points = np.concatenate([generator.dirichlet(np.ones(n), 5) @ z, 1.5 * generator.standard_normal((10, d))])
    expected = [is_mixture(p, z) for p in points]
    for method in ("auto", "lp"):
        found = polytope.hull(z, method=method)
        assert polytope.inside(points, found, tolerance=1e-7).tolist() == expected


@given(seed=seeds, d=st.integers(2, 5), n=st.integers(2, 30), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=30, deadline=None)
def test_an_affine_map_keeps_the_vertices(seed, d, n, scale):
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((n, d))
    A = rotation(d, seed) * generator.uniform(0.5, 2, d)
    expected = polytope.hull(z).indices
    moved = scale * (z @ A.T + generator.standard_normal(d))
    assert (polytope.hull(moved).indices == expected).all()
    # In a larger space the set is flat, and nothing else changes.
    larger = rotation(d + 3, seed)
    embedded = moved @ larger[:d] + scale
    for method in ("auto", "lp"):
        flat = polytope.hull(embedded, method=method)
        assert (flat.indices == expected).all()
        assert flat.dim == min(d, n - 1)
        assert polytope.inside(embedded, flat).all()
        assert not polytope.inside(embedded + 1e-3 * scale * larger[d], flat).any()


@pytest.mark.parametrize("d", [2, 3, 5])
def test_linear_programs_find_the_vertices_of_qhull(d):
    z = np.random.default_rng(d).standard_normal((200, d)) * np.geomspace(1, 100, d)
    assert (polytope.hull(z, method="lp").indices == polytope.hull(z, method="qhull").indices).all()


def test_of_tokens_that_have_met_only_one_is_asked_about(monkeypatch):
    asked = []
    separation = polytope._separation
    monkeypatch.setattr(polytope, "_separation", lambda *given: asked.append(1) or separation(*given))
    clusters = np.concatenate([np.eye(10), -np.eye(10), 0.01 * np.random.default_rng(0).standard_normal((10, 10))])
    z = np.repeat(clusters, 50, axis=0) + 1e-12 * np.random.default_rng(1).standard_normal((1500, 10))
    assert (polytope.hull(z).indices // 50).tolist() == list(range(20))
    assert len(asked) <= 60


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_a_grid_has_the_corners_of_its_cube(d):
    grid = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=d))) @ rotation(d)
    for method in ("qhull", "lp"):
        found = polytope.hull(grid, method=method)
        assert len(found.indices) == 2**d
        corners = (np.array(list(itertools.product([0.0, 1.0], repeat=d))) - 0.5) @ rotation(d)
        center = np.full(d, 0.5) @ rotation(d)
        assert polytope.inside(center + 0.999 * corners, found).all()
        assert not polytope.inside(center + 1.001 * corners, found).any()


def test_high_dimensions_go_by_linear_programs():
    generator = np.random.default_rng(0)
    d = 12
    cross = np.concatenate([np.eye(d), -np.eye(d)])  # the cross-polytope: 24 vertices, 4096 facets
    mixtures = generator.dirichlet(np.ones(2 * d), 20) @ cross
    z = np.concatenate([mixtures, cross]) @ rotation(d)
    found = polytope.hull(z)
    assert found.facets is None
    assert found.indices.tolist() == list(range(20, 44))
    points = generator.standard_normal((20, d))
    points /= np.abs(points).sum(axis=1, keepdims=True)  # on the boundary |x|_1 = 1
    assert polytope.inside(np.empty((0, d)), found).shape == (0,)
    assert polytope.inside(0.99 * points @ rotation(d), found).all()
    assert not polytope.inside(1.01 * points @ rotation(d), found).any()


def test_a_simplex_needs_no_program(monkeypatch):
    monkeypatch.setattr(polytope, "_separation", None)
    z = np.random.default_rng(0).standard_normal((100, 150))
    found = polytope.hull(z)
    assert found.dim == 99
    assert len(found.indices) == 100


def test_points_and_segments():
    point = polytope.hull([[1.0, 2.0], [1.0, 2.0]])
    assert (point.dim, point.indices.tolist()) == (0, [0])
    assert polytope.inside([[1.0, 2.0], [1.0, 2.1]], point).tolist() == [True, False]
    line = polytope.hull([[0.3], [-1.0], [2.0], [2.0]])
    assert (line.dim, line.indices.tolist()) == (1, [1, 2])
    assert polytope.inside([[-1.01], [-1.0], [0.0], [2.0], [2.01]], line).tolist() == [False, True, True, True, False]
    assert polytope.inside(np.empty((0, 1)), line).shape == (0,)
    segment = polytope.vertices([[0.0, 0.0], [1.0, 1.0], [0.4, 0.4]])
    assert segment.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_the_tolerance_takes_tokens_that_have_all_but_met_as_one():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    noise = 1e-6 * np.random.default_rng(0).standard_normal((40, 2))
    z = np.concatenate([np.repeat(square, 9, axis=0), [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]]) + noise
    assert len(polytope.vertices(z)) > 4
    found = polytope.hull(z, tolerance=1e-4)
    assert (found.indices // 9).tolist() == [0, 1, 2, 3]  # the tokens half-way along an edge are no vertices
    assert polytope.inside(z, found).all()
    assert not polytope.inside(z, polytope.hull(0.999 * z)).all()


def test_thin_sets():
    z = np.random.default_rng(0).standard_normal((40, 3))
    expected = polytope.hull(z).indices
    assert (polytope.hull(z * [1, 1e-3, 1e-6], tolerance=1e-12).indices == expected).all()
    assert polytope.hull(z * [1, 1, 1e-11]).dim == 2
    assert polytope.hull(z + 1e6, tolerance=1e-9).dim == 3
    assert polytope.hull(1e-4 * z + 1e12).dim == 0  # the numbers themselves cannot tell them apart


# Theorem 3.1


@pytest.fixture(scope="module")
def polytope_run():
    """V = I and Q'K = A^2 positive definite; tokens in a square (B.3)."""
    A = np.array([[1.0, 0.3], [0.3, 0.8]])
    model = flock.Model(dim=2, query=A, key=A, mask="full", space="rescaled")
    start = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    return A, flock.simulate(model, start, 12.0, rtol=1e-9).x.values


def test_the_hull_shrinks_in_time(polytope_run):
    _, x = polytope_run
    hulls = [polytope.hull(frame) for frame in x]
    for k in range(len(x) - 1):
        assert polytope.inside(x[k + 1], hulls[k], tolerance=1e-7).all()
    # Broken: backwards in time it grows.
    assert not all(polytope.inside(x[k], hulls[k + 1], tolerance=1e-7).all() for k in range(30))


def test_tokens_end_where_the_residual_is_0(polytope_run):
    A, x = polytope_run
    corners = polytope.vertices(x[-1], tolerance=1e-3)
    assert 3 <= len(corners) < 20
    end = polytope.residual(x[-1], A, corners)
    assert end.max() < 1e-2
    assert polytope.residual(x[0], A, corners).max() > 1
    assert polytope.residual(x, A, corners).shape == x.shape[:-1]


@given(seed=seeds, d=st.integers(1, 4), n=st.integers(1, 6), m=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_residual_is_its_formula(seed, d, n, m):
    generator = np.random.default_rng(seed)
    z, v, A = (generator.standard_normal(shape) for shape in ((n, d), (m, d), (d, d)))
    slow = [abs((A @ p) @ (A @ p) - max((A @ p) @ (A @ w) for w in v)) for p in z]
    np.testing.assert_allclose(polytope.residual(z, A, v), slow, **close(float, d, amplification=200))
    np.testing.assert_allclose(polytope.residual(z, None, v), polytope.residual(z, np.eye(d), v), **close(float, d))


def test_the_limit_points_of_a_square():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    rest = [[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]]  # 0 and the middles of edges belong to SS
    assert (polytope.residual([*square, *rest], None, square) == 0).all()
    assert polytope.residual([[0.5, 0.0], [1.0, 0.5]], None, square).tolist() == [0.25, 0.25]


# Theorem 4.2


def test_tokens_gather_on_two_hyperplanes():
    V = weights.PAPER_B["hyperplanes-3d-a"]
    model = flock.Model(dim=3, value=V, mask="full", space="rescaled")
    x = flock.simulate(model, np.random.default_rng(0).uniform(-5, 5, (20, 3)), 12.0, rtol=1e-8).x.values
    first, last = polytope.levels(x[0], V), polytope.levels(x[-1], V)
    assert first.kind == "unsettled"
    assert (last.kind, last.count, last.fails) == ("generic", 2, ())
    assert last.at == pytest.approx((last.a, last.b), rel=1e-3)
    assert [last.values[last.label == k].mean() for k in range(2)] == pytest.approx(last.at)
    assert ((first.values > 0) == (last.label == 1)).mean() > 0.8
    lows = [polytope.levels(frame, V).a for frame in x]
    highs = [polytope.levels(frame, V).b for frame in x]
    assert (np.diff(lows) > -1e-6).all()
    assert (np.diff(highs) < 1e-6).all()


@pytest.mark.parametrize(
    ("values", "kind", "count"),
    [
        ([-2.0, -2.0, 3.0], "generic", 2),
        ([3.0, 3.0001], "generic", 1),
        ([-1.0, -1.0], "generic", 1),
        ([-2.0, 0.0, 3.0], "exceptional", 3),
        ([0.0, 3.0], "exceptional", 2),
        ([0.0, 0.0], "exceptional", 1),
        ([1.0, 3.0], "unsettled", 2),
        ([-2.0, -1.0, 0.0, 3.0], "unsettled", 4),
    ],
)
def test_the_kinds_of_levels(values, kind, count):
    z = np.stack([values, np.arange(len(values))], axis=1)  # the other coordinate is free
    found = polytope.levels(z, np.diag([2.0, 1.0]))
    assert (found.kind, found.count) == (kind, count)
    assert (found.values == values).all()
    assert (found.a, found.b) == (min(values), max(values))


def test_a_hypothesis_that_fails_is_told():
    found = polytope.levels(np.eye(2), np.diag([2.0, 1.0]), query=-np.eye(2))
    assert found.fails == ("Def 4.1: <Q phi_1, K phi_1> = -1 is not positive.",)
    with pytest.raises(SpecError, match="lambda_1 = 1 is not simple"):
        polytope.levels(np.eye(2), np.eye(2))
    with pytest.raises(SpecError, match=r"z.shape = \(2, 2\)"):
        polytope.levels(np.eye(2), np.diag([3.0, 2.0, 1.0]))


# What cannot be used


@pytest.mark.parametrize(
    ("z", "text"),
    [
        (np.empty((0, 2)), r"z.shape = \(0, 2\) .* An empty set has no hull"),
        (np.zeros((3, 4, 2)), "One frame at a time"),
        (np.zeros(3), r"z.shape = \(3,\)"),
        ([[np.nan, 0.0]], "nan or inf"),
        ([[1e200, 0.0], [0.0, 1.0]], r"numbers up to 1.0e\+200.* Multiply all tokens by one factor"),
        ([[1e-200, 0.0], [0.0, 0.0]], "numbers up to 1.0e-200"),
        ([[1.0], [1.0, 2.0]], "Give a numpy array or nested lists"),
    ],
)
def test_what_has_no_hull_is_refused(z, text):
    for call in (polytope.hull, polytope.vertices, lambda z: polytope.levels(z, np.diag([2.0, 1.0]))):
        with pytest.raises(SpecError, match=text):
            call(z)


def test_arguments_that_cannot_be_used():
    z = np.random.default_rng(0).standard_normal((40, 9))
    run = flock.simulate(flock.Model(dim=2), flock.uniform(4, 2, seed=0), 1.0, times=[0.0, 1.0])
    square = polytope.hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    for call, text in (
        (lambda: polytope.hull(z, method="qhull"), "Qhull takes up to 8"),
        (lambda: polytope.hull(z, method="qhul"), "Did you mean 'qhull'"),
        (lambda: polytope.hull(z, tolerance=0), "tolerance = 0"),
        (lambda: polytope.hull(run), "One frame at a time"),
        (lambda: polytope.inside(z, z), "Make one: polytope.hull"),
        (lambda: polytope.inside(z, square), r"\(..., 2\), as the tokens of the hull"),
        (lambda: polytope.inside([[np.inf, 0.0]], square), "finite numbers"),
        (lambda: polytope.residual(z, None, np.eye(2)), r"vertices.shape = \(2, 2\)"),
        (lambda: polytope.residual(z, np.eye(2), z), r"A.shape = \(2, 2\)"),
        (lambda: polytope.residual(z, None, np.empty((0, 9))), "at least one token"),
    ):
        with pytest.raises(SpecError, match=text):
            call()


def test_too_many_dimensions_are_refused_before_they_take_an_hour(monkeypatch):
    monkeypatch.setattr(polytope, "LARGEST_DIM", 9)
    z = np.random.default_rng(0).standard_normal((40, 10))
    with pytest.raises(SpecError, match=r"40 tokens that span 10 dimensions.* Project the tokens first"):
        polytope.hull(z)
    assert len(polytope.hull(z[:11]).indices) == 11  # a simplex
