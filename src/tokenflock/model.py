r"""THE EQUATIONS. Every system of the papers, once, in plain numpy; every other engine must agree with this file.

Tokens x_1 .. x_n in R^d, heads h = 1 .. H with forms B_h = Q_h' K_h and values V_h, time t (depth).

(E1)  logits      s_ij = beta x_i' B x_j + b_ij                    over the visible j:  lo_i <= j < hi_i, or (E19)
(E2)  softmax     A_ij = a_ij exp(s_ij) / sum_k a_ik exp(s_ik);  beta = inf: equal shares of the largest logits
(E3)  count       A_ij = a_ij exp(s_ij) / sum_k a_ik over the visible k;  scaled-count: exp(s_ij - beta) instead
                  masses a_ij = a_j: how often token j counts, 1 without them; or as seen from each row i
(E4)  pull, mass  p_i = sum_j A_ij (x_j - x_i),   m_i = sum_j A_ij;  frozen tokens y_l add a_l exp(beta x_i' B y_l)
(E5)  drive       D_i = sum_h V_h (p_hi + m_hi x_i) + F(x_i)      = sum_h V_h sum_j A_hij x_j + F(x_i)
(E6)  sphere      x_i' = P_{x_i} D_i / s_i,   P_x w = w - <x, w> x;  s_i and r_i' from the layer norm (E10)
(E7)  R^d         x_i' = D_i
(E8)  rescaled    z = exp(-tV) x:  z_i' = V p_i,  with A from x = exp(tV) z;  feed-forward: z_i' = w sigma(a V p_i + b)
                  A_ij from s_ij - s_im = beta (exp(tV) z_i)' B exp(tV) (z_j - z_m), m the leader of row i (`drops`)
(E9)  feed-forward F(x) = w sigma(a x + b)
(E10) layer norm  post s=1 | pre s=r, r'=<x,D> | peri s=r|D|, r'=<x,D>/|D| | ngpt s=|D|/alpha_t | sqrt s=sqrt(t+1)
                  mix: post up to its switch time, pre from then on
(E11) noise       dx_i = (E6 or E7) dt + noise P_{x_i} o dW_i     (Stratonovich: spherical Brownian motion)
(E12) layers      x_i <- N(x_i + dt D_i), then x_i <- N(x_i + dt F(x_i)), N the layer norm's own step (`layer`)
(E13) rescaled layers, R = I + dt V:  z_i <- z_i + dt R^-1 V p_i,  with A from x = R^k z
(E14) positions   s_ij = beta (R_i Q y_i)' R_j K y_j - slope |i - j|:  y_i = x_i, R_i turns pairs of numbers (`Rope`);
                  or y_i = x_i + e_i, R_i = 1 (`Absolute`). What moves stays x_j
(E15) kernels     w_ij = k(s_ij, <x_i, x_j>, |x_i - x_j|) in place of exp(s_ij)                 (interaction.py)
(E16) normalisers A_ij = a_ij w_ij / Z_i; Z_i = sum_k a_ik w_ik (softmax) | sum_k a_ik (count) | 1 (none)
                  | sqrt(sum_k a_ik w_ik^2) (l2) | e^b + sum_k a_ik w_ik (sink) | sum_k a_ik e^bias_ik (positions);
                  own=False: sums without k = i; a row with Z_i = 0 has weights 0
(E17) sinkhorn    A_ij = a_j w_ij u_i v_j with sum_j A_ij = 1 and sum_i a_i A_ij = a_j
(E18) weights that change: Q, K, V, beta, w, a, b of time t; a layer has those of the time at which it begins
(E19) own masks   row i of head h sees the j with mask_hij = 1 (masks.py);  its bias b_hij = -slope_h |i - j|, or any
(E20) groups      g_i that of token i:  s_ij = beta_{g_i} (R_i Q_{g_i} y_i)' R_j K_{g_j} y_j,  j in sight of i only if
                  g_i sees g_j;  D_i = sum_h sum_j A_hij V_{h g_j} x_j + F(x_i).  A group that sees nobody rests
(E21) common noise  dx_i = (E6, E7 or E11) + P_{x_i} o dW(x_i), W(x) = sum_k f_k(x) W_k the same for all: `CommonNoise`
(E22) drift       D_i + f(x, t)_i in place of D_i, f a function of the user; a velocity of one's own: f(x, t)_i alone
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tokenflock.arguments import instance, scalar, whole
from tokenflock.common_noise import CommonNoise
from tokenflock.errors import bad
from tokenflock.geometry import Array
from tokenflock.graphs import dense_bias
from tokenflock.groups import Groups, heads_in, met, split
from tokenflock.interaction import Kernel, Normaliser, shares, weight_fault, with_frozen
from tokenflock.looking import betas, check_counts, looked, tokens_of
from tokenflock.masks import Mask, has_table, heads_of, sees, written
from tokenflock.of_runs import check_single, n_runs, weights_of
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, matrix
from tokenflock.positions import Absolute, Rope
from tokenflock.rescaling import Rescaling as Rescaling
from tokenflock.rescaling import flow_at as flow_at
from tokenflock.rules import check
from tokenflock.sphere import less as less
from tokenflock.sphere import tangent
from tokenflock.varying import held, left_by

NEAR = 1e-4  # to the sphere: whoever takes differences of velocities leaves it by as much

# Hardmax shares the weight among logits equal to rounding: without a tolerance a rotation would break exact ties.
TIE = 1e-12
# Logits of (E8) are capped at the exponential of this: beyond it a softmax is a hardmax to the last bit.
LARGEST_EXPONENT = 690.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """One attention dynamics: which tokens see which, with what weights, in which space. See (E1)-(E21)."""

    dim: int
    beta: float = 1.0
    query: Any = None
    key: Any = None
    value: Any = None
    mask: Mask = "causal"
    bias: Any = None
    normaliser: str | Normaliser = "softmax"
    space: str = "sphere"
    layer_norm: str | LayerNorm = "post"
    feedforward: FeedForward | None = None
    frozen: Frozen | None = None
    noise: float = 0.0
    masses: Any = None
    position: Rope | Absolute | None = None
    kernel: Any = "exp"
    varying: Any = None
    groups: Groups | None = None
    common_noise: CommonNoise | None = None
    drift: Any = None

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def n_heads(self) -> int:
        """H: the leading axis of query, key, value, mask or bias; 1 without one."""
        matrices = [len(m) for m in (self.query, self.key, self.value) if m is not None and m.ndim == 3]
        return max([*matrices, heads_of(self.mask), heads_of(self.bias), heads_in(self.groups)])

    @cached_property
    def form(self) -> Array:
        """B_h = Q_h' K_h, (H, d, d): all that Q and K do."""
        eye = np.eye(self.dim)[None]
        query, key = (eye if m is None else m.reshape(-1, *m.shape[-2:]) for m in (self.query, self.key))
        return np.broadcast_to(np.swapaxes(query, -1, -2) @ key, (self.n_heads, self.dim, self.dim))

    @cached_property
    def placed(self) -> bool:
        """Whether queries and keys are more than B and the tokens themselves: (E14), (E20)."""
        return self.position is not None or self.groups is not None

    @cached_property
    def noisy(self) -> bool:
        """Whether chance moves the tokens."""
        return self.noise > 0 or self.common_noise is not None

    @cached_property
    def values(self) -> Array:
        """V_h, (H, d, d); of groups with their own V_hg, (H G, d, d), in the order of `pulls`."""
        if self.groups is not None and (own := self.groups.matrices("value")) is not None:
            values = np.concatenate(np.broadcast_to(own.swapaxes(0, 1), (self.n_heads, *own[:, 0].shape)))
            values.setflags(write=False)
            return values
        value = np.eye(self.dim) if self.value is None else self.value
        return np.broadcast_to(value, (self.n_heads, self.dim, self.dim))

    @cached_property
    def slopes(self) -> Array:
        """ALiBi slopes, (H,); 0 without ALiBi."""
        slope = self.bias.slope if isinstance(self.bias, Alibi) else 0.0
        return np.broadcast_to(np.asarray(slope, dtype=float), (self.n_heads,))

    @cached_property
    def norm(self) -> LayerNorm:
        """The layer norm with its numbers."""
        return self.layer_norm if isinstance(self.layer_norm, LayerNorm) else LayerNorm(self.layer_norm)

    @cached_property
    def has_radius(self) -> bool:
        """Whether every token carries a magnitude r_j beside its direction."""
        return self.space == "sphere" and self.norm.has_radius

    @cached_property
    def usual(self) -> bool:
        """Whether its weights are those of (E2) and (E3)."""
        return isinstance(self.kernel, str) and isinstance(self.normaliser, str)

    @cached_property
    def own_kernel(self) -> Kernel | None:
        """The kernel (E15), None for exp."""
        return None if isinstance(self.kernel, str) else self.kernel

    @cached_property
    def divisor(self) -> Normaliser:
        """The normaliser with its numbers."""
        return Normaliser(self.normaliser) if isinstance(self.normaliser, str) else self.normaliser

    @cached_property
    def n_tokens(self) -> int | None:
        """For how many tokens it says something of every single one; None: for any number."""
        return tokens_of(self)

    @cached_property
    def n_runs(self) -> int | None:
        """For how many runs of an ensemble it has weights; None where all have the same."""
        return n_runs(self.varying)

    @cached_property
    def autonomous(self) -> bool:
        """Whether the right-hand side is free of t."""
        decays = self.norm.kind == "ngpt" and self.norm.decay != 0
        return self.space != "rescaled" and self.norm.kind != "sqrt" and not decays and not (self.varying or self.drift)

    @cached_property
    def _of_tokens(self) -> dict[int, Model | None]:
        return {}

    def written(self, n_tokens: int) -> Model:
        """The model of so many tokens: a mask or bias that is a function, or one for each head, is written out."""
        n_tokens = whole("n_tokens", n_tokens, 1, most=2**31 - 1)
        if n_tokens not in self._of_tokens:
            mask, bias = written(self.mask, self.bias, n_tokens, self.frozen is not None)
            same = mask is self.mask and bias is self.bias
            self._of_tokens.clear()
            self._of_tokens[n_tokens] = None if same else self.with_options(mask=mask, bias=bias)
        return self._of_tokens[n_tokens] or self

    def with_options(self, **options: Any) -> Model:
        """A copy with some fields changed, checked again. A weight given anew takes the place of one that changes."""
        return replace(self, **{"varying": left_by(options, self.varying)} | options)

    def of_run(self, run: int) -> Model:
        """The model of one run of an ensemble that has weights of each run."""
        return self.with_options(**weights_of(self.varying, run))

    def at(self, t: float, middle: float | None = None, run: int = 0) -> Model:
        """The model with the weights of time t (E18). middle: a time on the same side of every jump, t if left out."""
        return held(self, t, t if middle is None else middle, run) if self.varying else self


Model.__doc__ = f"{Model.__doc__}\n\n{__doc__}"  # help(Model) shows the equations


def kind_at(norm: LayerNorm, t: float) -> str:
    """The layer norm in force at time t: only `mix` changes, from post to pre (E10)."""
    return norm.kind if norm.kind != "mix" else ("post" if t < norm.switch else "pre")


def queries(model: Model, x: Array, flow: Rescaling) -> Array:
    """(E1) u_hi with s_hij = <u_hi, x_j>, (H, n, d): B_h' x_i times beta. beta = inf counts as 1 here.

    In rescaled space the two factors exp(log) and the length of a token enter as logarithms, and the largest logit is
    capped: u is finite, and so is its product with every token.
    """
    beta = 1.0 if math.isinf(model.beta) else model.beta
    if model.space != "rescaled":
        u: Array = looked(model, x, "query") if model.placed else x @ (beta * model.form)
        return u * betas(model)[:, None] if model.placed else u
    ahead = x @ flow.matrix.T
    size = np.abs(ahead).max(axis=-1, keepdims=True)
    size[size == 0] = 1.0
    u = (ahead / size) @ (beta * (model.form @ flow.matrix))
    reach = float(np.abs(u).max(axis=(0, 1)) @ np.abs(x).max(axis=0))  # of <u_i, x_j>, less the two factors
    u *= np.exp(np.minimum(2 * flow.log + np.log(size), LARGEST_EXPONENT - math.log(max(reach, 1.0))))
    return u


def keys(model: Model, x: Array) -> Array:
    """(E1) w_hj with s_hij = <u_hi, w_hj>, (H or 1, n, k): the tokens themselves where B = Q'K is all that matters."""
    return looked(model, x, "key") if model.placed else x[None]


def masses(model: Model, n: int) -> Array:
    """(E2) a_ij, how often token j counts in row i: (1, n), or (n, n) where the rows differ."""
    if model.masses is None:
        return np.ones((1, n))
    check_counts(model, n)
    return np.asarray(np.atleast_2d(model.masses))


def biases(model: Model, n: int, first: int = 0, stop: int | None = None) -> Array:
    """(E1), (E19) b_hij of every head, (H or 1, n, n); only of the rows first .. stop - 1."""
    if not has_table(model.bias):
        i, j = np.arange(n)[first:stop, None], np.arange(n)
        return np.asarray(-model.slopes[:, None, None] * np.abs(i - j))
    return dense_bias(model.bias, n, first, stop)


def logits(model: Model, x: Array, flow: Rescaling) -> Array:
    """(E1) s_hij for tokens and frozen tokens, (H, n, n + m); -inf where j is not visible from i."""
    u = queries(model, x, flow)
    s = u @ np.swapaxes(keys(model, x), -1, -2) + biases(model, len(x))
    seen = sees(model.mask, len(x)) & (masses(model, len(x)) > 0) & met(model.groups)
    s = np.where(seen, s, -np.inf)
    return s if model.frozen is None else np.concatenate([s, u @ model.frozen.tokens.T], axis=-1)


def drops(model: Model, x: Array, flow: Rescaling) -> tuple[Array, Array]:
    """(E8) s_hij - s_him <= 0 and s_him (H, n, 1), m the leader of row i: its largest logit.

    Differences of tokens are taken first: at t = 20 the logits reach e^40, and their own rounding would pick the
    leader. What rounding put above the leader is level with it.
    """
    s = logits(model, x, flow)
    u, leader, b = queries(model, x, flow), s.argmax(axis=-1), np.broadcast_to(biases(model, len(x)), s.shape)
    top = np.take_along_axis(s, leader[..., None], axis=-1)
    for h, i in np.ndindex(*leader.shape):
        m, seen = leader[h, i], np.isfinite(s[h, i])
        for _ in range(2):  # the second time from the right leader, if rounding chose the first
            less = (x - x[m]) @ u[h, i] + (b[h, i] - b[h, i, m])
            less = np.where(seen, less, -np.inf)
            m = m if less.max() <= 0.0 else less.argmax()
        s[h, i] = np.minimum(less, 0.0)
    return s, top


def attention(model: Model, x: Array, t: float = 0.0, flow: Rescaling | None = None) -> Array:
    """(E2), (E3) The weights A_hij, (H, n, n + m): rows of a softmax sum to 1."""
    model, flow = model.at(t), flow_at(model, t) if flow is None else flow
    if not model.usual:
        weight = with_frozen(masses(model, len(x)), model.frozen)
        return shares(model, logits(model, x, flow), x, biases(model, len(x)), weight)
    hard = math.isinf(model.beta)
    if model.space == "rescaled" and not hard:
        less, top = drops(model, x, flow)
    else:
        # Less the row maximum nothing changes in (E2), but exp stays finite: at beta = 1e6 the plain form is inf/inf.
        s = logits(model, x, flow)
        top = s.max(axis=-1, keepdims=True)
        top[np.isneginf(top)] = 0.0  # a token that rests, since its group sees nobody (E20)
        less = s - top
    weight = with_frozen(masses(model, len(x)), model.frozen)
    if model.normaliser == "softmax":
        a: Array = weight * (less >= -TIE * (1 + np.abs(top)) if hard else np.exp(less))
        count = a.sum(axis=-1, keepdims=True)
    else:
        shift = model.beta if model.normaliser == "scaled-count" else 0.0
        a = weight * np.exp(less + (top - shift))
        count = (weight * np.isfinite(less)).sum(axis=-1, keepdims=True)
    a /= np.where(count == 0, 1.0, count)
    return a


def pulls(model: Model, x: Array, flow: Rescaling) -> tuple[Array, Array]:
    """(E4) p_hi (H, n, d) and m_hi (H, n, 1).

    Summed from differences: the pull of a token on itself is exactly 0 and a pull of 1e-30 keeps its digits.
    """
    a = attention(model, x, flow=flow)
    if model.groups is not None and model.groups.value is not None:
        a = split(a, model.groups)  # (H G, n, n): one V each
    seen = x if model.frozen is None else np.concatenate([x, model.frozen.tokens])
    p = np.stack([a[:, i] @ (seen - x[i]) for i in range(len(x))], axis=1)
    return p, a.sum(axis=-1, keepdims=True)


def feedforward(model: Model, x: Array) -> Array:
    """(E9) F(x) = w sigma(a x + b), 0 without one."""
    ff = model.feedforward
    if ff is None:
        return np.zeros_like(x)
    u = x @ ff.a.T + ff.b
    sigma = {"relu": np.maximum(u, 0), "tanh": np.tanh(u), "linear": u}[ff.activation]
    out: Array = sigma @ ff.w.T
    return out


def drive(model: Model, x: Array, flow: Rescaling) -> tuple[Array, Array]:
    """(E5) The attention part of D_i, and P_{x_i} of it, both (n, d)."""
    if model.drift is not None and model.drift.whole:  # (E22)
        return np.zeros_like(x), np.zeros_like(x)
    p, m = pulls(model, x, flow)
    values = np.swapaxes(model.values, -1, -2)
    pulled = (p @ values).sum(axis=0)
    return pulled + (m * x @ values).sum(axis=0), tangent(x, pulled + (m * x @ less(values)).sum(axis=0))


def size_of(d: Array) -> Array:
    """|d_i|, with 1 where d_i = 0: normalising nothing gives nothing."""
    size = np.linalg.norm(d, axis=-1)
    return np.where(size > 0, size, 1.0)


def rates(
    model: Model, x: Array, t: float = 0.0, radius: Array | None = None, kind: str | None = None
) -> tuple[Array, Array]:
    """(E6)-(E8), (E10) x' (n, d) and r' (n,). kind: the layer norm in force, from t if left out."""
    model, flow = model.at(t), flow_at(model, t)
    still = np.zeros(len(x))
    if model.space == "rescaled":
        p, _ = pulls(model, x, flow)
        v = (p @ np.swapaxes(model.values, -1, -2)).sum(axis=0)
        return (v if model.feedforward is None else feedforward(model, v)), still
    d, along = drive(model, x, flow)
    extra = feedforward(model, x) + (0.0 if model.drift is None else model.drift.at(x, t, model.space == "sphere"))
    if model.space == "euclidean":
        return d + extra, still
    d, along = d + extra, along + tangent(x, extra)
    r = np.full(len(x), model.norm.radius) if radius is None else radius
    norm = model.norm
    size, growth = size_of(d), np.sum(x * d, axis=-1)
    scales: dict[str, Callable[[], tuple[float | Array, Array]]] = {
        "post": lambda: (1.0, still),
        "pre": lambda: (r, growth),
        "peri": lambda: (r * size, growth / size),
        "ngpt": lambda: (size / (norm.alpha * (1 + t) ** -norm.decay), still),
        "sqrt": lambda: (math.sqrt(t + 1), still),
    }
    s, r_rate = scales[kind or kind_at(norm, t)]()
    return along / np.reshape(s, (-1, 1)), r_rate


def velocity(model: Model, x: Array, t: float = 0.0, radius: Array | None = None) -> Array:
    """The right-hand side of the model at tokens x, (n, d) -> (n, d): (E6), (E7) or (E8)."""
    instance("model", model, Model, "a flock.Model", "For example flock.Model(dim=2, beta=64.0).")
    x, t = matrix("x", x, (None, model.dim)), scalar("t", t, "a finite time >= 0", lambda v: v >= 0)
    with np.errstate(over="ignore"):
        off = float(np.abs(np.linalg.norm(x, axis=-1) - 1).max())
    if model.space == "sphere" and off > NEAR:
        advice = "Divide every token by its length (flock.geometry.retract), or use space='euclidean'."
        raise bad("x", f"tokens up to {off:.1e} off the sphere", f"unit vectors to {NEAR:g}", advice)
    check_counts(model, len(x))
    check_single(model)
    r = None if radius is None else matrix("radius", radius, (len(x),))
    model = model.written(len(x))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = rates(model, x, t, r)[0]
    if not np.isfinite(found).all():
        if not model.usual and (told := weight_fault(model, logits(model, x, flow_at(model, t)), x, t)):
            raise told
        advice = "Lower beta, the weights or the tokens; for large beta normaliser='scaled-count'."
        raise bad("x", "tokens whose velocity is beyond the range of float64", "tokens with a finite velocity", advice)
    return found
