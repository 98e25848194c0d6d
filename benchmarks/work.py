"""What is timed: problems, each with its starts, recorded times and parameters; and whole jobs, each with a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import tokenflock as flock


@dataclass(frozen=True)
class Work:
    """One benchmark problem: Q = K = V = I on the sphere, rtol 1e-6, atol 1e-9."""

    name: str
    mask: str
    n_tokens: int
    dim: int
    beta: float
    t_end: float
    frames: int
    runs: int = 1
    rtol: float = 1e-6
    atol: float = 1e-9

    @property
    def times(self) -> np.ndarray:
        """Recorded times."""
        return np.linspace(0.0, self.t_end, self.frames)

    @property
    def starts(self) -> np.ndarray:
        """(runs, n, d)."""
        return flock.uniform(n_tokens=self.n_tokens, dim=self.dim, seed=0, runs=self.runs)

    @property
    def model(self) -> flock.Model:
        """The same for tokenflock."""
        return flock.Model(dim=self.dim, beta=self.beta, mask=self.mask)


SINGLE = Work("one causal run, n=200, d=2, beta=64, t=150", "causal", 200, 2, 64.0, 150.0, 151)
ENSEMBLE = Work("many such runs", "causal", 200, 2, 64.0, 150.0, 151, runs=64)
FULL = Work("full attention, n=1000, d=3, beta=9, t=30", "full", 1000, 3, 9.0, 30.0, 31)
WORKS = {"single": SINGLE, "ensemble": ENSEMBLE, "full": FULL}


@dataclass(frozen=True)
class Limit:
    """A whole job and the seconds it may take, warm, on two cores. No peer does the same work: the limit is ours."""

    name: str
    seconds: float
    why: str


FIGURE_RUNS = 5000
LIMITS = {
    "figure": Limit(f"figure causal/3 in full ({FIGURE_RUNS:,} runs)", 60.0, "a loop in numpy takes an evening"),
    "quick": Limit("reproduce of paper A, quick", 120.0, "what the README promises"),
    "full": Limit("reproduce of paper A, full", 1800.0, "half an hour"),
}
