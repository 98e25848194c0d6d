"""Small sweeps for the tests: a few tokens, the reference engine (its workers start fast), and runs that misbehave."""

import os
import signal
import time
from pathlib import Path

from tokenflock.model import Model
from tokenflock.sweeps import sweep_store
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import cut

FAST = {"t_end": 1.0, "times": [1.0], "engine": "reference", "scheme": "rk4", "dt": 0.5}
SPEC = """
[model]
dim = 2
[start]
n_tokens = 3
[simulate]
t_end = 1.0
engine = "reference"
scheme = "rk4"
dt = 0.5
[axes]
beta = [1.0, 4.0]
[record]
clusters = {}
overlap = {}
[sweep]
replicates = 4
runs_a_shard = 2
"""


class Gate:
    """How many shards of a store may be done: the others wait, however fast or slow this machine is.

    Runs that are under way pass together: a few more than allowed may be done, no more than there are workers.
    """

    NAME = "TOKENFLOCK_TEST_GATE"

    def __init__(self, store, monkeypatch):
        self._permits = Path(f"{store}.permits")
        self._permits.mkdir()
        monkeypatch.setenv(self.NAME, f"{store}/checksum/c{os.pathsep}{self._permits}")

    def allow(self, shards):
        """So many in all, from now on."""
        for k in range(len([*self._permits.iterdir()]), shards):
            (self._permits / str(k)).touch()


def pass_the_gate():
    """Wait until one more shard may be done."""
    if gate := os.environ.get(Gate.NAME):
        done, permits = map(Path, gate.split(os.pathsep))
        while sum(path.name.isdigit() for path in done.glob("*")) >= len([*permits.iterdir()]):
            time.sleep(0.01)


def slow(run):
    """A number that takes its time: so that what is killed is killed in the middle."""
    if run.steps:  # plans try their reducers on runs without steps
        time.sleep(0.02)
        pass_the_gate()
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
    """One point of the grid waits for ever, where an alarm wakes it.

    The alarm that is set is brought forward: so the limit can be far beyond what any other run takes.
    """
    if unlucky(run) and run.steps:
        if not signal.getitimer(signal.ITIMER_REAL)[0]:
            raise RuntimeError("no alarm is set")
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(600)
    return 1.0


def is_deaf(run):
    """The same, where no alarm is heard. It leaves its process number where it is told to."""
    if unlucky(run) and run.steps:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        Path(os.environ["TOKENFLOCK_TEST_DEAF"]).write_text(str(os.getpid()))
        time.sleep(600)
    return 1.0


class Clock:
    """The clock of this machine, but while the deaf run is there it is far ahead."""

    def __init__(self, file):
        self._file = file

    def monotonic(self):
        try:
            os.kill(int(self._file.read_text()), 0)
        except (OSError, ValueError):  # not yet, or no longer
            return time.monotonic()
        return time.monotonic() + 1e6


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
    return sweep_store.create(path, plan, cut(plan.shape, runs))
