"""A Model as tensors on a device: what the velocity in torch reads, and how much of it may be held at a time.

Any of beta, query, key, value and the feed-forward's w, a, b may be given as a tensor in place of the model's own, so
that a gradient can pass through it. No numba here: machines with a GPU run this with numpy and torch alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tokenflock.engine.contract import is_near
from tokenflock.model import Model, is_scalar
from tokenflock.options import Window

DTYPES = {"float64": torch.float64, "float32": torch.float32}
# Pairs in a block of rows: on a CPU what stays in its cache, on a device what hides the time of a launch.
PAIRS_CPU, PAIRS_DEVICE = 2**18, 2**28
HELD = 6  # arrays of a block's size that are alive at once
SHARE = 0.1  # of the free memory that one block may take
PRODUCTS_FROM = 16  # from this dimension on, matrix products beat differences of every axis


class Block(NamedTuple):
    """The feed-forward (E9)."""

    w: Tensor  # (d, k)
    a: Tensor  # (k, d)
    b: Tensor  # (k,)
    activation: str


@dataclass(frozen=True, eq=False)
class Terms:
    """The constants of one model, on one device."""

    model: Model
    device: torch.device
    dtype: torch.dtype
    forms: Tensor  # (H, d, d): beta B; hardmax: B
    values: Tensor  # (H, d, d): V
    less: Tensor  # (H, d, d): V - V_11 I
    total: Tensor  # (d, d) float64: the sum of V less sigma I, for rescaled space
    sigma: float  # the largest real part of an eigenvalue of the sum of V
    slopes: tuple[float, ...]  # of the bias, one a head
    frozen: Tensor  # (m, d)
    weights: Tensor  # (m,)
    feedforward: Block | None
    beta: Tensor  # (), 1 for hardmax
    hard: bool
    near: bool  # s_ii is the largest logit of every row
    scalar_value: bool  # V = c I, and no gradient asks for the rest of V
    products: bool  # by matrix products, not by differences of every axis
    pairs: int  # of tokens in a block of rows
    sums: Callable[[Terms, Tensor], Any] | None = None  # another way to sum over pairs: torch_harmonic.Waves

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
    *,
    beta: Tensor | None = None,
    query: Tensor | None = None,
    key: Tensor | None = None,
    value: Tensor | None = None,
    w: Tensor | None = None,
    a: Tensor | None = None,
    b: Tensor | None = None,
) -> Terms:
    """The Terms of a model. Tensors stand in place of the model's own numbers and keep their gradients.

    query, key and value may have axes for the runs and the heads, (runs, H, ...): every run with weights of its own.
    """
    kind, device = DTYPES[dtype], torch.device(device)
    put = lambda array: torch.as_tensor(array.copy(), dtype=kind, device=device)  # noqa: E731
    hard = math.isinf(model.beta)
    heat = torch.tensor(1.0 if hard else model.beta, dtype=kind, device=device) if beta is None else beta
    if query is None and key is None:
        forms = put(model.form)
    else:
        eye = torch.eye(model.dim, dtype=kind, device=device)
        sides = [
            given if given is not None else eye if own is None else put(own)
            for given, own in ((query, model.query), (key, model.key))
        ]
        forms = _over_heads(sides[0].mT @ sides[1], model)
    values = put(model.values) if value is None else _over_heads(value, model)
    whole, sigma = values.sum(dim=-3).to(torch.float64), 0.0
    eye64 = torch.eye(model.dim, dtype=torch.float64, device=device)
    if model.space == "rescaled":
        sigma = float(torch.linalg.eigvals(whole.detach().cpu()).real.max())
    ff, frozen, block = model.feedforward, model.frozen, None
    if ff is not None:
        parts = [put(own) if new is None else new for own, new in ((ff.w, w), (ff.a, a), (ff.b, b))]
        block = Block(parts[0], parts[1], parts[2], ff.activation)
    none = torch.zeros((0, model.dim), dtype=kind, device=device)
    return Terms(
        model=model,
        device=device,
        dtype=kind,
        forms=heat * forms,
        values=values,
        less=values - values[..., :1, :1] * eye64.to(kind),
        total=whole - sigma * eye64,
        sigma=sigma,
        slopes=tuple(float(s) for s in model.slopes),
        frozen=none if frozen is None else put(frozen.tokens),
        weights=none[:, 0] if frozen is None else put(frozen.weights),
        feedforward=block,
        beta=heat,
        hard=hard,
        near=is_near(model) and beta is None and query is None and key is None,
        scalar_value=value is None and is_scalar(model.values),
        products=model.dim >= PRODUCTS_FROM and model.space != "rescaled" and not hard,
        pairs=pairs_in_a_block(device, kind.itemsize),
    )


def _over_heads(matrices: Tensor, model: Model) -> Tensor:
    """(..., d, d) as (H, d, d), or (runs, H, d, d) where every run has its own."""
    lead = matrices.shape[:1] if matrices.ndim == 4 else ()
    return matrices.expand(*lead, model.n_heads, model.dim, model.dim)


def needs_gradient(terms: Terms, *tensors: Any) -> bool:
    """Whether autograd is recording through these: then only plain torch will do."""
    if not torch.is_grad_enabled():
        return False
    mine = [terms.forms, terms.values, *(terms.feedforward[:3] if terms.feedforward else ())]
    return any(isinstance(t, Tensor) and t.requires_grad for t in (*mine, *tensors))
