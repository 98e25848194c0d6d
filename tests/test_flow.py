"""Gradients through a run: held to finite differences of the numpy reference, which knows nothing of torch."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tokenflock as flock
from models import every_model_option, tokens_for
from tokenflock.engine.traits import OPTIONS, unknown_options
from tokenflock.errors import SpecError, install_command
from tokenflock.geometry import retract
from tokenflock.model import velocity
from tokenflock.options import FeedForward
from tokenflock.simulation import simulate
from tokenflock.varying import Schedule
from tolerances import close

torch = pytest.importorskip("torch", reason="gradients need torch: pip install 'tokenflock[gpu]'")

from tokenflock import dynamics  # noqa: E402
from tokenflock.adjoint import Recall  # noqa: E402
from tokenflock.flow import Flow, gradient  # noqa: E402
from waiting import LONG_S  # noqa: E402

WEIGHTS = ("beta", "query", "key", "value")
N = 5
SMOOTH = {
    str(named): named.model
    for named in every_model_option(N)
    if np.isfinite(named.model.beta) and not (named.model.varying or unknown_options(named.model, OPTIONS))
}


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors are slower on two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def own(model, name):
    if name in ("w", "a", "b"):
        return getattr(model.feedforward, name)
    found = getattr(model, name)
    return np.eye(model.dim) if found is None else np.asarray(found)


def directions(model, x, seed=0):
    """A change of everything that a gradient can be taken of, of a size at which the run is smooth."""
    draw = np.random.default_rng(seed).standard_normal
    scale = min(1.0, 10.0 / max(abs(model.beta), 1e-9)) ** 0.5
    found = {name: 0.3 * draw(own(model, name).shape) * (model.beta if name == "beta" else 1.0) for name in WEIGHTS}
    if model.space == "rescaled" and model.n_heads > 1:
        found["value"] = np.array(model.values)  # heads must go on commuting with their sum
    if model.feedforward is not None:
        found |= {name: draw(own(model, name).shape) for name in ("w", "a", "b")}
    return {"start": scale * draw(x.shape), **found}


def moved(model, x, along, e):
    """The model and the start, a distance e along the directions."""
    changes = {name: own(model, name) + e * along[name] for name in WEIGHTS if name in along}
    if "w" in along:
        parts = (own(model, name) + e * along[name] for name in ("w", "a", "b"))
        changes["feedforward"] = FeedForward(*parts, model.feedforward.activation)
    x = x + e * along.get("start", np.zeros_like(x))
    return model.with_options(**changes), retract(x) if model.space == "sphere" else x


def difference(f, h):
    """The derivative of f at 0, to order h^4."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def along_gradient(slopes, along):
    """The directional derivative, and the size of its terms before they cancel."""
    terms = [slopes[name] * along[name] for name in along]
    return sum(float(t.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)


def looked_at(x, seed=9):
    """A loss that sees every coordinate: a linear one, by fixed random numbers."""
    c = np.random.default_rng(seed).standard_normal(x.shape)
    return lambda y: (y * (torch.as_tensor(c, dtype=y.dtype) if isinstance(y, torch.Tensor) else c)).sum()


def last(model, x, t, **options):
    return simulate(model, x, t, times=[t], **options)["x"].values[..., -1, :, :]


@pytest.mark.parametrize("model", SMOOTH.values(), ids=SMOOTH.keys())
def test_every_option_against_differences_of_the_reference(model):
    """All weights and the start at once, along a random direction: a mistake in any of them shows."""
    x = tokens_for(model, N)
    loss, along = looked_at(x), directions(model, x)
    steps = {"scheme": "heun" if model.noise else "rk4", "dt": 0.25}
    f = lambda e: loss(last(*moved(model, x, along, e), 0.5, engine="reference", **steps))  # noqa: E731
    value, slopes = gradient(model, x, 0.5, loss, **steps)
    assert value == pytest.approx(f(0), rel=1e-12, abs=1e-12)
    found, size = along_gradient(slopes, along)
    h = min(1e-4, 1.0 / max(abs(model.beta), 1.0))  # at a huge beta logits change fast
    rounding = 1e-13 * abs(model.beta)  # of logits, divided by h
    assert abs(found - difference(f, h)) < max(1e-8, rounding) * size


EVERYTHING = flock.Model(
    dim=3,
    beta=2.0,
    mask="full",
    layer_norm="pre",
    feedforward=SMOOTH["feedforward-tanh"].feedforward,
    **{name: getattr(SMOOTH["mix-heads-d3"], name) for name in ("query", "key", "value")},
)


@pytest.mark.parametrize("name", ["start", "beta", "query", "key", "value", "w", "a", "b"])
def test_each_weight_by_itself(name):
    x = flock.uniform(5, 3, seed=1)
    loss, along = looked_at(x), directions(EVERYTHING, x)
    only = {
        name: along[name],
        **({part: 0 * along[part] for part in "wab"} | {name: along[name]} if name in "wab" else {}),
    }
    f = lambda e: loss(last(*moved(EVERYTHING, x, only, e), 0.6, engine="reference", scheme="rk4", dt=0.2))  # noqa: E731
    wrt = ["feedforward" if name in "wab" else name]
    _, slopes = gradient(EVERYTHING, x, 0.6, loss, wrt=wrt, scheme="rk4", dt=0.2)
    assert set(slopes) == ({"w", "a", "b"} if name in "wab" else {name})
    found, size = along_gradient({name: slopes[name]}, {name: along[name]})
    assert size > 1e-3
    assert abs(found - difference(f, 2e-4)) < 1e-9 * size


@pytest.mark.parametrize(
    "name", ["general-d3-full", "heads-d5", "feedforward-relu", "peri-d3", "mix-d3", "rescaled-mixed"]
)
def test_layers_against_differences_of_the_reference(name):
    model = SMOOTH[name]
    x = tokens_for(model, N)
    loss, along = looked_at(x), directions(model, x)
    f = lambda e: loss(last(*moved(model, x, along, e), 0.8, engine="reference", scheme="layers", dt=0.2))  # noqa: E731
    value, slopes = gradient(model, x, 0.8, loss, scheme="layers", dt=0.2)
    assert value == pytest.approx(f(0), rel=1e-12)
    found, size = along_gradient(slopes, along)
    assert abs(found - difference(f, 1e-4)) < 1e-8 * size


ADJOINT = (
    *("causal-d3", "window-both-d3", "count-full-d3", "general-d3-full", "heads-d2", "feedforward-tanh", "mix-d3"),
    *("peri-d3", "ngpt-decay-d2", "euclidean-general-d5", "rescaled-mixed", "rescaled-count"),
    *("masses-full-d3", "masses-rows-causal-d3"),
)


@pytest.mark.parametrize("name", ADJOINT)
def test_the_adjoint_against_differences_of_a_tight_run(name):
    model = SMOOTH[name]
    x = tokens_for(model, N)
    loss, along = looked_at(x), directions(model, x)
    tight = {"rtol": 1e-12, "atol": 1e-14, "scheme": "tsit5", "engine": "cpu"}
    f = lambda e: loss(last(*moved(model, x, along, e), 0.4, **tight))  # noqa: E731
    _, slopes = gradient(model, x, 0.4, loss, gradient="adjoint", rtol=1e-8, atol=1e-10)
    found, size = along_gradient(slopes, along)
    assert abs(found - difference(f, 2e-3)) < 1e-6 * size
    _, exact = gradient(model, x, 0.4, loss, rtol=1e-8, atol=1e-10)
    for part in exact:  # the other way back, component by component
        np.testing.assert_allclose(slopes[part], exact[part], rtol=1e-6, atol=1e-6 * np.abs(exact[part]).max())


def test_the_adjoint_has_a_tolerance_of_its_own():
    model, x = SMOOTH["general-d3-full"], flock.uniform(4, 3, seed=2)
    tight = {"rtol": 1e-9, "atol": 1e-11, "wrt": ["value"]}
    best = gradient(model, x, 0.8, looked_at(x), **tight)[1]["value"]
    at = lambda rtol: gradient(model, x, 0.8, looked_at(x), gradient="adjoint", adjoint_rtol=rtol, **tight)  # noqa: E731
    off = [np.abs(at(rtol)[1]["value"] - best).max() / np.abs(best).max() for rtol in (1e-2, 1e-5, 1e-8)]
    assert off[0] > 10 * off[1] > 100 * off[2]
    assert off[2] < 1e-7


@pytest.mark.parametrize(
    "name", ["causal-d2", "full-d3", "count-full-d3", "mix-d3", "sqrt-d3", "peri-d3", "rescaled-mixed"]
)
def test_an_adaptive_flow_is_what_simulate_gives(name):
    model = SMOOTH[name]
    x, times = tokens_for(model, 8, runs=2), [0.0, 0.3, 0.7, 2.0]
    flow = Flow(model)
    with torch.no_grad():
        frames = flow(torch.as_tensor(x), times=times)
    exact = simulate(model, x, 2.0, times=times, rtol=1e-11, atol=1e-13)["x"].values
    np.testing.assert_allclose(frames.numpy(), exact, atol=2e-5, rtol=2e-5)
    assert np.abs(frames.numpy() - exact).max() > 0
    recorded = flow(torch.as_tensor(x), times=times).detach()  # the same steps, now with a record
    np.testing.assert_allclose(recorded.numpy(), frames.numpy(), **close("float64", 8, amplification=10))


def test_the_state_is_recalled_where_going_back_would_lose_it():
    """The reason for keeping states: a tight cluster cannot be run backwards."""
    model, x, end = flock.Model(dim=2, beta=4.0, mask="full"), flock.cap(4, 2, 1.0, seed=3), 25.0
    flow, y = Flow(model, trainable=()), torch.as_tensor(x)[None]
    plan, states = dynamics.adaptive_plan(flow.dynamics, {}, y, 0.0, [end], 1e-8, 1e-10)
    recall, times = Recall(flow.dynamics, {}, plan.steps, states), [0.11, 0.9, 3.3, 24.9]
    exact = simulate(model, x, end, times=times, rtol=1e-12, atol=1e-14)["x"].values
    for t, wanted in zip(times, exact, strict=True):
        np.testing.assert_allclose(recall.at(t, end / 2)[0].numpy(), wanted, atol=1e-6)
    backwards = lambda t, z: -velocity(model, retract(z.reshape(4, 2))).ravel()  # noqa: E731
    back = solve_ivp(backwards, (0, end), states[-1][0].numpy().ravel(), rtol=1e-8, atol=1e-10)
    assert np.abs(back.y[:, -1].reshape(4, 2) - x).max() > 1e-2


def test_a_constant_schedule_is_one_run_after_another():
    rng = np.random.default_rng(0)
    values, knots, x = rng.standard_normal((3, 2, 2)), [0.0, 0.4, 1.1], flock.uniform(5, 2, seed=0)
    model = flock.Model(dim=2, beta=2.0, mask="full")
    wanted = x
    for v, length in zip(values, (0.4, 0.7, 0.9), strict=True):
        wanted = last(model.with_options(value=v), wanted, length, rtol=1e-12, atol=1e-14)
    flow = Flow(model, varying={"value": Schedule(knots, values)}, trainable=(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(flow(torch.as_tensor(x), 2.0).detach().numpy(), wanted, atol=1e-8)


@pytest.mark.parametrize("kind", ["constant", "linear"])
def test_gradients_of_schedules(kind):
    """The values at each knot, by differences of a run whose weights are looked up by hand."""
    rng, knots = np.random.default_rng(1), np.array([0.0, 0.3, 0.8])
    given = {
        "value": rng.standard_normal((3, 2, 2)),
        "query": rng.standard_normal((3, 2, 2)),
        "beta": np.arange(1.0, 4),
    }
    model, x = flock.Model(dim=2, beta=2.0), flock.uniform(4, 2, seed=0)
    loss, end = looked_at(x), 1.0 if kind == "constant" else 0.8  # straight lines end at the last knot

    def looked_up(values, t):
        if kind == "constant":
            return values[max(np.searchsorted(knots, t, side="right") - 1, 0)]
        return np.array([np.interp(t, knots, column) for column in values.reshape(3, -1).T]).reshape(values.shape[1:])

    def run(changed):
        y = x.ravel()
        for a, b in ((0.0, 0.3), (0.3, 0.8), (0.8, end))[: 3 if end > 0.8 else 2]:
            at = lambda t, a=a, b=b: {k: looked_up(v, min(max(t, a), b - 1e-12)) for k, v in changed.items()}  # noqa: E731
            f = lambda t, z, at=at: velocity(model.with_options(**at(t)), retract(z.reshape(4, 2))).ravel()  # noqa: E731
            y = solve_ivp(f, (a, b), y, rtol=1e-10, atol=1e-12, method="DOP853").y[:, -1]
        return loss(y.reshape(4, 2))

    varying = {k: Schedule(knots, v, kind) for k, v in given.items()}
    tight = {"rtol": 1e-8, "atol": 1e-10, "varying": varying}
    value, slopes = gradient(model, x, end, loss, **tight)
    _, adjoint = gradient(model, x, end, loss, gradient="adjoint", **tight)
    assert value == pytest.approx(run(given), abs=1e-6)
    for k in range(3):
        bump = {name: np.zeros_like(values) for name, values in given.items()}
        for values in bump.values():
            values[k] = rng.standard_normal(values.shape[1:])
        f = lambda e, bump=bump: run({name: given[name] + e * bump[name] for name in given})  # noqa: E731
        central = (f(1e-4) - f(-1e-4)) / 2e-4
        for found in (slopes, adjoint):
            assert sum((found[name] * bump[name]).sum() for name in given) == pytest.approx(central, abs=2e-6)
            assert np.abs(found["value"][k]).max() > 1e-3


def held(flow, x, t):
    """Bytes that autograd keeps after the run."""
    kept = []
    pack = lambda tensor: kept.append(tensor.numel() * tensor.element_size()) or tensor  # noqa: E731
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = flow(x, t)
    return sum(kept), y


def test_a_step_at_a_time_gives_the_same_bits_and_holds_less(monkeypatch):
    model, start = flock.Model(dim=2, beta=4.0), flock.uniform(40, 2, seed=0)
    results = []
    for limit in (2**40, 0):
        monkeypatch.setattr(dynamics, "HELD", limit)
        x, flow = torch.tensor(start, requires_grad=True), Flow(model, scheme="rk4", dt=0.1)
        size, y = held(flow, x, 1.0)
        slopes = torch.autograd.grad(y[:, 0].sum(), [x, *flow.parameters()])
        results.append((size, slopes))
    (whole, first), (little, second) = results
    assert little < whole / 20
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_second_derivatives():
    model, x = flock.Model(dim=2, beta=2.0, mask="full"), torch.as_tensor(flock.uniform(4, 2, seed=0))
    flow = Flow(model, scheme="rk4", dt=0.25, trainable=("value",))

    def loss(value):
        return (torch.func.functional_call(flow, {"value": value}, (x, 1.0))[:, 0] ** 3).sum()

    v = torch.eye(2, dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(loss, v).reshape(4, 4)
    assert torch.allclose(hessian, hessian.T, atol=1e-12)
    e = 1e-4 * torch.eye(4, dtype=torch.float64).reshape(4, 2, 2)
    slope = lambda w: torch.autograd.functional.jacobian(loss, w).ravel()  # noqa: E731
    rows = torch.stack([(slope(v + d) - slope(v - d)) / 2e-4 for d in e])
    assert torch.allclose(hessian, rows, atol=1e-6)


def test_the_adjoint_refuses_second_derivatives():
    x = torch.as_tensor(flock.uniform(3, 2, seed=0)).requires_grad_()
    y = Flow(flock.Model(dim=2), gradient="adjoint")(x, 1.0)
    with pytest.raises(flock.errors.EngineError, match=r"first derivatives only.*'checkpoint'"):
        torch.autograd.grad(y[:, 0].sum(), x, create_graph=True)


@pytest.mark.parametrize("way", ["checkpoint", "adjoint"])
def test_weights_may_come_from_elsewhere(way):
    """A network that makes the weights: functional_call hands them in, and the gradient goes on into the network."""
    model, x = flock.Model(dim=2, beta=2.0), torch.as_tensor(flock.uniform(4, 2, seed=0))
    flow = Flow(model, trainable=("value",), gradient=way, rtol=1e-9, atol=1e-11)
    angle = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    value = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    loss = torch.func.functional_call(flow, {"value": value}, (x, 1.0))[:, 1].sum()
    (slope,) = torch.autograd.grad(loss, angle)
    turned = lambda a: model.with_options(value=flock.weights.plane_rotation(a))  # noqa: E731
    f = lambda e: last(turned(0.3 + e), x.numpy(), 1.0, rtol=1e-11, atol=1e-13)[:, 1].sum()  # noqa: E731
    assert float(slope) == pytest.approx(difference(f, 1e-3), rel=1e-7)


@pytest.mark.parametrize("way", ["checkpoint", "adjoint"])
def test_on_the_sphere_the_gradient_of_the_start_is_tangent(way):
    x = flock.uniform(5, 3, seed=0)
    _, slopes = gradient(flock.Model(dim=3), x, 1.0, lambda y: (y**2)[:, 0].sum(), wrt=["start"], gradient=way)
    assert set(slopes) == {"start"}
    np.testing.assert_allclose((slopes["start"] * x).sum(axis=1), 0.0, atol=1e-14)


def test_a_loss_over_the_whole_path():
    model, x, times = flock.Model(dim=2, beta=3.0), flock.uniform(4, 2, seed=0), [0.0, 0.5, 1.5]
    seen = []
    path = lambda y: (seen.append(y.shape), (y[1:] * y[:-1]).sum())[1]  # noqa: E731
    found = [
        gradient(model, x, None, path, times=times, gradient=way, rtol=1e-9, atol=1e-11)
        for way in ("checkpoint", "adjoint")
    ]
    assert seen == [(3, 4, 2), (3, 4, 2)]
    for name in found[0][1]:
        np.testing.assert_allclose(found[1][1][name], found[0][1][name], atol=1e-7)
    assert np.abs(found[0][1]["start"]).max() > 1e-2


def test_an_ensemble_is_its_runs():
    model, x = flock.Model(dim=2, beta=3.0, mask="full"), flock.uniform(4, 2, seed=0, runs=3)
    options = {"scheme": "rk4", "dt": 0.2, "wrt": ["start", "value"]}
    value, slopes = gradient(model, x, 1.0, lambda y: (y**3).sum(), **options)
    alone = [gradient(model, one, 1.0, lambda y: (y**3).sum(), **options) for one in x]
    assert value == pytest.approx(sum(v for v, _ in alone))
    np.testing.assert_allclose(slopes["start"], np.stack([g["start"] for _, g in alone]), atol=1e-13)
    np.testing.assert_allclose(slopes["value"], sum(g["value"] for _, g in alone), atol=1e-13)


def test_a_run_goes_on_from_a_later_time():
    model = flock.Model(dim=3, layer_norm=flock.LayerNorm("mix", switch=0.7))
    flow, x = Flow(model, rtol=1e-10, atol=1e-12, trainable=()), torch.as_tensor(flock.uniform(4, 3, seed=0))
    halfway, r = flow(x, 1.0, with_radius=True)
    there, grown = flow(halfway, 2.0, t_start=1.0, radius=r, with_radius=True)
    whole, radius = flow(x, 2.0, with_radius=True)
    assert torch.allclose(there, whole, atol=1e-9)
    assert torch.allclose(grown, radius, atol=1e-9)
    assert float((radius - 1).abs().max()) > 0.1


def test_training_finds_the_value_matrix_that_made_the_tokens():
    """Tokens at t = 1 tell V, from a start nearby: what a module is for."""
    truth = np.array([[1.0, 0.4], [-0.3, 0.5]])
    x = flock.uniform(12, 2, seed=1)
    target = torch.as_tensor(last(flock.Model(dim=2, beta=2.0, value=truth), x, 1.0, rtol=1e-10, atol=1e-12))
    flow = Flow(flock.Model(dim=2, beta=2.0), scheme="tsit5", dt=0.25, trainable=("value",))
    optimiser = torch.optim.LBFGS(
        flow.parameters(), max_iter=60, tolerance_grad=1e-12, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        loss = ((flow(torch.as_tensor(x), 1.0) - target) ** 2).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    # V + c I moves nothing when weights sum to 1 on the sphere, up to the pull: compare what is left, the tokens.
    assert float(closure().detach()) < 1e-10
    np.testing.assert_allclose(flow.value.detach().numpy(), truth, atol=1e-3)


def test_a_flow_is_a_module_like_any_other(tmp_path):
    model = flock.Model(dim=3, feedforward=FeedForward(np.eye(3), activation="tanh"))
    flow = Flow(model, varying={"beta": Schedule([0.0, 1.0], [1.0, 2.0])})
    assert isinstance(flow, torch.nn.Module)
    assert type(flow).__module__ == "tokenflock.flow"
    assert {name for name, _ in flow.named_parameters()} == {
        "query",
        "key",
        "value",
        "w",
        "a",
        "b",
        "varying.beta.values",
    }
    assert "scheme='tsit5'" in repr(flow)
    assert "2 knots" in repr(flow)
    x = torch.as_tensor(flock.uniform(4, 3, seed=0))
    for twin in (pickle.loads(pickle.dumps(flow)), copy.deepcopy(flow)):
        assert torch.equal(twin(x, 1.0), flow(x, 1.0))
    torch.save(flow.state_dict(), tmp_path / "flow.pt")
    with torch.no_grad():
        flow.value.mul_(0.5)
    other = Flow(model, varying={"beta": Schedule([0.0, 1.0], [1.0, 1.0])})
    other.load_state_dict(torch.load(tmp_path / "flow.pt"))
    assert not torch.equal(other(x, 1.0), flow(x, 1.0))


def test_float32():
    x = flock.uniform(6, 2, seed=0)
    model = flock.Model(dim=2, beta=4.0, mask="full")
    _, exact = gradient(model, x, 1.0, lambda y: (y**3).sum(), rtol=1e-5, atol=1e-6)
    _, single = gradient(model, x, 1.0, lambda y: (y**3).sum(), rtol=1e-5, atol=1e-6, dtype=torch.float32)
    for name, wanted in exact.items():
        assert single[name].dtype == np.float32
        np.testing.assert_allclose(single[name], wanted, atol=1e-4)
    flow = Flow(model).float()
    assert flow(torch.as_tensor(x, dtype=torch.float32), 1.0).dtype == torch.float32


def test_a_loss_without_a_derivative_of_a_weight_has_gradient_zero():
    _, slopes = gradient(
        flock.Model(dim=2), flock.uniform(1, 2, seed=0), 1.0, lambda y: y[0, 0], wrt=["query", "start"]
    )
    assert np.abs(slopes["query"]).max() < 1e-15  # one token attends to itself whatever Q is
    assert np.abs(slopes["start"]).max() > 0.1


BAD_FLOWS = {
    "hardmax": ({"beta": np.inf}, {}, "Hardmax jumps from one leader to the next.*large finite beta"),
    "scheme": ({}, {"scheme": "rk5"}, "unknown scheme 'rk5'.*Did you mean 'rk4'"),
    "rosenbrock": ({}, {"scheme": "rosenbrock"}, "unknown scheme 'rosenbrock'"),
    "dt": ({}, {"scheme": "rk4"}, r"dt = None cannot be used.*scheme='rk4'.*dt=0\.1"),
    "dt negative": ({}, {"dt": -0.1}, r"dt = -0\.1 cannot be used. Allowed: a finite number > 0"),
    "way": ({}, {"gradient": "reverse"}, "unknown gradient 'reverse'.*checkpoint, adjoint"),
    "adjoint with dt": ({}, {"gradient": "adjoint", "dt": 0.1}, "adaptive steps.*gradient='checkpoint'"),
    "adjoint of layers": ({}, {"gradient": "adjoint", "scheme": "layers", "dt": 0.1}, "gradient='checkpoint'"),
    "noise": ({"noise": 0.1}, {}, "noise and scheme='tsit5' cannot be combined.*'heun' with dt"),
    "trainable": ({}, {"trainable": ("values",)}, "unknown trainable weight 'values'.*Did you mean 'value'"),
    "one string": ({}, {"trainable": "value"}, r"For example trainable=\('value',\)"),
    "no feed-forward": ({}, {"trainable": ("feedforward",)}, "This model has no feed-forward part"),
    "dtype": ({}, {"dtype": torch.int64}, "unknown dtype"),
    "varying": ({}, {"varying": {"valu": Schedule([0.0], np.eye(2)[None])}}, "unknown varying weight 'valu'.*'value'"),
    "shape": ({}, {"varying": {"value": Schedule([0.0], np.eye(3)[None])}}, r"shape = \(1, 3, 3\) cannot.*\(2, 2\)"),
    "array": ({}, {"varying": {"value": np.eye(2)[None]}}, "flock.Schedule"),
    "twice": (
        {},
        {"varying": {"value": Schedule([0.0], np.eye(2)[None])}, "trainable": ("value",)},
        "parameters already",
    ),
    "rescaled": ({"space": "rescaled"}, {"varying": {"value": Schedule([0.0], np.eye(2)[None])}}, "needs one V"),
}


@pytest.mark.parametrize(("options", "given", "words"), BAD_FLOWS.values(), ids=BAD_FLOWS.keys())
def test_what_cannot_be_differentiated_is_refused(options, given, words):
    with pytest.raises(flock.errors.SpecError, match=words):
        Flow(flock.Model(dim=2, **options), **given)


BAD_STARTS = {
    "numpy": (np.eye(2), {"t_end": 1.0}, "torch tensor.*flock.gradient for numpy"),
    "shape": (torch.ones(3, 3, dtype=torch.float64), {"t_end": 1.0}, r"start.shape = \(3, 3\)"),
    "off": (2 * torch.eye(2, dtype=torch.float64), {"t_end": 1.0}, "off the sphere.*functional.normalize"),
    "nan": (torch.eye(2, dtype=torch.float64) * torch.nan, {"t_end": 1.0}, "nan or inf"),
    "float32": (torch.eye(2), {"t_end": 1.0}, r"torch.float32.*torch.float64.*flow.to\(start\)"),
    "integers": (torch.eye(2, dtype=torch.int64), {"t_end": 1.0}, r"start.double\(\)"),
    "no time": (torch.eye(2, dtype=torch.float64), {}, "Give one of them"),
    "both": (torch.eye(2, dtype=torch.float64), {"t_end": 1.0, "times": [1.0]}, "one of them"),
    "backwards": (torch.eye(2, dtype=torch.float64), {"times": [1.0, 0.5]}, "strictly increasing"),
    "too early": (torch.eye(2, dtype=torch.float64), {"t_end": 1.0, "t_start": 2.0}, "from t_start = 2 on"),
}


@pytest.mark.parametrize(("start", "when", "words"), BAD_STARTS.values(), ids=BAD_STARTS.keys())
def test_a_start_that_cannot_be_used(start, when, words):
    with pytest.raises(flock.errors.SpecError, match=words):
        Flow(flock.Model(dim=2))(start, **when)


def test_layers_have_no_time_between():
    with pytest.raises(flock.errors.SpecError, match=r"multiples of dt = 0.2"):
        Flow(flock.Model(dim=2), scheme="layers", dt=0.2)(torch.eye(2, dtype=torch.float64), 0.5)


def test_a_flow_takes_the_schedules_of_its_model_and_says_where_they_end():
    schedule = Schedule([0.0, 1.0], [1.0, 3.0], "linear")
    model, x = flock.Model(dim=2, beta=schedule), torch.as_tensor(flock.uniform(4, 2, seed=0))
    listed = Flow(flock.Model(dim=2), varying={"beta": schedule})
    assert torch.equal(Flow(model)(x, 1.0), listed(x, 1.0))
    tight = simulate(model, x.numpy(), 1.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(Flow(model, rtol=1e-9)(x, 1.0).detach().numpy(), tight.x.values[-1], atol=1e-7)
    with pytest.raises(flock.errors.SpecError, match=r"varying\['beta'\] = 'a schedule from t = 0 to 1'.*<= 2"):
        listed(x, 2.0)
    anew = flock.redrawn(flock.weights.ginibre, every=0.5)
    with pytest.raises(flock.errors.SpecError, match=r"redrawn\(...\)\.schedule"):
        Flow(flock.Model(dim=2, value=anew))
    drawn, given = flock.Model(dim=2, value=anew), flock.Model(dim=2, value=anew.schedule("value", 2, 1.0))
    found = Flow(given, rtol=1e-9)(x, 1.0).detach().numpy()
    np.testing.assert_allclose(found, simulate(drawn, x.numpy(), 1.0, rtol=1e-9).x.values[-1], atol=1e-7)


def test_losses_that_cannot_be():
    model, x = flock.Model(dim=2), flock.uniform(3, 2, seed=0)
    for loss, words in (
        (lambda y: y, "a tensor of shape"),
        (lambda y: 1.0, "returns one number as a tensor"),
        (lambda y: torch.tensor(1.0), "does not depend on the tokens"),
    ):
        with pytest.raises(flock.errors.SpecError, match=words):
            gradient(model, x, 1.0, loss)
    with pytest.raises(flock.errors.SpecError, match="unknown name in wrt 'values'"):
        gradient(model, x, 1.0, lambda y: y.sum(), wrt=["values"])


def test_tokens_that_escape_are_reported():
    model = flock.Model(dim=2, space="euclidean", normaliser="count", beta=5.0, mask="full")
    for way in ("checkpoint", "adjoint"):
        with pytest.raises(flock.errors.EngineError, match=r"no longer finite|fell below rounding"):
            gradient(model, 3 * flock.cube(3, 2, seed=0), 50.0, lambda y: y.sum(), gradient=way)
    with pytest.raises(flock.errors.EngineError, match="no longer finite"):
        gradient(model, 3 * flock.cube(3, 2, seed=0), 50.0, lambda y: y.sum(), scheme="euler", dt=1.0)


def test_without_torch_there_is_a_sentence():
    code = "import sys; sys.modules['torch'] = None; import tokenflock.flow"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LONG_S)
    assert f"flock.Flow and flock.gradient needs torch. Install it with: {install_command('gpu')}" in done.stderr


def test_a_fixed_step_that_is_too_short_for_the_time_is_refused_before_steps_are_laid_out():
    flow = flock.Flow(flock.Model(dim=2), scheme="rk4", dt=0.1)
    with pytest.raises(SpecError, match=r"t_end = 1e\+300 .* at most 1,000,000 steps of dt = 0.1 after t_start"):
        flow(torch.as_tensor(flock.uniform(3, 2)), 1e300)


def test_an_option_that_gradients_do_not_know_is_refused():
    model = flock.Model(dim=2, groups=flock.Groups(["a", "b"]))
    with pytest.raises(SpecError, match=r"groups and Flow cannot be combined. Leave it out, or use flock.simulate"):
        Flow(model)
