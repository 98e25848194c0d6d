"""Sums over pairs as sums over waves on the circle, in torch: time linear in n, for Q'K = c I with c >= 0 and any V.

The weight of two tokens at an angle a is exp(b (cos a - 1)) = sum_m c_m cos(m a), the series of harmonic/series.py.
With z_j = exp(i theta_j) a row needs sum_j z_j^m over the j it sees: running sums for a causal mask, one sum for a full
one, and for windows the end of one block and the beginning of the next, so that nothing is ever subtracted. Always in
float64; errors are ABSOLUTE, about 1e-16 of the mass of all tokens in sight, as with engine="harmonic": not for
metastable times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tokenflock.engine.contract import Task
from tokenflock.engine.harmonic.cost import LONG
from tokenflock.engine.harmonic.series import (
    EPS,
    FLAT,
    MASS,
    MOST_MODES,
    REACH,
    TURN,
    circle_modes,
    circle_series,
    sharpness,
    tail_allowed,
)
from tokenflock.engine.torch.terms import Sums, TorchTerms
from tokenflock.engine.traits import traits
from tokenflock.model import Model
from tokenflock.options import Window
from tokenflock.schemes import Rosenbrock

FROM = 20_000  # tokens from which a run goes by waves: below, pairs take no time on a device
# Tokens in a piece, and numbers (modes times tokens) at a time: what a cache holds, or what fills a device.
PIECE_CPU, PIECE_DEVICE = 2**12, 2**22
ROOM_CPU, ROOM_DEVICE = 2**17, 2**24
STRETCH = 256  # tokens that are added one after the other in a running sum


def running(waves: Tensor) -> Tensor:
    """Running sums along the last axis, in stretches that are joined: many short rows fill a device, fewer additions in
    a row lose fewer digits, and (unlike one long scan on a GPU) the bits are the same every time."""
    size = waves.shape[-1]
    if size <= STRETCH:
        return waves.cumsum(dim=-1)
    padded = torch.nn.functional.pad(waves, (0, -size % STRETCH))
    blocks = padded.reshape(*padded.shape[:-1], -1, STRETCH).cumsum(dim=-1)
    before = torch.nn.functional.pad(running(blocks[..., -1])[..., :-1], (1, 0))
    return (blocks + before[..., None]).flatten(-2)[..., :size]


def why_not(model: Model) -> str | None:
    """Why a model has no waves here, or None."""
    if model.dim != 2 or model.space != "sphere":
        return "waves are for the circle"
    if not isinstance(model.mask, str | Window):
        return "waves are for causal and full masks and for windows"
    if not traits(model).near:
        return "waves need one head with beta Q'K = c I, c >= 0, and nothing but tokens to see"
    b = sharpness(model)
    return None if 9.0 * math.sqrt(b) < MOST_MODES else f"beta = {b:.3g} needs more than {MOST_MODES:,} waves"


def pays(task: Task, n: int) -> bool:
    """Whether a run goes by waves: many tokens, no long times, and a tolerance that absolute errors can meet."""
    worst = 2.0 * EPS * n * (FLAT + math.sqrt(min(n, PIECE_CPU)))
    return (
        n >= FROM
        and task.t_end <= LONG
        and not isinstance(task.scheme, Rosenbrock)
        and worst <= task.rtol + task.atol
        and why_not(task.model) is None
    )


@dataclass(eq=False)
class Waves:
    """(E4) by waves, a function of (terms, x) like velocity.pair_sums; it remembers the worst error so far."""

    model: Model
    n: int
    tolerance: float
    device: torch.device

    def __post_init__(self) -> None:
        b = sharpness(self.model)
        allowed = tail_allowed(self.model, self.n, max(self.tolerance, EPS))
        modes, self.tail = circle_modes(b, allowed)
        coefficients = circle_series(b, allowed).rows[[MASS, TURN, REACH], :modes]  # of w, w sin a and w (cos a - 1)
        self._rows = torch.as_tensor(coefficients, device=self.device)
        on_cpu = self.device.type == "cpu"
        self._piece, self._room = (PIECE_CPU, ROOM_CPU) if on_cpu else (PIECE_DEVICE, ROOM_DEVICE)
        shift = self.model.beta if self.model.normaliser == "scaled-count" else 0.0
        self._grown = math.exp(min(b - shift, 700.0))  # what the weights of a count are multiplied by
        self._worst = torch.zeros((), dtype=torch.float64, device=self.device)

    @property
    def modes(self) -> int:
        """How many waves."""
        return self._rows.shape[1]

    @property
    def velocity_error(self) -> float:
        """About the largest error of a velocity so far: what the series leaves out, and the rounding of its sums."""
        size = float(np.linalg.norm(self.model.values, ord=2, axis=(-2, -1)).sum())
        return size * float(self._worst)

    def __call__(self, terms: TorchTerms, x: Tensor) -> Sums:
        """The pull (runs, 1, n, 2) and the mass (runs, 1, n, 1)."""
        wide = x.to(torch.float64)
        z = torch.complex(wide[..., 0], wide[..., 1])
        sums = torch.zeros((3, *z.shape), dtype=torch.float64, device=x.device)  # w, w sin a, w (cos a - 1)
        if self.model.mask == "full":
            self._full(z, sums)
        elif self.model.mask == "causal":
            self._causal(z, sums)
        else:
            assert isinstance(self.model.mask, Window)
            self._window(z, sums, self.model.mask)
        mass, turn, reach = sums
        count = self._counts(z.shape[1])
        rounding = EPS * (FLAT + math.sqrt(min(z.shape[1], self._piece)))
        lost = (self.tail + rounding) * count
        if self.model.normaliser == "softmax":
            factor = 1.0 / mass
            error = (lost * factor).amax()
        else:
            factor = (self._grown / count).expand_as(mass)
            error = (lost / count).amax() * self._grown
        self._worst = torch.maximum(self._worst, error)
        across = torch.stack([-wide[..., 1], wide[..., 0]], dim=-1)
        pull = (factor * reach)[..., None] * wide + (factor * turn)[..., None] * across
        return Sums(pull.to(x.dtype)[:, None], (factor * mass).to(x.dtype)[:, None, :, None])

    def _counts(self, n: int) -> Tensor:
        """How many tokens each row sees, (n,)."""
        i = torch.arange(n, dtype=torch.float64, device=self.device)
        mask = self.model.mask
        if isinstance(mask, Window):
            ahead = 0 if mask.causal else mask.width - 1
            return (i + ahead + 1).clamp(max=n) - (i - mask.width + 1).clamp(min=0)
        return torch.full_like(i, n) if mask == "full" else i + 1

    def _waves(self, z: Tensor) -> Iterator[tuple[int, Tensor]]:
        """(m, waves (runs, k, tokens)): the powers z^m .. z^(m+k-1), as many at a time as there is room for.

        Powers come from squares and products of two, so that the m-th has log m roundings.
        """
        k = max(1, min(self.modes, self._room // z.numel()))
        powers = torch.ones_like(z)[:, None]
        while powers.shape[1] < k:
            step = powers[:, -1:] * z[:, None]  # z^(as many as there are)
            powers = torch.cat([powers, powers * step], dim=1)[:, :k]
        lift, first = powers[:, -1] * z, torch.ones_like(z)
        for m in range(0, self.modes, k):
            yield m, (powers * first[:, None])[:, : self.modes - m]
            first = first * lift

    def _add(self, sums: Tensor, waves: Tensor, others: Tensor, m: int) -> None:
        """Meet the rows with the sums of the others, for modes m ..: Re and Im of conj(z^m) sum_j z_j^m."""
        met = torch.view_as_real(waves.conj() * others)
        runs, k, tokens, _ = met.shape
        c = self._rows[:, m : m + k]
        found = (c @ met.reshape(runs, k, 2 * tokens)).reshape(runs, 3, tokens, 2)
        sums[0] += found[:, 0, :, 0]
        sums[1] += found[:, 1, :, 1]
        sums[2] += found[:, 2, :, 0]

    def _pieces(self, n: int, runs: int, multiple: int = 1) -> list[tuple[int, int]]:
        size = max(multiple, self._piece // runs // multiple * multiple)
        return [(a, min(a + size, n)) for a in range(0, n, size)]

    def _full(self, z: Tensor, sums: Tensor) -> None:
        totals = torch.zeros((len(z), self.modes), dtype=z.dtype, device=z.device)
        for a, b in self._pieces(z.shape[1], len(z)):
            for m, waves in self._waves(z[:, a:b]):
                totals[:, m : m + waves.shape[1]] += waves.sum(dim=-1)
        for a, b in self._pieces(z.shape[1], len(z)):
            for m, waves in self._waves(z[:, a:b]):
                self._add(sums[..., a:b], waves, totals[:, m : m + waves.shape[1], None], m)

    def _causal(self, z: Tensor, sums: Tensor) -> None:
        before = torch.zeros((len(z), self.modes), dtype=z.dtype, device=z.device)
        for a, b in self._pieces(z.shape[1], len(z)):
            for m, waves in self._waves(z[:, a:b]):
                k = waves.shape[1]
                upto = running(waves)
                others = torch.nn.functional.pad(upto[..., :-1], (1, 0)) + before[:, m : m + k, None]
                self._add(sums[..., a:b], waves, others, m)
                before[:, m : m + k] += upto[..., -1]
        sums[0] += 1.0  # a token sees itself: w = 1, and neither pull

    def _window(self, z: Tensor, sums: Tensor, mask: Window) -> None:
        """Tokens i - width + 1 .. i + ahead: a row's window ends in a block of its length and begins in the one before.

        Position e = i + ahead of the last one counts; where there is no token its waves are 0.
        """
        runs, n = z.shape
        ahead = 0 if mask.causal else mask.width - 1
        width = mask.width + ahead
        for a, b in self._pieces(n + ahead, runs, width):
            # Positions a - width .. of whole blocks, up to past b.
            span = (-(-(b - a) // width) + 1) * width
            lo, hi = max(a - width, 0), min(a - width + span, n)
            here = torch.zeros((runs, span), dtype=z.dtype, device=z.device)
            here[:, lo - a + width : hi - a + width] = z[:, lo:hi]
            there = (here != 0).to(torch.float64)[:, None]
            rows = torch.arange(max(a - ahead, 0), b - ahead, device=z.device)
            if not len(rows):
                continue
            own = rows - (a - width)
            for m, powers in self._waves(here):
                waves = powers * there
                blocks = waves.reshape(runs, waves.shape[1], -1, width)
                upto = running(blocks)
                after = running(blocks.flip(-1)).flip(-1)
                # after[q - 1, r + 1]: the tokens of the block before that the window still has.
                tail = torch.nn.functional.pad(after[:, :, :-1, 1:], (0, 1))
                others = (upto[:, :, 1:] + tail).reshape(runs, waves.shape[1], -1)
                ends = own + ahead - width
                self._add(sums[..., int(rows[0]) : int(rows[-1]) + 1], waves[..., own], others[..., ends], m)
