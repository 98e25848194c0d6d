"""Small sweeps for the tests: a few tokens, the reference engine (its workers start fast), and runs that misbehave."""

import os
import signal
import time

from tokenflock.model import Model
from tokenflock.sweeps import depot
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import cut

FAST = {"t_end": 1.0, "times": [1.0], "engine": "reference", "scheme": "rk4", "dt": 0.5}


def slow(run):
    """A number that takes its time: so that what is killed is killed in the middle."""
    time.sleep(0.02)
    return float(run.final.sum())


def unlucky(run):
    return run.point["beta"] == 4.0 and run.point["n_tokens"] == 5


def raises(run):
    """One point of the grid fails."""
    if unlucky(run) and run.steps:  # plans try their reducers on runs without steps
        raise ZeroDivisionError("of all things")
    return 1.0


def moody(run):
    """One point of the grid fails while the machine is in a bad mood."""
    if unlucky(run) and os.environ.get("TOKENFLOCK_TEST_MOOD") == "bad" and run.steps:
        raise OSError("not today")
    return 1.0


def hangs(run):
    """One point of the grid waits for ever, where an alarm wakes it."""
    if unlucky(run) and run.steps:
        time.sleep(600)
    return 1.0


def is_deaf(run):
    """The same, where no alarm is heard."""
    if unlucky(run) and run.steps:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    return 1.0


def crashes(run):
    """One point of the grid takes its process with it."""
    if unlucky(run) and run.steps:
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


def small_plan(replicates=4, **record):
    """3 x 2 x replicates runs."""
    return Plan(
        Model(dim=2),
        {"beta": [1.0, 4.0, 9.0], "n_tokens": [3, 5]},
        start={"n_tokens": 3},
        simulate=FAST,
        record={"clusters": {}, "overlap": {}, **record},
        replicates=replicates,
    )


def small_store(path, plan, runs=2):
    """Its store, with shards of so many runs."""
    return depot.create(path, plan, cut(plan.shape, runs))
