"""Hidden states as a trajectory: a Dataset that `trajectory.validate` and all analysis accept.

    x(time, token, axis)                        directions: h / |h|, on the sphere
    radius(time, token)                         |h|: the hidden state is h = radius x
    attention(layer, head, token, seen)         the weights with which layer l turns time l into time l + 1
    token_id(token)                             what was read, where the run began with token ids

Time is the number of layers passed; time 0 is what the first layer reads.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.errors import EngineError
from tokenflock.model import Model
from tokenflock.simulation import versions
from tokenflock.trajectory import AXIS, SCHEMA, TIME, TOKEN, describe

if TYPE_CHECKING:
    import xarray as xr

LAYER, HEAD, SEEN = "layer", "head", "seen"
#: The name that stands for a scheme: no scheme of `simulate`, so that `again` refuses it.
SCHEME = "network"
FINISHED = "The run passed all its layers."


def trajectory(
    hidden: Any,
    *,
    causal: bool,
    norm: str,
    engine: str,
    dtype: str,
    network: dict[str, Any],
    attention: Any = None,
    ids: Any = None,
    wall_s: float = 0.0,
    used: dict[str, str] | None = None,
) -> xr.Dataset:
    """Hidden states (time, n, d) as a Dataset. network: what they come from, kept as JSON; used: further versions."""
    import xarray as xr

    h = np.asarray(hidden, dtype=np.float64)
    radius = np.linalg.norm(h, axis=-1)
    if not np.isfinite(radius).all() or (radius == 0).any():
        where = int(np.argmax(~(np.isfinite(radius) & (radius > 0)).all(axis=1)))
        what = "nan or inf" if not np.isfinite(radius[where]).all() else "0, which has no direction"
        raise EngineError(
            f"the hidden states of layer {where} hold a token that is {what}. "
            "Run fewer layers, or keep the layer norm (norm='model' or 'sphere')."
        )
    x = h / radius[..., None]
    times = np.arange(len(h), dtype=np.float64)
    # Tokens, mask and norm only: the weights change from layer to layer, and `attention` holds what they did.
    text, _ = describe(Model(dim=h.shape[-1], mask="causal" if causal else "full", layer_norm=norm))
    data: dict[str, Any] = {
        "x": ((TIME, TOKEN, AXIS), x),
        "radius": ((TIME, TOKEN), radius),
        "start": ((TOKEN, AXIS), x[0]),
    }
    if attention is not None:
        data["attention"] = ((LAYER, HEAD, TOKEN, SEEN), np.asarray(attention))
    if ids is not None:
        data["token_id"] = ((TOKEN,), np.asarray(ids, dtype=np.int64))
    attrs: dict[str, Any] = {
        "schema": SCHEMA,
        "model": text,
        "network": json.dumps(network),
        "outcome": FINISHED,
        "scheme": SCHEME,
        "engine": engine,
        "dtype": dtype,
        "seed": 0,
        "rtol": 1e-6,  # those of `simulate`: layers are no scheme that has an error
        "atol": 1e-9,
        "dt": 1.0,
        "t_end": float(times[-1]),
        "times": json.dumps(times.tolist()),
        "reduce": "[]",
        "switched": math.nan,
        "steps": len(h) - 1,
        "rejected": 0,
        "evaluations": len(h) - 1,
        "wall_s": wall_s,
        "versions": json.dumps({**versions(), **(used or {})}),
    }
    return xr.Dataset(data, coords={TIME: times}, attrs=attrs)


def hidden(run: xr.Dataset) -> np.ndarray:
    """h = radius x, (time, n, d): the hidden states themselves."""
    return run["x"].values * run["radius"].values[..., None]
