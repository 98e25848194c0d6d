"""Random sweeps that are killed at random and gone on with, until so much time of the processors is used up.

    python tests/sweeps/soak.py 24        # minutes of processor time, of this process and those that it has started

Every sweep is killed a few times (its main process, its group, one of its workers, or by Ctrl-C) and resumed; what it
said to be done is done, the store has no damage, and in the end it is the sweep of one process in peace, bit for bit.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for those it runs

from tokenflock.model import Model
from tokenflock.sweeps import open_store, sweep
from tokenflock.sweeps.plan import Plan
from waiting import LONG_S

VICTIM = """
import random, sys
from soak import random_plan
from tokenflock.sweeps import sweep
sweep(random_plan(int(sys.argv[1])), store=sys.argv[2], workers=int(sys.argv[3]),
      runs_a_shard=int(sys.argv[4]), progress=lambda fraction: print(fraction, flush=True))
"""
WAYS = ("main", "group", "worker", "ctrl-c")


def random_plan(seed):
    """A sweep of some dozen small runs, the same for the same seed."""
    draw = random.Random(seed)
    engine = draw.choice(["reference", "cpu"])
    scheme = draw.choice(["rk4", "euler", "tsit5"])
    step = {} if scheme == "tsit5" else {"dt": draw.choice([0.05, 0.1])}
    model = Model(dim=draw.choice([2, 3]), mask=draw.choice(["causal", "full"]))
    betas = draw.sample([0.5, 1.0, 4.0, 9.0, 16.0], draw.choice([2, 3]))
    axes = {"beta": betas, "n_tokens": draw.sample([3, 5, 9, 17, 33], 2)}
    return Plan(
        model,
        axes,
        start={"n_tokens": 3},
        simulate={"t_end": draw.choice([1.0, 3.0]), "times": [1.0], "engine": engine, "scheme": scheme, **step},
        record={name: {} for name in draw.sample(["clusters", "overlap", "diameter", "steps", "positions"], 2)},
        replicates=draw.choice([4, 8]),
    )


def processor_s():
    """Of this process and of those that it has waited for."""
    import resource

    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def workers_of(pid):
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:  # it has ended
            continue
    return found


def hurt(process, way, dice):
    """Kill a sweep in one of the ways."""
    if way == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif way == "ctrl-c":
        process.send_signal(signal.SIGINT)
    elif way == "worker" and (found := workers_of(process.pid)):
        os.kill(dice.choice(found), signal.SIGKILL)
    else:
        process.kill()


def one_sweep(folder, seed, counts, kills=5):
    """A random sweep, killed up to so many times on its way."""
    dice, plan, store = random.Random(-seed), random_plan(seed), folder / f"{seed}.zarr"
    workers, size = dice.choice([0, 1, 2]), dice.choice([1, 2, 5])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
    command = [sys.executable, "-c", VICTIM, *map(str, (seed, store, workers, size))]
    for _ in range(dice.randint(1, kills)):
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        for _ in range(dice.choice([0, 1, 1, 3, 6])):
            if not process.stdout.readline():
                break
        time.sleep(dice.uniform(0.0, 0.1))
        if process.poll() is None:
            way = dice.choice(WAYS)
            hurt(process, way, dice)
            counts[way] = counts.get(way, 0) + 1
        process.communicate(timeout=LONG_S)
        if not store.exists():  # it had not begun
            continue
        kept = open_store(store)
        assert kept.verify() == [], seed
        counts["resumed"] = counts.get("resumed", 0) + 1
        if not kept.pending():
            break
    found = sweep(plan, store=store, workers=dice.choice([0, 2]), runs_a_shard=size)
    assert found.identical(sweep(plan, workers=0, runs_a_shard=size)), f"seed {seed}: the kept sweep is another one"
    assert open_store(store).verify() == []
    counts["sweeps"] = counts.get("sweeps", 0) + 1
    counts["runs"] = counts.get("runs", 0) + found.sizes["replicate"] * found["outcome"][..., 0].size


def soak(folder, seconds, first=0, least=1):
    """Sweeps until so many seconds of the processors are used, and this many; what was done."""
    counts, seed, began = {}, first, processor_s()
    while processor_s() - began < seconds or seed - first < least:
        one_sweep(Path(folder), seed, counts)
        seed += 1
    return counts | {"processor_s": round(processor_s() - began)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(soak(place, 60 * float(sys.argv[1]), first=int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
