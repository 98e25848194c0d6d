"""A Model as tensors on a device: what the velocity in torch reads, and how much of it may be held at a time.

Any of beta, query, key, value and the feed-forward's w, a, b may be given as a tensor in place of the model's own, so
that a gradient can pass through it. No numba here: machines with a GPU run this with numpy and torch alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenflock.engine.traits import traits
from tokenflock.masks import has_table
from tokenflock.model import Model
from tokenflock.options import Window

DTYPES = {"float64": torch.float64, "float32": torch.float32}
# Pairs in a block of rows: on a CPU what stays in its cache, on a device what hides the time of a launch.
PAIRS_CPU, PAIRS_DEVICE = 2**18, 2**28
HELD = 6  # arrays of a block's size that are alive at once
SHARE = 0.1  # of the free memory that one block may take
PRODUCTS_FROM = 16  # from this dimension on, matrix products beat differences of every axis


#: what may stand in place of a model's own numbers: beta, its matrices, and those of its feed-forward
GIVEN = frozenset({"beta", "query", "key", "value", "w", "a", "b"})


class FeedForwardTensors(NamedTuple):
    """The feed-forward (E9)."""

    w: Tensor  # (d, k)
    a: Tensor  # (k, d)
    b: Tensor  # (k,)
    activation: str


class Sums(NamedTuple):
    """(E4) for every head."""

    pull: Tensor  # (runs, H, n, d)
    mass: Tensor  # (runs, H, n, 1)
    spread: Tensor | None = None  # (runs,): how far the rows are from weights 0 and 1 only, in rescaled space


@dataclass(frozen=True, eq=False)
class TorchTerms:
    """The constants of one model, on one device."""

    model: Model
    device: torch.device
    dtype: torch.dtype
    forms: Tensor  # (H, d, d): beta B; hardmax: B
    values: Tensor  # (H, d, d): V
    less: Tensor  # (H, d, d): V - c I of model.less
    total: Tensor  # (d, d) float64: the sum of V less sigma I, for rescaled space
    sigma: float  # the largest real part of an eigenvalue of the sum of V
    slopes: tuple[float, ...]  # of the bias, one a head
    frozen: Tensor  # (m, d)
    weights: Tensor  # (m,)
    masses: Tensor | None  # (1, n) or (n, n): a_ij; None where every token counts once
    feedforward: FeedForwardTensors | None
    beta: Tensor  # (), 1 for hardmax
    hard: bool
    near: bool  # s_ii is the largest logit of every row
    scalar_value: bool  # V = c I, and no gradient asks for the rest of V
    products: bool  # by matrix products, not by differences of every axis
    pairs: int  # of tokens in a block of rows
    # Another way to sum over pairs, without gradients: waves, or kernels of the device. engine/gpu.py puts it there.
    sums: Callable[[TorchTerms, Tensor], Sums] | None = None

    @property
    def by_graph(self) -> bool:
        """Whether sums go over the entries of a graph: see graphs.py."""
        return not isinstance(self.model.mask, str | Window) or has_table(self.model.bias)

    def columns(self, i: int, stop: int, n: int) -> tuple[int, int]:
        """What the rows i .. stop - 1 of n tokens see together: first .. last - 1."""
        mask = self.model.mask
        if isinstance(mask, Window):
            return max(i - mask.width + 1, 0), min(stop - 1 + (1 if mask.causal else mask.width), n)
        return 0, n if mask == "full" else stop


def pairs_in_a_block(device: torch.device, itemsize: int) -> int:
    """How many pairs a block of rows may have on a device."""
    if device.type != "cuda":
        return PAIRS_CPU
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(PAIRS_DEVICE, int(SHARE * free / (HELD * itemsize))))


def lay_out(
    model: Model,
    dtype: str = "float64",
    device: torch.device | str = "cpu",
    given: Mapping[str, Tensor] | None = None,
) -> TorchTerms:
    """The TorchTerms of a model. Tensors in `given` stand in place of the model's own numbers and keep their gradients.

    query, key and value may have axes for the runs and the heads, (runs, H, ...): every run with weights of its own.
    """
    given = given or {}
    assert given.keys() <= GIVEN, f"no weights of a model: {given.keys() - GIVEN}"
    kind, device = DTYPES[dtype], torch.device(device)
    hard = math.isinf(model.beta)

    def put(array: NDArray[np.floating[Any]]) -> Tensor:
        return torch.as_tensor(array.copy(), dtype=kind, device=device)

    beta = given.get("beta", torch.tensor(1.0 if hard else model.beta, dtype=kind, device=device))
    own_form = "query" not in given and "key" not in given
    forms = put(model.form) if own_form else _over_heads(_form(model, given, put), model)
    values = _over_heads(given["value"], model) if "value" in given else put(model.values)
    exact = values if "value" in given else torch.as_tensor(model.values.copy(), device=device)
    whole, sigma = exact.to(torch.float64).sum(dim=-3), 0.0  # 1e200 is a number of 64 bits, and inf in 32
    most = values.diagonal(dim1=-2, dim2=-1).amax(dim=-1)
    eye = torch.eye(model.dim, dtype=torch.float64, device=device)
    if model.space == "rescaled":
        sigma = float(eigenvalues(whole).real.max())
    ff, frozen, block = model.feedforward, model.frozen, None
    if ff is not None:
        w, a, b = (given[name] if name in given else put(getattr(ff, name)) for name in "wab")
        block = FeedForwardTensors(w, a, b, ff.activation)
    none = torch.zeros((0, model.dim), dtype=kind, device=device)
    most_slope = torch.finfo(kind).max / 2  # it is multiplied by log2(e)
    return TorchTerms(
        model=model,
        device=device,
        dtype=kind,
        forms=beta * forms,
        values=values,
        less=values - most[..., None, None] * eye.to(kind),
        total=whole - sigma * eye,
        sigma=sigma,
        slopes=tuple(float(s) for s in np.clip(model.slopes, -most_slope, most_slope)),
        frozen=none if frozen is None else put(frozen.tokens),
        weights=none[:, 0] if frozen is None else put(frozen.weights),
        masses=None if model.masses is None else put(np.atleast_2d(model.masses)),
        feedforward=block,
        beta=beta,
        hard=hard,
        near=traits(model).near and own_form and "beta" not in given,
        scalar_value="value" not in given and traits(model).scalar_value,
        products=model.dim >= PRODUCTS_FROM and model.space != "rescaled" and not hard,
        pairs=pairs_in_a_block(device, kind.itemsize),
    )


def eigenvalues(matrix: Tensor) -> Tensor:
    """Of a matrix, on the host; nan if it is not finite: some LAPACKs end the process on one that is not."""
    there = matrix.detach().cpu()
    return torch.linalg.eigvals(there) if there.isfinite().all() else torch.full_like(there[..., 0], math.nan)


def _form(model: Model, given: Mapping[str, Tensor], put: Callable[[NDArray[np.floating[Any]]], Tensor]) -> Tensor:
    """Q'K where Q or K is given as a tensor."""
    own = {"query": model.query, "key": model.key}
    query, key = (
        given[name] if name in given else put(np.eye(model.dim) if matrix is None else matrix)
        for name, matrix in own.items()
    )
    return query.mT @ key


def _over_heads(matrices: Tensor, model: Model) -> Tensor:
    """(..., d, d) as (H, d, d), or (runs, H, d, d) where every run has its own."""
    lead = matrices.shape[:1] if matrices.ndim == 4 else ()
    return matrices.expand(*lead, model.n_heads, model.dim, model.dim)
