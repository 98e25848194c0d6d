"""Paper B: attention becomes Boolean. In d = 1 a theorem (2.1), in more dimensions the open question (B.2)."""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenflock import plot
from tokenflock.analysis import attention
from tokenflock.engine.boolean import settle
from tokenflock.geometry import Array
from tokenflock.model import Model
from tokenflock.papers import layout
from tokenflock.papers.claims.emergence.runs import FOR_GOOD, follow, off_along, off_rows, rescaled
from tokenflock.papers.claims.ledger import Check, Trial, claim

FAR = 1e-6  # a matrix this near to PP is taken to be there: the rest falls doubly exponentially
STARTS = {"both signs": (-1.0, 1.0), "wide": (-5.0, 5.0), "one sign": (0.1, 1.0)}
DIMS = (2, 4, 8, 16)


@claim(
    "emergence/theorem-2.1",
    kind="theorem",
    statement="d = 1, V > 0, QK > 0, distinct tokens: P(t) tends to a matrix of PP, in which each row is e_a or e_b "
    "but for one free row; for almost every start it has rank 1 or 2. The rows of escaping tokens do so doubly "
    "exponentially, |P_ij - delta| <= exp(-c e^{Vt}). (-u, 0, u) keeps the row (1/3, 1/3, 1/3): rank 3.",
    hypotheses=("d = 1", "V > 0", "QK > 0", "the tokens are distinct"),
    trial="3 to 24 uniform tokens in [-1, 1], [-5, 5] or [0.1, 1], V of 0.5 to 2, QK of 0.25 to 4, to V t = 20. The "
    "example of rank 3 by its scalar equation u' = u (e^{u^2} - e^{-u^2}) / (e^{u^2} + 1 + e^{-u^2}): a run cannot "
    "stay on it, since its roundings grow doubly exponentially too.",
    measured="the distance of P to PP at the end, and the slope of log(-log(1 - max_j P_ij)) against V t",
    rule="distance below 1e-6, rank 1 or 2, the leaders are the least and the largest token; slope above 0.9 from "
    "1e-8 to 1e-200. The example: rank 3, and the run agrees with the equation to 1e-6 up to t = 2",
    sizes={"trials": 40},
    quick={"trials": 12},
)
def theorem_2_1(check: Check, value: float = 1.0, query: float = 1.0, distinct: bool = True) -> None:
    """value, query: factors of V and Q. distinct=False: the largest token is there twice."""
    curves: list[tuple[Array, Array]] = []

    def one(generator: np.random.Generator, interval: tuple[float, float], slope: bool) -> Trial:
        n = int(generator.integers(3, 25))
        V, form = value * generator.uniform(0.5, 2), query * 4 ** generator.uniform(-1, 1)
        x = generator.uniform(*interval, (n, 1)) / np.sqrt(abs(form))
        if not distinct:
            x[x.argmin()] = x.max()
        model = rescaled(1, query=[[form]], value=[[V]])
        times = np.linspace(0, 20, 161 if slope else 2) / abs(V)
        z = follow(model, x, times)
        if z is None:
            return Trial(None, np.inf, "not followed to the end.")
        if slope:
            curves.append((times * abs(V), off_along(model, z, times)))
            return _pace(*curves[-1])
        found = attention.boolean_distance(attention.matrix(model, z[-1], times[-1]))
        leaders = {found.a, found.b} <= {int(x.argmin()), int(x.argmax())}
        ok = found.distance < FAR and found.rank_if_boolean <= 2 and leaders
        return Trial(ok, found.distance, "" if ok else f"rank {found.rank_if_boolean}, leaders {found.a}, {found.b}.")

    for case, interval in STARTS.items():
        check.each(f"distance to PP, {case}", partial(one, interval=interval, slope=False), FAR)
        check.each(f"slope, {case}", partial(one, interval=interval, slope=True), 0.9, ">")
    check.each("rank 3, (-u, 0, u)", _rank_three, FAR, trials=1)
    check.draw = lambda: _draw_rates(curves)


def _pace(t: Array, off: Array) -> Trial:
    """The slope of log(-log off) where off is small and still a number."""
    used = (off < 1e-8) & (off > 1e-200)
    if used.sum() < 5:
        return Trial(False, 0.0, "no row becomes Boolean at that pace.")
    slope = float(np.polyfit(t[used], np.log(-np.log(off[used])), 1)[0])
    return Trial(slope > 0.9, slope)


def three(u0: float, times: Array) -> Array:
    """u(t) of the start (-u, 0, u) in d = 1, Q = K = V = 1, by its scalar equation for log u."""
    from scipy.integrate import solve_ivp

    def rate(_: float, w: Array) -> Array:
        e = np.exp(-np.exp(2 * w))  # e^{-u^2}
        return np.asarray((1 - e**2) / (1 + e + e**2))

    done = solve_ivp(rate, (0, times[-1]), [np.log(u0)], t_eval=times, rtol=1e-12, atol=1e-13)
    return np.asarray(np.exp(done.y[0]))


def _rank_three(_: np.random.Generator) -> Trial:
    times = np.linspace(0.0, 5.0, 51)
    u = three(1.0, times)
    flat = rescaled(1)
    P = np.stack([attention.matrix(flat, [[-v], [0.0], [v]]) for v in u])  # at t = 0 z is x
    found = attention.boolean_distance(P[-1])
    equal = float(np.abs(P[:, 1] - 1 / 3).max())
    run = follow(flat, np.array([[-1.0], [0.0], [1.0]]), times[:21], rtol=1e-9, atol=1e-12)
    assert run is not None
    off = float(np.abs(run[:, 2, 0] * np.exp(times[:21]) - u[:21]).max())
    pushed = follow(flat, np.array([[-1.0], [1e-6], [1.0]]), [12.0])
    assert pushed is not None
    generic = attention.boolean_distance(attention.matrix(flat, pushed[-1], 12.0)).rank_if_boolean
    ok = found.rank_if_boolean == 3 and equal < 1e-15 and found.distance < FAR and off < 1e-6 and generic == 2
    note = f"rank {found.rank_if_boolean}; pushed by 1e-6: rank {generic}; the run is off by {off:.1e} at t = 2."
    return Trial(ok, found.distance, note)


def _draw_rates(curves: list[tuple[Array, Array]]) -> plot.Figure:
    figure, (ax,) = layout.row(1, 2.8, plot.COLUMN * 1.3)
    for t, off in sorted(curves, key=lambda curve: curve[1][0]):  # trials end in any order
        shown = (off > 1e-300) & (off < 0.5)
        ax.plot(t[shown], -np.log(off[shown]), lw=0.6, alpha=0.6, color=plot.COLOURS["blue"])
    t = np.linspace(1, 6, 2)
    ax.plot(t, np.exp(t), "--", color=plot.COLOURS["black"], label=r"slope of $e^{Vt}$")
    s = np.linspace(1, 3.5, 2)
    ax.plot(s, np.exp(2 * s), ":", color=plot.COLOURS["red"], label=r"slope of $e^{2Vt}$")
    ax.set(yscale="log", xlabel="time $Vt$", ylabel=r"$-\log\,\max_i(1-\max_j P_{ij})$", xlim=(0, 12))
    ax.legend()
    return figure


@claim(
    "emergence/boolean",
    kind="conjecture",
    statement="Theorem 2.1 is open for d >= 2. Tried: that for every start every row of P becomes Boolean, with V = I "
    "and with V = GG', Q'K = HH'. Measured besides: how often the limit is in PP (two leaders at most), and how many "
    "leaders there are. Exact case: x = (1, eps), (1, -eps), V = I: P tends to the identity while the two tokens end "
    "at (1, +-c), c of the order of e^{-1/(2 eps^2)}: one cluster to the eye.",
    hypotheses=("Q'K > 0", "V = I, or V = GG' with a simple largest eigenvalue", "the tokens are distinct"),
    trial="d of 2, 4, 8, 16; 12 uniform tokens in [-1, 1]^d; G and H uniform on [-1, 1]; lambda_1 = 1, to t = 14.",
    measured="the fraction of decided starts whose attention becomes Boolean for good, and in PP",
    rule="one start that is decided otherwise refutes it. Decided: attention that is Boolean and stays so to t = 1000 "
    "by the exact solution, from which the leaders are read too; and rows that are shared among tokens which have been "
    "equal from the start, for these are never told apart. Others are undecided. In PP: held against nothing",
    erratum="The remark on the pathology, read as convergence of x_1 and x_2 to one point, contradicts P -> I: a "
    "common limit would give P -> 1/2. After rescaling the tokens are 2c apart, for ever.",
    sizes={"trials": 24},
    quick={"trials": 4},
)
def boolean(check: Check, t_end: float = 14.0, n_tokens: int = 12, distinct: bool = True) -> None:
    """distinct=False: every token is there twice, so that two columns are always equal."""

    def one(generator: np.random.Generator, d: int, plain: bool) -> tuple[bool | None, int]:
        G, H = generator.uniform(-1, 1, (2, d, d))
        V, form = (np.eye(d), np.eye(d)) if plain else (G @ G.T / np.linalg.norm(G, 2) ** 2, H @ H.T)
        x = generator.uniform(-1, 1, (n_tokens, d))
        if not distinct:
            x[n_tokens // 2 :] = x[: n_tokens - n_tokens // 2]
        return limit(rescaled(d, key=form, value=V), x, t_end)

    found: dict[tuple[str, int], tuple[float, float, float]] = {}
    for words, plain in (("V = I", True), ("V = GG', Q'K = HH'", False)):
        for d in DIMS:
            cases = {f"{words}, d = {d}": 1.0, f"in PP, {words}, d = {d}": None}
            ended = {k: one(np.random.default_rng([check.seed, d, plain, k]), d, plain) for k in check.which(cases)}
            done = [count for ok, count in ended.values() if ok]
            led = np.mean(done) if done else np.nan
            note = f"leaders {led:.1f} of {n_tokens}." if done else ""
            first, second = cases
            check.share(first, {k: ok for k, (ok, _) in ended.items()}, 1.0, note)
            check.share(second, {k: ok and count <= 2 for k, (ok, count) in ended.items()}, None)
            if check.only is None:
                found[words, d] = (check.findings[-2].measured, check.findings[-1].measured, float(led) / n_tokens)
    for eps in (0.3, 0.5, 1.0):
        check.share(f"P -> I, eps = {eps:g}", {0: pathology(eps)[0]}, 1.0, pathology(eps)[2])
    check.draw = lambda: _draw_fractions(found)


def limit(model: Model, x: Array, t_end: float) -> tuple[bool | None, int]:
    """Whether every row of P has a Boolean limit, None if that is not decided, and how many leaders there are then.

    Frames are looked at in turn, and the first that is Boolean for good decides: from there on the exact solution goes
    on, and says who leads at the end. Later frames of the run would not: much later z no longer tells tokens apart
    that have met (e^-t < eps).
    """
    times = np.linspace(0, t_end, 33)
    z = follow(model, x, times)
    if z is None:
        return None, len(x)
    _, first, which = np.unique(x, axis=0, return_index=True, return_inverse=True)
    stands = first[which.reshape(-1)]  # tokens that are equal stay equal, whatever rounding does to them
    often = np.bincount(stands, minlength=len(x))
    for frame, t in zip(z[:, stands], times, strict=True):
        P = attention.matrix(model, frame, t)
        apart = off_rows(P).max() < FAR
        if (apart or often.max() > 1) and (rest := settle(model, frame, t, FOR_GOOD)) is not None:
            led = np.unique(rest.leader)
            if (often[stands[led]] > 1).any():
                return False, len(x)
            if apart:
                return True, len(led)
    return None, len(x)


def _draw_fractions(found: dict[tuple[str, int], tuple[float, float, float]]) -> plot.Figure:
    figure, axes = layout.row(3, 2.4, sharey=True)
    titles = ("decided: all rows Boolean", "in PP: two leaders at most", "leaders, of all tokens")
    for k, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        for words, colour in zip(dict.fromkeys(w for w, _ in found), ("blue", "red"), strict=False):
            points = [(d, numbers[k]) for (w, d), numbers in found.items() if w == words]
            ax.plot(*np.transpose(points), "o-", ms=3.5, color=plot.COLOURS[colour], label=words)
        ax.set(xscale="log", xlabel="dimension $d$", title=title, ylim=(-0.05, 1.05))
        ax.set_xticks(DIMS, [str(d) for d in DIMS])
        ax.minorticks_off()
    axes[0].set_ylabel("fraction of decided starts")
    axes[1].legend()
    return figure


def pathology(eps: float, t_end: float = 60.0) -> tuple[bool, float, str]:
    """x = (1, eps), (1, -eps), V = Q = K = I: whether P tends to the identity, and the c of the limits (1, +-c).

    The second coordinates +-s obey s' = s tanh(s^2) while the first ones stay 1 in z.
    """
    model = rescaled(2)
    z = follow(model, np.array([[1.0, eps], [1.0, -eps]]), [t_end], rtol=1e-9, atol=1e-14)
    assert z is not None
    off = float(np.abs(attention.matrix(model, z[-1], t_end) - np.eye(2)).max())
    c = float(z[-1, 0, 1])
    note = f"z = (1, +-{c:.3g}); e^(-1/(2 eps^2)) = {np.exp(-1 / (2 * eps**2)):.3g}."
    return off < FAR and c > 0, c, note
