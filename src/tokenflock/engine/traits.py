"""What is special about a model, computed once: fast paths ask for it here, by name.

A path that is fast because a model is special must know every option that the model uses. So an option that this file
does not list makes a model not special in any way: then it runs on a slower path, never on a wrong one.
"""

from __future__ import annotations

import dataclasses
import math
from weakref import WeakKeyDictionary

from tokenflock.model import Model, is_scalar
from tokenflock.options import Window

#: the options that the traits below were written for
OPTIONS = frozenset(
    {
        *("dim", "beta", "query", "key", "value", "mask", "bias", "normaliser", "space", "layer_norm", "feedforward"),
        *("frozen", "noise"),
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
    near: bool  # s_ii is the largest logit of every row: B = c I with beta c >= 0 on the sphere, only tokens in sight
    simple: bool  # near, V = c I, post norm, no feed-forward: the papers' main case
    collapses: bool  # a tiny cluster can only shrink onto a point that rests
    no_implicit: str | None  # why implicit steps cannot be taken, or None


def unknown_options(model: Model, known: frozenset[str]) -> list[str]:
    """The options of a model that are not among the known ones and that are not at their defaults."""

    def at_default(field: dataclasses.Field[object]) -> bool:
        value = getattr(model, field.name)
        plain = isinstance(value, str | int | float | bool | None)
        return value is field.default or (plain and value == field.default)

    return [f.name for f in dataclasses.fields(model) if f.name not in known and not at_default(f)]


_FOUND: WeakKeyDictionary[Model, Traits] = WeakKeyDictionary()


def traits(model: Model) -> Traits:
    """The traits of a model; computed at the first call."""
    found = _FOUND.get(model)
    if found is None:
        found = _FOUND[model] = _traits(model)
    return found


def _traits(model: Model) -> Traits:
    if unknown := unknown_options(model, OPTIONS):
        names = [field.name for field in dataclasses.fields(Traits) if field.name != "no_implicit"]
        return Traits(**dict.fromkeys(names, False), no_implicit=f"the option {unknown[0]}")
    hard, sphere = math.isinf(model.beta), model.space == "sphere"
    scalar_form, scalar_value = is_scalar(model.form), is_scalar(model.values)
    alone = model.n_heads == 1 and model.frozen is None and model.bias is None and not hard
    near = sphere and alone and scalar_form and bool(model.beta * model.form[0, 0, 0] >= 0)
    post = model.norm.kind == "post"
    attracts = scalar_value and bool((model.values[:, 0, 0] > 0).all()) and model.normaliser == "softmax"
    extras = model.feedforward is not None or model.frozen is not None or bool(model.noise)
    return Traits(
        ordinary=True,
        causal=model.mask == "causal" or (isinstance(model.mask, Window) and model.mask.causal),
        smooth=not hard and not model.noise,
        scalar_form=scalar_form,
        scalar_value=scalar_value,
        near=near,
        simple=near and scalar_value and post and model.feedforward is None,
        collapses=sphere and attracts and post and not extras,
        no_implicit=_no_implicit(model),
    )


def _no_implicit(model: Model) -> str | None:
    reasons = (
        (model.space != "sphere", f"space={model.space!r}: it works on the sphere"),
        (model.normaliser != "softmax", f"normaliser={model.normaliser!r}: it needs softmax weights"),
        (model.norm.kind != "post", f"layer_norm={model.norm.kind!r}: it knows the post norm only"),
        (model.feedforward is not None, "a feed-forward part"),
        (model.bias is not None, "an ALiBi bias"),
        (bool(model.noise), "noise"),
        (math.isinf(model.beta), "beta=inf: it needs a smooth velocity"),
        (model.dim < 2, "dim=1: nothing moves on two points"),
    )
    return next((why for wrong, why in reasons if wrong), None)


def no_implicit(model: Model, dtype: str) -> str | None:
    """Why a run of a model in this dtype cannot take implicit steps, or None."""
    late = None if dtype == "float64" else f"dtype={dtype!r}: long times need float64"
    return traits(model).no_implicit or late
