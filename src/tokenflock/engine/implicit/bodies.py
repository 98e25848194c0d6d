"""Bodies: tokens that sit together and move as one, with the sum of their masses.

Row k of the bodies counts how often body k sees body l, M_kl. So differences between bodies keep all their digits
however close the tokens of one body are, and a late run is a problem of a few bodies. When tokens may be one body, and
when a body must be opened again:

full attention   All tokens obey one equation x' = F(x, mu) with one measure mu. Two that are a small gap apart stay
                 together while the symmetric part of D_x F is negative there: its largest eigenvalue is the `growth`.
                 A body is formed while that is negative and opened when the gap would have grown back.
causal, windows  Q'K = c' I, V = c I with c > 0. The tokens of a body see different ones. Near their place their offsets
                 v from it obey  Z_i v_i' = sum_j m_j (v_j - v_i) + (pull_i - F Z_i),  j the mates that i sees, pull_i
                 what the other bodies do, Z_i the sum of its row, F the speed of the body. At rest
                 v_i = (mean of the v_j of its mates) + (pull_i - F Z_i) / (mass of its mates): followed from mate to
                 mate to the first token, v_i is at most the largest last term times the number of hops that takes, the
                 `slack`. A body is formed while that is far below the tolerance, and opened when it is not.
                 F is that for which the offsets stay: the speed of the first token where nobody sees later ones
                 (M_kl = what it sees of l); in a window to both sides sum_i m_i pull_i / sum_i m_i Z_i, which is
                 attention with M_kl = the mean of what the tokens of k see of l. Tokens that see no mate, nor each
                 other through mates, are no body, wherever they are.
                 Softmax weights only: by count, pulls and holds are divided by the tokens that a row sees, near or
                 far, and not by its mass.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from tokenflock.engine.implicit.watch import NEVER, Labels, Watch, hops_back, nobody, slacks_of
from tokenflock.engine.traits import traits
from tokenflock.geometry import Array
from tokenflock.masks import visible
from tokenflock.model import Model, attention, masses
from tokenflock.options import Window
from tokenflock.sphere import retract

GROWING = 1.25  # from one follower whose row is looked at to the next, in numbers of tokens


class Grouping:
    """Which tokens are one body. Bodies are numbered by their first tokens."""

    def __init__(self, model: Model, labels: Labels) -> None:
        first, self.labels = np.unique(_first_of(labels), return_inverse=True)
        self.first: Labels = first
        self.count, n = len(first), len(labels)
        self.sizes = np.bincount(self.labels, minlength=self.count)
        self._model, self._own = model, masses(model, n)[0]
        self.mass: Array = np.zeros(self.count)
        np.add.at(self.mass, self.labels, self._own)
        self._lo, self._hi = visible(model.mask, n)

    def model(self) -> Model:
        """The model of the bodies: one token each, that counts as often as it is seen from each row."""
        if self.count == len(self.labels):
            return self._model
        if self._model.mask == "full":
            return self._model.with_options(masses=self.mass)
        return self._model.with_options(mask="causal" if self._led else "full", masses=self._rows)

    @property
    def _led(self) -> bool:
        """Whether nobody sees later tokens, so that a body goes where its first token goes."""
        return traits(self._model).causal

    @cached_property
    def _rows(self) -> Array:
        """M_kl, how often body k counts body l."""
        if self._led:
            return self._between(self._lo[self.first], self._hi[self.first])
        from scipy.sparse import csr_array

        n = len(self.labels)
        of_body = csr_array((self._own, (self.labels, np.arange(n))), shape=(self.count, n))
        return np.asarray(of_body @ self._between(self._lo, self._hi) / self.mass[:, None])

    def _between(self, lo: Labels, hi: Labels) -> Array:
        """The mass of every body among the tokens lo_r .. hi_r - 1, (rows, K)."""
        cuts, cut = np.unique(np.concatenate([lo, hi]), return_inverse=True)
        before = np.searchsorted(cuts, np.arange(len(self.labels)), side="right")  # the first cut that is after token j
        size = (len(cuts) + 1) * self.count
        table = np.bincount(before * self.count + self.labels, weights=self._own, minlength=size)
        below = table.reshape(-1, self.count).cumsum(axis=0)
        return np.ascontiguousarray(below[cut[len(lo) :]] - below[cut[: len(lo)]])

    def in_sight(self, near: Labels) -> Labels:
        """near, in which body k joins near[k], without the bodies that do not see each other, nor through others."""
        if not isinstance(self._model.mask, Window):
            return near
        met = near[self.labels]
        order = np.argsort(met, kind="stable")  # by place, then by number
        apart = (np.diff(met[order]) != 0) | (np.diff(order) >= self._model.mask.width)
        part = np.empty_like(met)
        part[order] = np.concatenate([[0], np.cumsum(apart)])
        return np.asarray(self.labels[_first_of(part)][self.first])

    def watch(self, gap: float, limit: float) -> Watch:
        """What a loop of steps looks at: in a window every follower; without, one for GROWING times as many."""
        if self._model.mask == "full":
            return nobody(gap, self.count)._replace(limit=limit)
        tokens, ends, body = [], [], []
        for k in np.flatnonzero(self.sizes > 1):
            members = np.flatnonzero(self.labels == k)
            rank = 1
            while rank < len(members):
                after = min(math.ceil(rank * GROWING), len(members) - 1) if self._model.mask == "causal" else rank
                tokens.append(members[rank])
                ends.append(members[after])
                body.append(k)
                rank = after + 1
        whose, first, last = (np.array(wanted, dtype=np.int64) for wanted in (body, tokens, ends))
        sharpness = self._model.beta * float(self._model.form[0, 0, 0])
        least = self._between(self._lo[last], self._hi[first])
        most = self._between(self._lo[first], self._hi[last])
        mates = least[np.arange(len(whose)), whose] - self._own[first]
        return Watch(gap, 0, NEVER, limit, sharpness, whose, least, most, mates, self._rows[whose], self._hops())

    def _hops(self) -> Array:
        """How many hops take a token of every body to its first one, at most: from mate to mate that it sees.

        That is the mean number of them, mates taken by their masses. In a window to both sides the place of a body is
        not that of its first token but a mean of its tokens: all of them may be off to one side, hence twice as much.
        """
        most, n = np.zeros(self.count), len(self.labels)
        if self._led:
            hops = np.zeros(n)
            hops_back(self.labels, self._lo, self._own, np.zeros((2, self.count)), hops)
            np.maximum.at(most, self.labels, hops)
            return most
        for k in np.flatnonzero(self.sizes > 1):
            tokens = np.flatnonzero(self.labels == k)
            seen = (tokens >= self._lo[tokens, None]) & (tokens < self._hi[tokens, None]) & (tokens != tokens[:, None])
            weights = seen * self._own[tokens]
            mates = weights.sum(axis=1)
            most[k] = 2.0 * np.linalg.solve((np.diag(mates) - weights)[1:, 1:], mates[1:]).max()
        return most


def slack(watch: Watch, columns: Array) -> Array:
    """The largest slack of a follower of every body at x (d, K), 0 without followers."""
    off = np.zeros(len(watch.hops))
    slacks_of(columns, watch, off)
    return off


def _first_of(labels: Labels) -> Labels:
    """For every token the first token with its label."""
    _, first, back = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[back])


def growth(model: Model, x: Array, which: Labels) -> Array:
    """The largest rate at which a small gap inside a body at x (K, d) grows in full attention, for those asked for.

    The largest eigenvalue of the symmetric part of D_x F on the tangent plane, F(x, mu) with the measure held fixed:
    D_x F = sum_h V_h C_h - <x, sum_h V_h m_h>, m_h = sum_j A_hj x_j and C_h = sum_j A_hj (x_j - m_h) (beta B_h x_j)'.
    Without m_h in C_h for weights by count: each changes with its own logit alone.
    """
    a = attention(model, x)[:, which]  # (H, rows, K + frozen)
    seen = x if model.frozen is None else np.concatenate([x, model.frozen.tokens])
    mean = a @ seen  # (H, rows, d)
    keys = model.beta * seen @ np.swapaxes(model.form, -1, -2)  # (H, K, d)
    spread = np.einsum("hrk,hkc,hkb->hrcb", a, np.broadcast_to(seen, keys.shape), keys, optimize=True)
    if model.normaliser == "softmax":
        spread -= mean[..., :, None] * (a @ keys)[..., None, :]
    turn = np.einsum("hac,hrcb->rab", model.values, spread)
    drive = np.einsum("hac,hrc->ra", model.values, mean)
    at = x[which]
    plane = np.eye(model.dim) - at[:, :, None] * at[:, None, :]
    inside = plane @ (turn + np.swapaxes(turn, -1, -2)) @ plane / 2.0
    low = 4.0 * (np.abs(inside).sum(axis=(1, 2)) + 1.0)  # pushes the normal direction below all others
    pushed = inside - low[:, None, None] * at[:, :, None] * at[:, None, :]
    rates = np.full(len(at), math.inf)  # of weights beyond float64 nothing is known: such a body is not formed
    there = np.isfinite(pushed).all(axis=(1, 2)) & np.isfinite(drive).all(axis=1)
    rates[there] = np.linalg.eigvalsh(pushed[there])[:, -1] - (at * drive)[there].sum(axis=1)
    return rates


def centers(x: Array, mass: Array, near: Labels) -> Array:
    """The mean place of bodies at x (K, d) that become one, by their masses; back on the sphere."""
    out = np.zeros((near.max() + 1, x.shape[1]))
    np.add.at(out, near, mass[:, None] * x)
    out = retract(out)
    alone = np.bincount(near)[near] == 1
    out[near[alone]] = x[alone]  # to the last bit
    return out
