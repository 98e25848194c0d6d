"""Paper A: causal attention is neither a mean-field system nor a gradient flow, said exactly: of which class.

    order  With V = I the first token rests. The same tokens in another order move otherwise: no function of a token's
           place and of the law of all tokens is its velocity.
    loop   A metric in which different tokens are orthogonal is <a, b>_X = sum_i a_i' G_i(X) b_i, G_i positive definite.
           If x' = F is the gradient of E in it, dE = sum_i <G_i F_i, dx_i>, and E gains nothing around a loop. With
           V = I and x_1 ahead of x_2 on a great circle, F_2 = A_21 P x_1 points ahead: E gains while x_2 follows x_1
           from p to q, and again from q to p when x_1 has gone behind it. Moving x_1 gains nothing, since F_1 = 0. So
           the loop (x_2 from p to q, x_1 back, x_2 from q to p, x_1 forth) gains, whatever the G_i are.
    curl   The antisymmetric part of the derivative of sum_i g_i(X) <F_i, dx_i> vanishes for a gradient. g_i = 1 is the
           product metric, g_i = Z_i that in which full attention with V = Q'K symmetric is a gradient.
    block  At a rest of a gradient flow in any continuous metric the Jacobian is G^-1 Hess E, which is similar to a
           symmetric matrix: it can be diagonalised. On the circle with Q = K = V = I and w = e^{-2 beta}, a token with
           m earlier ones at its place and l opposite to it has the eigenvalue -(m - l w) / (1 + m + l w). For w =
           (m - 1) / (3 l) < 1 the rest of m tokens, then l opposite ones, then one more at the first place has -1/2
           twice, for its tokens 2 and n, and no second eigenvector for it: a Jordan block.

Why there is none: let (J + 1/2) v = 0 with v_2 = 1; v_1 = 0, since the first row of J is 0. The rows j <= m give v_j
= S / (j/2 - 1) > 0, S the sum so far; let A > 0 be that of the first m. The opposite tokens, b of them so far with
the sum w A (1 + u_b), give u_0 = -1 and u_{b+1} = u_b (b + 1 - a) / (b - 1 - a), a = 3 m w, so that u_l = -(a - l +
1)(a - l) / (a (a + 1)). The last row asks for A = w (w A (1 + u_l)), that is u_l = 1/w^2 - 1 > 0, hence l - 1 < a < l
with a = m (m - 1) / l: but m (m - 1) > l (l - 1) means m >= l + 1, and then m (m - 1) > l^2. (Where a is whole and a
+ 1 < l, the opposite token number a + 2 has -1/2 too; its part of v is free, and the last row fixes it: one
eigenvector fewer than eigenvalues again.) Every rational w in (0, 1) is such a w: these beta are dense. Later tokens
change nothing: J is block triangular, and the first block of one that can be diagonalised can be, too.

For two tokens on the circle there is a metric, but one that mixes them: Z [[2, -1], [-1, 1]], in which E = e^{beta (cos
(phi_1 - phi_2) - 1)} / beta. So orthogonal tokens are needed there, and "in any metric" is said for those beta only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tokenflock.geometry import Array, circle, retract, to_sphere
from tokenflock.model import Model, flow_at, logits, velocity
from tokenflock.papers.claims.causal.centers import jacobian
from tokenflock.papers.claims.causal.limits import pair
from tokenflock.papers.claims.ledger import Check, Trial, claim

NODES = 32  # of Gauss and Legendre along one side of a loop
STEP = 1e-5  # of central differences: their error is 1e-10
CLOSE = 1e-8  # how near the exact Jacobian is to that by differences
SURE = 1e-9  # how far a ratio that is 1 or 0 in exact arithmetic may be off
CURL = 1e-3  # the least asymmetry that counts as one: 1e5 times the error of the differences
MOST = 6  # of the numbers m and l


@claim(
    "causal/no-gradient",
    kind="theorem",
    statement="Causal attention is not a mean-field system: the velocity of a token is no function of its place and of "
    "the law of all tokens. Nor is it a gradient flow. With V = I, any Q, K and beta, n, d >= 2, it is none in any "
    "continuous metric in which different tokens are orthogonal. With Q = K = V = I and e^{-2 beta} = (m - 1) / (3 l) "
    "< 1, m >= 2, l >= 1, n > m + l, a dense set of beta, it is none in any continuous metric.",
    hypotheses=("the mask is causal", "V = I for order and loop; Q = K = V = I for the Jordan block"),
    trial="order: the last of 2 to 12 tokens is made the first. Loop: x_2 follows x_1 along a great circle and back. "
    "Curl: uniform tokens, Q'K = V random and symmetric, in the product metric and in that of the Z_i. Jordan block: "
    f"the rest above with m, l up to {MOST}, in exact rational arithmetic, the same Jacobian as that of the model.",
    measured="how much the velocity changes with the order; the work of the loop over the sum of its absolute values; "
    "the antisymmetric part of the derivative over all of it, in the better of the two metrics; and rank A - rank A^2, "
    "A = J + 1/2, the number of Jordan blocks of -1/2",
    rule="holds if the order changes the velocity by all of it, the loop gains at every point, the curl is above 1e-3 "
    "and there is a Jordan block",
    sizes={"trials": 200},
    quick={"trials": 20},
)
def no_gradient(check: Check, mask: str = "causal") -> None:
    """mask="full": a mean-field system, and the gradient flow of paper C in the metric of the Z_i."""

    def drawn(generator: np.random.Generator) -> tuple[int, float]:
        return int(generator.integers(2, 6)), float(generator.uniform(0.1, 4.0))

    def order(generator: np.random.Generator) -> Trial:
        d, beta = drawn(generator)
        query, key = pair(generator, "gaussian", d)
        model = Model(dim=d, beta=beta, query=query, key=key, mask=mask)
        x = to_sphere(generator, (int(generator.integers(2, 13)), d))
        last, first = velocity(model, x)[-1], velocity(model, np.roll(x, 1, axis=0))[0]
        off = float(np.linalg.norm(last - first) / np.linalg.norm(last))
        return Trial(off > 1 - SURE, off)

    def loop(generator: np.random.Generator) -> Trial:
        d, beta = drawn(generator)
        query, key = (None, None) if generator.random() < 0.3 else pair(generator, "gaussian", d)
        gains = around(Model(dim=d, beta=beta, query=query, key=key, mask=mask), generator)
        ratio = float(gains.sum() / np.abs(gains).sum())
        return Trial(ratio > 1 - SURE, ratio)

    def curl(generator: np.random.Generator) -> Trial:
        d, beta = drawn(generator)
        G = generator.standard_normal((d, d))
        V = (G + G.T) / np.linalg.norm(G + G.T, 2)
        x = to_sphere(generator, (int(generator.integers(2, 9)), d))
        model = Model(dim=d, beta=beta, key=V, value=V, mask=mask)
        off = min(asymmetry(lambda y: velocity(model, y), x), asymmetry(lambda y: weighted(model, y), x))
        return Trial(off > CURL, off)

    def block(generator: np.random.Generator) -> Trial:
        m = int(generator.integers(2, MOST + 1))
        opposite = int(generator.integers((m - 1) // 3 + 1, MOST + 1))  # w < 1
        w = Fraction(m - 1, 3 * opposite)
        side = [1] * m + [-1] * opposite + [1]
        J = at_rest(side, w, mask)
        model = Model(dim=2, beta=-float(np.log(float(w))) / 2, mask=mask)
        off = float(np.abs(jacobian(model, circle(np.where(np.array(side) > 0, 0.0, np.pi))) - J.astype(float)).max())
        A = J + Fraction(1, 2) * np.eye(len(side), dtype=int)
        found, words = rank(A) - rank(A @ A), "" if off < CLOSE else f"The model has another Jacobian: {off:.1e}."
        return Trial(found >= 1 and off < CLOSE, float(found), words)

    check.each("order of the tokens", order, 1 - SURE, ">")
    check.each("loop, every metric with orthogonal tokens", loop, 1 - SURE, ">")
    check.each("curl, product metric and that of the Z_i", curl, CURL, ">")
    check.each("Jordan block, every metric", block, 0.5, ">")


def weighted(model: Model, x: Array) -> Array:
    """Z_i F_i, what the velocity is in the metric of the Z_i = sum_j e^{beta <Q x_i, K x_j>}."""
    Z = np.exp(logits(model, x, flow_at(model, 0.0))[0]).sum(axis=-1)
    return np.asarray(Z[:, None] * velocity(model, x))


def around(model: Model, generator: np.random.Generator) -> Array:
    """What the four sides of the loop gain, a number a node: sum_i Z_i <F_i, dx_i>."""
    plane = np.linalg.qr(generator.standard_normal((model.dim, 2)))[0].T
    q = float(generator.uniform(0.2, 1.5))  # x_2 goes from the angle 0 to q and back
    ahead, behind = q + float(generator.uniform(0.1, 1.2)), -float(generator.uniform(0.1, 1.2))
    corners = [(ahead, 0.0), (ahead, q), (behind, q), (behind, 0.0)]
    s, weight = np.polynomial.legendre.leggauss(NODES)
    gains = []
    for here, there in zip(corners, [*corners[1:], corners[0]], strict=True):
        way = np.subtract(there, here)
        for k in range(NODES):
            angle = here + (s[k] + 1) / 2 * way
            x = circle(angle) @ plane
            along = circle(angle + np.pi / 2) @ plane * way[:, None] / 2
            gains.append(weight[k] * float((weighted(model, x) * along).sum()))
    return np.array(gains)


def asymmetry(field: Callable[[Array], Array], x: Array) -> float:
    """|D - D'| / |D|, D the derivative of sum_i <field_i, dx_i> in orthonormal tangent coordinates: 0 if closed."""
    n, d = x.shape
    frames = [np.linalg.qr(np.column_stack([one, np.eye(d)]))[0][:, 1:d].T for one in x]  # (d - 1, d) a token
    D = np.empty((n * (d - 1), n * (d - 1)))
    for k in range(n * (d - 1)):
        move = np.zeros_like(x)
        move[k // (d - 1)] = STEP * frames[k // (d - 1)][k % (d - 1)]
        change = (field(retract(x + move)) - field(retract(x - move))) / (2 * STEP)
        D[:, k] = np.concatenate([frame @ one for frame, one in zip(frames, change, strict=True)])
    return float(np.linalg.norm(D - D.T) / np.linalg.norm(D))


def at_rest(side: list[int], w: Fraction, mask: str) -> Array:
    """The Jacobian on the circle at tokens at 0 (side 1) and pi (side -1), Q = K = V = I, w = e^{-2 beta}, exactly."""
    n = len(side)
    J = np.full((n, n), Fraction(0), dtype=object)
    for k in range(n):
        seen = [j for j in range(n if mask == "full" else k + 1) if j != k]
        Z = 1 + sum((Fraction(1) if side[j] == side[k] else w) for j in seen)
        for j in seen:
            J[k, j] = (Fraction(1) if side[j] == side[k] else -w) / Z
        J[k, k] = -sum(J[k, j] for j in seen)
    return J


def rank(A: Array) -> int:
    """The rank of a matrix of fractions, exactly."""
    rows, found = [list(row) for row in A], 0
    for column in range(A.shape[1]):
        pivot = next((k for k in range(found, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for k in range(found + 1, len(rows)):
            factor = rows[k][column] / rows[found][column]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[found], strict=True)]
        found += 1
    return found
