"""Implicit steps: the Jacobian, the order, long times, and that nothing drifts that should not."""

import numpy as np
import pytest
from scipy.integrate import simpson

import tokenflock as flock
from tokenflock import Frozen, Model, Window, simulate, velocity
from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.implicit import circle as circle_kernels
from tokenflock.engine.implicit import dense, full, jacobian
from tokenflock.engine.implicit.stepper import ImplicitStepper
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import circle, distance, retract
from tokenflock.schemes import RODAS

RNG = np.random.default_rng(7)
G = RNG.standard_normal
MODELS = {
    "circle": Model(dim=2, beta=5.0),
    "circle, any weights": Model(dim=2, beta=2.0, query=G((2, 2)), key=G((2, 2)), value=G((2, 2))),
    "circle, heads": Model(dim=2, beta=2.0, query=G((2, 3, 2)), key=G((2, 3, 2)), value=G((2, 2, 2))),
    "circle, frozen": Model(dim=2, beta=4.0, frozen=Frozen(circle(np.array([0.3, 2.0])), np.array([1.0, 3.0]))),
    "circle, window": Model(dim=2, beta=4.0, mask=Window(4)),
    "sphere": Model(dim=3, beta=3.0),
    "sphere, any weights": Model(dim=3, beta=2.0, query=G((3, 3)), key=G((3, 3)), value=G((3, 3))),
    "sphere, frozen": Model(dim=3, value=G((3, 3)), frozen=Frozen(retract(G((2, 3))), np.array([2.0, 1.0]))),
    "sphere, window": Model(dim=3, beta=4.0, mask=Window(4)),
    "d = 5, heads": Model(dim=5, query=G((2, 2, 5)), key=G((2, 2, 5)), value=G((2, 5, 5))),
    "full circle": Model(dim=2, beta=4.0, mask="full"),
    "full sphere": Model(dim=3, beta=4.0, mask="full", value=np.diag([1.0, 0.5, 0.2])),
    "full window": Model(dim=3, beta=4.0, mask=Window(3, causal=False)),
    "d = 5": Model(dim=5, beta=3.0, mask="full"),
    "full circle, frozen": Model(
        dim=2, beta=2.0, mask="full", value=G((2, 2)), frozen=Frozen(circle(np.array([0.3, 2.0])), np.array([1.0, 3.0]))
    ),
}
#: how often tokens count, for every token and for every row
MASSES = {"": None, ", masses": RNG.uniform(0.5, 3.0, 9), ", masses by rows": RNG.uniform(0.5, 3.0, (9, 9))}
NORMALISERS = ("softmax", "count", "scaled-count")


def begin(model, x, t_end=1.0, rtol=1e-6, atol=1e-9):
    return ImplicitStepper(Task(model, t_end, RODAS, None, rtol, atol, "float64", 0), RODAS, x)


def by_differences(model, x, v, step=1e-6):
    """J in the frames v, by central differences of the equations."""
    n, d = x.shape
    E = (np.eye(d) - v[:, :, None] * v[:, None, :])[:, :, 1:]
    J = np.zeros((n, d - 1, n, d - 1))
    for j in range(n):
        for b in range(d - 1):
            for sign in (1, -1):
                y = x.copy()
                y[j] = retract(y[j] + sign * step * E[j][:, b])
                J[:, :, j, b] += sign * np.einsum("iap,ia->ip", E, velocity(model, y)) / (2 * step)
    return J.reshape(n * (d - 1), -1)


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_jacobian_is_that_of_the_equations(name, masses, normaliser):
    model = MODELS[name].with_options(masses=MASSES[masses], normaliser=normaliser)
    x = retract(RNG.standard_normal((9, model.dim)))
    system = begin(model, x).run.system
    jacobian.linearise(system)
    truth = by_differences(model, x, system.tangent.reflections)
    size = np.abs(truth).max()
    assert np.abs(full.matrix_of(system) - truth).max() < 1e-7 * size
    w, out = RNG.standard_normal((9, model.dim - 1)), np.empty((9, model.dim - 1))
    for kept in (True, False):  # attention kept, or made again row by row
        system = system._replace(attention=system.attention._replace(kept=kept))
        jacobian.apply(system, 0.7, w, out)
        assert np.abs(out.ravel() - (0.7 * w.ravel() - truth @ w.ravel())).max() < 1e-6 * size
        lower = np.kron(np.tril(np.ones((9, 9))), np.ones((model.dim - 1,) * 2)) * truth
        c = 10 * size  # far from every eigenvalue: what is tested is the substitution
        jacobian.solve(system, c, True, w, out)
        assert np.abs(c * out.ravel() - lower @ out.ravel() - w.ravel()).max() < 1e-5
    run = begin(model, x)
    if len(run.run.system.pivots):
        dense.linearise(run.run.system)
        assert np.abs(run.run.system.dense[0] - truth).max() < 1e-7 * size
    if run.on_circle:
        other = np.empty_like(out)
        circle_kernels.linearise(run.run.system)
        circle_kernels.solve(run.run.system, c, True, w, other)
        assert np.abs(other - out).max() < 100 * np.finfo(float).eps * np.abs(out).max()


@pytest.mark.parametrize("name", ["sphere", "d = 5, heads"])
def test_a_step_that_overflowed_leaves_nothing_behind(name):
    """A run stopped with a step size of 1e-31: what a refused step had left was multiplied by 0, and nan stayed nan."""
    model = MODELS[name]
    system = begin(model, retract(RNG.standard_normal((9, model.dim)))).run.system
    jacobian.linearise(system)
    b, clean, after = (RNG.standard_normal((9, model.dim - 1)) for _ in range(3))
    jacobian.solve(system, 5.0, True, b, clean)
    jacobian.solve(system, 5.0, True, np.full_like(b, np.nan), after)
    jacobian.solve(system, 5.0, True, b, after)
    assert np.array_equal(clean, after)


@pytest.mark.parametrize("d", [2, 3])
def test_a_dense_system_that_needs_pivots_is_solved(d):
    """Rows that change places several times: a matrix without a heavy diagonal, as c - J is where h is large."""
    rng = np.random.default_rng(d)
    system = begin(Model(dim=d, mask="full"), retract(rng.standard_normal((9, d)))).run.system
    size = len(system.pivots)
    system.dense[0] = rng.standard_normal((size, size))
    b, w = rng.standard_normal((9, d - 1)), np.empty((9, d - 1))
    dense.solve(system, 0.3, True, b, w)
    truth = np.linalg.solve(0.3 * np.eye(size) - system.dense[0], b.ravel())
    assert (system.pivots != np.arange(size)).sum() > 2
    assert w.ravel() == pytest.approx(truth, rel=1e-9)


def pace(model, x):
    """How much faster the tokens begin than with a softmax: weights by count are of any size."""
    soft = velocity(model.with_options(normaliser="softmax"), x)
    return np.abs(velocity(model, x)).max() / np.abs(soft).max()


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("name", MODELS)
def test_implicit_and_explicit_runs_agree(name, normaliser):
    model = MODELS[name].with_options(normaliser=normaliser)
    x = retract(np.random.default_rng(3).standard_normal((12, model.dim)))
    times = np.array([0.3, 1.0, 4.0, 10.0]) / pace(model, x)
    truth = simulate(model, x, times[-1], times=times, scheme="tsit5", rtol=1e-11, atol=1e-13)["x"].values
    run = simulate(model, x, times[-1], times=times, scheme="rosenbrock", rtol=1e-8, atol=1e-8)
    assert run.attrs["outcome"] == Outcome.DONE.value
    assert np.abs(run["x"].values - truth).max() < 100 * 2e-8  # local errors of 2e-8, and growth where V is not I


def fixed(model, x, h, t_end):
    """Steps of one size, whatever their error."""
    run = begin(model, x, t_end, rtol=1e9)
    frame = np.empty((1, *x.shape))
    for _ in range(round(t_end / h)):
        run.clock.h = h
        run.advance(np.array([t_end]), frame, 1)
    assert run.steps == round(t_end / h)
    return run.run.system.tokens.x[:, : len(x)].T.copy()


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize(("name", "t_end"), [("circle", 2.0), ("sphere, any weights", 1.0), ("full sphere", 1.0)])
def test_the_order_is_the_declared_one(name, t_end, normaliser):
    model = MODELS[name].with_options(normaliser=normaliser)
    x = retract(np.random.default_rng(1).standard_normal((6, model.dim)))
    end = t_end / pace(model, x)
    truth = simulate(model, x, end, times=[end], rtol=1e-13, atol=1e-15)["x"].values[0]
    steps = end / np.array([64, 128, 256])
    errors = [np.abs(fixed(model, x, h, end) - truth).max() for h in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - RODAS.order) < 0.25


def table_step(f, J, y, h):
    """One step of the table for a system y' = f(y), written out."""
    U = []
    M = np.eye(len(y)) / (h * RODAS.gamma) - J(y)
    for k in range(len(RODAS.b)):
        at = y + sum((RODAS.a[k, j] * U[j] for j in range(k)), np.zeros_like(y))
        more = sum((RODAS.c[k, j] / h * U[j] for j in range(k)), np.zeros_like(y))
        U.append(np.linalg.solve(M, f(at) + more))
    return y + sum(b * u for b, u in zip(RODAS.b, U, strict=True))


@pytest.mark.parametrize(("rate", "least", "most"), [(1.0, 3.75, 1e-8), (1e2, 3.0, 1e-8), (1e6, 0.9, 1e-9)])
def test_the_table_on_a_stiff_problem(rate, least, most):
    """Prothero and Robinson: y' = -rate (y - sin t) + cos t, with t as a second unknown.

    Its order falls as the rate grows, as that of every Rosenbrock method, and its error falls with it.
    """
    f = lambda y: np.array([-rate * (y[0] - np.sin(y[1])) + np.cos(y[1]), 1.0])  # noqa: E731
    J = lambda y: np.array([[-rate, rate * np.cos(y[1]) - np.sin(y[1])], [0.0, 0.0]])  # noqa: E731
    errors = []
    for n in (20, 40, 80):
        y = np.array([0.0, 0.0])
        for _ in range(n):
            y = table_step(f, J, y, 1 / n)
        errors.append(abs(y[0] - np.sin(1.0)))
    assert np.log2(errors[0] / errors[2]) / 2 > least
    assert errors[-1] < most


def test_the_table_is_l_stable():
    def growth(z):
        return abs(table_step(lambda y: z * y, lambda y: np.array([[z]]), np.ones(1), 1.0)[0])

    big = [growth(z) for z in (-1e3, -1e6, -1e9)]
    assert max(big) < 0.02
    assert big[-1] < 1e-6


def quadrature(angle, beta, end):
    """The time that a token at this angle from the first needs to come within `end` of it."""
    s = np.linspace(np.log(np.tan(end / 2)), np.log(np.tan(angle / 2)), 400_001)
    a = 2 * np.arctan(np.exp(s))
    return simpson(1 + np.exp(2 * beta * np.sin(a / 2) ** 2), x=s)


@pytest.mark.parametrize(
    ("beta", "angle"), [(4.0, 2.0), (4.0, 3.1), (16.0, 1.0), (64.0, 2.5), (200.0, 2.0), (1000.0, 0.5), (1000.0, 1.2)]
)
@pytest.mark.parametrize("dim", [2, 3])
def test_merge_times_are_those_of_the_quadrature(beta, angle, dim):
    time = quadrature(angle, beta, 0.01)
    assert time < 1e300
    x = np.zeros((2, dim))
    x[0, 0], x[1, 0], x[1, 1] = 1.0, np.cos(angle), np.sin(angle)
    times = time * np.array([1 - 1e-6, 1 + 1e-6])
    run = simulate(Model(dim=dim, beta=beta), x, times[-1], times=times, scheme="rosenbrock", rtol=1e-12, atol=1e-14)
    gap = distance(run["x"].values[:, 1], run["x"].values[:, 0])
    assert gap[0] > 0.01 > gap[1]


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("lean", [0.0, 1e-3])
@pytest.mark.parametrize("values", [(1.0, 1.0, 0.9), (-2.0, 1.0, 1.0), (0.5, 1.0, 0.0, 1.0, -1.0)])
@pytest.mark.parametrize(("beta", "angle"), [(16.0, 1.0), (64.0, 2.5), (1000.0, 1.2)])
def test_merge_times_in_a_leading_plane_are_those_of_the_quadrature(beta, angle, values, lean, turn):
    """There V = I. A token's own pull, of order 1, drowned the others in rounding: tokens rested apart for ever.

    lean: how far off the plane the second token begins. It comes there long before it moves. turn: V is not diagonal.
    """
    one, two = np.flatnonzero(np.array(values) == 1.0)
    time = quadrature(angle, beta, 0.01)
    x = np.zeros((2, len(values)))
    x[0, one], x[1, one], x[1, two] = 1.0, np.cos(angle), np.sin(angle)
    x[1, np.array(values) != 1.0] = lean
    times = time * np.array([1 - 1e-4, 1 + 1e-4])
    O = np.linalg.qr(np.random.default_rng(5).standard_normal((len(values),) * 2))[0] if turn else np.eye(len(values))
    model = Model(dim=len(values), beta=beta, value=O @ np.diag(values) @ O.T)
    run = simulate(model, retract(x @ O.T), times[-1], times=times, scheme="rosenbrock", rtol=1e-12, atol=1e-14)
    gap = distance(run["x"].values[:, 1], run["x"].values[:, 0])
    assert gap[0] > 0.01 > gap[1]


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_what_rests_stays_to_the_last_bit(dim):
    one = flock.uniform(1, dim, seed=4)
    pair = np.zeros((2, dim))
    pair[:, 0] = 1.0, -1.0
    for x in (one, pair):
        run = simulate(Model(dim=dim, beta=10.0), x, 1e300, times=[1.0, 1e300], scheme="rosenbrock")
        assert (run["x"].values == x).all()


@pytest.mark.parametrize("beta", [16.0, 64.0])
def test_every_token_ends_at_the_first(beta):
    x = flock.uniform(40, 2, seed=2, runs=4)
    run = simulate(Model(dim=2, beta=beta), x, 1e120, times=[1e120], scheme="rosenbrock")
    assert (run["outcome"].values == list(Outcome).index(Outcome.COLLAPSED)).all()
    assert distance(run["x"].values[:, 0], x[:, :1]).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("beta", [16.0, 32.0, 48.0, 64.0])
def test_every_token_ends_at_the_first_in_200_runs(beta):
    x = flock.uniform(64, 2, seed=5, runs=50)
    run = simulate(Model(dim=2, beta=beta), x, 1e250, times=[1e250], scheme="rosenbrock")
    assert distance(run["x"].values[:, 0], x[:, :1]).max() < 1e-6


def test_agreement_with_explicit_steps_at_long_times():
    model, x, times = Model(dim=2, beta=16.0), flock.uniform(50, 2, seed=1), [10.0, 1e3, 1e4]
    slow = simulate(model, x, 1e4, times=times, scheme="tsit5", rtol=1e-9, atol=1e-12)["x"].values
    fast = simulate(model, x, 1e4, times=times, scheme="rosenbrock", rtol=1e-7, atol=1e-7)
    assert np.abs(fast["x"].values - slow).max() < 20 * 2e-7
    assert fast.attrs["evaluations"] < 10_000


def test_kept_times_between_steps_are_as_good_as_the_steps():
    model, x = Model(dim=2, beta=16.0), flock.uniform(50, 2, seed=1)
    times = np.geomspace(0.1, 1e6, 300)
    truth = simulate(model, x, 1e6, times=times, scheme="rosenbrock", rtol=1e-11, atol=1e-13)["x"].values
    run = simulate(model, x, 1e6, times=times, scheme="rosenbrock")
    assert run.attrs["steps"] < 600
    error = np.abs(run["x"].values - truth).max(axis=(1, 2))
    assert np.median(error) < 1e-5
    # Near a merge the positions change by 1 within a relative time of 1e-6: what is late by that is far off.
    assert np.mean(error < 1e-4) > 0.98


def test_full_attention_by_both_solvers(monkeypatch):
    model, x = MODELS["full sphere"], flock.uniform(14, 3, seed=2)
    dense = simulate(model, x, 50.0, times=[50.0], scheme="rosenbrock")["x"].values
    monkeypatch.setattr(full, "DENSE", 0)
    krylov = simulate(model, x, 50.0, times=[50.0], scheme="rosenbrock")["x"].values
    assert np.abs(dense - krylov).max() < 1e-8


@pytest.mark.parametrize("name", ["circle", "sphere, any weights", "sphere, frozen", "sphere, window"])
def test_compiled_and_interpreted_loops_take_the_same_steps(name):
    """A causal model by forward substitution in compiled code, and by its whole Jacobian in the loop as it stands."""
    model, times = MODELS[name], np.array([1.0, 30.0])
    x = flock.uniform(12, model.dim, seed=2)
    compiled, interpreted = begin(model, x, 30.0), begin(model, x, 30.0)
    interpreted.algebra = full.FullAlgebra()
    frames = np.empty((2, 2, *x.shape))
    for run, kept in zip((compiled, interpreted), frames, strict=True):
        assert run.advance(times, kept, 10**9) == 2
    assert (compiled.steps, compiled.rejected) == (interpreted.steps, interpreted.rejected)
    assert compiled.evaluations == interpreted.evaluations
    assert np.abs(frames[0] - frames[1]).max() < 1e-9


def test_attention_that_does_not_fit_is_made_again(monkeypatch):
    from tokenflock.engine.implicit import stepper as implicit

    model, x = MODELS["sphere, any weights"], flock.uniform(20, 3, seed=2)
    kept = simulate(model, x, 20.0, times=[20.0], scheme="rosenbrock")["x"].values
    monkeypatch.setattr(implicit, "KEPT_BYTES", 0)
    again = simulate(model, x, 20.0, times=[20.0], scheme="rosenbrock")["x"].values
    assert np.abs(kept - again).max() < 1e-12


def test_auto_changes_to_implicit_steps_and_says_so():
    model, x = Model(dim=2, beta=64.0), flock.uniform(60, 2, seed=0)
    times = [0.0, 50.0, 99.0, 100.0, 101.0, 1e20]
    run = simulate(model, x, 1e20, times=times)
    assert run.attrs["scheme"] == "auto"
    assert run.attrs["switched"] == 100.0
    early = simulate(model, x, 101.0, times=times[:-1], rtol=1e-9)["x"].values
    assert np.abs(run["x"].values[:-1] - early).max() < 1e-4
    again = flock.again(run)
    assert again["x"].values.tobytes() == run["x"].values.tobytes()
    short = simulate(model, x, 400.0, times=[400.0])
    assert short.attrs["scheme"] == "tsit5"
    assert np.isnan(short.attrs["switched"])


def test_auto_collapses_before_and_after_the_change():
    near = flock.cap(20, 2, angle=0.3, seed=0)
    run = simulate(Model(dim=2), near, 1e9, times=[1.0, 200.0, 1e9])
    assert run.attrs["outcome"] == Outcome.COLLAPSED.value
    assert distance(run["x"].values[-1], near[0]).max() < 1e-6
    late = simulate(Model(dim=2, beta=9.0), flock.uniform(20, 2, seed=1), 1e30, times=[1.0, 1e30])
    assert late.attrs["outcome"] == Outcome.COLLAPSED.value


def test_a_run_pauses_and_goes_on_with_the_same_bits():
    model, x, times = MODELS["circle"], flock.uniform(20, 2, seed=3), np.geomspace(0.1, 1e5, 20)
    whole, parts = begin(model, x, 1e5), begin(model, x, 1e5)
    frames, pieces = np.empty((20, 20, 2)), np.empty((20, 20, 2))
    assert whole.advance(times, frames, 10**9) == 20
    done = 0
    while done < 20:
        done += parts.advance(times[done:], pieces[done:], 30)
    assert pieces.tobytes() == frames.tobytes()
    assert (parts.steps, parts.rejected) == (whole.steps, whole.rejected)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Model(dim=2, space="euclidean"), "space='euclidean': it works on the sphere"),
        (Model(dim=2, noise=0.1), "noise"),
        (Model(dim=2, beta=np.inf), "beta=inf"),
        (Model(dim=2, layer_norm="pre"), "layer_norm='pre'"),
    ],
)
def test_what_has_no_implicit_scheme_says_why(model, text):
    with pytest.raises(SpecError, match=f"scheme='rosenbrock' cannot be used with {text}"):
        simulate(model, flock.uniform(4, 2), 1.0, scheme="rosenbrock")


def test_the_reference_has_explicit_schemes_only():
    with pytest.raises(EngineError, match=r"has explicit schemes only\. Use engine='cpu'"):
        simulate(Model(dim=2), flock.uniform(4, 2), 1.0, scheme="rosenbrock", engine="reference")


@pytest.mark.parametrize("how", [{"scheme": "rosenbrock"}, {}])
def test_default_times_are_spread_over_the_decades(how):
    run = simulate(Model(dim=2, beta=9.0), flock.uniform(10, 2), 1e12, **how)
    times = run["time"].values
    assert times[0] == 0
    assert np.allclose(np.diff(np.log(times[1:])), np.log(times[2] / times[1]))
