"""The end of a run in rescaled space: attention that stays Boolean makes (E8) linear, and it is solved exactly.

If row i gives all its weight to m, and m to itself, then z_m rests and

    z_i(t) = z_m + exp(-(t - t0) V) (z_i(t0) - z_m):

in x, token i keeps its distance c_i = x_i - x_m for good. Layers (E13) do the same with R^-(k - k0). Steps could not
follow that: soon after, z_i and z_m are the same number, and rounding would choose a new leader at every step. The c_i
keep their digits at any time, so they also say whether the leaders stay the leaders.
"""

from __future__ import annotations

import math

import numpy as np

from tokenflock.geometry import Array
from tokenflock.masks import has_table, sees
from tokenflock.model import Model, Rescaling, biases, drops, flow_at, masses
from tokenflock.rescaling import flow_at_layer

NO_WEIGHT = 37.0  # a logit this far below the leader's has weight e^-37 < eps / 2
LOOKS = 12  # times at which the leaders are looked at, in each of two stretches
SKEWED = 1e6  # eigenvectors with a condition above this are no basis to compute in


class Settled:
    """Tokens x (n, d) at time t, led by tokens that rest. dt: of layers; there W with R = exp(dt W) stands for V."""

    def __init__(self, model: Model, x: Array, t: float, leader: np.ndarray, dt: float | None) -> None:
        self.model, self.since, self.leader = model, t, leader
        self._values, self._vectors = _spectrum(model, dt)
        self._back = np.linalg.inv(self._vectors)
        self._sigma = float(self._values.real.max())
        self._home, self._off = x[leader], x - x[leader]
        self._constant = self._grow(self._off, t)  # c_i

    def _grow(self, x: Array, t: float, less: float = 0.0) -> Array:
        """exp(t (V - less I)) x_i."""
        powers = np.exp(t * (self._values - less))
        grown: Array = np.real(((x @ self._back.T) * powers) @ self._vectors.T)
        return grown

    @np.errstate(over="ignore", invalid="ignore", under="ignore")
    def at(self, t: float) -> Array:
        """The tokens at a later time."""
        later: Array = self._home + self._grow(self._off, self.since - t)
        return later

    def fill(self, times: Array, frames: Array, first: int) -> int:
        """The frames (time, n, d) from the first on; how many are there: not all, where tokens are no longer finite."""
        for k in range(first, len(times)):
            y = self.at(float(times[k]))
            if not np.isfinite(y).all():
                return k
            frames[k] = y
        return len(times)

    @np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore")
    def holds(self, t: float) -> bool:
        """Whether every row still gives all its weight to its leader: s_im - s_ij is large for all others j.

        With m(j) = m(i) this is <B' x_i, -c_j>, and <B' x_i, exp(tV) (z_m(i) - z_m(j)) - c_j> otherwise. exp(sigma t)
        is taken out of x and put back as a logarithm.
        """
        model, sigma, n = self.model, self._sigma, len(self._off)
        grown = self._grow(self._home, t, sigma)
        faded = math.exp(-sigma * t) * self._constant
        weight = masses(model, n)
        counted = weight[weight > 0]
        heavier = math.log(counted.max()) - math.log(counted.min())  # what a mass can add to a logit
        steepest = np.ptp(biases(model, n)) if has_table(model.bias) else np.abs(model.slopes).max() * n
        enough = math.log(NO_WEIGHT + float(steepest) + heavier)
        seen = np.broadcast_to(sees(model.mask, n) & (weight > 0), (model.n_heads, n, n))
        for form, visible in zip(model.form, seen, strict=True):
            u = (grown + faded) @ (model.beta * form)
            for m in np.unique(self.leader):
                led = np.flatnonzero(self.leader == m)
                ours = (self.leader == m)[:, None]
                apart = np.sum(u * self._grow(self._home - self._home[m], t, sigma), axis=1)[:, None]
                near, far = -(u @ self._constant[led].T), apart - u @ faded[led].T
                depth = np.where(ours, np.log(near) + sigma * t, np.log(far) + 2 * sigma * t)
                same = ours & (self._off[led] == 0).all(axis=1)
                if not (same | ~visible[:, led] | (depth > enough)).all():
                    return False
        return True


def _spectrum(model: Model, dt: float | None) -> tuple[Array, Array]:
    values, vectors = np.linalg.eig(model.values.sum(axis=0))
    return (values if dt is None else np.log(1.0 + dt * values.astype(complex)) / dt), vectors


def settle(model: Model, x: Array, t: float, t_end: float, dt: float | None = None) -> Settled | None:
    """The rest of a run from tokens x (n, d) at time t, or None if its attention is not Boolean for good.

    dt: of layers. Not for feed-forward blocks (not linear), heads that differ in their leaders, a V without a basis of
    eigenvectors or with a leading pair of complex ones (leaders then take turns).
    """
    soft = model.normaliser == "softmax" and math.isfinite(model.beta)
    if model.space != "rescaled" or model.feedforward is not None or not soft or t >= t_end:
        return None
    eigenvalues, vectors = _spectrum(model, dt)
    sigma = eigenvalues.real.max()
    if sigma <= 0 or np.abs(eigenvalues[eigenvalues.real > sigma * (1 - 1e-9)].imag).max() > 0:
        return None
    flow = flow_at(model, t) if dt is None else flow_at_layer(model, round(t / dt), dt)
    leader = _leaders(model, x, flow)
    if leader is None or np.linalg.cond(vectors) > SKEWED:
        return None
    rest = Settled(model, x, t, leader, dt)
    soon = min(t + 10.0 / float(np.abs(eigenvalues).max()), t_end)
    looks = np.unique([*np.linspace(t, soon, LOOKS), *np.geomspace(soon, t_end, LOOKS)])
    return rest if np.isfinite(rest._constant).all() and all(rest.holds(float(s)) for s in looks) else None


@np.errstate(under="ignore")
def _leaders(model: Model, x: Array, flow: Rescaling) -> np.ndarray | None:
    """The leader of every token, the same for all heads and led by itself; None where there is none.

    Of tokens that coincide the first stands for all.
    """
    less, _ = drops(model, x, flow)
    _, first, which = np.unique(x, axis=0, return_index=True, return_inverse=True)
    stands = first[which.reshape(-1)]
    leader = stands[less.argmax(axis=-1)]
    others = stands[None, None, :] != leader[..., None]
    weight = masses(model, len(x)) * np.exp(less)
    theirs, its = (np.where(part, weight, 0.0).sum(axis=-1) for part in (others, ~others))
    if (theirs > np.finfo(float).eps * its).any():
        return None
    rests = (leader == stands) | ~np.isin(stands, leader)  # whoever stands where a leader stands must lead itself
    return leader[0] if (leader == leader[0]).all() and rests.all() else None
