"""Adaptive steps of many runs at once, in torch: every run has its own clock, step size, error and outcome.

Tables and step control are those of engine/reference.py. A tick tries one step of every run; all that it decides stays
on the device. The host looks once in a few ticks: it reads the clocks and takes out the wanted frames, by the
polynomial through the four accepted states around each. So the last accepted states are kept in a ring.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenflock.engine.contract import Outcome, Task
from tokenflock.engine.status import BOOLEAN, COLLAPSED, ENDED, FAILED, NOT_FINITE, ON, SMALL
from tokenflock.engine.torch.runs import Runs
from tokenflock.engine.torch.terms import TorchTerms
from tokenflock.geometry import Array
from tokenflock.schemes import GROW, INTEGRAL, LEVEL, NOISE, PROPORTIONAL, SAFETY, SHRINK, STABLE, Scheme

NODES = 4
ERROR, GAP = -2, -1  # rows of the table after those of the stages
TICKS = 8  # most ticks between two looks of the host
LARGE = 2**26  # bytes of a state from which the ring is kept short, and the host looks at every tick
NUMBERS = 2**24  # of frames that are interpolated at a time


def slots_for(state_bytes: float) -> int:
    """How many accepted states the ring holds."""
    return NODES + 2 if state_bytes > LARGE else NODES + 1 + TICKS


def states_held(scheme: Scheme, state_bytes: float) -> int:
    """How many states are on the device at once: the ring, the stages, and what comes and goes in a tick."""
    return 2 * slots_for(state_bytes) + len(scheme.b) + 8


class AdaptiveRuns(Runs):
    """Adaptive runs; all that has a row for each run is in `_rows` or, with the run on the second axis, in the ring."""

    def __init__(self, terms: TorchTerms, task: Task, starts: Array, stop: NDArray[np.uint8] | None = None) -> None:
        super().__init__(terms, task, starts, stop)
        scheme = task.scheme
        assert isinstance(scheme, Scheme)
        assert scheme.error is not None
        self._scheme = scheme
        # The stages, their error, and how far the last two stages stand apart, which have the same time.
        table = np.concatenate([scheme.a, scheme.error[None], scheme.a[-1:] - scheme.a[-2:-1]])
        self._table, self._nonzero = torch.as_tensor(table, device=terms.device), (table != 0).tolist()
        self.slots = slots_for(self.y.element_size() * self.y.numel())
        count, device = len(starts), terms.device
        real = torch.zeros(count, dtype=torch.float64, device=device)
        whole = torch.zeros(count, dtype=torch.int64, device=device)
        self._rows: dict[str, Tensor] = {
            **dict.fromkeys(("t", "h", "error", "before"), real),
            "t_stop": real + self.phases[0][0],
            **dict.fromkeys(("left", "steps", "rejected", "evaluations", "status", "first", "phase"), whole),
            "last": whole - 1,
            "watch": torch.as_tensor(self.watch, device=device),
        }
        self._ring_t = torch.zeros((self.slots, count), dtype=torch.float64, device=device)
        self._ring_y = torch.zeros((self.slots, *self.y.shape), dtype=terms.dtype, device=device)
        self._ring_f = torch.zeros_like(self._ring_y)
        self._restart(torch.ones(count, dtype=torch.bool, device=device))

    # ---- what the host does

    def advance(self, times: Array, frames: Array, filled: NDArray[np.int64], patience: int) -> None:
        """See contract.Ensemble."""
        ticks_left = -(-patience // (len(self._scheme.b) - 1))
        self.finish_settled(times, frames, filled)
        while self.left(times, filled):
            self._look(times, frames, filled)
            if not self.left(times, filled) or ticks_left <= 0:
                break
            if self.stop[0]:
                for run in self.index:
                    self.outcomes[run] = self.outcomes[run] or Outcome.INTERRUPTED
                break
            self._drop_ended()
            ticks = min(ticks_left, self.slots - NODES - 1)
            for _ in range(ticks):
                self._tick(float(times[-1]))
            ticks_left -= ticks

    def _look(self, times: Array, frames: Array, filled: NDArray[np.int64]) -> None:
        """Read the clocks, take out frames, and see what the end of a stretch means."""
        names = ("t", "steps", "rejected", "evaluations", "status", "last", "first", "phase")
        numbers = torch.stack([self._rows[name].to(torch.float64) for name in names] + list(self._ring_t)).cpu().numpy()
        book: dict[str, Any] = dict(zip(names, numbers, strict=False))
        for name in names[1:]:
            book[name] = book[name].astype(np.int64)
        for name in ("t", "steps", "rejected", "evaluations"):
            getattr(self, name)[self.index] = book[name]
        status, ring_t = book["status"], numbers[len(names) :]
        for row in np.flatnonzero(status == BOOLEAN):
            settled = self.try_to_settle(int(self.index[row]), self.y[row, :, : self.d])
            status[row] = ENDED if settled else ON
        self._emit(book, ring_t, times, frames, filled)
        again = np.zeros(len(self.index), dtype=bool)
        for row in np.flatnonzero(status != ON):
            run = int(self.index[row])
            if run in self.settled or self.outcomes[run] is not None:
                continue
            if status[row] in FAILED:
                self.outcomes[run] = FAILED[int(status[row])]
            elif status[row] == COLLAPSED:
                if filled[run] < len(times) or times[-1] >= self.task.t_end:  # else the next time is where it rests
                    frames[run, filled[run] :] = self.y[row].cpu().numpy()
                    filled[run] = len(times)
                    self.outcomes[run] = Outcome.COLLAPSED
            elif book["phase"][row] + 1 < len(self.phases):
                again[row] = filled[run] < len(times)
            elif times[-1] >= self.task.t_end:
                self.outcomes[run] = Outcome.DONE  # not before the last kept time: more of them may be asked for
        self.finish_settled(times, frames, filled)
        self._rows["status"] = torch.where(self._rows["status"] == BOOLEAN, self._put(status), self._rows["status"])
        self._rows["watch"] = self._put(self.watch[self.index])
        # The second last wanted time, unless it is there already: a run waits for it too.
        waits = (filled[self.index] < len(times) - 1) & (len(times) > 1)
        self._rows["before"] = self._put(np.where(waits, times[-2] if len(times) > 1 else -np.inf, -np.inf))
        if again.any():
            self._rows["phase"] = self._rows["phase"] + self._put(again.astype(np.int64))
            self._restart(self._put(again))

    def _emit(
        self, book: dict[str, Any], ring_t: Array, times: Array, frames: Array, filled: NDArray[np.int64]
    ) -> None:
        """Frames that have been passed: one step late, so that accepted states stand on both sides of them."""
        slots, last, first, t = self.slots, book["last"], book["first"], book["t"]
        rows = np.arange(len(last))
        nodes = last - first + 1
        previous = np.where(nodes >= NODES, ring_t[(last - 1) % slots, rows], -np.inf)
        final = (book["status"] == ENDED) | (book["status"] == COLLAPSED)
        ready = np.searchsorted(times, np.where(final, t, previous), "right")
        ready += (ready < len(times)) & (times[np.minimum(ready, len(times) - 1)] == t)
        alive = np.array([self.outcomes[run] is None for run in self.index], dtype=bool)
        counts = np.where(alive, np.maximum(ready - filled[self.index], 0), 0)
        if not counts.any():
            return
        row = np.repeat(rows, counts)
        k = np.concatenate([np.arange(f, f + c) for f, c in zip(filled[self.index], counts, strict=True)])
        wanted = times[k]
        age = np.arange(slots)[None]
        past = ring_t[(last[row, None] - age) % slots, row[:, None]] >= wanted[:, None]
        held = past & (age < np.minimum(nodes, slots - 1)[row, None])  # one slot may hold a step that was refused
        s = last[row] - (held.sum(axis=1) - 1)  # the first node at or after the wanted time
        top = np.minimum(np.maximum(s + 1, first[row] + NODES - 1), last[row])
        node = top[:, None] - np.arange(NODES)
        used = node >= first[row, None]
        tau = np.where(used, ring_t[node % slots, row[:, None]], 0.0)
        exact = ring_t[s % slots, row] == wanted
        value, slope = _hermite(wanted, tau, used)
        size = max(1, NUMBERS // (self.y[0].numel()))
        for a in range(0, len(row), size):
            part = slice(a, a + size)
            made = self._interpolate(node[part] % slots, row[part], value[part], slope[part])
            hit, slot, which = (torch.as_tensor(v[part], device=made.device) for v in (exact, s % slots, row))
            made = torch.where(
                hit[:, None, None], self._ring_y[slot, which], made
            )  # a state itself, if one stands there
            frames[self.index[row[part]], k[part]] = made.cpu().numpy()
        filled[self.index] += counts

    def _interpolate(self, slot: Any, row: Any, value: Array, slope: Array) -> Tensor:
        """States between accepted ones, of order 8 with four nodes and free of evaluations."""
        rows, slots = self._put(row), self._put(slot)
        v, s = (self._put(w).to(self.y.dtype)[..., None, None] for w in (value, slope))
        y = torch.zeros((), dtype=self.y.dtype, device=self.terms.device)
        for k in range(NODES):
            y = y + (v[:, k] * self._ring_y[slots[:, k], rows] + s[:, k] * self._ring_f[slots[:, k], rows])
        return self.retract(y)

    def _put(self, array: NDArray[Any]) -> Tensor:
        """An array of the host on the device."""
        return torch.as_tensor(array, device=self.terms.device)

    def _drop_ended(self) -> None:
        """Rows of runs that have ended are dropped once they are half of all."""
        going = np.array([self.outcomes[run] is None and run not in self.settled for run in self.index], dtype=bool)
        if 2 * going.sum() > len(going):
            return
        keep = torch.as_tensor(np.flatnonzero(going), device=self.terms.device)
        self.index = self.index[going]
        self._rows = {name: row[keep] for name, row in self._rows.items()}
        self.y, self._ring_t = self.y[keep], self._ring_t[:, keep]
        self._ring_y, self._ring_f = self._ring_y[:, keep], self._ring_f[:, keep]

    # ---- what stays on the device

    def _late(self) -> Tensor | None:
        return self._rows["phase"] > 0 if len(self.phases) > 1 else None

    def _push(self, y: Tensor, f: Tensor, new: Tensor) -> None:
        """A state and its velocity into the ring, where `new` (runs,) says so; elsewhere what it writes is not read."""
        last = self._rows["last"]
        slot, row = (last + 1) % self.slots, torch.arange(len(last), device=last.device)
        self._ring_t[slot, row], self._ring_y[slot, row], self._ring_f[slot, row] = self._rows["t"], y, f
        self._rows["last"] = last + new.to(torch.int64)

    def _slope(self) -> Tensor:
        """The velocity at the present state."""
        last = self._rows["last"]
        return self._ring_f[last % self.slots, torch.arange(len(last), device=last.device)]

    def _restart(self, begins: Tensor) -> None:
        """Begin a stretch of smooth time where `begins` (runs,): the first node and the first step."""
        rows = self._rows
        stops = torch.tensor([stretch.end for stretch in self.phases], dtype=torch.float64, device=self.terms.device)
        rows["t_stop"] = stops[rows["phase"]]
        f, _ = self.rates(self.y, rows["t"], self._late())
        self._push(self.y, f, begins)
        rows["first"] = torch.where(begins, rows["last"], rows["first"])
        rows["status"] = torch.where(begins, ON, rows["status"])
        rows["error"] = torch.where(begins, 1.0, rows["error"])
        rows["left"] = torch.where(begins, 0, rows["left"])
        h, more = self._first_step(f)
        rows["h"] = torch.where(begins, h, rows["h"])
        rows["evaluations"] = rows["evaluations"] + begins * (1 + more)

    def _first_step(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """From the size of the velocity and of its change (Hairer, Norsett & Wanner II.4); which runs evaluated it."""
        rows, task = self._rows, self.task
        half, speed = 0.5 * (rows["t_stop"] - rows["t"]), self._size(f)
        moves = speed > 0
        small = torch.minimum(0.01 / (speed * (task.atol + task.rtol)), half)
        small = torch.where(moves & (small > 0), small, 1.0)
        step = small.to(self.y.dtype)[:, None, None]
        there, _ = self.rates(self.y + step * f, rows["t"] + small, self._late())
        change = torch.maximum(speed, self._size((there - f) / step))
        h = torch.minimum(torch.minimum(100 * small, (0.01 / change) ** (1 / self._scheme.order)), half)
        return torch.where(moves, h, half), moves.to(torch.int64)

    def _size(self, e: Tensor) -> Tensor:
        """The largest error of a token, in units of the tolerance, (runs,): inf where it is not finite."""
        rtol, atol, d = self.task.rtol, self.task.atol, self.d
        size = torch.linalg.vector_norm(e[..., :d], dim=-1)
        size = size / (atol + rtol * torch.linalg.vector_norm(self.y[..., :d], dim=-1))
        if self.has_radius:
            size = torch.maximum(size, e[..., d].abs() / (atol + rtol * self.y[..., d].abs()))
        worst: Tensor = size.amax(dim=-1)
        return worst.to(torch.float64).nan_to_num(nan=torch.inf)

    def _next_step(self, active: Tensor) -> Tensor:
        """The step to try: t_stop is hit, in two equal steps, so that times just before it have nodes close by."""
        rows = self._rows
        way, h, left = rows["t_stop"] - rows["t"], rows["h"], rows["left"]
        left = torch.where((left == 0) & (2 * h >= way), 2, left)
        half, all_of_it = (left == 2) & (h >= 0.5 * way), (left == 1) & (2.0 * h >= way)
        left = torch.where(half | all_of_it, left, 0)
        rows["left"] = torch.where(active, left, rows["left"])
        return torch.where(half, 0.5 * way, torch.where(all_of_it, way, h))

    def _waiting(self, last_time: float) -> Tensor:
        """Which runs (runs,) have no frame left that needs a step."""
        rows = self._rows
        previous = self._ring_t[(rows["last"] - 1) % self.slots, torch.arange(len(self.y), device=self.y.device)]
        previous = torch.where(rows["last"] - rows["first"] + 1 >= NODES, previous, -torch.inf)
        return (previous >= last_time) | ((rows["t"] == last_time) & (previous >= rows["before"]))

    def _combined(self, h: Tensor, row: int, stages: list[Tensor], y: Tensor) -> Tensor:
        """y + h sum_s weights[s] stages[s], with a row of the table as weights."""
        scale = (h[:, None] * self._table[row]).to(y.dtype)[..., None, None]
        for s, stage in enumerate(stages):
            if self._nonzero[row][s]:
                y = torch.addcmul(y, scale[:, s], stage)
        return y

    def _tick(self, last_time: float) -> None:
        """Try one step of every run that has frames to fill."""
        rows, scheme = self._rows, self._scheme
        active = (rows["status"] == ON) & ~self._waiting(last_time)
        if self.task.collapse:
            gap = (self.y - self.y[:, :1])[..., : self.d].to(torch.float64)
            met = active & ((gap * gap).sum(dim=-1).amax(dim=-1) <= self.task.collapse**2)
            rows["status"] = torch.where(met, COLLAPSED, rows["status"])
            active = active & ~met
        f = self._slope()
        h = torch.where(active, self._next_step(active), 0.0)
        stuck = active & (rows["t"] + h <= rows["t"])
        rows["status"] = torch.where(stuck, torch.where(self._size(f).isfinite(), SMALL, NOT_FINITE), rows["status"])
        active = active & ~stuck
        h = torch.where(active, h, 0.0)
        stages, y, spread = [f], self.y, None
        for row in range(1, len(scheme.b)):
            y = self._combined(h, row, stages, self.y)
            found, spread = self.rates(y, rows["t"] + float(scheme.c[row]) * h, self._late())
            stages.append(found)
        rows["evaluations"] = rows["evaluations"] + active * (len(scheme.b) - 1)
        error = self._size(self._combined(h, ERROR, stages, torch.zeros_like(self.y)))
        self._judge(active, h, error, y, stages, spread)

    def _judge(
        self, active: Tensor, h: Tensor, error: Tensor, y: Tensor, stages: list[Tensor], spread: Tensor | None
    ) -> None:
        """Accept the step or not, and choose the next."""
        rows, order = self._rows, self._scheme.order
        good = active & (error <= 1.0)
        poor = active & ~good
        finite = error.isfinite()
        shrunk = h * (SAFETY * error ** (-1.0 / order)).clamp(min=SHRINK)
        lost = poor & ~finite & ((rows["t"] + shrunk <= rows["t"]) | (shrunk < 1e-30))
        rows["status"] = torch.where(lost, NOT_FINITE, rows["status"])
        rows["rejected"] = rows["rejected"] + poor.to(torch.int64)
        safe = error.clamp(min=1e-10)
        factor = SAFETY * safe ** (-PROPORTIONAL / order) * rows["error"] ** (INTEGRAL / order)
        done = h == rows["t_stop"] - rows["t"]
        rows["t"] = torch.where(good, torch.where(done, rows["t_stop"], rows["t"] + h), rows["t"])
        rows["error"] = torch.where(good, safe, rows["error"])
        rows["steps"] = rows["steps"] + good.to(torch.int64)
        self.y = torch.where(good[:, None, None], self.retract(y), self.y)
        self._push(self.y, stages[-1], good)
        left = torch.where(good, (rows["left"] - 1).clamp(min=0), torch.where(poor, 0, rows["left"]))
        rate = self._stiffness(h, stages)
        grown = h * factor.clamp(SHRINK, GROW)
        grown = torch.where(grown * rate > STABLE, STABLE / rate, grown)
        rows["left"] = left
        rows["h"] = torch.where(poor, shrunk, torch.where(good & (left == 0), grown, rows["h"]))
        rows["status"] = torch.where(good & (rows["t"] >= rows["t_stop"]), ENDED, rows["status"])
        if spread is not None:
            sharp = good & (rows["status"] == ON) & (rows["steps"] >= rows["watch"]) & (spread <= LEVEL)
            rows["status"] = torch.where(sharp, BOOLEAN, rows["status"])

    def _stiffness(self, h: Tensor, stages: list[Tensor]) -> Tensor:
        """How fast the velocity changes between the last two stages, which stand at the same time: 0 if they coincide
        to rounding, as for tokens at rest."""
        gap = self._combined(torch.ones_like(h), GAP, stages[:-1], torch.zeros_like(self.y))
        change, gaps, reach = (
            (v.to(torch.float64) ** 2).sum(dim=(1, 2)) for v in (stages[-1] - stages[-2], gap, self.y)
        )
        floor = NOISE * torch.finfo(self.y.dtype).eps
        return torch.where(h * h * gaps > floor * floor * reach, (change / gaps).sqrt() / h, 0.0)


def _hermite(t: Array, nodes: Array, used: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Weights (frames, nodes) of values and slopes in the polynomial through both at the nodes that are used, at t."""
    count = nodes.shape[1]
    value, slope = np.zeros(nodes.shape), np.zeros(nodes.shape)
    for k in range(count):
        p, rise = np.ones(len(t)), np.zeros(len(t))
        for j in range(count):
            if j != k:
                both = used[:, j] & used[:, k]
                gap = np.where(both, nodes[:, k] - nodes[:, j], 1.0)
                p *= np.where(both, (t - nodes[:, j]) / gap, 1.0)
                rise += np.where(both, 1.0 / gap, 0.0)
        own = np.where(used[:, k], nodes[:, k], t)
        value[:, k] = np.where(used[:, k], p * p * (1.0 - 2.0 * (t - own) * rise), 0.0)
        slope[:, k] = np.where(used[:, k], p * p * (t - own), 0.0)
    return value, slope
