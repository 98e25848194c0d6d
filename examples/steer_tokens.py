"""Steer four tokens to two clusters: weights Q(t), K(t), V(t) of least cost, and what they cost.

python examples/steer_tokens.py [figure.png]
"""

import sys

import numpy as np

import tokenflock as flock
from tokenflock.geometry import circle
from tokenflock.papers.studies.obstructions import obstruction
from tokenflock.papers.studies.pontryagin import extremal
from tokenflock.papers.studies.problem import Problem, Reach
from tokenflock.papers.studies.steering import solve

model = flock.Model(dim=2, beta=1.0, mask="full")
start = circle(np.array([-2.6, -0.9, 0.5, 1.9]))
targets = circle(np.array([-1.7, -1.5, 1.1, 1.3]))

# The first two tokens to one place, the others to another: nothing is in the way.
problem = Problem(model, start, Reach(targets), t_end=2.0, intervals=3)
print("in the way:", obstruction(model, start, targets, problem.controls) or "nothing")
best = solve(problem, starts=6, seed=0)
path = extremal(problem, best.controls, best.steps)
print(f"J = {best.measured:.3f}, of which cost {best.cost:.3f}; doing nothing: {problem.measured(problem.resting):.1f}")
print(f"largest miss {best.error:.3f}; optimality residual {best.residual:.0e}")
print("V(t):", *np.round(best.controls["value"][:, 0], 2).tolist(), sep="\n  ")

# The first and the third to one place: on the circle full attention keeps the order of the tokens.
print("in the way:", obstruction(model, start, targets[[0, 2, 1, 3]], problem.controls))

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots(1, 2)
    axes[0].plot(path.times, np.unwrap(np.arctan2(path.path[..., 1], path.path[..., 0]), axis=0))
    axes[0].set(xlabel="t", ylabel="angle of the token")
    axes[1].plot(path.times, np.linalg.norm(path.costate, axis=-1))
    axes[1].set(xlabel="t", ylabel="costate")
    figure.savefig(sys.argv[1], dpi=150)
