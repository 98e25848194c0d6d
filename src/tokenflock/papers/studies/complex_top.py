"""V with a complex leading pair: clusters that turn together.

On the circle take V = I + tan(a) J, J the quarter turn: eigenvalues 1 +- i tan(a), so that the pull of a cluster on its
own tokens has rate 1 whatever the angle a is. Every token turns at the rate tan(a); in the frame that turns with them

    y_i' = P_{y_i} sum_j A_ij (y_j + tan(a) J (y_j - y_i)),

which is the model itself with the linear feed-forward -tan(a) J. A token that sees m tokens of a cluster at the signed
angle p (0 < p < 2 pi) and itself has p' = -m w (sin p - tan(a) (1 - cos p)) / (1 + m w), w = e^{beta (cos p - 1)}.
The weight, and with it the exponent of the waiting time, is that of real V. The bracket is not: it vanishes at
p = pi - 2 a, so that a cluster at pi - 2a < p < pi goes the long way round, past the antipode.

All this holds for Q'K = I + b J too, which commutes with J. Up to a rotation of the plane, which V does not see, and a
factor, every other Q'K is I + b J + e diag(1, -1): two numbers are all forms, and e = 0 are those that commute.

There are two clocks. With Re lambda = 1 a step of t = 1 is what a cluster needs to pull its own tokens together; but
|lambda| = 1 / cos(a) is the size of V, 11.5 at 85 degrees, and a V of size 1 is that much slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters
from tokenflock.analysis.statistics import Estimate, bootstrap, interval, wilson
from tokenflock.geometry import Array, circle, distance
from tokenflock.model import Model
from tokenflock.options import FeedForward
from tokenflock.papers.layout import panels
from tokenflock.papers.merge_time import arrival
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, study
from tokenflock.simulation import simulate
from tokenflock.start import uniform

J = np.array([[0.0, -1.0], [1.0, 0.0]])
NEAR = 0.1  # radians: a token this close to x_1 has arrived
FRAMES = 121


def turning(
    beta: float, angle: float, moving: bool = True, stretch: float = 0.0, dim: int = 2, twist: float = 0.0
) -> Model:
    """V = I + tan(angle) J on the first plane, 0 on the other directions; moving: in the frame that turns with it.

    Q'K = I + twist J + stretch diag(1, -1) on that plane, I on the other directions.
    """
    rate, inside = math.tan(math.radians(angle)), np.zeros((dim, dim))
    inside[:2, :2] = rate * J
    against = FeedForward(w=-inside, activation="linear") if moving and rate else None
    form = np.eye(dim)
    form[:2, :2] += twist * J + np.diag([stretch, -stretch])
    value = np.diag([1.0, 1.0] + [0.0] * (dim - 2)) + inside
    return Model(dim=dim, beta=beta, value=value, key=form if stretch or twist else None, feedforward=against)


def waiting_time(p: float, angle: float, beta: float, m: int) -> float:
    """The time from the signed angle p to within NEAR of the cluster of m tokens, by the quadrature above."""
    from scipy.integrate import quad

    rate = math.tan(math.radians(angle))

    def slowness(u: float) -> float:
        pull = math.sin(u) - rate * (1 - math.cos(u))
        return (1 + math.exp(beta * (1 - math.cos(u))) / m) / abs(pull)

    turn = math.pi - 2 * math.radians(angle)
    low, high = (NEAR, p) if p < turn else (p, 2 * math.pi - NEAR)
    middle = [math.pi] if low < math.pi < high else None
    return quad(slowness, low, high, epsrel=1e-9, limit=500, points=middle)[0] if low < high else 0.0


def gathered(model: Model, start: Array, ends: tuple[float, ...]) -> Array:
    """When all tokens of every run have come within NEAR of the first for good; nan if not by the last end.

    Stage by stage: only runs that are not done go on to the next end.
    """
    took, left = np.full(len(start), np.nan), np.arange(len(start))
    for end in ends:
        times = np.concatenate([[0.0], np.geomspace(0.05, end, FRAMES)])
        x = simulate(model, start[left], end, times=times, progress=False)["x"].values
        gap = distance(x, x[:, :, :1]).max(axis=2)
        took[left] = [arrival(times, g, NEAR) for g in gap]
        left = left[np.isnan(took[left])]
        if not left.size:
            break
    return took


def _plateau(
    _: np.random.Generator, angle: float, stretch: float, twist: float, factor: int, dim: int, seed: int, s: Sizes
) -> dict[str, Any]:
    """Clusters at t, 2 t, 4 t and t cos(angle), where |lambda| t is that of real V; how far tokens move from t to 2 t.

    The starts are the same at every angle.
    """
    beta, t = s["beta"] * factor**2, s["t_plateau"]
    start = uniform(s["n_tokens"] * factor, dim, seed=seed, runs=s["runs"])
    # If Q'K commutes with J the turning frame is exact. Otherwise logits depend on where the pair stands: as it is.
    model = turning(beta, angle, stretch == 0, stretch, dim, twist)
    wanted = [t, 2 * t, 4 * t, t * math.cos(math.radians(angle))]
    times = sorted(set(wanted))
    x = simulate(model, start, times[-1], times=times, progress=False)["x"].values
    at = [times.index(time) for time in wanted]
    counts = clusters.count(x, 0.25 / math.sqrt(beta))[:, at]
    moved = math.nan if stretch else np.median(distance(x[:, at[0]], x[:, at[1]])) * math.sqrt(beta)
    return {"counts": counts, "moved": float(moved)}


def _pairs(generator: np.random.Generator, angle: float, s: Sizes) -> list[list[float]]:
    """Two clusters at every signed angle: the measured waiting time and its quadrature."""
    rows = []
    for p in s["gaps"]:
        if abs(p - (math.pi - 2 * math.radians(angle))) < 0.05:
            continue  # at the turning point the time is infinite
        exact = waiting_time(p, angle, s["beta_pairs"], 4)
        model, start = turning(s["beta_pairs"], angle), circle(np.array([p] * 4 + [0.0] * 2))[None]
        end = 1.5 * exact + 10
        times = np.union1d(np.linspace(0, end, 20), exact * np.linspace(0.9, 1.1, 81))
        x = simulate(model, start, end, times=times, rtol=1e-8, atol=1e-11, progress=False)["x"].values[0]
        rows.append([p, arrival(times, distance(x[:, 4], x[:, 0]), NEAR), exact])
    return rows


def _lifetimes(generator: np.random.Generator, angles: tuple[float, ...], s: Sizes) -> dict[str, Any]:
    """The same uniform starts at every angle: when all have gathered, and whether token 2 goes the long way."""
    start = uniform(s["n_life"], 2, seed=int(generator.integers(2**31)), runs=s["runs_life"])
    return {f"{a:g}": gathered(turning(s["beta_life"], a), start, s["ends"]) for a in angles}


def _frame_error(generator: np.random.Generator, angle: float) -> float:
    """The turning frame against the run as it stands, at t = 5."""
    start = uniform(20, 2, seed=int(generator.integers(2**31)))
    moving, still = (
        simulate(turning(9.0, angle, m), start, 5.0, times=[5.0], rtol=1e-9, atol=1e-12, progress=False)["x"].values[0]
        for m in (True, False)
    )
    turn = 5.0 * math.tan(math.radians(angle))
    R = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    return float(distance(moving @ R.T, still).max())


def _draw(answer: Answer) -> plot.Figure:
    plateau, pairs, life = (answer.table(name) for name in ("plateau", "pairs", "lifetimes"))
    blue, red, grey = plot.COLOURS["blue"], plot.COLOURS["red"], plot.COLOURS["grey"]
    figure, axes = panels(3)
    looks = dict.fromkeys(zip(plateau["d"], plateau["stretch"], plateau["twist"], plateau["beta"], strict=True))
    for k, (d, stretch, twist, beta) in enumerate(looks):
        rows = plateau.where(d=d, stretch=stretch, twist=twist, beta=beta)
        label = f"$e$ = {stretch:g}, $b$ = {twist:g}, $d$ = {d}, $\\beta$ = {beta:g}"
        colour = plot.COLOURS["blue"] if not stretch else plot.shades(len(looks) + 2)[k]
        rows.points(axes[0], "angle", "clusters", label=label, color=colour, fmt="o:" if twist else "o-")
    axes[0].set(xlabel="angle of $\\lambda_{max}$ (degrees)", ylabel="clusters on the plateau", ylim=(0, None))
    axes[0].legend(fontsize=5, title="$Q^TK = I + bJ + e$ diag(1, -1)", title_fontsize=5)
    for k, angle in enumerate(sorted(set(pairs["angle"]))):
        rows = pairs.where(angle=angle)
        colour = plot.shades(len(set(pairs["angle"])) + 1)[k]
        order = np.argsort(rows["gap"])
        axes[1].plot(rows["gap"][order], rows["exact"][order], lw=0.8, color=colour)
        axes[1].plot(rows["gap"], rows["measured"], "o", ms=2.5, color=colour, label=f"{angle:g}°")
    axes[1].set(yscale="log", xlabel="signed angle $p$ between clusters", ylabel="waiting time")
    axes[1].legend(title="angle", ncols=2, fontsize=6, loc="lower center")
    life.points(axes[2], "angle", "ratio", fmt="o", ms=3.5, color=blue, label="all tokens")
    axes[2].plot(life["angle"], life["two_tokens"], "-", color=red, label="two tokens, exact")
    axes[2].plot(life["angle"], life["clock"], "s", ms=3, color=plot.COLOURS["orange"], label="all, by $|\\lambda|t$")
    axes[2].axhline(1, color=grey, lw=0.6)
    axes[2].set(yscale="log", xlabel="angle (degrees)", ylabel="time to one cluster / that of real $V$")
    axes[2].set_yticks([0.3, 0.5, 1, 2, 4], ["0.3", "0.5", "1", "2", "4"])
    axes[2].minorticks_off()
    axes[2].legend()
    return figure


@study(
    "complex-top",
    source="A, section 4 (the atlas leaves complex lambda_max out) and Lemma 3.1; B, outlook",
    question="V with a complex leading pair: do metastable clusters persist in the turning frame, for which angles, "
    "and how do their lifetimes compare with those of real V?",
    method="Causal attention on the circle, Q = K = I, V = I + tan(a) J, in the frame that turns with the first "
    "token (checked against the plain run). (a) Clusters at t, 2t and 4t at large beta, with Q'K = I + b J + e diag(1, "
    "-1), which is every form in the plane up to a rotation and a factor, and commutes with V if e = 0; and at t "
    "cos(a), where |lambda| t is that of real V. (b) Two clusters at every signed angle, against an exact quadrature. "
    "(c) The time to one cluster of uniform starts at small beta, as a ratio to that of the same start at a = 0, in t "
    "and in |lambda| t: geometric mean with a bootstrap interval.",
    sizes={
        "angles": (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 85.0),
        "forms": ((0.0, 0.5), (0.1, 0.0), (0.3, 0.0), (0.6, 0.0), (0.3, 0.5)),  # (e, b), beside Q'K = I
        "factors": (1, 2),  # beta times the square, tokens times the factor, for the first form that does not commute
        "angles_bent": (0.0, 15.0, 30.0, 45.0, 60.0, 75.0),
        "n_tokens": 120,
        "beta": 64.0,
        "t_plateau": 50.0,
        "dim": 4,
        "runs": 24,
        "beta_pairs": 4.0,
        "gaps": tuple(np.linspace(0.4, 5.9, 12).round(3).tolist()),
        "n_life": 12,
        "beta_life": 3.0,
        "runs_life": 100,
        "ends": (300.0, 3e3, 3e4),
    },
    quick={
        "angles": (0.0, 30.0, 60.0),
        "forms": ((0.0, 0.5), (0.3, 0.0)),
        "angles_bent": (0.0, 30.0),
        "n_tokens": 40,
        "runs": 6,
        "gaps": (0.8, 2.0, 3.0),
        "n_life": 5,
        "beta_life": 1.5,
        "runs_life": 20,
        "ends": (100.0, 1e3),
    },
    draw=_draw,
)
def complex_top(work: Inquiry, **s: Any) -> None:
    """Plateaus, pairs and lifetimes over the angle."""
    angles = tuple(s["angles"])
    sharper = [(s["forms"][_bent(s)], f) for f in s["factors"][1:]]
    grids = [(0.0, 0.0, 1, 2), *((e, b, 1, 2) for e, b in s["forms"])]
    grids += [*((e, b, f, 2) for (e, b), f in sharper), (0.0, 0.0, 1, s["dim"])]
    # Where the frame does not help, every turn costs steps: not up to the steepest angles.
    cells = [(*grid, a) for grid in grids for a in (s["angles_bent"] if grid[0] else angles)]
    cases = {f"plateau, {(e, b, f, d, a)}": (a, e, b, f, d, work.seed, s) for e, b, f, d, a in cells}
    found = work.each(cases, _plateau)
    rows = []
    for e, b, f, d, a in cells:
        cell = found[f"plateau, {(e, b, f, d, a)}"]
        counts, real = (np.array(found[f"plateau, {(e, b, f, d, angle)}"]["counts"]) for angle in (a, 0.0))
        later = counts[:, 1:].mean(axis=0).tolist()
        less = interval(counts[:, 0] - real[:, 0])
        rows.append([d, a, e, b, s["beta"] * f**2, *interval(counts[:, 0]), *less, *later, cell["moved"]])
    columns = "d angle stretch twist beta clusters low high more more_low more_high at_2t at_4t by_clock moved".split()
    note = (
        "stretch e, twist b; more: than at angle 0, same starts; by_clock: at t cos(angle); moved: median from t to "
        "2 t in units of beta^(-1/2)"
    )
    plateau = work.table("plateau", columns, rows, note)
    pairs = work.each({f"pairs, {a:g}": (a, s) for a in angles}, _pairs)
    rows = [[a, *row] for a in angles for row in pairs[f"pairs, {a:g}"]]
    work.table("pairs", ("angle", "gap", "measured", "exact"), rows, f"beta = {s['beta_pairs']:g}, 4 tokens at x_1")
    off = float(np.max([abs(math.log(row[2] / row[3])) for row in rows]))  # nan if one never came: then it fails
    work.control("waiting times follow the quadrature", off < 0.01, f"largest log ratio {off:.1e}")
    error = work.each({"frame": (max(angles),)}, _frame_error)["frame"]
    work.control("the turning frame is the same run", error < 1e-6, f"{error:.1e} rad apart at t = 5")
    life = _ratios(work, angles, s)
    _say(work, plateau, life, s)


def _bent(s: Sizes) -> int:
    """Which of the forms is the middle one of those that do not commute with the rotation and have no J in them."""
    plain = [k for k, (e, b) in enumerate(s["forms"]) if e and not b]
    return plain[len(plain) // 2]


def _ratios(work: Inquiry, angles: tuple[float, ...], s: Sizes) -> Table:
    """Paired ratios of the time to one cluster, and what two tokens alone would give."""
    took = work.each({"lifetimes": (angles, s)}, _lifetimes)["lifetimes"]
    real = np.array(took["0"], dtype=float)
    gaps = np.linspace(0, 2 * np.pi, 402)[1:-1]
    base = np.array([waiting_time(p, 0.0, s["beta_life"], 1) for p in gaps])
    rows = []
    for a in angles:
        mine = np.array(took[f"{a:g}"], dtype=float)
        both = np.isfinite(real) & np.isfinite(mine) & (real > 0) & (mine > 0)
        logs = np.log(mine[both] / real[both])
        mean = bootstrap(logs, lambda v: float(np.mean(v)))
        turn = np.pi - 2 * math.radians(a)
        usable = np.abs(gaps - turn) > 1e-3
        alone = np.array([waiting_time(p, a, s["beta_life"], 1) for p in gaps[usable]])
        pair = np.exp(np.mean(np.log(np.maximum(alone, 1e-2) / np.maximum(base[usable], 1e-2))))
        lost = wilson(int(np.isnan(mine).sum()), len(mine))
        size = 1 / math.cos(math.radians(a))
        rows.append(
            [a, *np.exp(mean), float(pair), int(both.sum()), lost.value, lost.high, float(size * np.exp(mean[0]))]
        )
    columns = ("angle", "ratio", "low", "high", "two_tokens", "starts", "not_gathered", "not_gathered_high", "clock")
    return work.table("lifetimes", columns, rows, f"beta = {s['beta_life']:g}, n = {s['n_life']}, paired with a = 0")


def _say(work: Inquiry, plateau: Table, life: Table, s: Sizes) -> None:
    stretch, factor = s["forms"][_bent(s)][0], s["factors"][-1]
    plain, bent, sharp, high = (
        plateau.where(stretch=e, twist=0.0, beta=s["beta"] * f**2, d=d)
        for e, f, d in ((0.0, 1, 2), (stretch, 1, 2), (stretch, factor, 2), (0.0, 1, s["dim"]))
    )
    twisted = [plateau.where(stretch=0.0, twist=b, d=2).rows for e, b in s["forms"] if not e]
    for row in (*plain.rows[1:], *high.rows[1:], *(row for rows in twisted for row in rows[1:])):
        name = f"clusters more than real V, {row[1]:g} degrees, d = {row[0]}" + (f", b = {row[3]:g}" if row[3] else "")
        work.number(name, Estimate(*row[8:11]), s["runs"], 0.0)
    for row in life.rows[1:]:
        note = f"predicted: two tokens alone, exact; by |lambda| t {row[8]:.3g}"
        work.number(f"lifetime ratio, {row[0]:g} degrees", Estimate(*row[1:4]), row[5], row[4], note)
    worst = float(max(plain["moved"].max(), high["moved"].max()))
    work.control("clusters stand still in the turning frame", worst < 0.5, f"moved {worst:.1e} beta^(-1/2) at most")
    end, above, last = plain.rows[-1], high.rows[-1], life.rows[-1]
    work.surprise(
        "Two clusters at a signed angle between pi - 2a and pi do not take the short way: they pass the antipode, and "
        f"wait as long as e^(2 beta). At {s['angles'][-1]:g} degrees that is nearly every cluster on one side."
    )
    work.surprise(
        f"With Q'K = diag({1 + stretch:g}, {1 - stretch:g}) a turning run keeps {bent.rows[-1][5]:.1f} clusters at "
        f"{bent.rows[-1][1]:g} degrees where real V keeps {bent.rows[0][5]:.1f}, and {factor**2} times the beta "
        f"({factor} times the tokens) changes that to {sharp.rows[-1][5]:.1f} and {sharp.rows[0][5]:.1f}: every turn "
        "brings pairs to a place where they attract each other. Those that are left wait: "
        f"{bent.rows[-1][5]:.1f}, {bent.rows[-1][11]:.1f} and {bent.rows[-1][12]:.1f} at t, 2t and 4t."
    )
    lost = life["not_gathered"].max()
    rest = "every start gathered" if lost == 0 else f"up to {lost:.0%} of starts had not gathered"
    others = plateau.where(d=2, beta=s["beta"]).rows
    fewer = [row for row in others if row[2] and row[1]]
    down = [row for row in fewer if row[10] < 0]
    kept = [row for row in (*plain.rows, *high.rows, *(row for rows in twisted for row in rows)) if row[1]]
    bad, widest = sum(row[10] < 0 for row in kept), max((row[1] for row in fewer), default=0.0)
    work.answer(
        f"For every form that commutes with the rotation (Q'K = I + b J), yes, up to {end[1]:g} degrees: fewer "
        f"clusters than with real V in {bad} of {len(kept)} cases; at {end[1]:g} degrees and Q'K = I there are "
        f"{end[5]:.2f} against {plain.rows[0][5]:.2f} (difference {Estimate(*end[8:11])}, same starts; beside lower "
        f"real directions, d = {s['dim']}: {Estimate(*above[8:11])}), standing still in the turning frame. Forms that "
        f"do not commute have a plateau too, with fewer clusters in {len(down)} of {len(fewer)} cases (e of "
        f"{_least_and_most(row[2] for row in fewer)}, angles to {widest:g} degrees). Waiting times "
        f"keep the exponent beta (1 - cos p) of real V. The time to one cluster at {last[0]:g} degrees is "
        f"{Estimate(*last[1:4])} times that of real V in units of 1/Re lambda, and {last[8]:.3g} times in units of "
        f"1/|lambda| ({rest}): which V is slower is a matter of the clock.",
        "A complex pair beside real directions of nearly the same real part (here they lie 1 below), weights whose "
        "rotation is not a rotation of the tokens (V not normal), or forms of d > 2 that mix the plane with the rest.",
    )


def _least_and_most(values: Iterable[float]) -> str:
    found = sorted(values) or [0.0]
    return f"{found[0]:g} to {found[-1]:g}"
