"""Terms of the user's own (E22): a drift f(x, t) on each token; a velocity of the user's is a drift alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.arguments import flag
from tokenflock.errors import bad
from tokenflock.functions import own
from tokenflock.geometry import Array

OFF_TANGENT = 1e-6  # of the length of a velocity: more than this along its token is no rounding


@dataclass(frozen=True, eq=False)
class Drift:
    """f(x, t) of all tokens x (n, d), (n, d): it joins the feed-forward in D_i.

    whole: it is all there is, a velocity. Then on the sphere it has to be tangent; else its tangent part is taken.
    """

    function: Any
    whole: bool = False

    def __post_init__(self) -> None:
        name = "velocity" if self.whole else "drift"
        object.__setattr__(self, "function", own(name, self.function, ("x", "t")))
        object.__setattr__(self, "whole", flag("whole", self.whole))

    def told(self) -> dict[str, Any]:
        """What a file keeps of it: what `Drift(**told)` takes."""
        return {"function": self.function.told(), "whole": self.whole}

    def at(self, x: Array, t: float, sphere: bool) -> Array:
        """Its value at tokens x, checked."""
        name = "velocity" if self.whole else "drift"
        given = self.function(x, t)
        try:
            found = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise bad(f"the {name} at t = {t:g}", type(given).__name__, f"an array of shape {x.shape}") from None
        if found.shape != x.shape:
            advice = "It is given all tokens at once, (n, d), and moves each: f(x, t) -> (n, d)."
            raise bad(f"the shape of the {name} at t = {t:g}", found.shape, f"{x.shape}", advice)
        if not (fine := np.isfinite(found).all(axis=1)).all() and np.isfinite(x).all():
            i = int(np.argmin(fine))
            given = f"{found[i].tolist()} for token {i} at {np.round(x[i], 6).tolist()}"
            raise bad(
                f"the {name} at t = {t:g}", given, "finite numbers", "Look for a division by zero, or lower t_end."
            )
        if self.whole and sphere:
            along, size = np.abs(np.sum(x * found, axis=1)), np.linalg.norm(found, axis=1)
            if (off := along - OFF_TANGENT * (1.0 + size)).max() > 0:
                i = int(np.argmax(off))
                given = f"{along[i]:.2g} along token {i} (of a length {size[i]:.2g})"
                advice = "Take its tangent part, flock.geometry.tangent(x, v), or use space='euclidean'."
                raise bad(f"the velocity at t = {t:g}", given, "a velocity tangent to the sphere", advice)
        return found
