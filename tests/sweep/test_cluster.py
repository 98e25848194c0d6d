"""Sweeps on Dask: the same bits, and nothing lost when workers or the scheduler are killed."""

import importlib.util
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_sweeps import crashes, hangs, raises, slow, small_plan, small_store

from tokenflock.errors import EngineError, FileError, MissingExtra
from tokenflock.sweeps import cluster, hand, open_store, shards, sweep

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="no distributed here")
pytestmark = needs_dask


@contextmanager
def command(*words, wait_for=None):
    """A Dask process, up to the moment when its file is there."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while wait_for is not None and not wait_for.exists() and time.monotonic() < until:
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def dask(folder, workers=2):
    """A scheduler with workers: its address, its process and theirs. Nothing restarts the workers."""
    import json

    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    words = ("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    with command(*words, wait_for=file) as scheduler:
        address = json.loads(file.read_text())["address"]
        words = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        words += ("--local-directory", folder)
        with command(*words) as first, command(*words) as second:
            yield address, scheduler, [first, second][:workers]


@pytest.fixture(scope="module")
def undisturbed():
    return sweep(small_plan(slow=slow), workers=0)


def test_a_local_cluster_makes_the_same_bits_and_records_what_fails():
    plan = small_plan(bad=raises)
    kept = sweep(plan, cluster="local", workers=2, runs_a_shard=3)
    assert kept.identical(sweep(plan, workers=0))
    assert (kept["outcome"] == shards.OUTCOMES.index("raised")).sum() == 4


def test_workers_and_the_scheduler_may_be_killed(tmp_path, undisturbed):
    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    small_store(store, plan, runs=1)
    told = []
    with dask(tmp_path) as (address, scheduler, workers):

        def disturb(fraction):
            told.append(fraction)
            if len(told) == 4:
                workers[0].kill()
            if len(told) == 14:
                scheduler.kill()

        with pytest.raises(EngineError, match=r"scheduler at .* is gone.* are left: start a scheduler and give"):
            sweep(plan, store=store, cluster=address, progress=disturb)
    depot = open_store(store)
    done = len(depot.grid) - len(depot.pending())
    assert 14 <= len(told) <= done < len(depot.grid)
    assert depot.verify() == []
    assert sweep(plan, store=store, workers=0).identical(undisturbed)
    assert [path.name for path in tmp_path.glob(".*job*")] == []


def _read(path):
    """What is in a file of /proc, nothing if its process has ended."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
def test_many_dask_workers_are_killed(tmp_path, undisturbed):
    """A local cluster brings its workers back: kill them as they come."""
    import random
    import threading

    dice, begun, ended, killed = random.Random(5), threading.Event(), threading.Event(), []

    def assassin():
        begun.wait(60)
        while not ended.wait(dice.uniform(0.2, 1.5)) and len(killed) < 20:
            children = [pid for task in Path("/proc/self/task").iterdir() for pid in _read(task / "children").split()]
            spawned = [pid.decode() for pid in children if b"spawn_main" in _read(f"/proc/{pid.decode()}/cmdline")]
            if spawned:
                killed.append(int(dice.choice(spawned)))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=assassin)
    thread.start()
    try:
        means = {"cluster": "local", "workers": 2, "runs_a_shard": 1, "progress": lambda fraction: begun.set()}
        kept = sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", **means)
    finally:
        begun.set()
        ended.set()
        thread.join()
    assert killed
    assert kept.identical(undisturbed)


def test_runs_that_hang_or_crash_on_a_cluster_are_recorded(tmp_path, monkeypatch):
    """What a Dask worker does with them, in this process."""
    monkeypatch.setattr(cluster, "DEATHS", 2)
    monkeypatch.setattr(hand, "GRACE_S", 0.5)
    for bad, timeout, outcome in ((crashes, None, "lost"), (hangs, 2.0, "overtime")):
        plan = small_plan(replicates=1, bad=bad)
        depot = small_store(tmp_path / f"{outcome}.zarr", plan, runs=2)
        job = tmp_path / f"{outcome}.job"
        job.write_bytes(cluster.pack(cluster.Job(plan, str(depot.path), timeout)))
        for shard in depot.pending():
            assert cluster.compute_shard(str(job), shard, timeout) == shard
        kept = depot.load()
        assert kept.sel(beta=4.0, n_tokens=5)["outcome"].values.tolist() == [shards.OUTCOMES.index(outcome)]
        assert (kept["outcome"] == 0).sum() == 5
    cluster._hands.hand.end()
    cluster._hands.hand = None


def test_a_worker_that_does_not_see_the_store_says_so(tmp_path):
    with pytest.raises(FileError, match="must be on a disk that all workers share"):
        cluster.compute_shard(str(tmp_path / "nothing"), 0, None)


def test_no_scheduler_is_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(EngineError, match=r"no Dask scheduler answers at .* after 0\.5 s.*Start one with `dask"):
            sweep(small_plan(), store=tmp_path / "s.zarr", cluster=address)
    assert not list(tmp_path.iterdir())


def test_what_is_not_installed_is_named(monkeypatch):
    for package, where, extra in (("distributed", "local", "sweep"), ("dask_jobqueue", "slurm", "slurm")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=rf"pip install 'tokenflock\[{extra}\]'"):
            sweep(small_plan(), cluster=where)
        monkeypatch.undo()


# It copies the script, as Slurm does: whoever submitted it deletes it at once.
SBATCH = """#!/bin/bash
cp "$1" {folder}/job-$$
setsid nohup bash {folder}/job-$$ > {folder}/out-$$ 2>&1 &
echo "Submitted batch job $!"
echo $! >> {folder}/jobs
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("dask_jobqueue") is None, reason="no dask-jobqueue here")
def test_jobs_of_slurm_make_the_same_bits(tmp_path, undisturbed, monkeypatch):
    """A Slurm of two shell scripts: jobs are processes of this machine."""
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/bash\nkill -9 -- "-$1" 2>/dev/null; true\n')):
        (tmp_path / name).write_text(text.format(folder=tmp_path) if name == "sbatch" else text)
        (tmp_path / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    try:
        kept = sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", cluster="slurm", workers=1, runs_a_shard=4)
    finally:
        for job in (tmp_path / "jobs").read_text().split():
            try:
                os.killpg(int(job), signal.SIGKILL)
            except ProcessLookupError:
                continue
    assert kept.identical(undisturbed)
