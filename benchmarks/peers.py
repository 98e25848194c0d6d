"""The same work in the tools that users have today. Each returns solve(starts) -> frames (runs, times, n, d)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from work import Work

Solve = Callable[[np.ndarray], np.ndarray]


def tokenflock(work: Work) -> Solve:
    """One call of simulate for all runs."""
    import tokenflock as flock

    model, times = work.model, work.times

    def solve(starts: np.ndarray) -> np.ndarray:
        start = starts if len(starts) > 1 else starts[0]
        x = flock.simulate(model, start, work.t_end, times=times, rtol=work.rtol, atol=work.atol, progress=False)[
            "x"
        ].values
        return x if len(starts) > 1 else x[None]

    return solve


# Their right-hand sides, as scripts write them: x (n, d) -> x', Q = K = V = I on the sphere.

Field = Callable[[Any], Any]


def numpy_field(n: int, beta: float, mask: str) -> Field:
    """Softmax attention with an n x n matrix."""
    hidden = np.triu(np.ones((n, n), dtype=bool), 1)

    def field(x: np.ndarray) -> np.ndarray:
        s = beta * (x @ x.T)
        if mask == "causal":
            s[hidden] = -np.inf
        a = np.exp(s - s.max(axis=1, keepdims=True))
        v = (a @ x) / a.sum(axis=1, keepdims=True)
        return v - (x * v).sum(axis=1, keepdims=True) * x

    return field


def jax_field(n: int, beta: float, mask: str) -> Field:
    """The same, to be compiled by whoever calls it."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    seen = jnp.tril(jnp.ones((n, n), dtype=bool))

    def field(x: Any) -> Any:
        s = beta * (x @ x.T)
        if mask == "causal":
            s = jnp.where(seen, s, -jnp.inf)
        v = jax.nn.softmax(s, axis=1) @ x
        return v - jnp.sum(x * v, axis=1, keepdims=True) * x

    return field


def torch_field(n: int, beta: float, mask: str) -> Field:
    """The same, eager."""
    import torch

    hidden = torch.triu(torch.ones((n, n), dtype=torch.bool), 1)

    def field(x: Any) -> Any:
        s = beta * (x @ x.T)
        if mask == "causal":
            s = s.masked_fill(hidden, -torch.inf)
        v = torch.softmax(s, dim=1) @ x
        return v - (x * v).sum(dim=1, keepdim=True) * x

    return field


def _scipy(method: str) -> Callable[[Work], Solve]:
    def prepare(work: Work) -> Solve:
        from scipy.integrate import solve_ivp

        velocity, times = numpy_field(work.n_tokens, work.beta, work.mask), work.times
        field = lambda t, y: velocity(y.reshape(work.n_tokens, work.dim)).ravel()  # noqa: E731

        def one(start: np.ndarray) -> np.ndarray:
            span = (0.0, work.t_end)
            run = solve_ivp(field, span, start.ravel(), method=method, rtol=work.rtol, atol=work.atol, t_eval=times)
            return run.y.T.reshape(len(times), *start.shape)

        return lambda starts: np.stack([one(s) for s in starts])

    return prepare


def _diffrax(batched: bool) -> Callable[[Work], Solve]:
    def prepare(work: Work) -> Solve:
        import diffrax
        import jax
        import jax.numpy as jnp

        velocity, times = jax_field(work.n_tokens, work.beta, work.mask), jnp.asarray(work.times)
        controller = diffrax.PIDController(rtol=work.rtol, atol=work.atol)

        def one(start):
            return diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, x, args: velocity(x)),
                diffrax.Tsit5(),
                0.0,
                work.t_end,
                None,
                start,
                saveat=diffrax.SaveAt(ts=times),
                stepsize_controller=controller,
                max_steps=100_000,
            ).ys

        if batched:
            many = jax.jit(jax.vmap(one))
            return lambda starts: np.asarray(many(jnp.asarray(starts)))
        single = jax.jit(one)
        return lambda starts: np.stack([np.asarray(single(jnp.asarray(s))) for s in starts])

    return prepare


def _torchdiffeq(work: Work) -> Solve:
    import torch
    from torchdiffeq import odeint

    velocity, times = torch_field(work.n_tokens, work.beta, work.mask), torch.as_tensor(work.times)

    def solve(starts: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            runs = [
                odeint(
                    lambda t, x: velocity(x), torch.as_tensor(s), times, rtol=work.rtol, atol=work.atol, method="dopri5"
                )
                for s in starts
            ]
        return np.stack([r.numpy() for r in runs])

    return solve


PEERS: dict[str, Callable[[Work], Solve]] = {
    "tokenflock": tokenflock,
    "diffrax Tsit5": _diffrax(batched=False),
    "diffrax Tsit5 vmap": _diffrax(batched=True),
    "scipy RK45": _scipy("RK45"),
    "scipy DOP853": _scipy("DOP853"),
    "torchdiffeq dopri5": _torchdiffeq,
}
