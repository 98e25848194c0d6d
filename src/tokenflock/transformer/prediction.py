"""A head as a flock.Model: what the atlas predicts for it, and what a simulation of it does.

Tokens on the unit sphere stand for hidden states of length r: beta = scale r^2, Q and K are the head's own, and V is
W_O W_V. Where a norm stands before attention its gain is folded into all three, and r is sqrt(d), what the norm leaves;
else r is the mean length of the hidden states themselves. Two places to look:

    range   the k dimensions that the head writes to (P the orthonormal basis of W_O): V is P'W_O W_V P, k x k, and its
            eigenvalues are all that the rank of V leaves. Tokens are projected there. Cheap, and the atlas's subject
    space   all d dimensions: V has d - k eigenvalues 0 besides

In layers, x <- N(x + V mean(x)), tokens that have met follow the eigenvalue of largest |1 + lambda|, not of largest
real part: with a large negative eigenvalue that is another one, and L is then taken from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenflock.analysis import clusters
from tokenflock.analysis.spectrum import Regime, classify
from tokenflock.arguments import flag, instance, named, scalar
from tokenflock.errors import bad
from tokenflock.geometry import Array, retract
from tokenflock.model import Model, velocity
from tokenflock.networks.layer import Layer
from tokenflock.networks.spectra import Head
from tokenflock.options import matrix
from tokenflock.simulation import simulate
from tokenflock.trajectories import validate

if TYPE_CHECKING:
    import xarray as xr

PLACES, SCHEMES = ("range", "space"), ("flow", "layers")
FRAMES = 41
#: A token is in L from this |P_L x| on; tokens nearer than this (radians) have met.
INSIDE, MET = 0.99, 0.02
#: Of the time 1 / gap in which the other directions fall behind by e, so many; and the most.
DECAYS, LONGEST = 12.0, 2_000.0
#: A flow towards a point is not at its end while a token is faster than this times |V|.
MOVES = 1e-3
#: Rows of the atlas that predict nothing.
UNJUDGED = ("jordan", "zero")
#: "around L" of the atlas: the mean |P_L x| of a cloud
AROUND = 0.7


class Leading(NamedTuple):
    """What leads: how tokens grow along L, by how much faster than elsewhere, and L as orthonormal columns."""

    growth: float  #: below 0 they shrink
    gap: float
    L: Array


@dataclass(frozen=True)
class Theory:
    """One head as the theory sees it: a model, tokens of its network, and the row of the atlas."""

    model: Model
    start: Array
    regime: Regime
    place: str

    def leading(self, layers: bool = False) -> Leading:
        """`leading` of this head."""
        return leading(np.asarray(self.model.values[0]), self.regime, layers)

    def t_end(self, layers: bool = False) -> float:
        """Long enough for what the atlas says to show, if the gap is not tiny."""
        growth, gap, _ = self.leading(layers)
        gap = gap if math.isfinite(gap) else abs(growth)
        return min(DECAYS / gap, LONGEST) if gap > 0 else LONGEST


@dataclass(frozen=True)
class Observed:
    """What the tokens of one head did."""

    row: str  #: predicted
    scheme: str
    t_end: float
    inside: float  #: mean |P_L x| at the end
    inside_least: float
    clusters: int
    n_tokens: int
    speed: float  #: the largest |x'| at the end
    agrees: bool | None  #: None: the atlas has no row, or the run is not at its end
    words: str
    same: bool  #: whether L is that of lambda_max; in layers another eigenvalue may lead


def leading(value: Array, regime: Regime, layers: bool = False) -> Leading:
    """What leads for V, given its row of the atlas: lambda_max in the flow, the largest |1 + lambda| in layers."""
    instance("regime", regime, Regime, "a Regime", "analysis.spectrum.classify(value) gives one.")
    value = matrix("value", value, regime.L.shape[:1] * 2)
    if not flag("layers", layers):
        return Leading(regime.lambda_max.real, regime.gap, regime.L)
    lam, vectors = np.linalg.eig(value)
    with np.errstate(divide="ignore"):
        growth = np.log(np.abs(1 + lam))
    lead = int(np.argmax(growth))
    slower = growth[growth < growth[lead] - regime.tolerance]
    gap = float(growth[lead] - slower.max()) if slower.size else math.inf
    if abs(lam[lead].real - regime.lambda_max.real) <= regime.tolerance:
        return Leading(float(growth[lead]), gap, regime.L)
    chosen = vectors[:, lead]
    parts = [chosen.real, chosen.imag] if abs(lam[lead].imag) > regime.tolerance else [chosen.real]
    return Leading(float(growth[lead]), gap, np.linalg.qr(np.stack(parts, axis=1))[0])


def theory(layer: Layer, head: int, hidden: Any, place: str = "range") -> Theory:
    """A head of a layer, with hidden states (n, d) to begin with."""
    named("place", place, PLACES)
    given = Head.of(layer, head)
    h = matrix("hidden", hidden, (None, layer.dim))
    r = math.sqrt(layer.dim) if layer.order == "pre" else float(np.linalg.norm(h, axis=-1).mean())
    basis = np.linalg.qr(given.output)[0] if place == "range" else np.eye(layer.dim)
    V = basis.T @ given.output @ (given.value @ basis)
    model = Model(
        dim=basis.shape[1],
        beta=given.scale * r**2,
        query=given.query @ basis,
        key=given.key @ basis,
        value=V,
        mask="causal" if layer.causal else "full",
    )
    return Theory(model, retract(h @ basis), classify(V), place)


def observe(head: Theory, scheme: str = "flow", t_end: float | None = None) -> tuple[Observed, xr.Dataset]:
    """Simulate a head, as a flow or in layers of step 1, and say what came of it.

    Without a t_end the run is made longer, up to LONGEST, while it is not at its end.
    """
    _check(head)
    named("scheme", scheme, SCHEMES)
    end = head.t_end(scheme == "layers") if t_end is None else _end(t_end)
    while True:
        run = _simulated(head, scheme == "layers", end)
        found = judge(head, run)
        unsettled = found.agrees is None and head.regime.row not in UNJUDGED
        if t_end is not None or end >= LONGEST or not unsettled:
            return found, run
        end = min(4 * end, LONGEST)


def _end(given: float) -> float:
    return scalar("t_end", given, f"a number > 0, up to {LONGEST:g}", lambda t: (t > 0) & (t <= LONGEST))


def _check(head: Theory) -> None:
    instance("head", head, Theory, "a Theory", "prediction.theory(layer, head, hidden) gives one.")


def _simulated(head: Theory, layers: bool, end: float) -> xr.Dataset:
    if layers:
        end = max(float(math.ceil(end)), 1.0)
        times, options = np.unique(np.round(np.linspace(0, end, FRAMES))), {"scheme": "layers", "dt": 1.0}
    else:
        # Explicit steps: implicit ones solve systems of the size n k, and what decays fast here is gone soon.
        times, options = np.linspace(0, end, FRAMES), {"scheme": "tsit5", "rtol": 1e-4, "atol": 1e-7}
    return simulate(head.model, head.start, end, times=times, progress=False, throw=False, **options)  # type: ignore[arg-type]


def judge(head: Theory, run: xr.Dataset) -> Observed:
    """What the last frame of a run of a head shows, beside what the atlas says."""
    _check(head)
    if "x" not in validate(run) or not run["time"].size or run["x"].shape[1:] != head.start.shape:
        raise bad("run", "a run of other tokens, or without positions", "a run of this head")
    x, layers = np.array(run["x"].values[-1], dtype=np.float64, order="C"), run.attrs["scheme"] == "layers"
    growth, gap, L = head.leading(layers)
    end = float(run["time"].values[-1])
    part = np.linalg.norm(x @ L, axis=-1)
    count = int(clusters.count(x, MET))
    agrees, words = _compare(head.regime.row, growth, L.shape[1], part, count)
    speed = float(np.linalg.norm(velocity(head.model, x), axis=-1).max())
    moves = not layers and L.shape[1] == 1 and speed > MOVES * float(np.linalg.norm(head.model.values[0], 2))
    if agrees is False and growth > 0 and (moves or end * gap < DECAYS * (1 - 1e-9)):
        agrees, words = None, f"{words}; not at its end"
    scheme, places = "layers" if layers else "flow", (float(part.mean()), float(part.min()), count, len(x))
    return Observed(head.regime.row, scheme, end, *places, speed, agrees, words, same=L is head.regime.L)


def _compare(row: str, growth: float, dimension: int, part: Array, count: int) -> tuple[bool | None, str]:
    """Whether tokens with these |P_L x|, in so many places, are what the atlas says; and what they are, in words."""
    all_in = bool(part.min() > INSIDE)
    where = "all in L" if all_in else f"{(part > INSIDE).mean():.0%} in L, mean |P_L x| {part.mean():.2f}"
    words = f"{where}; {count} place{'s' * (count != 1)} for {len(part)} tokens"
    if row in UNJUDGED:
        return None, words
    if growth > 0:
        most = {"one-point": 1, "first-token": 1}.get(row, 2 if dimension == 1 else len(part))
        return all_in and count <= most, words
    return bool(part.mean() > AROUND) and count == len(part), words
