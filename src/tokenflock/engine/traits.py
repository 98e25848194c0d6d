"""What is special about a model, computed once: fast paths ask for it here, by name.

A path that is fast because a model is special must know every option that the model uses. So an option that this file
does not list makes a model not special in any way: then it runs on a slower path, never on a wrong one.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tokenflock.graphs import Graph
from tokenflock.interaction import SUMS, Normaliser
from tokenflock.masks import heads_of, is_causal, is_interval
from tokenflock.model import LARGEST_EXPONENT, Model
from tokenflock.options import Window
from tokenflock.preparation import prepared
from tokenflock.sphere import is_scalar

#: stands among the options that are known for the normalisers of (E16) and (E17)
NORMALISERS = "normalisers"
#: options that change what a pair weighs and what a row is divided by (E15)-(E17): the traits below ask `Model.usual`
INTERACTIONS = frozenset({"kernel", NORMALISERS})
#: the options that the traits below were written for
OPTIONS = frozenset(
    {
        *("dim", "beta", "query", "key", "value", "mask", "bias", "normaliser", "space", "layer_norm", "feedforward"),
        *("frozen", "noise", "masses"),
    }
)


@dataclasses.dataclass(frozen=True)
class Traits:
    """The record of one model. Every trait is false, and `no_implicit` a reason, where an option is not in OPTIONS."""

    ordinary: bool  # every option in use is in OPTIONS
    causal: bool  # no token sees a later one: implicit steps are forward substitutions
    smooth: bool  # the velocity is a smooth function without noise
    scalar_form: bool  # B = c I for every head
    scalar_value: bool  # V = c I for every head
    # s_ii is the largest logit of every row: B = c I with beta c >= 0 on the sphere, only tokens in sight
    nearest: bool
    near: bool  # nearest, and every token counts once
    plain: bool  # B = c' I with beta c' >= 0 on the sphere, V = c I, post norm, nothing else but masses
    simple: bool  # plain, and every token counts once: the papers' main case
    collapses: bool  # a tiny cluster can only shrink onto a point that rests
    no_implicit: str | None  # why implicit steps cannot be taken, or None
    no_bodies: str | None  # why tokens that sit together are not taken for one body, or None


def unknown_options(model: Model, known: frozenset[str]) -> list[str]:
    """The options of a model that are not among the known ones and that are not at their defaults."""

    def at_default(field: dataclasses.Field[object]) -> bool:
        value = getattr(model, field.name)
        plain = isinstance(value, str | int | float | bool | None)
        return value is field.default or (plain and value == field.default)

    names = [f.name for f in dataclasses.fields(model) if f.name not in known and not at_default(f)]
    if isinstance(model.normaliser, Normaliser) and NORMALISERS not in known:
        names.append(f"normaliser={model.normaliser}")
    return names


@prepared
def traits(model: Model) -> Traits:
    """The traits of a model."""
    if unknown := unknown_options(model, OPTIONS | INTERACTIONS):
        names = [field.name for field in dataclasses.fields(Traits) if not field.name.startswith("no_")]
        why = f"the option {unknown[0]}"
        return Traits(**dict.fromkeys(names, False), no_implicit=why, no_bodies=why)
    hard, sphere = math.isinf(model.beta), model.space == "sphere"
    scalar_form, scalar_value = is_scalar(model.form), is_scalar(model.values)
    alone = model.n_heads == 1 and model.frozen is None and model.bias is None and not hard and is_interval(model.mask)
    own = model.usual and sphere and alone and scalar_form and bool(model.beta * model.form[0, 0, 0] >= 0)
    near = own and model.masses is None
    post = model.norm.kind == "post"
    # x_i' = P_i sum_j A_ij c (x_j - x_i) with weights >= 0: every token is drawn into the cone of those it sees, and
    # rests where they all are. That their weights sum to 1 is not needed, so it holds for every normaliser.
    attracts = scalar_value and bool((model.values[:, 0, 0] > 0).all()) and not may_repel(model)
    extras = model.feedforward is not None or model.frozen is not None or bool(model.noise)
    return Traits(
        ordinary=model.usual,
        causal=is_causal(model.mask),
        smooth=model.usual and not hard and not model.noise,
        scalar_form=scalar_form,
        scalar_value=scalar_value,
        nearest=own,
        near=near,
        plain=own and scalar_value and post and model.feedforward is None,
        simple=near and scalar_value and post and model.feedforward is None,
        collapses=sphere and attracts and post and not extras,
        no_implicit=_no_implicit(model),
        no_bodies=_no_bodies(model, held=own and scalar_value and bool(model.values[0, 0, 0] > 0)),
    )


def may_repel(model: Model) -> bool:
    """Whether weights may be negative."""
    kernel = model.own_kernel
    return kernel is not None and model.divisor.kind not in SUMS and (not kernel.name or kernel.signed)


def _interaction(model: Model) -> str:
    return f"kernel={model.own_kernel}" if model.own_kernel else f"normaliser={model.normaliser}"


def _no_implicit(model: Model) -> str | None:
    reasons = (
        (not model.usual, _interaction(model)),
        (model.space != "sphere", f"space={model.space!r}: it works on the sphere"),
        (model.norm.kind != "post", f"layer_norm={model.norm.kind!r}: it knows the post norm only"),
        (model.feedforward is not None, "a feed-forward part"),
        (model.bias is not None, "a bias"),
        (heads_of(model.mask) > 1, "a mask of each head"),
        (isinstance(model.mask, Graph) and not model.mask.own, "a mask in which a token does not see itself"),
        (bool(model.noise), "noise"),
        (math.isinf(model.beta), "beta=inf: it needs a smooth velocity"),
        (model.dim < 2, "dim=1: nothing moves on two points"),
    )
    return next((why for wrong, why in reasons if wrong), None)


def _no_bodies(model: Model, held: bool) -> str | None:
    """held: tokens at one place that see different ones pull each other back. See engine/implicit/bodies.py."""
    if not model.usual:
        return _interaction(model)
    if model.masses is not None and model.masses.ndim == 2:
        return "masses as seen from each row"
    if model.mask == "full":
        return None
    mask = "a causal mask" if model.mask == "causal" else f"mask={model.mask}"
    if not isinstance(model.mask, str | Window):
        return f"{mask}: what holds followers is known of causal masks and windows"
    if model.normaliser != "softmax":
        return f"{mask} with normaliser={model.normaliser!r}: the slack of followers is that of softmax weights"
    if not held:
        return f"{mask} without V = c I, Q'K = c' I, c > 0, c' >= 0: followers are not held by their leaders"
    return None


def steepest(model: Model) -> float:
    """|beta| max_h |B_h|: the largest logit on the sphere."""
    return abs(model.beta) * float(np.linalg.norm(model.form, ord=2, axis=(1, 2)).max())


def pace(model: Model) -> float:
    """How many times as fast as with a softmax the tokens of the sphere may move: the largest weight, 1 at least.

    By count a cluster forms in a time of e^-beta, so what is early or long for a run is so many times shorter.
    """
    if model.normaliser == "softmax" or not model.usual:
        return 1.0
    shift = model.beta if model.normaliser == "scaled-count" else 0.0
    return math.exp(min(max(steepest(model) - shift, 0.0), LARGEST_EXPONENT))


def no_implicit(model: Model, dtype: str) -> str | None:
    """Why a run of a model in this dtype cannot take implicit steps, or None."""
    late = None if dtype == "float64" else f"dtype={dtype!r}: long times need float64"
    return traits(model).no_implicit or late
