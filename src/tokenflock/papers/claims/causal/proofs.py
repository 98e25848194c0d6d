"""Lemma A.1 and the window lemma of paper A, proved for every value of their parameters (A.6).

    h(x) = e^{beta (cos x - 1)} sin x,   g = h' = e^{beta (cos x - 1)} k(x),   k(x) = cos x - beta sin^2 x

Every function below carries its argument: how the claim about all x and beta comes down to inequalities in one or two
variables on a bounded box. The code checks exactly those, by ball arithmetic (`balls`). Ranges are arguments, so that a
false range can be tried: it must come back unproved, with a counterexample where one is found.

Letters that return: C(x) = cos x - 1 + x^2/2 and D(x) = 1 - x^2/2 + x^4/24 - cos x, both >= 0, so that
h(x) = e^{-beta x^2/2} e^{beta C} sin x = e^{-beta x^2/2 + beta x^4/24} e^{-beta D} sin x, and the same for g with k.
T_n is `balls.tail(x, n)`; x = pi s where a range ends at a multiple of pi; w = 1/x or 1/a where it is unbounded.
"""

from __future__ import annotations

import math

from tokenflock.errors import bad
from tokenflock.papers.claims.causal import balls
from tokenflock.papers.claims.causal.balls import Ball, Doubt, Fact, Proof, decide, down, library, positive, tail, up

FAR = 4.0  # where the arguments for large x take over
LARGE = 10.0  # the same for a = c - 1 - 2 eps


def lemma_a_1() -> list[Proof]:
    """All items, each on the range where it is true."""
    return [parity(), sign_of_h(), peak(), peak_range(), h_below(), h_above(), g_near(), g_below(), g_threshold()]


def window(eps_below: float = 0.1, c_from: float = 5.5) -> list[Proof]:
    """Conditions (1) and (2) of Theorem 5.2 from the window lemma, and why (2) needs its minus sign.

    Hypotheses: 0 < eps < eps_below, c >= c_from + 2 eps, a = c - 1 - 2 eps, beta >= a^2/2, and
    1 <= N < eps/(c - 1) e^{3 a^2/8}. (N counts tokens and weights; where no such N exists there is nothing to prove.)
    """
    if not 0 < eps_below <= 4:
        raise bad("eps_below", eps_below, "numbers in (0, 4]")
    if not 2 <= c_from <= LARGE:
        raise bad("c_from", c_from, f"numbers from 2 to {LARGE:g}", "Theorem 5.2 itself asks for c > 2 + 2 eps.")
    return [pull_condition(eps_below, c_from), slope_condition(eps_below, c_from), minus_sign(eps_below, c_from)]


# ---- Lemma A.1


def parity() -> Proof:
    """h is odd, g is even, both have period 2 pi, and g = h': algebra.

    h and g are E = e^{beta (cos x - 1)} times polynomials in c = cos x and s = sin x: p = s and q = c - beta s^2. So
    they have the period of cos and sin, and x -> -x is s -> -s: p must change sign, q must not. As c' = -s, s' = c and
    E' = -beta s E, the derivative of E p is E (-beta s p - s dp/dc + c dp/ds), which must be E q.
    """
    beta, c, s = library().fmpz_mpoly_ctx.get(["beta", "c", "s"]).gens()
    p, q = s, c - beta * s**2
    flipped = [f.compose(beta, c, -s) for f in (p, q)]
    slope = -beta * s * p - s * p.derivative("c") + c * p.derivative("s")
    proved = flipped == [-p, q] and slope == q
    return Proof("h is odd, g = h' is even, both have period 2 pi", "all real x, all beta", 0, proved)


def sign_of_h() -> Proof:
    """h >= 0 on [0, pi], and h > 0 inside.

    h has the sign of sin. From 1/(x (pi - x)) = (1/x + 1/(pi - x))/pi follows
    sin x = x (pi - x)/pi (sinc x + sinc(pi - x)), and the bracket is positive on [0, pi].
    """
    return decide("h(x) >= 0, with equality only at 0 and pi", "0 <= x <= pi, beta > 0", [_sine(1.0)])


def peak() -> Proof:
    """h increases on [0, tau*] and decreases on [tau*, pi], where beta sin^2 tau* = cos tau*.

    h' = g has the sign of k. On (0, pi/2]: k' = -sin x (1 + 2 beta cos x) < 0, because sin x = x sinc x > 0 and
    cos x = sin(pi/2 - x) >= 0. There k falls from k(0) = 1 to k(pi/2) = -beta < 0, through one zero, tau*. On
    [pi/2, pi], with x = pi/2 + y: k = -(sin y + beta cos^2 y) < 0, because sin y = y sinc y > 0 for y > 0, and at y = 0
    the bracket is beta. All this needs only sinc > 0 on [0, pi/2].
    """
    statement = "h increases on [0, tau*] and decreases on [tau*, pi]; g > 0 before tau* and < 0 after"
    return decide(statement, "beta > 0", _peak())


def peak_range() -> Proof:
    """(beta + 1/2)^{-1/2} < tau* < beta^{-1/2}; the paper asks for beta >= 1, any beta > 0 will do.

    k falls on (0, pi/2] and vanishes only at tau* (`peak`), so a point of (0, pi/2] is above tau* iff k < 0 there.
    Above: t = beta^{-1/2}. If t > pi/2 > tau* we are done. Otherwise k(t) = cos t - sin^2 t/t^2 = -t^2 r(t) with
    r = T_2 - 2 T_3 + t^2 T_3^2 (from cos t = 1 - t^2 T_2, sin t = t - t^3 T_3), and r > 0 on [0, pi/2].
    Below: s = (beta + 1/2)^{-1/2} lies in (0, sqrt 2), and sqrt 2 < pi/2. k(s) = cos s - (1/s^2 - 1/2) sin^2 s
    = s^2 (T_1^2/2 - r(s)), and that bracket is positive on [0, pi/2].
    """
    return decide("(beta + 1/2)^(-1/2) < tau* < beta^(-1/2)", "beta > 0", _peak_range())


def h_below(half_turns: float = 1.0) -> Proof:
    """e^{-beta x^2/2} (x - x^3/6) < h(x) for 0 < x <= half_turns * pi.

    Divided by e^{-beta x^2/2} it reads x - x^3/6 < e^{beta C} sin x. Where C >= 0 and sin x >= 0 the right side is at
    least sin x for every beta > 0, and sin x > x - x^3/6. So: C = x^4 T_4, sin x - x + x^3/6 = x^5 T_5 with both tails
    positive on the range, and sin x >= 0 on it (`sign_of_h`); the last ends at pi, and with it the claim.
    """
    if not 0 < half_turns <= 2:
        raise bad("half_turns", half_turns, "numbers in (0, 2]", "The range of x is (0, half_turns * pi].")

    def margin(beta: Ball, x: Ball) -> Ball:
        return balls.h(x, beta) - (-beta * x**2 / 2).exp() * (x - x**3 / 6)

    doubt = Doubt(margin, [(0.0, 20.0), (0.0, half_turns * math.pi)], balls.named(margin, "beta", "x"))
    domain = f"0 < x <= {'' if half_turns == 1 else f'{half_turns:g} '}pi, beta > 0"
    return decide("e^(-beta x^2/2) (x - x^3/6) < h(x)", domain, _h_below(half_turns), doubt)


def h_above() -> Proof:
    """h(x) < e^{-beta x^2/2 + beta x^4/24} x for every x > 0.

    If sin x <= 0 the left side is not positive. Otherwise divide: e^{-beta D} sin x < x follows from D >= 0 and
    sin x < x. For 0 < x <= 4: D = x^6 T_6 and x - sin x = x^3 T_3 with positive tails. For x >= 4, w = 1/x:
    D >= x^4/24 - x^2/2 = x^4 (1 - 12 w^2)/24 and x - sin x >= x (1 - w).
    """
    return decide("h(x) < e^(-beta x^2/2 + beta x^4/24) x", "x > 0, beta > 0", _h_above())


def g_near(reach: float = 1.0) -> Proof:
    """e^{-beta x^2/2} (1 - x^2/2 - beta x^2) < g(x) for 0 < x <= reach tau*.

    The paper stops at (beta + 1/2)^{-1/2}, which is below tau* (`peak_range`). Divided by e^{-beta x^2/2}:
    1 - x^2/2 - beta x^2 < e^{beta C} k. Up to tau* < pi/2 we have k >= 0 (`peak`) and C = x^4 T_4 >= 0, so the right
    side is at least k; and k is above the left side because cos x - 1 + x^2/2 = x^4 T_4 > 0 and
    x^2 - sin^2 x = x^4 (2 T_3 - x^2 T_3^2) > 0 on (0, pi/2]. Beyond tau*, where k < 0, this argument ends; for large
    beta the claim itself ends near 3 beta^{-1/2}.
    """
    if not 1 <= reach <= 8:
        raise bad("reach", reach, "numbers from 1 to 8", "The range of x is (0, reach tau*].")
    facts = _g_near()
    some = [(1.0, 50.0), (1.0, reach)]  # enough of the range to break the argument and the claim
    if reach > 1:
        facts.append((lambda beta, r: balls.k(r * balls.tau(beta), beta), some))

    def margin(beta: Ball, x: Ball) -> Ball:
        return balls.g(x, beta) - (-beta * x**2 / 2).exp() * (1 - x**2 / 2 - beta * x**2)

    def witness(beta: float, r: float) -> dict[str, float] | None:
        return balls.named(margin, "beta", "x")(beta, float((r * balls.tau(library().arb(beta))).mid()))

    doubt = Doubt(lambda beta, r: margin(beta, r * balls.tau(beta)), some, witness)
    domain = f"0 < x <= {'' if reach == 1 else f'{reach:g} '}tau*, beta > 0"
    return decide("e^(-beta x^2/2) (1 - x^2/2 - beta x^2) < g(x)", domain, facts, doubt)


def g_below(beta_from: float = 1.0) -> Proof:
    """-e^{-beta x^2/2 + beta x^4/24} beta x^2 < g(x) for every x > 0 and beta >= beta_from.

    Divided: -beta x^2 < e^{-beta D} k. If k >= 0 there is nothing to show. Otherwise D >= 0 (`h_above`) makes the right
    side at least k, and k > -beta x^2 says beta (x^2 - sin^2 x) + cos x > 0. As x^2 >= sin^2 x, the smallest beta
    decides. For 0 < x <= 4 that is x^4 beta (2 T_3 - x^2 T_3^2) + cos x > 0; for x >= 4, w = 1/x, the left side is at
    least x^2 (beta (1 - w^2) - w^2). The argument reaches down to beta = 0.14095, the claim to `g_threshold`.
    """
    if not 0 < beta_from < math.inf:
        raise bad("beta_from", beta_from, "finite numbers > 0")
    doubt = Doubt(_g_margin, [(beta_from, 2 * beta_from), (0.0, FAR)], balls.named(_g_margin, "beta", "x"))
    facts, domain = _g_below(down(beta_from)), f"x > 0, beta >= {beta_from:g}"
    return decide("-e^(-beta x^2/2 + beta x^4/24) beta x^2 < g(x)", domain, facts, doubt)


def g_threshold(width: float = 2.0**-30) -> Proof:
    """Where `g_below` stops being true: for all x > 0 iff beta > beta_0, with beta_0 between two numbers.

    M = beta x^2 + e^{-beta D} k must be positive. Where cos x >= 0 it is, for every beta: D >= 0 and x^2 > sin^2 x (see
    `g_below`) give -e^{-beta D} k <= beta sin^2 x < beta x^2. Where cos x < 0,
    M/beta = x^2 - e^{-beta D} (sin^2 x - cos x/beta) increases with beta. So the claim, once true, stays true for every
    larger beta: one number decides. A beta is above it when M > 0 for 0 <= x <= 4 (boxes, in mean value form; M = 1 at
    0) and for x >= 4, w = 1/x, where M >= x^2 (beta (1 - w^2) - w^2); it is below when M < 0 at one point.
    """
    if not 2.0**-40 <= width <= 0.1:
        raise bad("width", width, "numbers from 2^-40 to 0.1")
    low, high = 0.125, 0.25
    base, below, above = decide("", "", _g_below(high)), _for_all_x(low), _for_all_x(high)
    boxes = base.boxes + below.boxes + above.boxes
    proved = base.proved and below.negative is not None and above.proved
    while proved and high - low > width:
        middle = (low + high) / 2
        found = _for_all_x(middle)
        boxes += found.boxes
        if found.proved:
            high = middle
        elif found.negative:
            low = middle
        else:
            proved = False
    claim = "-e^(-beta x^2/2 + beta x^4/24) beta x^2 < g(x) for all x > 0 iff beta > beta_0"
    return Proof(f"{claim}, {low!r} < beta_0 < {high!r}", "beta > 0", boxes, proved)


# ---- the window lemma; a = c - 1 - 2 eps, t = beta^{-1/2}, so that a^2 t^2 <= 2


def pull_condition(eps_below: float, c_from: float) -> Proof:
    """(1) N h(a t) < h(eps t), under the hypotheses of `window`.

    `h_above` at x = a t, where beta x^2 = a^2 and beta x^4 = a^2 (a^2 t^2) <= 2 a^2: h(a t) < a t e^{-5 a^2/12}. As
    0 < a t <= sqrt 2 it is positive, so N may be put at its bound, and 3/8 - 5/12 = -1/24:
    N h(a t) < eps t  a/(a + 2 eps)  e^{-a^2/24}.  `h_below` at x = eps t <= pi:
    h(eps t) > eps t e^{-eps^2/2} (1 - eps^2 t^2/6) with t^2 <= 2/a^2. With w = 1/a and
    e^{-a^2/24} <= 1/(1 + a^2/24) = 24 w^2/(1 + 24 w^2), it is enough that on 0 <= w <= 1/(c_from - 1)
    e^{-eps^2/2} (1 - eps^2 w^2/3) (1 + 2 eps w) (1 + 24 w^2) > 24 w^2   and   pi > eps w sqrt 2.
    """
    arb = library().arb
    box = [(0.0, up(eps_below)), (0.0, up(1 / down(c_from - 1)))]

    def enough(eps: Ball, w: Ball) -> Ball:
        gain = (-(eps**2) / 2).exp() * (1 - (eps * w) ** 2 / 3) * (1 + 2 * eps * w)
        return gain * (1 + 24 * w**2) - 24 * w**2

    facts = [*_h_above(), *_h_below(1.0), (lambda eps, w: arb.pi() - eps * w * arb(2).sqrt(), box), (enough, box)]

    def condition(eps: Ball, c: Ball, beta: Ball, N: Ball) -> Ball:
        t = beta.rsqrt()
        return balls.h(eps * t, beta) - N * balls.h((c - 1 - 2 * eps) * t, beta)

    statement = "(1) N h((c - 1 - 2 eps) beta^(-1/2)) < h(eps beta^(-1/2))"
    return decide(statement, _hypotheses(eps_below, c_from), facts, _doubt(condition, eps_below, c_from))


def slope_condition(eps_below: float, c_from: float) -> Proof:
    """(2) -N g((a + 1) t) < g(eps t), under the hypotheses of `window`.

    `g_below` at x = (a + 1) t, where beta >= a^2/2 and t^2 <= 2/a^2, gives
    -g(x) < (a + 1)^2 e^{-(a+1)^2/2 + (a+1)^4/(12 a^2)}. If g(x) >= 0 the left side of (2) is not positive; otherwise N
    may be put at its bound, and the exponents add up to P = -a^2/24 - 2a/3 + 1/(3a) + 1/(12 a^2):
    -N g(x) < eps (a + 1)^2/(a + 2 eps) e^P.  On the other side, `g_near` at eps t gives
    g(eps t) > e^{-eps^2/2} (1 - eps^2 - eps^2 t^2/2) >= R = e^{-eps^2/2} (1 - eps^2 (1 + 1/a^2)); it applies, since
    R > 0 makes eps t < (beta + 1/2)^{-1/2} < tau*. So it is enough that R > eps (a + 1)^2/(a + 2 eps) e^P, or that no
    N >= 1 is allowed: eps/(a + 2 eps) e^{3 a^2/8} < 1. For a <= 10 this is checked as it stands. For a >= 10, with
    w = 1/a, z = a^2/24 + 2a/3 = q/w^2, q = 1/24 + 2w/3, and e^{-z} <= 2/z^2, it is enough that
    e^{-eps^2/2} (1 - eps^2 (1 + w^2)) > 2 eps w^3 (1 + w)^2/((1 + 2 eps w) q^2) e^{w/3 + w^2/12}.
    """
    smallest = down(c_from - 1)

    def near(eps: Ball, a: Ball) -> Ball:
        power = -(a**2) / 24 - 2 * a / 3 + 1 / (3 * a) + 1 / (12 * a**2)
        right = (-(eps**2) / 2).exp() * (1 - eps**2 * (1 + 1 / a**2))
        return (1 - _largest(eps, a)).max(right - eps / (a + 2 * eps) * (a + 1) ** 2 * power.exp())

    def far(eps: Ball, w: Ball) -> Ball:
        left = 2 * eps * w**3 * (1 + w) ** 2 / (1 + 2 * eps * w) / (library().fmpq(1, 24) + 2 * w / 3) ** 2
        return (-(eps**2) / 2).exp() * (1 - eps**2 * (1 + w**2)) - left * (w / 3 + w**2 / 12).exp()

    facts: list[Fact] = [
        *_g_below(min(1.0, down(smallest**2 / 2))),
        *_g_near(),
        (near, [(0.0, up(eps_below)), (smallest, LARGE)]),
        (far, [(0.0, up(eps_below)), (0.0, up(1 / LARGE))]),
    ]

    def condition(eps: Ball, c: Ball, beta: Ball, N: Ball) -> Ball:
        t = beta.rsqrt()
        return balls.g(eps * t, beta) + N * balls.g((c - 2 * eps) * t, beta)

    statement = "(2) -N g((c - 2 eps) beta^(-1/2)) < g(eps beta^(-1/2))"
    return decide(statement, _hypotheses(eps_below, c_from), facts, _doubt(condition, eps_below, c_from))


def minus_sign(eps_below: float, c_from: float) -> Proof:
    """g((a + 1) t) < 0 < g(eps t): without its minus sign, (2) would hold for every N and say nothing.

    (a + 1) t > t = beta^{-1/2} > tau* (`peak_range`) and (a + 1) t <= (1 + w) sqrt 2 < pi with w = 1/a, so g < 0 there
    (`peak`). eps t < (beta + 1/2)^{-1/2} < tau* says eps^2 (1 + t^2/2) < 1, and t^2 <= 2 w^2; there g > 0.
    """
    arb = library().arb
    box = [(0.0, up(eps_below)), (0.0, up(1 / down(c_from - 1)))]
    facts: list[Fact] = [
        *_peak_range(),
        (lambda w: arb.pi() - (1 + w) * arb(2).sqrt(), box[1:]),
        (lambda eps, w: 1 - eps**2 * (1 + w**2), box),
    ]

    def condition(eps: Ball, c: Ball, beta: Ball, N: Ball) -> Ball:
        t = beta.rsqrt()
        return balls.k(eps * t, beta).min(-balls.k((c - 2 * eps) * t, beta))  # the signs of g

    statement = "g((c - 2 eps) beta^(-1/2)) < 0 < g(eps beta^(-1/2)), so (2) without its minus sign is vacuous"
    return decide(statement, _hypotheses(eps_below, c_from), facts, _doubt(condition, eps_below, c_from))


def _hypotheses(eps_below: float, c_from: float) -> str:
    a = "(c - 1 - 2 eps)^2"
    return f"0 < eps < {eps_below:g}, c >= {c_from:g} + 2 eps, beta >= {a}/2, 1 <= N < eps/(c - 1) e^(3 {a}/8)"


def _largest(eps: Ball, a: Ball) -> Ball:
    """The bound on N."""
    return eps / (a + 2 * eps) * (3 * a**2 / 8).exp()


def _doubt(condition: balls.Function, eps_below: float, c_from: float) -> Doubt:
    """Look for parameters that meet the hypotheses, N just below its bound, and break the condition."""
    arb = library().arb

    def margin(eps: Ball, a: Ball, v: Ball) -> Ball:
        N = _largest(eps, a) * (1 - arb(2) ** -20)
        return (1 - N).max(condition(eps, a + 1 + 2 * eps, a**2 / v, N))  # N < 1 is no counterexample

    def witness(eps: float, a: float, v: float) -> dict[str, float] | None:
        # The rounded numbers are a point of their own: hypotheses and condition are checked at exactly these.
        found = {"eps": eps, "c": a + 1 + 2 * eps, "beta": a * a / v}
        e, c, beta = map(arb, found.values())
        a_ball = c - 1 - 2 * e
        found["N"] = float((_largest(e, a_ball) * (1 - arb(2) ** -20)).mid())
        N = arb(found["N"])
        allowed = 0 < e < arb(eps_below) and c >= c_from + 2 * e and beta >= a_ball**2 / 2
        allowed = allowed and 1 <= N < _largest(e, a_ball)
        return found if allowed and condition(e, c, beta, N) < 0 else None

    return Doubt(margin, [(0.0, eps_below), (c_from - 1, LARGE), (2.0**-6, 2.0)], witness)


# ---- the inequalities that several claims rest on


def _sine(up_to: float) -> Fact:
    """sinc x + sinc(pi - x) > 0 on [0, up_to pi]."""
    pi = library().arb.pi
    return lambda s: tail(s * pi(), 1) + tail((1 - s) * pi(), 1), [(0.0, up_to)]


def _peak() -> list[Fact]:
    pi = library().arb.pi
    return [(lambda s: tail(s * pi(), 1), [(0.0, 0.5)])]


def _peak_range() -> list[Fact]:
    arb, quarter = library().arb, [(0.0, 0.5)]

    def r(t: Ball) -> Ball:
        return tail(t, 2) - balls.square_gap(t)

    return [
        *_peak(),
        (lambda s: r(s * arb.pi()), quarter),
        (lambda s: tail(s * arb.pi(), 1) ** 2 / 2 - r(s * arb.pi()), quarter),
        (lambda one: one * arb.pi() / 2 - arb(2).sqrt(), [(1.0, 1.0)]),
    ]


def _h_below(half_turns: float) -> list[Fact]:
    pi, whole = library().arb.pi, [(0.0, half_turns)]
    facts = [(lambda s: tail(s * pi(), 4), whole), (lambda s: tail(s * pi(), 5), whole), _sine(min(half_turns, 1.0))]
    return facts if half_turns <= 1 else [*facts, (lambda s: s.sin_pi(), [(1.0, half_turns)])]


def _d_positive() -> list[Fact]:
    """D > 0 for all x > 0."""
    return [(lambda x: tail(x, 6), [(0.0, FAR)]), (lambda w: 1 - 12 * w**2, [(0.0, 1 / FAR)])]


def _h_above() -> list[Fact]:
    return [*_d_positive(), (lambda x: tail(x, 3), [(0.0, FAR)]), (lambda w: 1 - w, [(0.0, 1 / FAR)])]


def _g_near() -> list[Fact]:
    pi, quarter = library().arb.pi, [(0.0, 0.5)]
    return [*_peak_range(), (lambda s: tail(s * pi(), 4), quarter), (lambda s: balls.square_gap(s * pi()), quarter)]


def _g_below(beta_from: float) -> list[Fact]:
    return [
        *_d_positive(),
        (balls.square_gap, [(0.0, FAR)]),
        (lambda x: x**4 * beta_from * balls.square_gap(x) + x.cos(), [(0.0, FAR)]),
        (lambda w: beta_from * (1 - w**2) - w**2, [(0.0, 1 / FAR)]),
    ]


def _g_margin(beta: Ball, x: Ball) -> Ball:
    """M = beta x^2 + e^{-beta D} k: the sign of g(x) + e^{-beta x^2/2 + beta x^4/24} beta x^2."""
    square = x * x
    D = 1 - square / 2 + square * square / 24 - x.cos()
    return beta * square + (-beta * D).exp() * balls.k(x, beta)


def _for_all_x(beta: float) -> balls.Search:
    """Is M > 0 for every x > 0 at this beta?"""
    exact = library().arb(beta)
    far = positive(lambda w: exact * (1 - w**2) - w**2, [(0.0, 1 / FAR)])
    near = positive(balls.centred(lambda x: _g_margin(exact, x)), [(0.0, FAR)])
    return near._replace(proved=near.proved and far.proved, boxes=near.boxes + far.boxes)
