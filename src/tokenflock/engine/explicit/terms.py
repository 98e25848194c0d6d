"""A Model laid out for the compiled kernels: numbers and arrays in fixed places, and the scratch space beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tokenflock.engine.compiled.lanes import BYTES, PAD
from tokenflock.engine.explicit import own_kernels
from tokenflock.engine.explicit.entries import NO_GRAPH, UNSEEN, laid_out, mass_of
from tokenflock.engine.explicit.mutual_products import n_chunks, tile_size
from tokenflock.engine.explicit.pairs import LEAST_CHUNKS, MOST_CHUNKS
from tokenflock.engine.explicit.placed_terms import group_lines, laid_form, offsets, sides, turns
from tokenflock.engine.explicit.products import TILE
from tokenflock.engine.explicit.team import NEXT, NONE, QUEUE_SIZE
from tokenflock.engine.explicit.work import (
    CALL,
    EUCLIDEAN,
    FORM,
    LESS,
    NUMBERS,
    RESCALED,
    SPHERE,
    VALUE,
    Numbers,
    P,
    Terms,
    U,
    Work,
    X,
    no_pairs,
)
from tokenflock.engine.traits import traits
from tokenflock.geometry import Array
from tokenflock.groups import met
from tokenflock.masks import graph, has_table, is_interval, sees, visible
from tokenflock.model import Model, biases, less, masses

KINDS = {"post": 0, "pre": 1, "peri": 2, "ngpt": 3, "sqrt": 4}
ACTIVATIONS = {"none": 0, "relu": 1, "tanh": 2, "linear": 3}
LOG2E = 1.0 / math.log(2.0)
ROWS = 256  # looked at together where all pairs are
PRODUCTS_FROM_DIM = 16  # from this dimension on, matrix products beat the pair loop (benchmarks/speed.py)
WEIGHED = ("weighed2", "weighed3")
NEAR_KERNELS = (*(f"near{d}" for d in range(2, PRODUCTS_FROM_DIM)), "mutual", *WEIGHED)
GENERAL_KERNELS = tuple(f"general{d}" for d in range(2, PRODUCTS_FROM_DIM))
PRODUCTS = ("products", "mutual_products")
GRAPHS = ("graph1", "graph2", "graph3", "graph")


def columns_for(n: int) -> int:
    """Columns of a token array: a multiple of PAD, with at least one to spare for an odd last row."""
    return (n // PAD + 1) * PAD


def kernel_for(model: Model) -> str:
    """Which pair kernel serves a model."""
    if model.placed:
        return "placed"
    special = traits(model)
    if not model.usual:
        return own_kernels.name_of(model)
    if not special.ordinary and not model.varying:
        return "general"
    if not is_interval(model.mask) or has_table(model.bias):
        return f"graph{model.dim}" if model.dim <= 3 else "graph"
    extra = model.bias is not None or model.masses is not None
    if model.space == "rescaled" and not math.isinf(model.beta):
        if extra:
            return "leader_biased"
        return "products" if model.dim >= PRODUCTS_FROM_DIM else f"leader{model.dim}"
    if model.masses is not None and model.dim in (2, 3) and special.nearest:
        return f"weighed{model.dim}"
    if math.isinf(model.beta) or extra:
        return "rare"
    if model.dim >= PRODUCTS_FROM_DIM and model.frozen is None:
        return "mutual_products" if model.mask == "full" and special.simple else "products"
    if 2 <= model.dim < PRODUCTS_FROM_DIM and special.near:
        return "mutual" if model.mask == "full" and model.dim <= 3 else f"near{model.dim}"
    return f"general{model.dim}" if 2 <= model.dim < PRODUCTS_FROM_DIM else "general"


def is_plain(model: Model) -> bool:
    """Whether the short velocity does: V = c I on the sphere with B = c' I and no extras but masses."""
    short = kernel_for(model) in (*NEAR_KERNELS, *PRODUCTS) or model.normaliser == "softmax"
    return short and traits(model).plain


def _numbers(model: Model, kernel: str, n: int, form: Array, mu: float, rho: float) -> Any:
    record = np.zeros((), dtype=NUMBERS)
    record["n"], record["d"] = n, model.dim
    record["space"] = {"sphere": SPHERE, "euclidean": EUCLIDEAN, "rescaled": RESCALED}[model.space]
    record["by_count"] = model.normaliser != "softmax"
    record["own"] = not model.usual
    record["sink"] = model.divisor.logit
    record["hard"] = math.isinf(model.beta)
    record["scaled"] = kernel in (*NEAR_KERNELS, "mutual_products")
    record["by_differences"] = model.space == "rescaled" and kernel == "products"
    record["scalar_form"] = traits(model).scalar_form and model.space != "rescaled"
    record["scalar_value"] = traits(model).scalar_value
    record["activation"] = ACTIVATIONS["none" if model.feedforward is None else model.feedforward.activation]
    # Tokens times `scale` have s_ij - s_ii = -|x_i - x_j|^2 for the near kernels, and s_ij = <x_i, x_j> for all others.
    # At beta = 0 any tiny scale gives equal weights.
    factor = 0.5 if kernel in NEAR_KERNELS else 1.0
    record["scale"] = max(math.sqrt(max(form[0, 0, 0], 0.0) * factor), 1e-10)
    record["shift"] = model.beta * LOG2E if model.normaliser == "scaled-count" else 0.0
    record["alpha"], record["decay"] = model.norm.alpha, model.norm.decay
    record["grouped"] = model.groups is not None
    record["noise"], record["mu"], record["rho"] = model.noise, mu, rho
    return record[()]


def lay_out(model: Model, kernel: str, n: int, dtype: str, layer_step: float = 0.0) -> Terms:
    """The Terms of a model for n tokens and the pair kernel that serves it (`kernel_for`).

    layer_step: dt of rescaled layers, whose V is R^-1 V (E13).
    """
    columns, hard, d = columns_for(n), math.isinf(model.beta), model.dim
    unit = unit_of(model)
    form = laid_form(model) * (1.0 if hard else model.beta * unit)
    total = model.values.sum(axis=0)
    mu = float(np.linalg.eigvals(total).real.max()) if model.space == "rescaled" else 0.0
    values, rho = model.values, 1.0
    if model.space == "rescaled" and layer_step:
        step = np.eye(d) + layer_step * total
        values, rho = np.linalg.solve(step, values), float(np.abs(np.linalg.eigvals(step)).max())
    by_graph, as_given = kernel in GRAPHS, hard or kernel in WEIGHED or not model.usual
    lo, hi = (np.concatenate([v, np.full(columns - n, v[-1])]) for v in visible("full" if by_graph else model.mask, n))
    frozen, weights = (
        (np.zeros((0, d)), np.zeros(0)) if model.frozen is None else (model.frozen.tokens, model.frozen.weights)
    )
    ff = model.feedforward
    a, b, w = (np.zeros((1, d)), np.zeros(1), np.zeros((d, 1))) if ff is None else (ff.a, ff.b, ff.w)

    # Fresh, writable and row-major, always: any other flag would be another type to numba, and another compilation.
    def own(array: Numbers, kind: str = dtype) -> Numbers:
        return np.array(array, dtype=kind, order="C")

    seen, fixed = laid_out(model, n) if by_graph else NO_GRAPH, float(weights.sum())
    return Terms(
        numbers=_numbers(model, kernel, n, form, mu, rho),
        heads=own(np.stack([form, values, less(values)])),
        flow=own(total - mu * np.eye(d), "float64"),
        slopes=own(model.slopes * unit, "float64"),
        rows=own(np.concatenate([[lo, hi], _divisors(model, n, columns, fixed), group_lines(model, n, columns)])),
        frozen=own(np.concatenate([frozen.T, (weights if unit == 1.0 else np.log2(weights))[None]])),
        masses=own(seen.extra if by_graph else _masses(model, n, columns, as_given, dtype)),
        inner=own(np.concatenate([a, b[:, None]], axis=1)),
        outer=own(w),
        starts=seen.starts,
        entries=seen.entries,
        sides=own(sides(model)),
        turns=own(turns(model, n, columns)),
        offsets=own(offsets(model, n, columns)),
        shaking=own(np.zeros((0, 0)), "float64"),
    )


def weigh(terms: Terms, work: Work, model: Model) -> None:
    """Put the weights of a model of the same shape in the place of those that were laid out (E18)."""
    hard = math.isinf(model.beta)
    form, values = model.form * (1.0 if hard else model.beta * unit_of(model)), model.values
    for page, matrices in ((FORM, form), (VALUE, values), (LESS, less(values))):
        terms.heads[page] = matrices
    terms.numbers["shift"] = model.beta * LOG2E if model.normaliser == "scaled-count" else 0.0
    work.form[:] = terms.heads[FORM]
    if (ff := model.feedforward) is not None:
        terms.inner[:, :-1], terms.inner[:, -1], terms.outer[:] = ff.a, ff.b, ff.w


def unit_of(model: Model) -> float:
    """What logits are multiplied by for the kernels: those of exp take powers of 2."""
    return 1.0 if math.isinf(model.beta) or not model.usual else LOG2E


def _divisors(model: Model, n: int, columns: int, fixed: float) -> Array:
    """What rows are divided by where that is a count (E3), (E16), (1 or H, columns), frozen tokens among them."""
    norm = model.divisor
    if norm.kind == "none":
        return np.ones((1, columns))
    if norm.kind == "positions":
        parts = [_seen_by_positions(model, n, i, min(i + ROWS, n)) for i in range(0, n, ROWS)]
        return np.pad(np.concatenate(parts, axis=1) + fixed, ((0, 0), (0, columns - n)), mode="edge")
    counts = np.atleast_2d(_counts(model, n, columns)) + fixed
    if not norm.own:
        own = masses(model, n)
        counts[:, :n] -= own if len(own) == 1 else np.diagonal(own)
    return counts


def _seen_by_positions(model: Model, n: int, first: int, stop: int) -> Array:
    """sum_k a_ik e^bias_ik of some rows, (H, stop - first)."""
    a = masses(model, n)
    counted = np.where(sees(model.mask, n, first, stop), a if len(a) == 1 else a[first:stop], 0.0)
    if not model.divisor.own:
        rows = np.arange(first, stop)
        counted[..., rows - first, rows] = 0.0
    shares: Array = (counted * np.exp(biases(model, n, first, stop))).sum(axis=-1)
    return shares


def _counts(model: Model, n: int, columns: int) -> Array:
    """(E3) sum_k a_ik over the visible k of every row; padding repeats the last row."""
    counted = masses(model, n)
    if model.groups is not None:
        counts = (counted * (sees(model.mask, n) & met(model.groups))).sum(axis=1)
        return np.concatenate([counts, np.full(columns - n, counts[-1])])
    if not is_interval(model.mask):
        found = graph(model.mask, n)
        sums = np.bincount(found.rows, mass_of(model, found), found.heads * n).reshape(-1, n)
        return np.pad(sums, ((0, 0), (0, columns - n)), mode="edge")
    lo, hi = visible(model.mask, n)
    upto = np.concatenate([np.zeros((len(counted), 1)), counted.cumsum(axis=1)], axis=1)
    row = np.arange(n) if len(upto) > 1 else 0
    counts = upto[row, hi] - upto[row, lo]
    return np.concatenate([counts, np.full(columns - n, counts[-1])])


def log2_masses(model: Model, n: int) -> Array:
    """log2 a_ij; a token that a row does not count weighs 2^UNSEEN = 0."""
    a = masses(model, n)
    return np.where(a > 0, np.log2(np.where(a > 0, a, 1.0)), UNSEEN)


def _masses(model: Model, n: int, columns: int, as_given: bool, dtype: str) -> Array:
    """Terms.masses. as_given: not their logarithms."""
    if model.masses is None:
        return np.zeros((0, 0))
    lines = (masses(model, n) if as_given else log2_masses(model, n)).T
    if lines.shape[1] == 1:
        return lines
    # Rows are taken a register at a time while j runs: what it needs of them must lie side by side.
    lines = np.concatenate([lines, np.zeros((n, columns - n))], axis=1)
    m = BYTES // np.dtype(dtype).itemsize
    return lines.reshape(n, -1, m).swapaxes(0, 1).reshape(-1, n * m)


def scratch(kernel: str, terms: Terms, short: bool) -> Work:
    """Work arrays of one run by a pair kernel; those that it does not need are left empty. O(n d) numbers.

    short: for the short velocity, which scales the tokens.
    """
    dtype, columns = terms.heads.dtype, terms.rows.shape[1]
    n, d = int(terms.numbers["n"]), int(terms.numbers["d"])

    def make(*shape: int) -> Numbers:
        return np.zeros(shape, dtype=dtype)

    tokens = make(8, d, columns)
    scaled = make(3 if kernel == "mutual" else d, columns) if short or terms.numbers["scaled"] else None
    own: dict[str, Any] = {}
    if kernel == "mutual":
        own = {"partial": make(min(MOST_CHUNKS, max(LEAST_CHUNKS, n // 128)), 4, columns)}
    elif kernel == "products":
        own = {"by_rows": make(2, n, d), "tile": make(1, TILE * (n + d))}
    elif kernel == "mutual_products":
        own = {"by_rows": make(1, n, d), "tile": make(1, tile_size(d))}
        own |= {"partial": make(n_chunks(n), n, d), "per_token": make(n_chunks(n), n)}
    elif terms.numbers["own"]:
        own = {"per_token": make(1, columns)}
    elif kernel == "placed":
        held = (len(terms.sides) // 2, d + 2, columns) if terms.heads.shape[1] > terms.sides.shape[1] else (0, 0, 0)
        own = {"per_token": make(terms.sides.shape[2], columns), "partial": make(*held)}
    elif kernel in GRAPHS:
        fixed = terms.frozen.shape[1]
        longest = int(np.diff(terms.starts).max(initial=0))
        pad = d if d <= 3 else -(-d // (m := BYTES // dtype.itemsize)) * m
        own = {"by_rows": make(1 if d <= 3 else 2, n + fixed, pad), "tile": make(1, longest + BYTES + pad)}
        own |= {"starts": terms.starts, "entries": terms.entries}
        own["by_rows"][0, n:, :d] = terms.frozen[:d].T
    elif kernel.startswith("leader"):
        own = {"per_token": make(d + 1, columns)}
    queue = np.zeros(QUEUE_SIZE, dtype=np.int64)
    queue[NEXT] = NONE  # all parts handed out, or an early helper would take one before it is there
    pairs = no_pairs(dtype)._replace(
        numbers=terms.numbers,
        call=np.zeros((), dtype=CALL)[()],
        queue=queue,
        x=tokens[X] if scaled is None else scaled,
        u=make(terms.sides.shape[2], columns) if kernel == "placed" else tokens[U] if scaled is None else scaled,
        rows=terms.rows,
        frozen=terms.frozen,
        masses=terms.masses,
        p=tokens[P],
        z=make(1, columns),
        top=make(1, columns),
        **own,
    )
    hidden = make(len(terms.inner), columns if terms.numbers["activation"] else 0)
    return Work(pairs, tokens, hidden, form=np.array(terms.heads[FORM]), flow=np.eye(d, dtype=dtype))
