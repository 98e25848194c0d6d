"""Hidden states as a trajectory: a Dataset that `trajectory.validate` and all analysis accept.

    x(time, token, axis)                        directions: h / |h|, on the sphere
    radius(time, token)                         |h|: the hidden state is h = radius x
    attention(layer, head, token, seen)         the weights with which layer l turns time l into time l + 1
    token_id(token)                             what was read, where the run began with token ids

Time is the number of layers passed; time 0 is what the first layer reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.arguments import flag, instance, numbers, scalar, whole_numbers
from tokenflock.errors import EngineError, bad
from tokenflock.geometry import Array
from tokenflock.given import HEAD, LAYER, SEEN, assemble
from tokenflock.model import Model
from tokenflock.networks.network import Network
from tokenflock.simulation import versions
from tokenflock.trajectories import AXIS, NETWORK, TIME, TOKEN, validate

if TYPE_CHECKING:
    import xarray as xr

FINISHED = "The run passed all its layers."


@dataclass(frozen=True)
class Origin:
    """What hidden states come from: the network, and what computed them."""

    network: dict[str, Any]  # kept as JSON
    causal: bool
    norm: str
    engine: str
    dtype: str = "float64"
    used: Mapping[str, str] = field(default_factory=dict)  # further versions

    def __post_init__(self) -> None:
        instance("network", self.network, dict, "a dict of what is known of the network")
        flag("causal", self.causal)
        for name in ("norm", "engine", "dtype"):
            instance(name, getattr(self, name), str, "a text")
        for word in instance("used", self.used, Mapping, "{library: version}").values():  # type: ignore[type-abstract]
            instance("used", word, str, "{library: version}, of texts")

    @classmethod
    def of(cls, net: Network, engine: str, dtype: str, used: Mapping[str, str], **more: Any) -> Origin:
        """The origin of hidden states of a network; more: what else is kept of it."""
        instance("net", net, Network, "a networks.Network", "networks.read(path) gives one.")
        facts = {"name": net.name, "family": net.family, "digest": net.digest, **more}
        return cls(facts, net.causal, net.norm, engine, dtype, used)


def trajectory(
    hidden: Any, origin: Origin, *, attention: Any = None, ids: Any = None, wall_s: float = 0.0
) -> xr.Dataset:
    """Hidden states (time, n, d) as a Dataset."""
    instance("origin", origin, Origin, "a record.Origin")
    h = numbers(hidden)
    if h.ndim != 3 or not h.size:
        raise bad("hidden.shape", h.shape, "(time, n, d), at least one of each")
    with np.errstate(over="ignore"):
        radius = np.linalg.norm(h, axis=-1)
    given = {} if attention is None else {"attention": numbers(attention)}
    if given and (given["attention"].ndim != 4 or given["attention"].shape[2:] != (h.shape[1],) * 2):
        raise bad("attention.shape", given["attention"].shape, f"(layers, heads, {h.shape[1]}, {h.shape[1]})")
    index = None if ids is None else whole_numbers("ids", ids, f"{h.shape[1]} token ids")
    if index is not None and index.shape != h.shape[1:2]:
        raise bad("ids.shape", index.shape, f"({h.shape[1]},), an id a token")
    scalar("wall_s", wall_s, "seconds >= 0", lambda v: v >= 0)
    if not np.isfinite(radius).all() or (radius == 0).any():
        where = int(np.argmax(~(np.isfinite(radius) & (radius > 0)).all(axis=1)))
        what = "nan or inf" if not np.isfinite(radius[where]).all() else "0, which has no direction"
        raise EngineError(
            f"the hidden states of layer {where} hold a token that is {what}. "
            "Run fewer layers, or keep the layer norm (norm='model' or 'sphere')."
        )
    x = h / radius[..., None]
    data: dict[str, Any] = {"x": ((TIME, TOKEN, AXIS), x), "radius": ((TIME, TOKEN), radius)}
    if attention is not None:
        data["attention"] = ((LAYER, HEAD, TOKEN, SEEN), np.asarray(attention))
    if index is not None:
        data["token_id"] = ((TOKEN,), index)
    # Tokens, mask and norm only: the weights change from layer to layer, and `attention` holds what they did.
    model = Model(dim=h.shape[-1], mask="causal" if origin.causal else "full", layer_norm=origin.norm)
    attrs: dict[str, Any] = {
        "network": json.dumps(origin.network),
        "outcome": FINISHED,
        "scheme": NETWORK,
        "engine": origin.engine,
    }
    attrs |= {"dtype": origin.dtype, "wall_s": wall_s, "versions": json.dumps({**versions(), **origin.used})}
    times = np.arange(len(h), dtype=np.float64)
    return assemble(data, {TIME: ((TIME,), times, {"long_name": "layer"})}, model, attrs)


def hidden(run: xr.Dataset) -> Array:
    """h = radius x, (time, n, d): the hidden states themselves."""
    if not {"x", "radius"} <= set(validate(run)):
        raise bad("run", "a run without positions and their lengths", "a trajectory of a network")
    return np.asarray(run["x"].values * run["radius"].values[..., None])
