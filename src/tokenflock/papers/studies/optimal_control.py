"""Weights of least cost that steer tokens to wanted clusters, or keep them apart: the optimal-control question of B.

`problem` and `steering` hold the problem and the search, `pontryagin` the costate and its checks, `obstructions` the
reasons why some targets cannot be reached. Three facts serve as controls. One token that has to turn by theta in time
T costs at least theta^2 / (2 T), with V = (theta/T) n x' (n the direction of motion, which turns with the token). With
V the only control time can be stretched: T J(T) does not depend on T if the weight of the goal is w/T. And where rest
is zero a path may wait for free, so more time never costs more.
"""

from __future__ import annotations

import importlib
import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.analysis.statistics import Estimate
from tokenflock.geometry import circle
from tokenflock.model import Model
from tokenflock.papers.studies.ledger import Inquiry, Sizes, study
from tokenflock.papers.studies.optimal_control_figure import draw
from tokenflock.papers.studies.optimal_control_starts import several
from tokenflock.papers.studies.targets import lifted, spread_out, wanted_angles

if TYPE_CHECKING:
    from tokenflock.papers.studies.problem import Problem

Case = dict[str, Any]  # what a case has that the first one has not
Cell = dict[str, Any]  # what was found for a case
TURN = 2.0  # radians, of the token alone
MET = 0.3  # a miss smaller than this counts as steered
COLUMNS = (
    *("case", "T", "intervals", "J", "cost", "error", "nothing", "residual", "pointwise", "variation"),
    *("rank", "directions", "steps", "starts_at_best", "reason"),
)


def problem_of(case: Case, s: Sizes, seed: int) -> Problem:
    """The Problem of a case; what it does not say is as in the first one."""
    from tokenflock.papers.studies.problem import CONTROLS, Apart, Problem, Reach

    usual = {"n_tokens": s["n_tokens"], "dim": 2, "T": s["T"], "intervals": s["intervals"], "mask": "full"}
    asked: Case = {**usual, "order": "halves", "controls": CONTROLS, **case}
    n, dim, T = asked["n_tokens"], asked["dim"], asked["T"]
    angles = spread_out(n, seed)
    start = circle(angles) if dim == 2 else lifted(angles, seed)
    target = angles + TURN if n == 1 else wanted_angles(n, asked["order"])
    if case.get("same"):
        start[n // 2] = start[n // 2 - 1]  # one for each cluster
    goal: Reach | Apart = Reach(circle(target) if dim == 2 else lifted(target, seed + 1))
    if case.get("apart"):
        start = circle(0.45 * angles)  # inside a half circle: left alone, all tokens meet
        goal = Apart(float((np.sum(start.sum(axis=0) ** 2) - n) / (n * (n - 1))))
    zero = np.zeros((dim, dim)) if case.get("uniform") else None
    return Problem(
        Model(dim=dim, mask=asked["mask"], query=zero, key=zero),
        start,
        goal,
        t_end=T,
        controls=tuple(asked["controls"]),
        rest="model" if case.get("apart") else "zero",
        intervals=asked["intervals"],
        weight=s["weight"] / T if case.get("stretched") else s["weight"],
        bound=case.get("bound"),
    )


def _steer(generator: np.random.Generator, case: Case, seed: int, s: Sizes) -> Cell:
    """Solve one case; `keep`: also what the figure needs and the checks by differences."""
    from tokenflock.papers.studies.obstructions import least_error, obstruction
    from tokenflock.papers.studies.pontryagin import differences, extremal, reachable
    from tokenflock.papers.studies.problem import Reach
    from tokenflock.papers.studies.steering import solve

    problem = problem_of(case, s, seed)
    effort = {"starts": s["starts"], "rough": s["rough"], "sharp": s["sharp"]}
    best = solve(problem, seed=int(generator.integers(2**31)), **effort)
    found = extremal(problem, best.controls, best.steps)
    rank, directions, _ = reachable(problem, best.z)
    near = int((best.values < 1.05 * best.measured).sum())
    targets = problem.goal.targets if isinstance(problem.goal, Reach) else None
    told = "" if targets is None else obstruction(problem.model, problem.start, targets, problem.controls)
    row = [problem.t_end, problem.intervals, best.measured, best.cost, best.error]
    row += [problem.measured(problem.resting), best.residual, found.pointwise, found.variation]
    result: Cell = {"row": [*row, rank, directions, best.steps, near, told]}
    if targets is not None:
        result["least"] = problem.weight * least_error(problem.model, problem.start, targets)
    if case.get("keep"):
        off = differences(problem, best.z, steps=best.steps, seed=seed)
        forms = np.einsum("khab,khac->khbc", best.controls["query"], best.controls["key"])[:, 0]
        matrices = {"form": forms, "value": best.controls["value"][:, 0]}
        singular = {k: np.linalg.svd(m, compute_uv=False) for k, m in matrices.items()}
        result |= {
            "ranks": {k: (v > 0.01 * v.max()).sum(axis=1) for k, v in singular.items()},
            "differences": [off.gradient, off.costate, off.principle],
            "times": found.times,
            "path": found.path,
            "targets": targets,
            "costate": np.linalg.norm(found.costate, axis=-1),
            "knots": problem.length * np.arange(problem.intervals + 1),
            "form": [[e.real, e.imag] for e in np.linalg.eigvals(forms)],
            "value": [[e.real, e.imag] for e in np.linalg.eigvals(best.controls["value"][:, 0])],
        }
    return result


def cases_of(s: Sizes) -> dict[str, Case]:
    """Every case of the study."""
    small = {"n_tokens": s["n_small"], "intervals": s["n_intervals"]}
    found: dict[str, Case] = {"two clusters": {"keep": True}}
    found |= {f"T = {T:g}": {**small, "T": T} for T in s["ends"]}
    found |= {f"{k} intervals": {**small, "intervals": k} for k in s["finer"]}
    found |= {
        f"V alone, T = {T:g}": {**small, "T": T, "controls": ("value",), "stretched": True} for T in s["ends"][:2]
    }
    alone = {"n_tokens": 1, "controls": ("value",)}
    found |= {f"one token, {k} intervals": {**alone, "intervals": k} for k in s["turns"]}
    found |= {
        "uniform attention": {**small, "controls": ("value",), "uniform": True},
        "two tokens at one place": {**small, "same": True},
        "turns, full": {**small, "order": "turns"},
        "turns, causal": {**small, "order": "turns", "mask": "causal"},
        "turns, sphere": {**small, "order": "turns", "dim": 3, "keep": True},
        "kept apart": {**small, "apart": True, "T": s["T_apart"]},
        "bounded": {**small, "bound": s["bound"]},
    }
    return found


def _lone_turn(T: float, weight: float) -> float:
    """J of one token if V is free at every time: the least a^2 / (2 T) + weight (1 - cos(TURN - a)) over a."""
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda a: a * a / (2 * T) + weight * (1 - math.cos(TURN - a)), bounds=(0, TURN), method="bounded"
    )
    return float(best.fun)


@study(
    "optimal-control",
    source="B, outlook (weights characterised by optimal control); A, limitations (weights that vary with time)",
    question="Which Q(t), K(t), V(t) of least cost steer tokens to wanted clusters, or keep them apart until a given "
    "time?",
    method="Tokens on the circle (and on S^2), beta = 1; (Q, K, V) constant on equal intervals of [0, T]; the cost is "
    "half the integral of |Q|^2 + |K|^2 + |V|^2 (for tokens to be kept apart: of the distance from Q = K = V = I) plus "
    "weight times the squared error at T. From many random controls Levenberg and Marquardt's method, then Newton's; "
    "gradients by reverse through the steps. Every J is measured again with flock.simulate, and steps are made finer "
    "until both agree. Reported: the relative residual of the mean of dH/du over intervals (which the search makes "
    "zero), the pointwise one (what piecewise constant controls leave), the spread of H between intervals (0 for an "
    "optimal control), the rank of dx(T)/du, and the exact reason where targets are out of reach. Gradient and costate "
    "are checked by differences of flock.simulate. What times and intervals cost is measured from several starts of "
    "the tokens, each by several searches from random controls of their own: intervals are over the starts.",
    sizes={
        "n_tokens": 6,
        "intervals": 6,
        "n_small": 4,
        "n_intervals": 4,
        "T": 2.0,
        "weight": 100.0,
        "ends": (1.0, 2.0, 4.0),
        "finer": (1, 2, 4, 8),
        "turns": (2, 4, 8),
        "T_apart": 4.0,
        "bound": 1.5,
        "starts": 12,
        "rough": 100,
        "sharp": 50,
        "problems": 8,
        "searches": 2,
    },
    quick={
        "n_tokens": 4,
        "intervals": 2,
        "n_intervals": 2,
        "ends": (1.0, 2.0),
        "finer": (1, 2),
        "turns": (2, 4),
        "starts": 4,
        "rough": 50,
        "sharp": 30,
        "problems": 2,
        "searches": 2,
    },
    draw=draw,
)
def optimal_control(work: Inquiry, **s: Any) -> None:
    """Every case, what is known beforehand, and the sentence."""
    importlib.import_module("tokenflock.flow")  # without torch it says what to install, before any work
    cases = cases_of(s)
    whole = {"n_tokens": s["n_tokens"], "intervals": s["intervals"], "T": s["T"]}
    alike = {name: json.dumps({**whole, **case, "keep": 0}, sort_keys=True) for name, case in cases.items()}
    first = {key: name for name, key in reversed(alike.items())}  # what is asked twice is solved once
    once = work.each({k: (case, work.seed, s) for k, case in cases.items() if k == first[alike[k]]}, _steer)
    found = {name: once[first[key]] for name, key in alike.items()}
    found = {name: {**cell, "row": [name, *cell["row"]]} for name, cell in found.items()}
    rows = {name: cell["row"] for name, cell in found.items()}
    work.table("cases", COLUMNS, list(rows.values()), "J, error: by flock.simulate; residual, pointwise: |dH/du| / |u|")
    main, ball = found["two clusters"], found["turns, sphere"]
    _keep_path(work, "path", main)
    _keep_path(work, "path on the sphere", ball)
    times = main["times"]
    norms = [[t, k, p] for t, now in zip(times, main["costate"], strict=True) for k, p in enumerate(now)]
    work.table("costate", ("t", "token", "norm"), norms)
    knots = main["knots"]
    spectra = [
        [which, knots[i], knots[i + 1], k, re, im]
        for which in ("form", "value")
        for i, (reals, imags) in enumerate(main[which])
        for k, (re, im) in enumerate(sorted(zip(reals, imags, strict=True)))
    ]
    work.table("eigenvalues", ("matrix", "begin", "end", "index", "re", "im"), spectra)
    _known(work, found, s)
    _say(work, rows, main, s, several(work, s, problem_of))


def _keep_path(work: Inquiry, name: str, cell: Cell) -> None:
    path = np.array(cell["path"])
    rows = [[t, k, *x] for t, now in zip(cell["times"], path, strict=True) for k, x in enumerate(now)]
    work.table(name, ("t", "token", "x", "y", "z")[: 2 + path.shape[-1]], rows)


def _known(work: Inquiry, found: dict[str, Cell], s: Sizes) -> None:
    """The controls of the study: what must come out."""
    rows = {name: cell["row"] for name, cell in found.items()}
    gradient, costate, principle = found["two clusters"]["differences"]
    ok = gradient < 1e-5 and costate < 1e-5 and principle < 1e-3
    work.control(
        "gradient, costate and dH/du by differences",
        ok,
        f"relative errors {gradient:.0e}, {costate:.0e}, {principle:.0e}",
    )
    alone = [rows[f"V alone, T = {T:g}"] for T in s["ends"][:2]]
    law = [row[1] * row[3] for row in alone]
    off = abs(law[1] / law[0] - 1)
    work.control("V alone: T J(T) is constant", off < 1e-4, f"T J = {law[0]:.6g} and {law[1]:.6g}")
    least = _lone_turn(s["T"], s["weight"])
    over = [rows[f"one token, {k} intervals"][3] / least - 1 for k in s["turns"]]
    ratio = over[-2] / over[-1]
    work.control(
        "one token: theta^2 / (2 T) from above, at the rate of 1 / intervals^2",
        all(o > -1e-6 for o in over) and 3.0 < ratio < 5.0,
        f"{', '.join(f'{o:.1%}' for o in over)} above it; ratio of the last two {ratio:.2f}",
    )
    idle = [row for row in rows.values() if not row[0].startswith("two tokens")]
    work.control(
        "doing nothing is worse",
        all(r[3] < r[6] for r in idle),
        f"by a factor of {min(r[6] / r[3] for r in idle):.1f} at least",
    )
    cell = found["two tokens at one place"]
    work.control(
        "tokens at one place cannot be parted",
        cell["row"][3] >= cell["least"] * (1 - 1e-9) and cell["row"][10] < cell["row"][11] and cell["row"][14] != "",
        f"J = {cell['row'][3]:.4g}, never below {cell['least']:.4g}; rank {cell['row'][10]} of {cell['row'][11]}",
    )
    uniform = rows["uniform attention"]
    work.control(
        "uniform attention moves by Moebius maps",
        uniform[10] <= 3 and uniform[14] != "",
        f"rank {uniform[10]} of {uniform[11]}",
    )


def _say(work: Inquiry, rows: dict[str, list[Any]], kept: Cell, s: Sizes, over_starts: str) -> None:
    differences, ranks = kept["differences"], kept["ranks"]
    main, apart, uniform = rows["two clusters"], rows["kept apart"], rows["uniform attention"]
    ends = [rows[f"T = {T:g}"] for T in s["ends"]]
    finer = [rows[f"{k} intervals"] for k in s["finer"]]
    work.number("J, two clusters", Estimate(*[main[3]] * 3), 1, note=f"doing nothing: {main[6]:.4g}")
    work.number("optimality residual, two clusters", Estimate(*[main[7]] * 3), 1)
    off = s["T_apart"]  # V = 0 from I for d = 2: |V - I|^2 / 2 = 1
    work.number(
        "cost of keeping apart", Estimate(*[apart[4]] * 3), 1, note=f"switching V off for all time costs {off:g}"
    )
    fell = all(b[3] <= a[3] * (1 + 1e-6) for a, b in pairwise(ends))
    work.control("more time costs no more", fell, ", ".join(f"J({r[1]:g}) = {r[3]:.4g}" for r in ends))
    work.surprise(
        "A search is only as honest as its steps: with two steps an interval it finds controls that fool the scheme. "
        f"Here {sum(row[12] > 2 for row in rows.values())} of {len(rows)} cases had to go on with finer ones before "
        "flock.simulate agreed."
    )
    idle, thin = ranks["form"].count(0), ranks["form"].count(1)
    work.surprise(
        "The least |Q|^2 + |K|^2 for a given Q'K is twice its nuclear norm, and a nuclear norm likes low rank: of "
        f"{main[2]} intervals the best Q'K is zero in {idle} (uniform attention) and of rank one in {thin}, counting "
        f"singular values above 1 % of the largest; V has rank one in {ranks['value'].count(1)}."
        + (" Attention is switched on and off." if idle else "")
    )
    free, blocked = ([row for row in rows.values() if bool(row[14]) == told] for told in (False, True))
    met, wrong = (sum(row[5] < MET for row in some) for some in (free, blocked))
    full, causal, ball = (rows[f"turns, {name}"] for name in ("full", "causal", "sphere"))
    work.answer(
        f"In {met} of {len(free)} cases without an exact obstruction weights were found that bring every token within "
        f"{MET:g} of its target, and in {len(blocked) - wrong} of {len(blocked)} with one none. Two clusters of "
        f"{s['n_tokens']} tokens cost J = {main[3]:.3g} against {main[6]:.3g} for doing nothing, with a largest miss "
        f"of {main[5]:.2g}, an optimality residual of {main[7]:.0e}, and a costate that differences confirm to "
        f"{differences[1]:.0e}. They use attention and values together: V alone with uniform attention has rank "
        f"{uniform[10]} of {uniform[11]}. What cannot be done: to part tokens that start together, and, on "
        f"the circle with full attention, to change their order (J = {full[3]:.3g}; causal {causal[3]:.3g}, on S^2 "
        f"{ball[3]:.3g}). {over_starts}",
        "Existence is open: f is not affine in (Q, K), so ever faster switching might cost less than any measurable "
        "control; a J that kept falling with the number of intervals would show it. H is not yet constant (it differs "
        f"by {finer[-1][9]:.0%} of the cost a unit of time between {finer[-1][2]} intervals): free times of switching "
        "may lower J further. Minima are local: how far two searches differ is told above, and nothing bounds J from "
        "below but the case of one token. Other costs (of changes in time, or of Q'K itself), many tokens, or trained "
        "weights as the rest were not tried.",
    )
