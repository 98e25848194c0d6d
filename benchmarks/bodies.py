"""Long runs with bodies beside SUNDIALS CVODE (scikit-sundae) and scipy's LSODA, each with an analytic Jacobian.

In turns, warm. The peers have the angles of the tokens on the circle, so that differences are as good as they can be
there, the tolerances of our run, and a Jacobian that is exact. Options: --quick (smaller), --only NAME, --out FILE.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tokenflock as flock
from run import machine

RTOL, ATOL, BETA, T_END = 1e-6, 1e-9, 64.0, 1e30
PEER_S = 300.0  # after which a peer is given up, if not said otherwise
LARGE = 500  # unknowns from which CVODE factorises by LAPACK


def circle(angles: np.ndarray) -> np.ndarray:
    """Tokens at these angles."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class Peer:
    """theta_i' = sum_j A_ij sin(theta_j - theta_i), A a softmax of beta cos(theta_i - theta_j), by another library."""

    name = ""

    def __init__(self, beta: float, causal: bool, start: np.ndarray, seconds: float = PEER_S) -> None:
        self.beta, self.start, self.began, self.seconds, self.last = beta, start, 0.0, seconds, 0.0
        self.jacobians = 0
        self.hidden = np.triu(np.full((len(start),) * 2, -np.inf), 1) if causal else 0.0

    def solve(self, t_end: float) -> tuple[float, bool, np.ndarray]:
        """How far it came, whether that is the end, and where the tokens are then."""
        raise NotImplementedError

    def _weights(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gap = theta[None, :] - theta[:, None]
        a = np.exp(self.beta * (np.cos(gap) - 1.0) + self.hidden)
        return a / a.sum(axis=1, keepdims=True), gap

    def _rate(self, t: float, theta: np.ndarray, out: np.ndarray) -> None:
        self.last = t
        if time.perf_counter() - self.began > self.seconds:
            raise TimeoutError
        a, gap = self._weights(theta)
        out[:] = (a * np.sin(gap)).sum(axis=1)

    def _jacobian(self, t: float, theta: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
        self.jacobians += 1
        a, gap = self._weights(theta)
        sine = np.sin(gap)
        pull = (a * sine).sum(axis=1, keepdims=True)
        whole = a * (np.cos(gap) - self.beta * sine * (sine - pull))
        out[:] = whole - np.diag(whole.sum(axis=1))

    def __call__(self, t_end: float) -> dict[str, Any]:
        """Seconds, and how far it came."""
        self.began, self.jacobians = time.perf_counter(), 0
        place: np.ndarray | None
        try:
            reached, ok, place = self.solve(t_end)
        except TimeoutError:
            reached, ok, place = self.last, False, None
        spent = time.perf_counter() - self.began
        return {"seconds": spent, "reached": reached, "success": ok, "place": place, "jacobians": self.jacobians}


class Cvode(Peer):
    """SUNDIALS CVODE."""

    name = "cvode"

    def solve(self, t_end: float) -> tuple[float, bool, np.ndarray]:
        """See Peer."""
        from sksundae.cvode import CVODE

        options = {"rtol": RTOL, "atol": ATOL, "max_num_steps": 10**6, "first_step": 1e-4}
        options["linsolver"] = "lapackdense" if len(self.start) >= LARGE else "dense"
        found = CVODE(self._rate, jacfn=self._jacobian, **options).solve(np.array([0.0, t_end]), self.start)
        return float(found.t[-1]), bool(found.success), found.y[-1]


class Lsoda(Peer):
    """LSODA of scipy, which chooses between Adams and BDF by itself."""

    name = "lsoda"

    def solve(self, t_end: float) -> tuple[float, bool, np.ndarray]:
        """See Peer."""
        from scipy.integrate import LSODA

        def rate(t: float, theta: np.ndarray) -> np.ndarray:
            out = np.empty_like(theta)
            self._rate(t, theta, out)
            return out

        def jacobian(t: float, theta: np.ndarray) -> np.ndarray:
            out = np.empty((len(theta),) * 2)
            self._jacobian(t, theta, theta, out)
            return out

        solver = LSODA(rate, 0.0, self.start, t_end, first_step=1e-4, rtol=RTOL, atol=ATOL, jac=jacobian)
        while solver.status == "running":
            solver.step()
        return float(solver.t), solver.status == "finished", solver.y


def clusters(angles: np.ndarray) -> int:
    """Places of tokens that are told apart by 1e-3."""
    around = np.sort(np.mod(angles, 2 * math.pi))
    return int((np.diff(np.append(around, around[0] + 2 * math.pi)) > 1e-3).sum())


def compare(
    name: str, n: int, causal: bool, turns: int, peer: float = PEER_S, kind: type[Peer] = Cvode, **options: Any
) -> dict[str, Any]:
    """Our run to T_END and the peer's, in turns; peer: the seconds after which it is given up, none if 0."""
    angles = np.random.default_rng(0).uniform(0, 2 * math.pi, n)
    model = flock.Model(dim=2, beta=BETA, mask="causal" if causal else "full")

    def ours(tokens: int = n) -> tuple[float, Any]:
        began = time.perf_counter()
        run = flock.simulate(model, circle(angles[:tokens]), T_END, times=[T_END], progress=False, **options)
        return time.perf_counter() - began, run

    ours() if n <= 10_000 else ours(40_000)  # warm
    other = kind(BETA, causal, angles, peer) if peer else None
    mine, theirs = [], []
    for _ in range(turns):
        mine.append(ours())
        theirs.append(other(T_END) if other is not None else {})
    run = mine[-1][1]
    row: dict[str, Any] = {"name": name, "seconds": round(min(s for s, _ in mine), 3), "left": run.attrs["left"]}
    if other is not None:
        best = min(theirs, key=lambda one: one["seconds"])
        row |= {f"{other.name}_seconds": round(best["seconds"], 2), f"{other.name}_reached": best["reached"]}
        row |= {f"{other.name}_jacobians": best["jacobians"], f"{other.name}_done": best["success"]}
        if best["success"]:
            row["ratio"] = round(best["seconds"] / row["seconds"], 1)
        if best["place"] is not None:
            row[f"{other.name}_clusters"] = clusters(best["place"])
            row["ours_clusters"] = clusters(np.arctan2(run["x"].values[-1, :, 1], run["x"].values[-1, :, 0]))
            row["apart"] = float(np.linalg.norm(run["x"].values[-1] - circle(best["place"]), axis=1).max())
    return row


def to_the_end(name: str, beta: float, angles: list[float], turns: int) -> dict[str, Any]:
    """A few tokens of full attention, until they have met or 1e300."""
    model = flock.Model(dim=2, beta=beta, mask="full")
    go = lambda: flock.simulate(model, circle(np.array(angles)), math.inf, progress=False)  # noqa: E731
    go()
    seconds = []
    for _ in range(turns):
        began = time.perf_counter()
        run = go()
        seconds.append(time.perf_counter() - began)
    return {"name": name, "seconds": round(min(seconds), 3), "outcome": run.attrs["outcome"]}


def main() -> None:
    """Measure and print a row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--peer-seconds", type=float, default=PEER_S, help="after which a peer is given up")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    five = [0.0, 0.41, 1.3, 2.2, 3.6]
    jobs: dict[str, Callable[[], dict[str, Any]]] = {
        "causal n=200": lambda: compare("causal n=200", 200, True, 3),
        "full n=200": lambda: compare("full n=200", 200, False, 3),
        "LSODA, n=200 causal": lambda: compare("causal n=200", 200, True, 3, given.peer_seconds, Lsoda),
        "LSODA, n=200 full": lambda: compare("full n=200", 200, False, 3, given.peer_seconds, Lsoda),
        "five tokens, beta=1000": lambda: to_the_end("five tokens, beta=1000, to the end", 1000.0, five, 3),
        "five tokens, beta=2000": lambda: to_the_end("five tokens, beta=2000, to 1e300", 2000.0, five, 3),
    }
    if not given.quick:
        jobs |= {
            "causal n=2000 alone": lambda: compare("causal n=2000", 2_000, True, 1, 0),
            "full n=2000 alone": lambda: compare("full n=2000", 2_000, False, 1, 0),
            "skeleton n=200": lambda: compare("skeleton n=200", 200, True, 3, 0, scheme="skeleton"),
            "skeleton n=2000": lambda: compare("skeleton n=2000", 2_000, True, 3, 0, scheme="skeleton"),
            "skeleton n=1e6": lambda: compare("skeleton n=1e6", 10**6, True, 1, 0, scheme="skeleton"),
            "causal n=2000 beside": lambda: compare("causal n=2000", 2_000, True, 1, given.peer_seconds),
            "full n=2000 beside": lambda: compare("full n=2000", 2_000, False, 1, given.peer_seconds),
            "LSODA, n=2000 causal": lambda: compare("causal n=2000", 2_000, True, 1, given.peer_seconds, Lsoda),
            "LSODA, n=2000 full": lambda: compare("full n=2000", 2_000, False, 1, given.peer_seconds, Lsoda),
        }
    rows = []
    for name, job in jobs.items():
        if given.only in name:
            rows.append(job())
            print(json.dumps(rows[-1]), flush=True)
    if given.out:
        given.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
