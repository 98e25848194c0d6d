"""A feed-forward layer that acts on the tokens of R^d themselves: the form that shows the last figure of paper B.

The printed equation has it act on rescaled tokens, z_i' = W sigma(V sum_j P_ij (z_j - z_i)), and does not; that is (E8)
of `tokenflock.model`. This one is no option of `Model`: it is the claim's and the figure's.
"""

from __future__ import annotations

import numpy as np

from tokenflock.analysis import attention
from tokenflock.geometry import Array
from tokenflock.model import Model


def tokens_through(V: Array, W: Array, sigma: str, start: Array, times: Array, rtol: float = 1e-5) -> Array | None:
    """z = e^{-tV} x at the times, (times, n, d), of x_i' = W sigma(V sum_j P_ij x_j), Q = K = I, or None."""
    from scipy.integrate import solve_ivp
    from scipy.linalg import expm

    model = Model(dim=len(V), space="rescaled", mask="full")

    def rate(_: float, flat: Array) -> Array:
        x = flat.reshape(start.shape)
        u = attention.matrix(model, x) @ x @ V.T  # at t = 0 z is x
        return ((np.tanh(u) if sigma == "tanh" else np.maximum(u, 0.0)) @ W.T).ravel()

    span = (0.0, float(times[-1]))
    done = solve_ivp(rate, span, start.ravel(), t_eval=times, rtol=rtol, atol=1e-3 * rtol)
    if not done.success:
        return None
    x = done.y.T.reshape(-1, *start.shape)
    return np.stack([one @ expm(-t * V).T for one, t in zip(x, times, strict=True)])
