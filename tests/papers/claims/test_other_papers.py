"""The claims and figures of papers C, D, E and F: each gives its verdict, and fails when its hypothesis is broken."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import linprog

from tokenflock import Model, simulate, start, theory
from tokenflock.analysis import energy
from tokenflock.errors import SpecError
from tokenflock.geometry import angle, circle, distance, retract, to_sphere
from tokenflock.model import velocity
from tokenflock.options import LAYER_NORMS, LayerNorm
from tokenflock.papers import claims, figures
from tokenflock.papers.claims import meanfield, metastability, normalization, perspective
from tokenflock.papers.claims import perspective_overlaps as flat
from tokenflock.papers.figures import metastability as stairs
from tokenflock.papers.figures import perspective as phases

PAPERS = ("perspective/", "metastability/", "meanfield/", "normalization/")
EXPECTED = {
    "perspective/energy": "holds",
    "perspective/theorem-6.1": "holds",
    "perspective/lemma-6.4": "holds",
    "perspective/theorem-6.7": "agrees",
    "perspective/theorem-6.8": "holds",
    "perspective/theorem-6.9": "agrees",
    "perspective/phase-transition": "agrees",
    "metastability/main-theorem": "holds",
    "metastability/collapse-time": "holds",
    "metastability/hitting-time": "holds",
    "metastability/staircase": "holds",
    "meanfield/long-context": "holds",
    "meanfield/pitchfork": "agrees",
    "meanfield/kuramoto": "holds",
    "normalization/initial-rate": "holds",
    "normalization/initial-drive": "holds",
    "normalization/terminal-rate": "holds",
    "normalization/clustering": "holds",
}
# What is broken, and in which case it must be seen.
TWINS = [
    ("perspective/energy", {"mask": "causal", "trials": 6}, "V = Q'K, 1/n"),
    ("perspective/energy", {"twist": 3.0, "trials": 6}, "V = Q'K, softmax"),
    ("perspective/theorem-6.1", {"value": "minus-identity", "trials": 2}, "beta = 0, softmax"),
    ("perspective/lemma-6.4", {"hemisphere": False, "trials": 4}, "cone, orthogonal Q, K"),
    ("perspective/lemma-6.4", {"value": "minus-identity", "trials": 2, "t_end": 100.0}, "d >= n, uniform tokens"),
    ("perspective/theorem-6.7", {"law": "leaning"}, "leaning, n = 8, d = 2"),
    ("perspective/theorem-6.8", {"overlap": 0.01, "trials": 2}, "softmax"),
    ("perspective/theorem-6.8", {"mask": "causal", "trials": 2}, "1/n"),
    ("perspective/theorem-6.9", {"start": "leaning", "trials": 8}, "beta = 1"),
    ("perspective/phase-transition", {"dim": 2, "trials": 24}, "beta = 1"),
    ("metastability/main-theorem", {"sharpness": 0.3, "trials": 3}, "SA, caps up to T_2"),
    ("metastability/collapse-time", {"pace": 0.2}, "time over its bound"),
    ("metastability/hitting-time", {"printed": True, "trials": 2}, "limit"),
    ("metastability/staircase", {"prepared": False, "trials": 3}, "well-prepared, beta = 4000"),
    ("metastability/staircase", {"scale": 0.3, "trials": 1}, "published start, beta = 4000"),
    ("meanfield/long-context", {"power": 0.9, "trials": 2}, "at 1/(1 - rho), limit"),
    ("meanfield/pitchfork", {"temperature": 1.2}, "kappa = 4, R^2"),
    ("meanfield/kuramoto", {"mask": "causal", "trials": 2}, "R and its time, closed form"),
    ("meanfield/kuramoto", {"coupling": 1.01, "trials": 2}, "velocity, order 1, softmax"),
    ("normalization/initial-rate", {"overlap": 0.1, "trials": 2}, "pre"),
    ("normalization/initial-drive", {"law": "cap", "trials": 2}, "n = 64, d = 64"),
    ("normalization/terminal-rate", {"printed": True, "trials": 2}, "ngpt, slope"),
    ("normalization/terminal-rate", {"value": 0.5, "trials": 2}, "post, slope"),
    ("normalization/clustering", {"value": -1.0, "trials": 2}, "post"),
]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_claim_gives_its_verdict(name):
    verdict = claims.check(name, quick=True, seed=1)
    assert verdict.word == EXPECTED[name], verdict.failed
    decided = verdict.trials - verdict.undecided
    assert decided > 0.9 * verdict.trials
    figure = verdict.figure
    figure.draw_without_rendering()
    assert all(ax.get_xlabel() for ax in figure.axes)


@pytest.mark.parametrize(("name", "broken", "case"), TWINS, ids=[f"{n} {next(iter(b))}" for n, b, _ in TWINS])
def test_a_broken_hypothesis_is_noticed(name, broken, case):
    verdict = claims.check(name, quick=True, **broken)
    assert verdict.word in ("violated", "disagrees")
    assert next(f for f in verdict.findings if f.case == case).holds is False


def test_every_claim_has_a_twin_and_is_expected():
    of_papers = {name for name in claims.NAMES if name.startswith(PAPERS)}
    assert of_papers == set(EXPECTED) == {name for name, _, _ in TWINS}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("perspective/theorem-6.1", {"value": "minus"}),
        ("perspective/lemma-6.4", {"value": "minus"}),
        ("perspective/theorem-6.7", {"law": "lean"}),
        ("perspective/theorem-6.9", {"start": "lean"}),
        ("normalization/initial-drive", {"law": "caps"}),
    ],
)
def test_words_that_nobody_knows_are_refused(name, change):
    with pytest.raises(SpecError, match="unknown"):
        claims.check(name, quick=True, **change)


# ---- paper C


def test_tokens_stay_in_the_span_of_their_start():
    """The run in d = 40 and the one in d = 6 have the same overlaps, whatever the mask and the normaliser."""
    x = start.uniform(6, 40, seed=3)
    y = flat.to_span(x)
    assert y.shape == (6, 6)
    assert np.allclose(y @ y.T, x @ x.T, atol=1e-14)
    for mask, normaliser in (("full", "softmax"), ("causal", "softmax"), ("full", "count")):
        times = np.linspace(0, 4, 9)
        runs = [
            simulate(Model(dim=z.shape[1], beta=2.0, mask=mask, normaliser=normaliser), z, 4.0, times=times, rtol=1e-10)
            for z in (x, y)
        ]
        big, small = (flat.overlaps(run["x"].values) for run in runs)
        assert np.ptp(big[0]) > 0.1
        assert np.abs(big - small).max() < 1e-8


def test_the_span_is_left_when_the_value_matrix_is_not_the_identity():
    x = start.uniform(3, 8, seed=0)
    v = velocity(Model(dim=8, value=np.diag(np.arange(1.0, 9)), mask="full"), x)
    inside = np.linalg.qr(x.T)[0]
    assert np.abs(v - v @ inside @ inside.T).max() > 0.1
    v = velocity(Model(dim=8, mask="full"), x)
    assert np.abs(v - v @ inside @ inside.T).max() < 1e-14


def test_few_dimensions_are_left_as_they_are():
    x = start.uniform(5, 3)
    assert flat.to_span(x) is x


@pytest.mark.parametrize("normaliser", ["softmax", "count"])
@pytest.mark.parametrize(("n", "beta"), [(2, 0.0), (32, 1.0), (32, 9.0), (5, 4.0)])
def test_the_curve_is_where_the_closed_form_says(n, beta, normaliser):
    t = flat.together(n, beta, 1e-3, normaliser)
    overlap = theory.equiangular(t, n, beta, normaliser=normaliser)
    assert 1 - float(overlap) == pytest.approx(1e-3, rel=1e-9)
    with pytest.raises(SpecError, match="unknown normaliser"):
        flat.together(n, beta, 1e-3, "sum")


def test_hemispheres_are_found_as_linear_programming_finds_them():
    seen = set()
    for k in range(60):
        generator = np.random.default_rng(k)
        n, d = int(generator.integers(2, 10)), int(generator.integers(2, 5))
        x = to_sphere(generator, (n, d))
        lp = linprog(np.zeros(d), A_ub=-x, b_ub=-np.ones(n), bounds=(None, None))  # <x_i, w> >= 1 for all i
        assert perspective.in_hemisphere(x) == (lp.status == 0)
        seen.add(lp.status == 0)
    assert seen == {True, False}


def test_on_the_circle_a_hemisphere_is_a_gap_of_half_a_turn():
    for k in range(40):
        angles = np.sort(np.random.default_rng(k).uniform(0, 2 * np.pi, 5))
        gap = np.diff(np.append(angles, angles[0] + 2 * np.pi)).max()
        assert perspective.in_hemisphere(circle(angles)) == (gap > np.pi)


def test_a_linear_map_would_not_be_another_law():
    """Why the second law of Wendel's theorem is not a stretched one: the same starts would be in a hemisphere."""
    x = start.uniform(6, 3, runs=200)
    stretched = retract(x * np.array([1.0, 2.0, 4.0]))
    spiky = perspective.sample("spiky", 6, 3, 0, 200)
    plain = [perspective.in_hemisphere(one) for one in x]
    assert [perspective.in_hemisphere(one) for one in stretched] == plain
    assert [perspective.in_hemisphere(one) for one in spiky] != plain


def test_following_ends_where_tokens_have_met_or_rest():
    x = circle(np.array([0.0, 1.0, 2.0]))
    times, frames = perspective.follow(Model(dim=2, mask="full"), x, 1e4)
    assert times[-1] == pytest.approx(20)
    assert perspective.width(frames[-1]) < perspective.HERE
    model = Model(dim=2, mask="full", value=-np.eye(2))
    times, frames = perspective.follow(model, circle(np.array([0.0, 1.0])), 1e4)
    assert times[-1] < 1e4
    assert distance(frames[-1, 0], frames[-1, 1]) == pytest.approx(np.pi, abs=1e-6)


# ---- paper D


def test_separated_starts_have_what_the_theorem_asks():
    for k in range(20):
        w, owner, x, eps, beta, promise = metastability.separated(np.random.default_rng(k), 1e4)
        assert ((x * w[owner]).sum(axis=1) >= 1 - eps - 1e-15).all()
        assert promise.gamma > 0
        assert promise.collapse < promise.escape <= 1.001e4
        nearest = np.arccos(np.clip(w @ w.T, -1, 1))[np.triu_indices(len(w), 1)].min()
        alpha = math.cos(nearest - 2 * math.acos(1 - 2 * eps))
        assert promise.escape == pytest.approx(eps / len(x) * math.exp((1 - alpha) * beta), rel=1e-9)


def test_the_time_to_collapse_is_that_of_the_equation():
    for u, beta, c in ((0.3, 5.0, 1.0), (0.9, 20.0, 0.3), (0.05, 2.0, 3.0)):
        want = metastability.time_to_collapse(u, beta, c)
        close = lambda _, q, b=beta, c=c: q[0] + c * b  # noqa: E731  in log q, q = 1 - u
        close.terminal = True
        law = lambda _, y, b=beta: [-(1 - math.exp(y[0])) * math.exp(-b * math.exp(y[0]))]  # noqa: E731
        found = solve_ivp(law, (0, 10 * want), [math.log(1 - u)], events=close, rtol=1e-10, atol=1e-12)
        assert found.t[-1] == pytest.approx(want, rel=1e-7)
    assert metastability.time_to_collapse(0.9, 2.0, 0.1) == 0  # there from the start


def test_the_staircase_is_the_flow_of_the_model():
    """Path and logarithm of time, against a run in plain time of the model with weights e^(beta (<x, y> - 1)) / n."""
    angles, beta = np.array([0.0, 0.35, 0.9]), 12.0
    first = metastability.stretches(angles, beta, 1e-3)[0]
    chosen = np.flatnonzero(first.log_time > -2)[::20]
    times = np.exp(first.log_time[chosen])
    model = Model(dim=2, beta=beta, mask="full", normaliser="scaled-count")
    run = simulate(model, circle(angles), times[-1], times=times, rtol=1e-11, atol=1e-14)["x"].values
    assert len(chosen) > 5
    assert np.ptp(angle(run)[:, 1]) > 0.05
    # Time is a sum over steps of at most 2e-3 rad of a straight line in log(speed): its error is that squared.
    assert np.abs(angle(run) - first.angles[chosen]).max() < 4 * 2e-3**2
    path = np.linalg.norm(np.diff(first.angles, axis=0), axis=1).sum()
    assert path == pytest.approx(first.path[-1], rel=1e-5)


def test_a_merged_cluster_is_so_many_tokens_at_one_place():
    theta, mass, beta = np.array([0.1, 0.5, 0.8]), np.array([3.0, 1.0, 2.0]), 30.0
    x = circle(np.repeat(theta, mass.astype(int)))
    assert metastability.scaled_energy(theta, mass, beta) == pytest.approx(energy.scaled_energy(x, beta), rel=1e-12)
    v, shift = metastability.scaled_velocity(theta, mass, beta)
    model = Model(dim=2, beta=beta, mask="full", normaliser="scaled-count")
    along = np.stack([-x[:, 1], x[:, 0]], axis=1)
    slow = np.sum(velocity(model, x) * along, axis=1) * len(x)
    assert np.allclose(np.repeat(v * math.exp(shift), mass.astype(int)), slow, rtol=1e-12)


def test_the_energy_only_rises_and_the_sizes_add_up():
    found = metastability.stretches(metastability.ANGLES, 2000.0, 1e-3)
    assert tuple(s.sizes for s in found) == metastability.STEPS
    rise = np.concatenate([s.energy for s in found])
    assert (np.diff(rise) > -1e-9).all()
    assert [metastability.level(s) for s in metastability.STEPS] == pytest.approx([0.2, 0.28, 0.44, 0.52, 1.0])
    assert (np.diff(np.concatenate([s.log_time for s in found[1:]])) >= 0).all()


def test_the_published_start_is_not_well_prepared():
    a = metastability.ANGLES
    assert a == pytest.approx([0, 0.0425, 0.17, 0.3399, 0.5949], abs=5e-5)
    assert a[4] - a[3] < a[3] - a[0]  # token 4 is nearer to token 5 than to the first


# ---- paper E


@pytest.mark.parametrize(("rho", "beta"), [(0.2, 0.0), (0.5, 6.0), (0.9, 40.0)])
def test_the_output_of_a_layer_in_closed_form(rho, beta):
    n = 40
    x = start.equiangular(n, n, rho)
    weight = np.exp(beta * (x @ x.T - 1))
    y = retract(weight @ x / weight.sum(axis=1, keepdims=True))
    own = meanfield.own_weight(beta, rho, math.log(n))
    assert own == pytest.approx(weight[0, 0] / weight[0].sum(), rel=1e-10)
    assert meanfield.mixed(rho, own, n) == pytest.approx(y[0] @ y[1], rel=1e-10)


@pytest.mark.parametrize("kappa", [0.5, 1.9, 4.0])
def test_the_law_of_two_noisy_tokens_by_its_one_angle(kappa):
    """R^2 = (1 + cos a) / 2, a the angle between them, with the density e^{kappa R^2}."""
    whole, square = (
        quad(lambda a, m=m: math.exp(kappa * (1 + math.cos(a)) / 2) * ((1 + math.cos(a)) / 2) ** m, 0, np.pi)[0]
        for m in (0, 1)
    )
    assert meanfield.mean_square(kappa, 2) == pytest.approx(square / whole, rel=1e-6)


def test_the_branch_leaves_zero_at_kappa_2():
    assert meanfield.order_parameter(2.0) == 0
    assert meanfield.order_parameter(1.0) == 0
    near = 1e-4
    # I_1(z)/I_0(z) = z/2 - z^3/16 + ...: R^2 = (kappa - 2) ... at kappa = 2 (1 + e) it is 2 e / 1 + O(e^2)
    assert meanfield.order_parameter(2 + 2 * near) ** 2 == pytest.approx(2 * near, rel=1e-2)
    for kappa in (2.1, 3.0, 20.0, 500.0):
        r = meanfield.order_parameter(kappa)
        whole, along = (
            quad(
                lambda a, m=m, c=kappa * r: math.exp(c * (math.cos(a) - 1)) * math.cos(a) ** m, 0, np.pi, points=[0.1]
            )[0]
            for m in (0, 1)
        )
        assert along / whole == pytest.approx(r, rel=1e-7)


# ---- paper F


@pytest.mark.parametrize("kind", LAYER_NORMS)
def test_the_first_speed_is_that_of_a_short_run(kind):
    norm, n, step = LayerNorm(kind, radius=1.7, alpha=0.6), 5, 1e-6
    x = start.orthonormal(n, n)
    run = simulate(Model(dim=n, beta=1.5, mask="full", layer_norm=norm), x, step, times=[step], rtol=1e-12, atol=1e-15)
    grown = flat.overlaps(run["x"].values[0])
    assert grown / step == pytest.approx(normalization.initial_speed(norm, n, 1.5), rel=1e-4)


def test_clocks_run_at_the_speed_of_the_layer_norm():
    t, h = np.array([0.5, 2.0, 9.0]), 1e-6
    for norm, speed in (
        (LayerNorm("post"), np.ones(3)),
        (LayerNorm("pre"), 1 / t),
        (LayerNorm("sqrt"), 0.5 / np.sqrt(t + 1)),
        (LayerNorm("ngpt", alpha=0.7, decay=0.5), 0.7 / np.sqrt(1 + t)),
    ):
        rate = (normalization.clock(norm, t + h) - normalization.clock(norm, t - h)) / (2 * h)
        assert rate == pytest.approx(speed, rel=1e-6)
    norm = LayerNorm("ngpt", alpha=0.7, decay=0.5)
    rate = (normalization.clock(norm, t + h, True) - normalization.clock(norm, t - h, True)) / (2 * h)
    assert rate == pytest.approx(np.sqrt(1 + t) / 0.7, rel=1e-6)


def test_the_variance_is_the_mean_square_of_pairs():
    x = start.uniform(6, 3)
    pairs = [np.sum((a - b) ** 2) for a in x for b in x]
    assert normalization.variance(x) == pytest.approx(np.mean(pairs) / 2, rel=1e-12)


# ---- figures


def test_the_shares_of_the_phase_diagram_are_counted_over_pairs():
    betas, times = np.array([1.0, 6.0]), np.array([0.0, 3.0, 8.0])
    small = phases.Phases(n_tokens=6, dims=(3, 20), near=0.01, starts=4, rtol=1e-6)
    share = phases.met(small, betas, times)
    assert share.shape == (2, 2, 3)
    for k, d in enumerate((3, 20)):
        x = start.uniform(6, d, seed=0, runs=4)
        for row, beta in enumerate(betas):
            run = simulate(Model(dim=d, beta=beta, mask="full"), x, 8.0, times=times)["x"].values
            for now in range(3):
                count = sum(a @ b >= 0.99 for one in run[:, now] for i, a in enumerate(one) for b in one[:i])
                assert share[k, row, now] == pytest.approx(count / (4 * 15))
    assert share.max() > 0.9
    assert (share[..., 0] == 0).all()


def test_the_phase_diagram_has_a_panel_a_dimension_and_its_curve():
    figure = figures.figure("perspective/3", quick=True, betas=4, frames=16, starts=2)
    panels = [ax for ax in figure.axes if ax.get_title().startswith("$d$")]
    assert [ax.get_title() for ax in panels] == [f"$d$ = {d}" for d in (2, 8, 32, 128, 512, 1024)]
    for ax in panels:
        (curve,) = ax.lines
        t, beta = curve.get_data()
        at = int(np.argmin(np.abs(beta - 4)))
        assert t[at] == pytest.approx(flat.together(32, beta[at]))
    assert "that is -1837 for d = 1024" in figure.caption


def test_the_staircase_has_its_steps_and_its_waits():
    figure = figures.figure("metastability/staircase", quick=True)
    left, middle, right = figure.axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["0.2", "0.28", "0.44", "0.52", "1"]
    run = metastability.stretches(metastability.ANGLES, 64000.0, 1e-3)
    ends = [stretch.log_time[-1] / 64000 for stretch in run[:-1]]
    assert ends == pytest.approx(stairs.waits(run), abs=3e-4)
    assert len(right.lines) == 5 + 4 + 3 + 2
    assert middle.get_xlabel()


def test_noisy_steps_have_the_law_of_another_kappa():
    kappa, n, dt = 1.0, 4, 0.1
    model = Model(dim=2, beta=0.0, mask="full", noise=math.sqrt(2 / kappa))
    run = simulate(
        model, start.uniform(n, 2, seed=1, runs=600), 30.0, times=np.linspace(6, 30, 49), dt=dt,
        reduce={"mean": lambda x: x.mean(axis=0)}, positions=False, seed=2, progress=False,
    )  # fmt: skip
    found = (run["mean"].values ** 2).sum(axis=-1).mean(axis=1)
    error = found.std() / math.sqrt(len(found))
    stepped = meanfield.mean_square(meanfield.of_steps(kappa, dt), n)
    assert abs(found.mean() - stepped) < 4 * error
    assert abs(found.mean() - meanfield.mean_square(kappa, n)) > 5 * error
    assert abs(found.mean() - meanfield.mean_square(kappa + 4 * dt, n)) > 5 * error  # a slack that was a guess


def test_the_kappa_of_steps_is_two_steps_larger_to_first_order():
    for kappa in (0.5, 2.0, 8.0):
        off = [meanfield.of_steps(kappa, dt) - kappa - 2 * dt for dt in (1e-3, 5e-4)]
        assert off[0] / off[1] == pytest.approx(4, rel=0.05)
