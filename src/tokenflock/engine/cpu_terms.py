"""A Model laid out for the compiled kernels: numbers and arrays in fixed places, and the scratch space beside them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tokenflock.engine.blas_kernels import TILE
from tokenflock.engine.contract import is_near
from tokenflock.engine.mutual_products import STRIPS, tile_size
from tokenflock.engine.pair_kernels import CHUNKS
from tokenflock.engine.simd import PAD
from tokenflock.engine.sums_kernels import new_desk
from tokenflock.model import Model, is_scalar, visible

SPHERE, EUCLIDEAN, RESCALED = 0, 1, 2
KINDS = {"post": 0, "pre": 1, "peri": 2, "ngpt": 3, "sqrt": 4}
ACTIVATIONS = {"none": 0, "relu": 1, "tanh": 2, "linear": 3}
FORM, VALUE, LESS = 0, 1, 2  # the pages of Terms.heads
X, U, P, SPARE, MX, ALONG, LESSER, DRIVE = range(8)  # the pages of Work.tokens
Z, TOP = 0, 1  # the pages of Work.line
LOG2E = 1.0 / math.log(2.0)
BLAS_FROM = 16  # from this dimension on, matrix products beat the pair loop (benchmarks/speed.py)
LOG, SPREAD = 0, 1  # the places of Work.late
NEAR_KERNELS = ("near2", "near3", "mutual")
PRODUCTS = ("products", "mutual_products")

NUMBERS = np.dtype(
    [
        (name, np.int64)
        for name in (
            "n",
            "space",
            "by_count",
            "hard",
            "near",
            "apart",
            "scalar_form",
            "scalar_value",
            "activation",
        )
    ]
    + [(name, np.float64) for name in ("scale", "shift", "alpha", "decay", "noise", "mu", "rho")],
    align=True,
)


class Terms(NamedTuple):
    """The constants of one model for n tokens, read by the kernels."""

    numbers: Any  # a record, see NUMBERS
    heads: Any  # (3, H, d, d): beta B in units of log 2 (hardmax: B itself), V, V - V_11 I
    flow: Any  # (d, d): V - mu I, mu the largest real part of an eigenvalue
    slopes: Any  # (H,) of the bias, in the units of the form
    rows: Any  # (3, columns): lo, hi, number of visible tokens
    frozen: Any  # (d + 1, m): frozen tokens and log2 of their weights (hardmax: the weights)
    inner: Any  # (k, d + 1): the feed-forward's a and b
    outer: Any  # (d, k): its w


class Work(NamedTuple):
    """Scratch space of one run."""

    tokens: Any  # (8, d, columns)
    line: Any  # (2, 1, columns)
    near: Any  # (2 or 3, columns)
    share: Any  # (CHUNKS, 4, columns) for `mutual`, (2, n, d) for `products`, (2 + STRIPS, n, d) for mutual ones
    hidden: Any  # (k, columns)
    form: Any  # (H, d, d): the form; in rescaled space B M at the present time, exp(tV) = exp(log) M
    flow: Any  # (d, d): M
    late: Any  # (2,): 2 log, and how far the rows were from having one leader each at the last evaluation
    tile: Any  # (1, TILE (n + d)) for `products`, (1, tile_size) for mutual ones
    desk: Any  # (DESK_SIZE,) where a team shares its work, see sums_kernels


def columns_for(n: int) -> int:
    """Columns of a token array: a multiple of PAD, with at least one to spare for an odd last row."""
    return (n // PAD + 1) * PAD


def kernel_for(model: Model) -> str:
    """Which pair kernel serves a model."""
    if model.space == "rescaled" and not math.isinf(model.beta):
        if model.bias is not None:
            return "leader_biased"
        return "products" if model.dim >= BLAS_FROM else f"leader{model.dim if model.dim <= 3 else ''}"
    if math.isinf(model.beta) or model.bias is not None:
        return "rare"
    if model.dim >= BLAS_FROM and model.frozen is None:
        return "mutual_products" if model.mask == "full" and _is_simple(model) else "products"
    if model.dim in (2, 3) and is_near(model):
        return "mutual" if model.mask == "full" else f"near{model.dim}"
    return {2: "general2", 3: "general3"}.get(model.dim, "general")


def is_plain(model: Model) -> bool:
    """Whether the short velocity does: the papers' main case, V = c I on the sphere with B = c' I and no extras."""
    name = kernel_for(model)
    short = name in (*NEAR_KERNELS, *PRODUCTS) or (name == "general" and model.normaliser == "softmax")
    return short and _is_simple(model)


def _is_simple(model: Model) -> bool:
    scalar = is_near(model) and is_scalar(model.values)
    return scalar and model.feedforward is None and model.norm.kind == "post"


def _numbers(model: Model, n: int, form: np.ndarray, mu: float, rho: float) -> np.ndarray:
    record = np.zeros((), dtype=NUMBERS)
    record["n"] = n
    record["space"] = {"sphere": SPHERE, "euclidean": EUCLIDEAN, "rescaled": RESCALED}[model.space]
    record["by_count"] = model.normaliser != "softmax"
    record["hard"] = math.isinf(model.beta)
    record["near"] = kernel_for(model) in (*NEAR_KERNELS, "mutual_products")
    record["apart"] = model.space == "rescaled" and kernel_for(model) == "products"
    record["scalar_form"] = is_scalar(form) and model.space != "rescaled"
    record["scalar_value"] = is_scalar(model.values)
    record["activation"] = ACTIVATIONS["none" if model.feedforward is None else model.feedforward.activation]
    # Tokens times `scale` have s_ij - s_ii = -|x_i - x_j|^2 for the near kernels, and s_ij = <x_i, x_j> for all others.
    # At beta = 0 any tiny scale gives equal weights.
    share = 0.5 if kernel_for(model) in NEAR_KERNELS else 1.0
    record["scale"] = max(math.sqrt(max(form[0, 0, 0], 0.0) * share), 1e-10)
    record["shift"] = model.beta * LOG2E if model.normaliser == "scaled-count" else 0.0
    record["alpha"], record["decay"] = model.norm.alpha, model.norm.decay
    record["noise"], record["mu"], record["rho"] = model.noise, mu, rho
    return record[()]


def lay_out(model: Model, n: int, dtype: str, layer_step: float = 0.0) -> Terms:
    """The Terms of a model for n tokens. layer_step: dt of rescaled layers, whose V is R^-1 V (E13)."""
    columns, hard, d = columns_for(n), math.isinf(model.beta), model.dim
    form = model.form * (1.0 if hard else model.beta * LOG2E)
    total = model.values.sum(axis=0)
    mu = float(np.linalg.eigvals(total).real.max()) if model.space == "rescaled" else 0.0
    values, rho = model.values, 1.0
    if model.space == "rescaled" and layer_step:
        step = np.eye(d) + layer_step * total
        values, rho = np.linalg.solve(step, values), float(np.abs(np.linalg.eigvals(step)).max())
    lo, hi = (np.concatenate([v, np.full(columns - n, v[-1])]) for v in visible(model.mask, n))
    frozen, weights = (
        (np.zeros((0, d)), np.zeros(0)) if model.frozen is None else (model.frozen.tokens, model.frozen.weights)
    )
    ff = model.feedforward
    a, b, w = (np.zeros((1, d)), np.zeros(1), np.zeros((d, 1))) if ff is None else (ff.a, ff.b, ff.w)
    # Fresh, writable and row-major, always: any other flag would be another type to numba, and another compilation.
    own = lambda array, kind=dtype: np.array(array, dtype=kind, order="C")  # noqa: E731
    return Terms(
        numbers=_numbers(model, n, form, mu, rho),
        heads=own(np.stack([form, values, values - values[:, :1, :1] * np.eye(d)])),
        flow=own(total - mu * np.eye(d), "float64"),
        slopes=own(model.slopes * (1.0 if hard else LOG2E), "float64"),
        rows=own(np.stack([lo, hi, hi - lo + weights.sum()])),
        frozen=own(np.concatenate([frozen.T, (weights if hard else np.log2(weights))[None]])),
        inner=own(np.concatenate([a, b[:, None]], axis=1)),
        outer=own(w),
    )


def scratch(model: Model, terms: Terms, dtype: str) -> Work:
    """Work arrays for the kernel that will run; those it does not need are left empty. O(n d) numbers."""
    d, columns = model.dim, terms.rows.shape[1]
    name = kernel_for(model)
    n = int(terms.numbers["n"])
    shares = {"mutual": (CHUNKS, 4, columns), "products": (2, n, d), "mutual_products": (2 + STRIPS, n, d)}
    tiles = {"products": TILE * (n + d), "mutual_products": tile_size(d)}
    if name.startswith("leader"):
        shares[name] = (1, d, columns)
    make = lambda *shape: np.zeros(shape, dtype=dtype)  # noqa: E731
    return Work(
        tokens=make(8, d, columns),
        line=make(2, 1, columns),
        near=make(3 if name == "mutual" else d, columns if name in NEAR_KERNELS or is_plain(model) else 0),
        share=make(*shares.get(name, (1, 1, 1))),
        hidden=make(len(terms.inner), columns if terms.numbers["activation"] else 0),
        form=np.array(terms.heads[FORM]),
        flow=np.eye(d, dtype=dtype),
        late=np.zeros(2),
        tile=make(1, tiles.get(name, 1)),
        desk=new_desk(),
    )
