"""The right-hand side (E1)-(E10) and the layer (E12), (E13) in plain torch, for many runs at once: x (runs, n, d).

Safe for autograd: nothing is written in place, and no root is taken of a length 0. Sums over pairs go in blocks of rows
(`TorchTerms.pairs`), never n x n at a time. Differences of tokens come first: the pull of a token on itself is exactly
0, a pull of 1e-30 keeps its digits, and float32 runs do not drift.

Where `terms.sums` is set, `pair_sums` asks that function instead: the one place at which faster sums come in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tokenflock.engine.torch import interaction
from tokenflock.engine.torch.graphs import graph_sums
from tokenflock.engine.torch.terms import Sums, TorchTerms, eigenvalues
from tokenflock.model import LARGEST_EXPONENT, TIE

LARGEST_EXPONENT_32 = 80.0  # the same for float32, which ends at e^88
TIE_32 = 2e-6


class EnsembleRescaling(NamedTuple):
    """model.Rescaling for every run: exp(tV) or R^k as exp(log) matrix."""

    matrix: Tensor  # (runs or 1, d, d)
    log: Tensor  # (runs or 1,) float64


class Block(NamedTuple):
    """Some rows of attention and the columns that they see together."""

    row: Tensor  # (rows, 1)
    column: Tensor  # (1, columns)
    seen: Tensor | None  # whether one sees the other; None if all do
    mass: Tensor | None  # (rows or 1, columns): how often a token counts; None if all count once


class Rates(NamedTuple):
    """What moves."""

    x: Tensor  # (runs, n, d)
    radius: Tensor  # (runs, n)
    spread: Tensor | None = None  # see Sums


def tangent(x: Tensor, w: Tensor) -> Tensor:
    """P_x w."""
    return w - (x * w).sum(dim=-1, keepdim=True) * x


def retract(x: Tensor) -> Tensor:
    """x / |x|."""
    size: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / size


def length(d: Tensor) -> Tensor:
    """|d_i|, with 1 where d_i = 0, and a gradient there too."""
    square = (d * d).sum(dim=-1)
    return torch.where(square > 0, square, 1.0).sqrt()


def flow_at(terms: TorchTerms, t: Tensor) -> EnsembleRescaling | None:
    """exp(tV) (E8) at the times t (runs,); None in other spaces."""
    if terms.model.space != "rescaled":
        return None
    t = t.to(torch.float64)
    return EnsembleRescaling(torch.linalg.matrix_exp(t[:, None, None] * terms.total).to(terms.dtype), terms.sigma * t)


def flow_at_layer(terms: TorchTerms, k: int, dt: float) -> EnsembleRescaling | None:
    """R^k with R = I + dt V (E13)."""
    if terms.model.space != "rescaled":
        return None
    eye = torch.eye(terms.model.dim, dtype=torch.float64, device=terms.device)
    step = eye + dt * (terms.total + terms.sigma * eye)
    rho = float(eigenvalues(step).abs().max())
    power = torch.linalg.matrix_power(step / rho, k)[None].to(terms.dtype)
    return EnsembleRescaling(power, torch.full((1,), k * math.log(rho), dtype=torch.float64, device=terms.device))


def queries(terms: TorchTerms, x: Tensor, flow: EnsembleRescaling | None) -> Tensor:
    """(E1) u_hi with s_hij = <u_hi, x_j>, (runs, H, n, d). In rescaled space see model.queries."""
    if flow is None:
        return x[:, None] @ terms.forms
    ahead = x @ flow.matrix.mT
    size = ahead.detach().abs().amax(dim=-1, keepdim=True)
    size = torch.where(size == 0, 1.0, size)
    u = (ahead / size)[:, None] @ (terms.forms @ flow.matrix[:, None])
    bound = (u.detach().abs().amax(dim=(1, 2)) * x.detach().abs().amax(dim=1)).sum(dim=-1).to(torch.float64)
    largest = LARGEST_EXPONENT if terms.dtype == torch.float64 else LARGEST_EXPONENT_32
    cap = largest - bound.clamp(min=1.0).log()
    exponent = torch.minimum(2 * flow.log[:, None, None] + size.to(torch.float64).log(), cap[:, None, None])
    return u * exponent.exp().to(terms.dtype)[:, None]


def pair_sums(terms: TorchTerms, x: Tensor, flow: EnsembleRescaling | None = None) -> Sums:
    """(E4) p_hi = sum_j A_hij (x_j - x_i) and m_hi = sum_j A_hij for x (runs, n, d), a softmax with mass 1."""
    if terms.sums is not None:
        return terms.sums(terms, x)
    runs, n, _ = x.shape
    u = queries(terms, x, flow)
    if terms.by_graph:
        return graph_sums(terms, x, u, flow is not None)
    at_once = max(1, min(runs, terms.pairs // n))
    parts = [_heads(terms, x[r : r + at_once], u[r : r + at_once], flow is not None) for r in range(0, runs, at_once)]
    if len(parts) == 1:
        return parts[0]
    spread = torch.cat([part.spread for part in parts if part.spread is not None]) if flow is not None else None
    return Sums(torch.cat([part.pull for part in parts]), torch.cat([part.mass for part in parts]), spread)


def _heads(terms: TorchTerms, x: Tensor, u: Tensor, rescaled: bool) -> Sums:
    """All heads and all blocks of rows of a few runs."""
    runs, n, _ = x.shape
    keys = torch.cat([x, terms.frozen.expand(runs, -1, -1)], dim=1) if len(terms.frozen) else x
    sums = _leader_rows if rescaled else _product_rows if terms.products else _difference_rows
    sums = sums if terms.model.usual else _own_rows
    rows = n if terms.model.divisor.kind == "sinkhorn" else max(1, terms.pairs // (runs * n))
    pulls, masses = [], []
    spreads: list[Tensor] = []
    for h in range(u.shape[1]):
        done = [
            sums(terms, x, keys, u[:, h], h, i, stop, *terms.columns(i, stop, n))
            for i, stop in ((i, min(i + rows, n)) for i in range(0, n, rows))
        ]
        pulls.append(torch.cat([d[0] for d in done], dim=1))
        masses.append(torch.cat([d[1] for d in done], dim=1))
        spreads += [d[2] for d in done if d[2] is not None]
    spread = torch.stack(spreads).amax(dim=0) if rescaled else None
    return Sums(torch.stack(pulls, dim=1), torch.stack(masses, dim=1), spread)


def _block(terms: TorchTerms, i: int, stop: int, first: int, last: int) -> Block:
    """Rows i .. stop - 1 and columns first .. last - 1. A token that a row does not count is out of its sight."""
    row = torch.arange(i, stop, device=terms.device)[:, None]
    column = torch.arange(first, last, device=terms.device)[None]
    mask, seen, mass = terms.model.mask, None, None
    if mask == "causal":
        seen = column <= row
    elif not isinstance(mask, str):
        seen = (column > row - mask.width) & (column < row + (1 if mask.causal else mask.width))
    if terms.masses is not None:
        mass = terms.masses[i:stop, first:last] if len(terms.masses) > 1 else terms.masses[:, first:last]
        seen = mass > 0 if seen is None else seen & (mass > 0)
    return Block(row, column, seen, mass)


def _with_frozen(terms: TorchTerms, keys: Tensor, n: int, first: int, last: int) -> Tensor:
    """The tokens first .. last - 1, and the frozen ones after them."""
    return keys[:, first:last] if keys.shape[1] == n else torch.cat([keys[:, first:last], keys[:, n:]], dim=1)


def _lower(terms: TorchTerms, s: Tensor, h: int, block: Block, anchor: Tensor) -> Tensor:
    """Logits less the bias, relative to token `anchor` of the row; -inf out of sight. Frozen tokens have no bias."""
    m = len(terms.frozen)
    if terms.slopes[h]:
        bias = terms.slopes[h] * ((block.row - block.column).abs() - (block.row - anchor).abs()).to(s.dtype)
        s = s - (torch.nn.functional.pad(bias, (0, m)) if m else bias)
    if block.seen is not None:
        hidden = ~block.seen
        s = s.masked_fill(torch.nn.functional.pad(hidden, (0, m)) if m else hidden, -math.inf)
    return s


def _weights(terms: TorchTerms, s: Tensor, level: Tensor, block: Block) -> tuple[Tensor, Tensor]:
    """(E2), (E3) From logits s less `level` (..., rows, 1): weights without their factor, and the factor."""
    model = terms.model
    top = s.detach().amax(dim=-1, keepdim=True)
    if terms.hard:
        tie = TIE if s.dtype == torch.float64 else TIE_32
        a = (s >= top - tie * (1 + (top + level).abs())).to(s.dtype)
    else:
        a = (s - top).exp()
    n, mass = s.shape[-1] - len(terms.frozen), block.mass
    if len(terms.frozen):
        mass = torch.ones((1, n), dtype=s.dtype, device=s.device) if mass is None else mass
        a = a * torch.cat([mass, terms.weights.expand(len(mass), -1)], dim=1)
    elif mass is not None:
        a = a * mass
    if model.normaliser == "softmax":
        return a, 1.0 / a.sum(dim=-1, keepdim=True)
    shift = terms.beta if model.normaliser == "scaled-count" else 0.0
    return a, (top + level - shift).exp() / (_count(block, n) + terms.weights.sum())


def _count(block: Block, n: int) -> Tensor | int:
    """(E3) How many tokens each row sees, each as often as it counts."""
    if block.seen is None:
        return n
    return (block.seen if block.mass is None else block.seen * block.mass).sum(dim=-1, keepdim=True)


def _pulled(x: Tensor, keys: Tensor, a: Tensor, i: int, stop: int) -> Tensor:
    """sum_j a_ij (x_j - x_i) (runs, rows, d), axis by axis."""
    axes = range(x.shape[-1])
    return torch.stack([(a * (keys[:, None, :, k] - x[:, i:stop, None, k])).sum(dim=-1) for k in axes], dim=-1)


def _difference_rows(
    terms: TorchTerms, x: Tensor, keys: Tensor, u: Tensor, h: int, i: int, stop: int, first: int, last: int
) -> tuple[Tensor, Tensor, None]:
    """Rows i .. stop - 1 of one head: s_ij - s_ii = <u_i, x_j - x_i>."""
    n = x.shape[1]
    block = _block(terms, i, stop, first, last)
    keys = _with_frozen(terms, keys, n, first, last)
    s = torch.zeros((), dtype=x.dtype, device=x.device)
    for k in range(x.shape[-1]):
        s = torch.addcmul(s, u[:, i:stop, None, k], keys[:, None, :, k] - x[:, i:stop, None, k])
    s = _lower(terms, s, h, block, block.row)
    level = (u[:, i:stop] * x[:, i:stop]).sum(dim=-1, keepdim=True)
    a, factor = _weights(terms, s, level, block)
    return factor * _pulled(x, keys, a, i, stop), factor * a.sum(dim=-1, keepdim=True), None


def _own_rows(
    terms: TorchTerms, x: Tensor, keys: Tensor, u: Tensor, h: int, i: int, stop: int, first: int, last: int
) -> tuple[Tensor, Tensor, None]:
    """The same for kernels and normalisers of (E15) to (E17): logits as they are, nothing is taken out of them."""
    block = _block(terms, i, stop, first, last)
    keys = _with_frozen(terms, keys, x.shape[1], first, last)
    s, near = _lower(terms, u[:, i:stop] @ keys.mT, h, block, block.row), x[:, i:stop]
    if terms.model.divisor.kind == "sinkhorn":
        w, top = interaction.weights(terms.model.own_kernel, s, near, keys)
        a, factor = interaction.sinkhorn(w, interaction.masses_of(terms, block, s.shape[-1])), torch.ones_like(top)
    else:
        a, factor = interaction.shares(terms, s, near, keys, block, h)
    return factor * _pulled(x, keys, a, i, stop), factor * a.sum(dim=-1, keepdim=True), None


def _product_rows(
    terms: TorchTerms, x: Tensor, keys: Tensor, u: Tensor, h: int, i: int, stop: int, first: int, last: int
) -> tuple[Tensor, Tensor, None]:
    """The same by matrix products, for large d: the token itself is left out, so that its own pull is exactly 0.

    Tokens closer than about 1e-8 have pulls with an absolute error of rounding, as on the CPU.
    """
    n = x.shape[1]
    block = _block(terms, i, stop, first, last)
    keys = _with_frozen(terms, keys, n, first, last)
    s = _lower(terms, u[:, i:stop] @ keys.mT, h, block, block.row)
    a, factor = _weights(terms, s, torch.zeros((), dtype=x.dtype, device=x.device), block)
    itself = block.row == block.column
    others = a.masked_fill(torch.nn.functional.pad(itself, (0, len(terms.frozen))), 0.0)
    pull = others @ keys - others.sum(dim=-1, keepdim=True) * x[:, i:stop]
    return factor * pull, factor * a.sum(dim=-1, keepdim=True), None


def _leader_rows(
    terms: TorchTerms, x: Tensor, keys: Tensor, u: Tensor, h: int, i: int, stop: int, first: int, last: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The same in rescaled space (E8): s_ij - s_im = <u_i, x_j - x_m>, m the leader of the row. See model.drops."""
    block = _block(terms, i, stop, first, last)
    near, own, mine = keys[:, first:last], torch.zeros_like(block.row), u[:, i:stop]
    s = _lower(terms, mine @ near.mT, h, block, block.row)
    leader = s.detach().argmax(dim=-1, keepdim=True)
    if terms.hard:
        a, factor = _weights(terms, s, own.to(x.dtype), block)
    else:
        for _ in range(2):  # the second time from the right leader, if rounding chose the first
            level = s.gather(-1, leader)  # (E3) wants its gradient too
            lead = near.gather(1, leader.expand(-1, -1, x.shape[-1]))
            less = torch.zeros((), dtype=x.dtype, device=x.device)
            for k in range(x.shape[-1]):
                less = torch.addcmul(less, mine[..., k, None], near[:, None, :, k] - lead[..., k, None])
            less = _lower(terms, less, h, block, leader + first)
            best = less.detach()
            leader = torch.where(best.amax(dim=-1, keepdim=True) > 0, best.argmax(dim=-1, keepdim=True), leader)
        s = less.clamp(max=0.0)
        a, factor = _weights(terms, s, level, block)
    whole = a.sum(dim=-1, keepdim=True)
    sharp = whole.detach() if block.mass is None else s.detach().exp().sum(dim=-1, keepdim=True)
    spread = (sharp - sharp.round()).abs().amax(dim=(1, 2))
    return factor * _pulled(x, near, a, i, stop), factor * whole, spread


def feedforward(terms: TorchTerms, x: Tensor) -> Tensor:
    """(E9) F(x) = w sigma(a x + b)."""
    block = terms.feedforward
    assert block is not None
    u = x @ block.a.mT + block.b
    sigma = {"relu": u.relu, "tanh": u.tanh, "linear": u.clone}[block.activation]()
    return sigma @ block.w.mT


def drive(terms: TorchTerms, x: Tensor) -> tuple[Tensor, Tensor]:
    """(E5) The attention part of D_i, and P_{x_i} of it, both (runs, n, d). See model.drive."""
    p, m, _ = pair_sums(terms, x)
    values = terms.values.mT
    pulled = (p @ values).sum(dim=1)
    mx = m * x[:, None]
    whole = pulled + (mx @ values).sum(dim=1)
    if not terms.scalar_value:
        pulled = pulled + (mx @ terms.less.mT).sum(dim=1)
    return whole, tangent(x, pulled)


def rates(
    terms: TorchTerms, x: Tensor, t: Tensor | float = 0.0, radius: Tensor | None = None, late: Tensor | None = None
) -> Rates:
    """(E6)-(E8), (E10) for x (runs, n, d) at the times t, one or (runs,).

    late: which runs (runs,) are past the switch of `mix`, from t if left out.
    """
    model = terms.model
    t = torch.as_tensor(t, dtype=torch.float64, device=terms.device).expand(len(x))
    still = torch.zeros_like(x[..., 0])
    if model.space == "rescaled":
        p, _, spread = pair_sums(terms, x, flow_at(terms, t))
        v = (p @ terms.values.mT).sum(dim=1)
        return Rates(v if terms.feedforward is None else feedforward(terms, v), still, spread)
    d, along = drive(terms, x)
    extra = feedforward(terms, x) if terms.feedforward is not None else None
    if model.space == "euclidean":
        return Rates(d if extra is None else d + extra, still)
    if extra is not None:
        d, along = d + extra, along + tangent(x, extra)
    norm = model.norm
    if norm.kind == "post":
        return Rates(along, still)
    r = torch.full_like(still, norm.radius) if radius is None else radius
    size, growth = length(d), (x * d).sum(dim=-1)
    if norm.kind == "sqrt":
        return Rates(along / (t + 1).sqrt().to(x.dtype)[:, None, None], still)
    if norm.kind == "ngpt":
        alpha = (norm.alpha * (1 + t) ** -norm.decay).to(x.dtype)[:, None]
        return Rates(along * (alpha / size)[..., None], still)
    if norm.kind == "peri":
        return Rates(along / (r * size)[..., None], growth / size)
    if norm.kind == "pre":
        return Rates(along / r[..., None], growth)
    after = (t >= norm.switch if late is None else late)[:, None]
    return Rates(along / torch.where(after, r, 1.0)[..., None], torch.where(after, growth, 0.0))


def velocity(terms: TorchTerms, x: Tensor, t: Tensor | float = 0.0, radius: Tensor | None = None) -> Tensor:
    """The right-hand side, (runs, n, d) -> (runs, n, d)."""
    return rates(terms, x, t, radius).x


def layer(terms: TorchTerms, x: Tensor, radius: Tensor, k: int, dt: float) -> tuple[Tensor, Tensor, Tensor | None]:
    """(E12), (E13) Layer k: the tokens, their magnitudes, and the spread of Sums."""
    model = terms.model
    if model.space == "rescaled":
        p, _, spread = pair_sums(terms, x, flow_at_layer(terms, k, dt))
        eye = torch.eye(model.dim, dtype=torch.float64, device=terms.device)
        step = eye + dt * (terms.total + terms.sigma * eye)
        u = torch.linalg.solve(step.to(x.dtype), (p @ terms.values.mT).sum(dim=1).mT).mT
        return x + dt * (u if terms.feedforward is None else feedforward(terms, u)), radius, spread
    x, radius = sublayer(terms, x, radius, drive(terms, x)[0], k * dt, dt)
    if terms.feedforward is not None:
        x, radius = sublayer(terms, x, radius, feedforward(terms, x), k * dt, dt)
    return x, radius, None


def sublayer(terms: TorchTerms, x: Tensor, radius: Tensor, d: Tensor, t: float, dt: float) -> tuple[Tensor, Tensor]:
    """The residual step of (E12) with update d: layers.sublayer."""
    if terms.model.space == "euclidean":
        return x + dt * d, radius
    norm, size = terms.model.norm, length(d)[..., None]
    kind = norm.kind if norm.kind != "mix" else ("post" if t < norm.switch else "pre")
    if kind in ("pre", "peri"):
        y = radius[..., None] * x + dt * (d if kind == "pre" else d / size)
        radius = torch.linalg.vector_norm(y, dim=-1)
        return y / radius[..., None], radius
    alpha = norm.alpha * (1 + t) ** -norm.decay
    step = {"post": d, "ngpt": alpha * d / size, "sqrt": d / math.sqrt(t + 1)}[kind]
    return retract(x + dt * step), radius
