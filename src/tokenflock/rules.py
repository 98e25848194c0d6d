"""What a Model may be: every field checked, every clash named. Called once, when a Model is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import graphs, masks
from tokenflock.arguments import count, is_number, named, numbers
from tokenflock.common_noise import check_common
from tokenflock.drift import Drift
from tokenflock.errors import bad, clash
from tokenflock.groups import MATRICES, check_groups
from tokenflock.interaction import SUMS, kernel_of, normaliser_of
from tokenflock.looking import width_of
from tokenflock.of_runs import n_runs
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm, matrix
from tokenflock.positions import check_position
from tokenflock.varying import OF_MODEL, gathered, opening

if TYPE_CHECKING:
    from tokenflock.model import Model

MASKS = masks.INTERVALS
SPACES = ("sphere", "euclidean", "rescaled")
# Frozen tokens may be given with this much rounding in them; they are put back on the sphere.
OFF_SPHERE = 1e-6
LARGEST_FORM, LARGEST_MASS = 1e150, 1e200  # squares of logits, and masses times weights, still exist


def check(model: Model) -> None:
    """Raise a SpecError for the first thing that cannot be; bring arrays and numbers to their final type."""
    _set(model, "dim", count("dim", model.dim, 1))
    _varying(model)
    if model.drift is not None and not isinstance(model.drift, Drift):
        kept = isinstance(model.drift, Mapping) and set(model.drift) == {"function", "whole"}
        _set(model, "drift", Drift(**model.drift) if kept else Drift(model.drift))
    _numbers(model)
    _names(model)
    _matrices(model)
    _parts(model)
    _masses(model)
    if model.groups is not None:
        check_groups(model.groups, width_of(model), model.dim, model.n_heads)
    if model.common_noise is not None:
        check_common(model.common_noise, model.dim)
    check_position(model.position, width_of(model), model.dim)
    _clashes(model)
    _sizes(model)


def _set(model: Model, name: str, value: Any) -> None:
    object.__setattr__(model, name, value)  # the dataclass is frozen: this is the one place that may write


def _varying(model: Model) -> None:
    """Weights that change stand aside, and in their places what they are at t = 0."""
    found = gathered(model)
    for name, one in found.items():
        if name in OF_MODEL:
            _set(model, name, opening(name, one, model.dim))
        elif model.feedforward is None:
            raise bad(f"varying[{name!r}]", one, "a part of a feed-forward that the model has", "Give feedforward=.")
    inner: dict[str, Any] = {name: opening(name, one, model.dim) for name, one in found.items() if name not in OF_MODEL}
    if inner:
        assert model.feedforward is not None
        _set(model, "feedforward", replace(model.feedforward, **inner, varying=None))
    n_runs(found)  # says what does not fit
    _set(model, "varying", MappingProxyType(found) if found else None)


def _numbers(model: Model) -> None:
    for name in ("beta", "noise"):
        value = numbers(getattr(model, name))
        if value.ndim or (np.isnan(value) and not is_number(getattr(model, name))):
            allowed = "a number, or one for each run: (runs,)" if name == "beta" else "a number"
            raise bad(name, getattr(model, name), allowed)
        _set(model, name, float(value))
    if math.isnan(model.beta) or model.beta == -math.inf:
        raise bad("beta", model.beta, "a finite number, or inf for hardmax")
    if not (math.isfinite(model.noise) and model.noise >= 0):
        raise bad("noise", model.noise, "a finite number >= 0", "It is sqrt(2/kappa) of paper E.")


def _names(model: Model) -> None:
    _set(model, "mask", masks.checked(model.mask))
    _set(model, "normaliser", normaliser_of(model.normaliser))
    _set(model, "kernel", kernel_of(model.kernel))
    named("space", model.space, SPACES)
    if model.space == "sphere" and model.dim < 2:
        raise bad(
            "dim", model.dim, ">= 2 on the sphere", "The sphere of dimension 0 is two points: use space='euclidean'."
        )
    if model.beta < 0 and model.space != "sphere":
        raise bad(
            "beta", model.beta, f">= 0 in space={model.space!r}", "There the sign belongs to query: give query=-Q."
        )
    if not isinstance(model.layer_norm, LayerNorm):
        LayerNorm(model.layer_norm)  # says which kinds there are


def _matrices(model: Model) -> None:
    heads = {}
    for name in ("query", "key", "value"):
        given = getattr(model, name)
        if given is None:
            continue
        rows = model.dim if name == "value" else None
        heads_axis = numbers(given).ndim == 3
        array = matrix(name, given, (None, rows, model.dim) if heads_axis else (rows, model.dim))
        _set(model, name, array)
        if array.ndim == 3:
            heads[name] = len(array)
    if model.bias is not None and not isinstance(model.bias, Alibi):
        _set(model, "bias", graphs.checked_bias(model.bias))
    heads |= {name: n for name in ("mask", "bias") if (n := masks.heads_of(getattr(model, name))) > 1}
    if len(set(heads.values())) > 1:
        raise bad(
            "heads", heads, "the same number of heads everywhere", "A matrix without a head axis is shared by all."
        )
    rows_of = {n: m.shape[-2] for n in ("query", "key") if (m := getattr(model, n)) is not None}
    query, key = rows_of.get("query", model.dim), rows_of.get("key", model.dim)
    if query != key:
        raise bad(
            "query and key rows", (query, key), "the same number of rows", "Q and K map into one space of size k."
        )


def _parts(model: Model) -> None:
    for name, kind in (("feedforward", FeedForward), ("frozen", Frozen)):
        value = getattr(model, name)
        if value is not None and not isinstance(value, kind):
            raise bad(name, value, f"None or flock.{kind.__name__}(...)")
    if isinstance(model.bias, Alibi) and np.size(model.bias.slope) not in (1, model.n_heads):
        raise bad("bias", model.bias, f"one slope, or {model.n_heads} (one for each head)")
    ff = model.feedforward
    if ff is not None and (ff.w.shape[0] != model.dim or ff.a.shape[1] != model.dim):
        raise bad("feedforward.w.shape", ff.w.shape, f"({model.dim}, k), with a of shape (k, {model.dim})")
    if model.frozen is not None:
        _set(model, "frozen", _on_the_sphere(model) if model.space == "sphere" else model.frozen)
        if model.frozen.tokens.shape[1] != model.dim:
            raise bad("frozen.tokens.shape", model.frozen.tokens.shape, f"(m, {model.dim})")


def _masses(model: Model) -> None:
    if model.masses is None:
        return
    rows = numbers(model.masses).ndim == 2
    given = matrix("masses", model.masses, (None, None) if rows else (None,))
    if rows and given.shape[0] != given.shape[1]:
        raise bad("masses.shape", given.shape, "(n,), or (n, n) as seen from each row")
    wrong = given[given < 0] if rows else given[given <= 0]
    if wrong.size:
        advice = "Leave a token out instead of giving it no mass."
        raise bad("masses", float(wrong[0]), "positive numbers: how often each token counts", advice)
    if rows and (np.diagonal(given) <= 0).any():
        raise bad("masses", "a row without its own token", "a positive diagonal: every token sees itself")
    _set(model, "masses", given)


def _on_the_sphere(model: Model) -> Frozen:
    frozen = model.frozen
    assert frozen is not None
    length = np.linalg.norm(frozen.tokens, axis=1, keepdims=True)
    off = np.abs(length - 1).max()
    if off > OFF_SPHERE:
        raise bad(
            "frozen.tokens", f"tokens {off:.1e} off the sphere", f"unit vectors to {OFF_SPHERE:g}", "Divide by |x|."
        )
    # Once only: dividing again would change the last bits, and a repeated run with them.
    return frozen if off < 1e-12 else Frozen(frozen.tokens / length, frozen.weights)


def _sizes(model: Model) -> None:
    """What no run could compute with: forms and sums of masses beyond the range of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        form = model.form if math.isinf(model.beta) else model.beta * model.form
        total = sum(
            float(np.sum(m)) for m in (model.masses, model.frozen.weights if model.frozen else None) if m is not None
        )
    if not (np.abs(form) <= LARGEST_FORM).all():
        largest = f"entries up to {np.abs(form).max():.1e}"
        raise bad("beta * query' key", largest, f"entries up to {LARGEST_FORM:g}", "Lower them; beta = inf is hardmax.")
    if total > LARGEST_MASS:
        raise bad(
            "masses", f"a sum of {total:.1e}", f"a sum up to {LARGEST_MASS:g}", "Only their ratios matter to a softmax."
        )


def _clashes(model: Model) -> None:
    hard = math.isinf(model.beta)
    if not model.usual:
        _own_clashes(model)
    if hard and model.normaliser != "softmax":
        raise clash("beta = inf", f"normaliser={model.normaliser!r}", "Hardmax is a limit of the softmax only.")
    if hard and model.bias is not None:
        raise clash("beta = inf", "bias", "An infinite logit swamps any bias: take a large finite beta.")
    if model.masses is not None and model.masses.ndim == 2 and not masks.is_interval(model.mask):
        raise clash("masses of each row", "a mask of one's own", "A mass 0 hides a token: give masses * mask alone.")
    if isinstance(model.mask, graphs.Graph) and model.frozen is None:
        model.mask.check_rows()
    if model.space != "sphere" and model.norm.kind != "post":
        raise clash(f"layer_norm={model.norm.kind!r}", f"space={model.space!r}", "Layer norms live on the sphere.")
    if model.space == "rescaled" and model.frozen is not None:
        raise clash("frozen", "space='rescaled'", "A frozen token would move in z: use space='euclidean'.")
    if model.position is not None and model.space == "rescaled":
        raise clash("position", "space='rescaled'", "Use space='euclidean'.")
    if model.position is not None and model.frozen is not None:
        raise clash("position", "frozen", "A frozen token stands nowhere in the text: make it a token with V = 0.")
    _clashes_of_groups(model)
    noise = "noise" if model.noise > 0 else "common_noise"
    if model.space == "rescaled" and model.noisy:
        raise clash(noise, "space='rescaled'", "Use space='euclidean'.")
    if model.noisy and model.has_radius:
        raise clash(noise, f"layer_norm={model.norm.kind!r}", "Paper E's noise is for unit tokens: use 'post'.")
    if model.drift is not None and model.space == "rescaled":
        raise clash("drift", "space='rescaled'", "Use space='euclidean'.")
    if model.varying and model.space == "rescaled":
        raise clash("weights that change", "space='rescaled'", "exp(-tV) needs one V: use space='euclidean'.")
    if model.space == "rescaled" and model.n_heads > 1:
        total = model.values.sum(axis=0)
        gap = np.abs(model.values @ total - total @ model.values).max()
        if gap > 1e-10 * (1 + np.abs(total).max() ** 2):
            raise clash(
                "heads whose value matrices do not commute with their sum",
                "space='rescaled'",
                "exp(-tV) then mixes the heads: use space='euclidean'.",
            )


def _clashes_of_groups(model: Model) -> None:
    groups = model.groups
    if groups is None:
        return
    if model.space == "rescaled":
        raise clash("groups", "space='rescaled'", "Use space='euclidean'.")
    if model.frozen is not None:
        raise clash("groups", "frozen", "Make the frozen tokens a group that sees nobody: sees={'frozen': [], ...}.")
    for name in MATRICES:
        if getattr(groups, name) is not None and getattr(model, name) is not None:
            raise clash(f"Groups.{name}", name, "Say it in one place: every group's own, or one for all.")
    if groups.beta is not None and (model.beta != 1.0 or model.normaliser == "scaled-count"):
        other = "beta" if model.beta != 1.0 else "normaliser='scaled-count'"
        raise clash("Groups.beta", other, "Each group's own beta stands in place of the model's.")


def _own_clashes(model: Model) -> None:
    """What kernels (E15) and normalisers (E16), (E17) cannot be combined with."""
    kernel, norm = model.own_kernel, model.divisor
    what = f"kernel={kernel}" if kernel else f"normaliser={norm}"
    if math.isinf(model.beta):
        raise clash("beta = inf", what, "Hardmax is a limit of exp and softmax only: take a large finite beta.")
    if model.space == "rescaled":
        raise clash(what, "space='rescaled'", "There logits grow with e^(tV), for exp alone: use space='euclidean'.")
    if kernel and norm.kind in ("scaled-count", "positions"):
        raise clash(what, f"normaliser={norm.kind!r}", "It is for kernel='exp': take 'count', 'softmax' or 'none'.")
    if kernel and kernel.name == "cosine" and model.space != "sphere":
        raise clash(what, f"space={model.space!r}", "An overlap is a cosine on the sphere: take 'linear'.")
    if kernel and kernel.signed and norm.kind in SUMS:
        advice = "Its weights may be negative, and so their sum 0: take 'count', 'none' or 'l2'."
        raise clash(what, f"normaliser={norm.kind!r}", advice)
    if norm.kind == "sinkhorn":
        if blind := masks.one_way(model.mask):
            advice = f"Columns cannot add up to 1 where {blind}: take mask='full', or mask | mask.T."
            raise clash("normaliser='sinkhorn'", f"mask={model.mask!r}", advice)
        if model.frozen is not None:
            raise clash("normaliser='sinkhorn'", "frozen", "Frozen tokens have no row that adds up to 1.")
        if model.masses is not None and model.masses.ndim == 2:
            raise clash("normaliser='sinkhorn'", "masses (n, n)", "Rows and columns share one mass for each token.")
