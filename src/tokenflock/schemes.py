"""Time schemes as data: Butcher tables with their declared order. Engines read them; nobody re-codes a scheme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tokenflock.errors import unknown
from tokenflock.geometry import Array


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
        return self.a.sum(axis=1)

    @property
    def adaptive(self) -> bool:
        """Whether the step size is chosen from an error estimate."""
        return self.error is not None


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

SCHEMES = {scheme.name: scheme for scheme in (EULER, HEUN, RK4, TSIT5)}
NAMES = ("auto", *SCHEMES, "layers")


def scheme_named(name: str) -> Scheme:
    """The table with this name."""
    if name not in SCHEMES:
        raise unknown("scheme", name, NAMES)
    return SCHEMES[name]
