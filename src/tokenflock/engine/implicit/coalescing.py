"""Implicit steps in which tokens that sit together become one body (bodies.py), and bodies are opened again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tokenflock.engine.contract import Bodies, Merger, Task
from tokenflock.engine.implicit.bodies import Grouping, centers, growth, slack
from tokenflock.engine.implicit.stepper import ImplicitStepper
from tokenflock.engine.implicit.watch import Labels, touching
from tokenflock.engine.status import COLLAPSED, REGROUP
from tokenflock.engine.traits import steepest, traits
from tokenflock.geometry import Array
from tokenflock.masks import sees
from tokenflock.model import Model, masses
from tokenflock.schemes import Rosenbrock
from tokenflock.sphere import retract

FORMED = 0.25  # of the tolerance: how far off a token of a new body may be; a body is opened at the whole of it
REGROWN = 0.1  # of the gap at which a body is formed: where one that grows is opened
ROUNDING = 64 * 2.220446049250313e-16  # tokens closer than this cannot be told apart
SHARE = 0.1  # of the bodies of a causal model that must have met so that it pays to join them
FIRST_SHARE = 0.4  # the same for MANY tokens that are all on their own: sums over pairs with masses are slower
MANY = 256
LOOK = 10  # steps after which the bodies of full attention are looked at
CAREFUL = -0.5  # rate of growth from which they are looked at after every step
REACH = 0.5  # over the root of beta: how far off its leader a token of a cluster may be at the start of a skeleton
MET = 1e-3  # over the root of beta: how close two leaders come before they are one
WAIT = 32  # steps after which tokens that were not allowed to become a body are looked at again
SHORT_WAIT = 2  # the same where they see each other: a few long steps later their rounding would move them


class CoalescingStepper(ImplicitStepper):
    """One run whose tokens may become bodies; see contract.Stepper."""

    def __init__(
        self, task: Task, scheme: Rosenbrock, x: Array, wide: bool = False, stop: NDArray[np.uint8] | None = None
    ) -> None:
        sharpness = max(1.0, steepest(task.model))
        self._full, self._led = task.model.mask == "full", traits(task.model).causal
        self._wait = WAIT if self._full or self._led else SHORT_WAIT
        self._limit, self._gap = self._bounds(task, sharpness)
        self.grouping = self._first(task.model, x, sharpness)
        super().__init__(task, scheme, x[self.grouping.first], wide, stop, self.grouping.model())
        self._mergers: list[Merger] = []
        self._clusters = self.grouping.first[self.grouping.labels]  # of every token, by the first token of its cluster
        self._opened = 0  # how often a body was opened
        self._slack = 0.0  # the largest slack of a body that was kept
        # Of full attention: where every token is off the place of its body, and the logarithm of what has become of it.
        self._offsets, self._grown, self._rates = np.zeros_like(x), np.zeros(len(x)), np.zeros(len(x))
        self._careful = False  # whether a body may soon have to be opened
        self._seen_at = 0.0
        self._watch = self.grouping.watch(self._gap, self._limit)

    def _bounds(self, task: Task, sharpness: float) -> tuple[float, float]:
        """The largest slack, and the gap at which tokens become a body."""
        tolerance = task.atol + task.rtol
        return tolerance, max(FORMED * tolerance / (1.0 if self._led else sharpness), ROUNDING)

    def _first(self, model: Model, x: Array, sharpness: float) -> Grouping:
        """At the start every token is on its own."""
        return Grouping(model, np.arange(len(x)))

    def _integrate(self, t_next: float, patience: int) -> int:
        """Every frame up to the present is there when a loop of steps comes back, so bodies may change then."""
        budget = self.evaluations + patience
        while True:
            status = super()._integrate(t_next, budget - self.evaluations)
            if status == COLLAPSED and self.grouping.count > 1:
                self._join(self._places(), np.zeros(self.grouping.count, dtype=np.int64))
            if status != REGROUP:
                return status
            self._regroup()

    def _tokens(self, columns: Array) -> Array:
        """All tokens, each at the place of its body."""
        return super()._tokens(columns)[self.grouping.labels]

    def _places(self) -> Array:
        """Where the bodies are, (K, d)."""
        return np.ascontiguousarray(super()._tokens(self.run.system.tokens.x))

    def _regroup(self) -> None:
        """Open the bodies that would part, and join those that have met."""
        columns = self.run.system.tokens.x
        x = self._places()
        parting = self._parting(x) if self.grouping.count < len(self.grouping.labels) else np.zeros(0, dtype=np.int64)
        near = np.empty(len(x), dtype=np.int64)
        if parting.size:
            self._open(x, parting)
        elif self.clock.steps >= self._watch.after and touching(columns, len(x), self._gap, near):
            # Differences need it where leaders see their followers; others only get shorter, with slower kernels.
            fewest = 1.0 if not self._led or self._limit == math.inf else self._fewest()
            if _joining(near) >= fewest and _joining(near := self._allowed(x, near)) >= fewest:
                self._join(x, near)
            else:
                self._watch = self._watch._replace(after=self.steps + self._wait)
        if self._full and self.grouping.count < len(self.grouping.labels):
            self._watch = self._watch._replace(look=self.steps + (1 if self._careful else LOOK))
        self._seen_at = self.t

    def _fewest(self) -> float:
        """How many bodies of a causal model must have met: a share of them, and so many that bodies, of which each sees
        all before it, make no more pairs than what they come from, whose windows may be short."""
        first, last = self.run.system.tokens.rows[:2, : self.grouping.count]
        count = self.grouping.count
        share = FIRST_SHARE if count == len(self.grouping.labels) >= MANY else SHARE
        return max(share * count, count - math.sqrt(2.0 * float((last - first).sum())))

    def _parting(self, x: Array) -> Labels:
        """The bodies that must be opened."""
        bodies = self.grouping
        if not self._full:
            off = slack(self._watch, self.run.system.tokens.x)
            self._slack = max(self._slack, float(off[off <= self._limit].max(initial=0.0)))
            return np.flatnonzero(off > self._limit)
        several = np.flatnonzero(bodies.sizes > 1)
        rates = growth(self.model, x, several)
        self._grown[several] += 0.5 * (rates + self._rates[several]) * (self.t - self._seen_at)
        self._rates[several], self._careful = rates, bool((rates > CAREFUL).any())
        size = np.zeros(bodies.count)
        np.maximum.at(size, bodies.labels, np.linalg.norm(self._offsets, axis=1))
        now = size[several] * np.exp(np.minimum(self._grown[several], 50.0))
        return np.asarray(several[(rates > 0) & (now > REGROWN * self._gap)])

    def _allowed(self, x: Array, near: Labels) -> Labels:
        """near, without the bodies that would not hold."""
        itself = np.arange(len(x))
        if self._full:
            met = np.flatnonzero(np.bincount(near, minlength=len(x))[near] > 1)
            loose = near[met[growth(self.model, x, met) >= 0.0]]
            return np.where(np.isin(near, loose), itself, near)
        near = self.grouping.in_sight(near)
        for _ in range(2):
            first = np.unique(near)
            watch = Grouping(self._task.model, near[self.grouping.labels]).watch(0.0, 0.0)
            loose = first[slack(watch, np.ascontiguousarray(x[first].T)) > FORMED * self._limit]
            if not np.isin(near, loose).any():
                return near
            near = np.where(np.isin(near, loose), itself, near)
        return near

    def _join(self, x: Array, near: Labels) -> None:
        """Bodies k and near[k] become one."""
        bodies, present = self.grouping, self._present(x)
        for k in np.flatnonzero(near != np.arange(len(x))):
            self._note_merger(int(bodies.first[near[k]]), int(bodies.first[k]))
        _, place = np.unique(near, return_inverse=True)
        places = x[np.unique(near)] if self._led else centers(x, bodies.mass, place)
        self._become(Grouping(self._task.model, near[bodies.labels]), places, present)

    def _note_merger(self, one: int, other: int) -> None:
        """Two clusters have met. The tokens of an opened body of a causal model are one cluster still."""
        into, merged = sorted((int(self._clusters[one]), int(self._clusters[other])))
        if into != merged:
            old, new = self._clusters == into, self._clusters == merged
            self._mergers.append(Merger(self.t, into, merged, int(old.sum()), int(new.sum())))
            self._clusters[new] = into

    def _open(self, x: Array, parting: Labels) -> None:
        """The tokens of these bodies are on their own again."""
        self._opened += len(parting)
        bodies, present = self.grouping, self._present(x)
        alone = np.isin(bodies.labels, parting)
        if self._task.model.mask != "causal":  # its tokens may part for good
            self._clusters[alone] = np.flatnonzero(alone)
        labels = np.where(alone, np.arange(len(alone)), bodies.first[bodies.labels])
        new = Grouping(self._task.model, labels)
        self._become(new, present[new.first], present)
        self._watch = self._watch._replace(after=self.steps + self._wait)

    def _present(self, x: Array) -> Array:
        """Where every token is, as far as that is known."""
        labels = self.grouping.labels
        shrunk = np.exp(np.minimum(self._grown[: self.grouping.count], 50.0))[labels]
        return retract(x[labels] + self._offsets * shrunk[:, None]) if self._full else x[labels]

    def _become(self, grouping: Grouping, places: Array, present: Array) -> None:
        """Go on with other bodies at their places (K, d), from the present time."""
        self.grouping = grouping
        self._offsets = present - places[grouping.labels]
        self._grown[:] = 0.0
        self._lay_out(grouping.model(), places)
        several = np.flatnonzero(grouping.sizes > 1)
        if self._full and several.size:
            self._rates[several] = growth(self.model, places, several)
        self._watch = grouping.watch(self._gap, self._limit)
        clock = self.clock
        clock.ready, clock.last_h, clock.width, clock.before = 0, 0.0, 0.0, clock.t

    @property
    def bodies(self) -> Bodies:
        """What there is to tell of them."""
        x = self._places()
        model, due = self._task.model, math.nan
        seen = sees(self.model.mask, len(x)) & (masses(self.model, len(x)) > 0) & ~np.eye(len(x), dtype=bool)
        if seen.any() and traits(model).plain:
            nearest = float((x @ x.T)[seen].max())
            form = float(model.form[0, 0, 0])
            # What a pull is weighed against: the own logit of a row, nothing, or beta.
            against = {"softmax": form, "count": 0.0, "scaled-count": 1.0}[model.divisor.kind]
            due = model.beta * (against - form * nearest) / math.log(10.0)
        return Bodies(len(x), due, tuple(self._mergers), self._opened, self._slack)


def _joining(near: Labels) -> int:
    """How many bodies join an earlier one."""
    return int((near != np.arange(len(near))).sum())


class SkeletonStepper(CoalescingStepper):
    """The leaders of a causal run alone, from clusters that stand: a body is never opened. See contract.Stepper.

    Every follower sits on its leader. While two clusters fall into each other that is wrong by up to their distance,
    for a time of order 1; the slack of the kept frames is told.
    """

    def _bounds(self, task: Task, sharpness: float) -> tuple[float, float]:
        return math.inf, MET / math.sqrt(sharpness)

    def _first(self, model: Model, x: Array, sharpness: float) -> Grouping:
        near = np.empty(len(x), dtype=np.int64)
        touching(np.ascontiguousarray(x.T), len(x), REACH / math.sqrt(sharpness), near)
        return Grouping(model, near)

    def _allowed(self, x: Array, near: Labels) -> Labels:
        return near

    def _at(self, t: float) -> Array:
        self._slack = max(self._slack, float(slack(self._watch, self.run.system.tokens.x).max(initial=0.0)))
        return super()._at(t)
