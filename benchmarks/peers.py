"""The same work in the tools that users have today. Each returns solve(starts) -> frames (runs, times, n, d)."""

from __future__ import annotations

from collections.abc import Callable

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


def _numpy_field(work: Work) -> Callable[[float, np.ndarray], np.ndarray]:
    n, d = work.n_tokens, work.dim
    hidden = np.triu(np.ones((n, n), dtype=bool), 1)

    def field(t: float, y: np.ndarray) -> np.ndarray:
        x = y.reshape(n, d)
        s = work.beta * (x @ x.T)
        if work.mask == "causal":
            s[hidden] = -np.inf
        a = np.exp(s - s.max(axis=1, keepdims=True))
        v = (a @ x) / a.sum(axis=1, keepdims=True)
        return (v - (x * v).sum(axis=1, keepdims=True) * x).ravel()

    return field


def _scipy(method: str) -> Callable[[Work], Solve]:
    def prepare(work: Work) -> Solve:
        from scipy.integrate import solve_ivp

        field, times = _numpy_field(work), work.times

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

        jax.config.update("jax_enable_x64", True)
        seen = jnp.tril(jnp.ones((work.n_tokens, work.n_tokens), dtype=bool))
        times = jnp.asarray(work.times)

        def field(t, x, args):
            s = work.beta * (x @ x.T)
            if work.mask == "causal":
                s = jnp.where(seen, s, -jnp.inf)
            v = jax.nn.softmax(s, axis=1) @ x
            return v - jnp.sum(x * v, axis=1, keepdims=True) * x

        controller = diffrax.PIDController(rtol=work.rtol, atol=work.atol)

        def one(start):
            return diffrax.diffeqsolve(
                diffrax.ODETerm(field),
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

    hidden = torch.triu(torch.ones((work.n_tokens, work.n_tokens), dtype=torch.bool), 1)
    times = torch.as_tensor(work.times)

    def field(t, x):
        s = work.beta * (x @ x.T)
        if work.mask == "causal":
            s = s.masked_fill(hidden, -torch.inf)
        v = torch.softmax(s, dim=1) @ x
        return v - (x * v).sum(dim=1, keepdim=True) * x

    def solve(starts: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            runs = [
                odeint(field, torch.as_tensor(s), times, rtol=work.rtol, atol=work.atol, method="dopri5")
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
