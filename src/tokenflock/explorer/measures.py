"""What is charted of every frame: clusters, with a radius and without, energy, tokens consumed, distances."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.analysis import clusters, energy, persistence, renyi
from tokenflock.explorer.prediction import Prediction, predict
from tokenflock.geometry import Array
from tokenflock.model import Model

#: the radii at which clusters are counted, in radians, or in sizes of the start of R^d: all that a page can show
RADII = np.geomspace(1e-4, math.pi, 28)
WITHIN = tuple(f"clusters_within_{k}" for k in range(len(RADII)))
LASTING = ("lasting", "lasting_from", "lasting_to")
NAMES = ("clusters", "energy", "consumed", "consumed_strong", "distance", "gap", "size", *LASTING, *WITHIN)
SEPARATION = 4.0  # c in delta = c beta^(-1/2), as in the figures of paper A
NEAR, FAR = 0.02, 0.3  # the least and the largest radius within which tokens are one cluster
SHARE = 0.02  # of the size of the start: that radius in R^d
CELLS, MOST_COMPARED = 6, 5e8  # beyond this dimension centers cost n^2 d: half a second at most, or they are left out
FEW = 400  # tokens up to which what looks at all pairs is cheap in every frame
MOST_PAIRED = 2000  # tokens up to which it is looked at how clusters depend on the radius


class Ruler:
    """How the frames of one run are measured: radii and centers are those of its start.

    A run with many changes has many rulers, so that what takes time is found when it is asked for.
    """

    def __init__(self, model: Model, start: Array) -> None:
        self.model, self.first, self._start = model, start[0], start
        self.has_energy = 0 <= model.beta < math.inf and np.ndim(model.masses) < 2
        self.on_sphere = model.space == "sphere"
        self._middle = start.mean(axis=0)
        self.size = float(np.linalg.norm(start - self._middle, axis=1).max()) or 1.0
        beta = model.beta
        sharp = self.on_sphere and 0 < beta < math.inf
        if self.on_sphere:
            self.radius = min(FAR, max(NEAR, 0.25 / math.sqrt(beta))) if sharp else FAR if beta <= 0 else NEAR
        else:
            self.radius = SHARE * self.size
        self.radii = RADII if self.on_sphere else self.size * RADII
        slow = model.dim > CELLS and model.dim * len(start) ** 2 > MOST_COMPARED
        self.delta = SEPARATION / math.sqrt(beta) if sharp and not slow else math.nan

    @cached_property
    def prediction(self) -> Prediction:
        """What the papers say of the model."""
        return predict(self.model)

    @cached_property
    def centers(self) -> NDArray[np.intp]:
        """The Renyi centers of the start."""
        return np.zeros(0, dtype=np.intp) if math.isnan(self.delta) else renyi.centers(self._start, self.delta)

    @cached_property
    def strong(self) -> NDArray[np.intp]:
        """The strong ones among them."""
        return np.zeros(0, dtype=np.intp) if math.isnan(self.delta) else renyi.strong_centers(self._start, self.delta)

    def labels(self, x: Array) -> NDArray[np.intp]:
        """The cluster of each token of a frame (n, d)."""
        return clusters.label(x, self.radius, "sphere" if self.on_sphere else "euclidean")

    def measure(self, x: Array, labels: NDArray[np.intp], with_pairs: bool = True) -> Array:
        """The numbers in the order of NAMES; nan where one has no meaning, or was left out.

        with_pairs: also what looks at every pair of tokens.
        """
        size = float(np.linalg.norm(x - x.mean(axis=0), axis=1).max())
        found = dict.fromkeys(NAMES, math.nan) | {"clusters": float(labels.max()) + 1.0, "size": size / self.size}
        if self.on_sphere:
            found["distance"] = self.prediction.distance(x)
            found["gap"] = self.prediction.gap(x, self.first)
            if with_pairs and self.has_energy:
                found["energy"] = energy.scaled_energy(x, self.model.beta, self.model.masses)
            if len(self.centers):
                radius = 1.0 / math.sqrt(self.model.beta)
                found["consumed"] = float(renyi.consumed(x, self.centers, radius).mean())
                found["consumed_strong"] = float(renyi.consumed(x, self.strong, radius).mean())
        if with_pairs and 1 < len(x) <= MOST_PAIRED:
            found |= self._without_radius(x)
        return np.array([found[name] for name in NAMES])

    def _without_radius(self, x: Array) -> dict[str, float]:
        """How many clusters there are within every radius, and the number that lasts longest."""
        space = "sphere" if self.on_sphere else "euclidean"
        longest = persistence.lasting(x, space)
        within = len(x) - np.searchsorted(persistence.barcode(x, space), self.radii, side="right")
        found = (longest.count, longest.low, longest.high, *within)
        return {name: float(value) for name, value in zip((*LASTING, *WITHIN), found, strict=True)}

    def described(self) -> dict[str, Any]:
        """For the page."""
        return {
            "measures": list(NAMES),
            "radius": self.radius,
            "radii": self.radii.tolist(),
            "delta": None if math.isnan(self.delta) else self.delta,
            "centers": self.centers.tolist(),
            "strong": self.strong.tolist(),
        }
