"""Time schemes as data: Butcher tables with their declared order, and the controller of step sizes.

Engines read the tables and the constants of the controller; the contract test holds every loop to the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import is_number, named, real, scalar, whole
from tokenflock.errors import bad
from tokenflock.geometry import Array

if TYPE_CHECKING:
    from torch import Tensor

Y = TypeVar("Y", Array, "Tensor")

# Every engine chooses its steps with these: the safety factor, the largest shrink and growth of a step, and the two
# exponents of the controller, over the order.
SAFETY, SHRINK, GROW, PROPORTIONAL, INTEGRAL = 0.9, 0.2, 5.0, 0.7, 0.4
# A Rosenbrock step has its own: from a metastable state to a merge and back its size changes by orders of magnitude.
IMPLICIT_SHRINK, IMPLICIT_GROW = 0.15, 8.0
STABLE = 2.5  # largest step times rate: inside the stability interval, so that what should die out does
NOISE = 100.0  # a change of this many roundings says nothing about the rate
LEVEL = 4.5e-16  # 2 eps: weights of a row that sum to a whole number to this are all 0 or 1


LEAST = 1e-10  # an error below this says nothing about the next step


def growth(error: float, before: float, order: int) -> float:
    """The factor of the next step after one that was accepted, from its error and from that of the one before.

    Errors are in units of the tolerance: a PI controller, bounded on both sides.
    """
    _check(order, error=error, before=before)
    now, then = max(error, LEAST), max(before, LEAST)
    factor = SAFETY * now ** (-PROPORTIONAL / order) * then ** (INTEGRAL / order)
    return float(min(GROW, max(SHRINK, factor)))


def shrinkage(error: float, order: int) -> float:
    """The factor of the next try after a step that was rejected for this error, which may not be finite."""
    _check(order, error=error)
    return max(SHRINK, SAFETY * max(error, LEAST) ** (-1 / order)) if math.isfinite(error) else SHRINK


def first_step(small: float, speed: float, change: float, order: int, longest: float) -> float:
    """The first step, from the sizes of the velocity and of its change over a small step, in units of the tolerance.

    (Hairer, Norsett & Wanner, Solving ODEs I, II.4.)
    """
    _check(order, small=small, speed=speed, change=change, longest=longest)
    if not max(speed, change) > 0:
        raise bad("speed, change", (speed, change), "numbers of which one is > 0", "What rests needs no first step.")
    return float(min(100 * small, (0.01 / max(speed, change)) ** (1 / order), longest))


def hermite(t: float, nodes: Sequence[float], states: Sequence[Y], slopes: Sequence[Y]) -> Y:
    """The polynomial through states and slopes at k nodes, of degree 2k - 1, at time t; of arrays or tensors."""
    at = real("nodes", nodes, "times up to 1e300, no two the same", lambda v: np.abs(v) <= 1e300)
    if at.ndim != 1 or not at.size or len(np.unique(at)) < at.size:
        raise bad("nodes", nodes, "finite times, no two the same")
    t = scalar("t", t, "a time up to 1e300", lambda v: np.abs(v) <= 1e300)
    for name, given in (("states", states), ("slopes", slopes)):
        rows = given if isinstance(given, list | tuple | np.ndarray) else ()
        if len(rows) != at.size or any(not _is_state(row) or row.shape != rows[0].shape for row in rows):
            raise bad(name, given, f"{at.size} arrays or tensors of one shape, one for each node")
    result: Y = 0.0 * states[0]
    for k, node in enumerate(nodes):
        others = [o for j, o in enumerate(nodes) if j != k]
        p: float = math.prod((t - o) / (node - o) for o in others)
        slope: float = sum(1.0 / (node - o) for o in others)
        with np.errstate(over="ignore", invalid="ignore"):  # of arrays; states may be as large as float64 has them
            part: Y = p * p * ((1.0 - 2.0 * (t - node) * slope) * states[k] + (t - node) * slopes[k])
            result = result + part
    return result


def _is_state(given: object) -> bool:
    """Whether it is an array of numbers, or a tensor."""
    return hasattr(given, "shape") and getattr(getattr(given, "dtype", None), "kind", "f") in "biufc"


def _check(order: int, **sizes: float) -> None:
    """The numbers that a controller is given; an error may be nan or inf."""
    whole("order", order, 1, most=100)
    for name, value in sizes.items():
        if not is_number(value) or value < 0:
            raise bad(name, value, "a number >= 0")


@dataclass(frozen=True, eq=False)
class Scheme:
    """An explicit Runge-Kutta table. error = b - b_hat, present if adaptive; its last stage is then x_new (FSAL)."""

    name: str
    order: int
    a: Array  # (stages, stages), strictly lower triangular
    b: Array  # (stages,)
    error: Array | None = None
    source: str = ""

    @property
    def c(self) -> Array:
        """Stage times: the row sums of a."""
        times: Array = self.a.sum(axis=1)
        return times

    @cached_property
    def adaptive(self) -> bool:
        """Whether the step size is chosen from an error estimate."""
        return self.error is not None

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """a, b and the error weights below each other, as compiled loops read them: (stages + 2, stages)."""
        error = np.zeros_like(self.b) if self.error is None else self.error
        return np.concatenate([self.a, self.b[None], error[None]]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rosenbrock:
    """A linearly implicit table in the form without products by J (Hairer & Wanner, Solving ODEs II, IV.7).

        (1/(h gamma) - J) U_i = f(y + sum_j a_ij U_j) + sum_j c_ij U_j / h,      y_new = y + sum_j b_j U_j

    The last U is the error estimate. dense: the weights of the two terms that, beside the ends, give
    y(t + s h) = (1-s) y + s (y_new + (1-s) (D_1 + s D_2)), D_k = sum_j dense[k, j] U_j.
    """

    name: str
    order: int
    gamma: float
    a: Array
    c: Array
    b: Array
    dense: Array
    source: str = ""
    adaptive: bool = True
    error: None = None


def _table(*rows: tuple[float, ...]) -> Array:
    a = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        a[i, : len(row)] = row
    return a


EULER = Scheme("euler", 1, _table(()), np.array([1.0]))
HEUN = Scheme("heun", 2, _table((), (1.0,)), np.array([0.5, 0.5]))
RK4 = Scheme("rk4", 4, _table((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), np.array([1, 2, 2, 1]) / 6)
_TSIT5_B = (
    0.09646076681806523,
    0.01,
    0.4798896504144996,
    1.379008574103742,
    -3.290069515436081,
    2.324710524099774,
)
TSIT5 = Scheme(
    "tsit5",
    5,
    _table(
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        _TSIT5_B,
    ),
    np.array([*_TSIT5_B, 0.0]),
    np.array(
        [
            -0.00178001105222577714,
            -0.0008164344596567469,
            0.007880878010261995,
            -0.1447110071732629,
            0.5823571654525552,
            -0.45808210592918697,
            0.015151515151515152,
        ]
    ),
    source="Tsitouras, Computers & Mathematics with Applications 62 (2011) 770-775",
)

_RODAS_A5 = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)
#: RODAS: order 4, six stages, L-stable and stiffly accurate.
RODAS = Rosenbrock(
    "rosenbrock",
    4,
    0.25,
    _table(
        (),
        (1.544,),
        (0.9466785280815826, 0.2557011698983284),
        (3.314825187068521, 2.896124015972201, 0.9986419139977817),
        _RODAS_A5,
        (*_RODAS_A5, 1.0),
    ),
    _table(
        (),
        (-5.6688,),
        (-2.430093356833875, -0.2063599157091915),
        (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
        (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
        (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
    ),
    np.array([*_RODAS_A5, 1.0, 1.0]),
    np.array(
        [
            [10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0.0],
            [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0.0],
        ]
    ),
    source="Hairer & Wanner, Solving Ordinary Differential Equations II, Springer (1996), RODAS",
)

#: the same steps for the leaders of a causal run alone, once clusters stand
SKELETON = replace(RODAS, name="skeleton")

SCHEMES: dict[str, Scheme | Rosenbrock] = {scheme.name: scheme for scheme in (EULER, HEUN, RK4, TSIT5, RODAS, SKELETON)}
EXPLICIT = (*(name for name, scheme in SCHEMES.items() if isinstance(scheme, Scheme)), "layers")
NAMES = ("auto", *SCHEMES, "layers")


def scheme_named(name: str) -> Scheme | Rosenbrock:
    """The table with this name."""
    return SCHEMES[named("scheme", name, SCHEMES)]
