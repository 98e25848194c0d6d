"""Sweeps on Dask: the same bits, and nothing lost when workers or the scheduler are killed."""

import importlib.util
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from small_sweeps import Gate, crashes, hangs, raises, slow, small_plan, small_store
from tokenflock.errors import EngineError, FileError, MissingExtra, install_command
from tokenflock.lock import take
from tokenflock.sweeps import cluster, open_store, shards, sweep, worker_deaths
from waiting import LONG_S

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="no distributed here")
pytestmark = needs_dask


@contextmanager
def command(*words):
    """A Dask process."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=LONG_S)


def address_in(file, scheduler):
    """What a scheduler writes into its file when it listens; the file is there before its content."""
    while scheduler.poll() is None:
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):
            time.sleep(0.05)
    raise RuntimeError("the scheduler has ended")


@contextmanager
def dask(folder, nanny=False):
    """A scheduler with two workers: its address, its process and theirs. A nanny restarts its worker."""
    file = folder / "scheduler.json"
    words = ("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    with command(*words) as scheduler:
        address = address_in(file, scheduler)
        words = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
        words += ("--nanny" if nanny else "--no-nanny", "--local-directory", folder)
        with command(*words) as first, command(*words) as second:
            yield address, scheduler, [first, second]


@pytest.fixture(scope="module")
def undisturbed():
    return sweep(small_plan(slow=slow), workers=0)


def test_a_local_cluster_makes_the_same_bits_and_records_what_fails():
    plan = small_plan(bad=raises)
    kept = sweep(plan, cluster="local", workers=2, runs_a_shard=3)
    assert kept.identical(sweep(plan, workers=0))
    assert (kept["outcome"] == shards.OUTCOMES.index("raised")).sum() == 4
    assert own_workers() == [], "nobody is left behind"


def test_a_local_cluster_takes_no_port_that_another_may_have():
    """With one that listens where Dask would, and with another cluster beside it."""
    with socket.socket() as taken:
        try:
            taken.bind(("", 8787))
            taken.listen()
        except OSError:
            pass  # somebody has it: as good
        with cluster._client("local", 1), cluster._client("local", 1) as second:
            listening = [s.getsockname() for s in second.cluster.scheduler.http_server._sockets.values()]
    assert {host for host, _ in listening} == {"127.0.0.1"}
    assert 8787 not in {port for _, port in listening}


def test_ctrl_c_on_a_local_cluster_ends_its_processes(tmp_path, undisturbed, monkeypatch):
    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    small_store(store, plan, runs=1)
    gate, started = Gate(store, monkeypatch), []
    gate.allow(6)

    def press(fraction):
        started.extend(own_workers())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(plan, store=store, cluster="local", workers=2, progress=press)
    assert started
    assert all(worker._process.returncode is not None for worker in started)
    assert own_workers() == []
    gate.allow(24)
    assert sweep(plan, store=store, cluster="local", workers=1).identical(undisturbed)


def test_workers_and_the_scheduler_may_be_killed(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_S", 600)
    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    small_store(store, plan, runs=1)
    Gate(store, monkeypatch).allow(16)
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
    monkeypatch.delenv(Gate.NAME)
    kept = open_store(store)
    done = len(kept.grid) - len(kept.pending())
    assert 14 <= len(told) <= done < len(kept.grid)
    assert kept.verify() == []
    assert sweep(plan, store=store, workers=0).identical(undisturbed)
    assert [path.name for path in tmp_path.glob(".*job*")] == []


def own_workers():
    """The worker processes of the Dask workers in this process."""
    return [worker for pool in [*cluster._pools.values()] for worker in [*pool._processes.values()]]


def assassin(victims, kills, gate, total, dice, ended):
    """Kill one of victims() at random moments; after every kill a few more shards may be done. How many were killed."""
    killed = 0
    while killed < kills and not ended.wait(dice.uniform(0.0, 0.5)):
        if found := victims():
            os.kill(dice.choice(found), signal.SIGKILL)
            killed += 1
            gate.allow(killed * total // (kills + 1))
    gate.allow(total)
    return killed


def killed_at_work(plan, store, monkeypatch, victims, kills, **options):
    """A sweep whose workers are killed while it is computed."""
    monkeypatch.setattr(worker_deaths, "DEATHS", 10 * kills)  # the runs are not to blame,
    monkeypatch.setattr(worker_deaths, "KILLED_STARTS", 10 * kills)  # nor is the machine
    total, ended = len(small_store(store, plan, runs=1).grid), threading.Event()
    gate = Gate(store, monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(assassin, victims, kills, gate, total, random.Random(5), ended)
        try:
            kept = sweep(plan, store=store, **options)
        finally:
            ended.set()
    assert killed.result(timeout=LONG_S) == kills
    return kept


def test_processes_of_a_local_cluster_may_be_killed(tmp_path, undisturbed, monkeypatch):
    def victims():
        return [worker.pid for worker in own_workers() if worker._process.poll() is None]

    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    kept = killed_at_work(plan, store, monkeypatch, victims, 6, cluster="local", workers=2)
    assert kept.identical(undisturbed)


def children(pid):
    """The processes that a process has started, and their command lines."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            for child in (task / "children").read_text().split():
                found[int(child)] = Path(f"/proc/{child}/cmdline").read_text()
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.slow
def test_many_dask_workers_are_killed(tmp_path, undisturbed, monkeypatch):
    """Nannies bring workers back: kill them as they come, but not before they work; a nanny may give that up."""
    monkeypatch.setattr(cluster, "ANSWER_S", 600)
    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    with dask(tmp_path, nanny=True) as (address, _, nannies):

        def victims():
            own = [pid for nanny in nannies for pid, words in children(nanny.pid).items() if "spawn_main" in words]
            return [pid for pid in own if any("sweeps.worker" in words for words in children(pid).values())]

        kept = killed_at_work(plan, store, monkeypatch, victims, 8, cluster=address)
    assert kept.identical(undisturbed)


def killed_clusters(folder, plan, store, kills):
    """Clusters that go on with a sweep one after the other: some workers of each are killed, in the end its scheduler.

    Whoever is killed is killed when another shard is done: not by the clock. How many were killed.
    """
    counts, cluster_number = {"worker": 0, "scheduler": 0}, 0
    while sum(counts.values()) < kills and open_store(store).pending():
        here = folder / f"cluster-{cluster_number}"
        here.mkdir()
        cluster_number += 1
        with dask(here, nanny=True) as (address, scheduler, nannies):
            workers = 0

            def disturb(fraction, scheduler=scheduler, nannies=nannies):
                nonlocal workers
                found = [
                    pid for nanny in nannies for pid, words in children(nanny.pid).items() if "spawn_main" in words
                ]
                if workers < 4 and found:
                    os.kill(found[workers % len(found)], signal.SIGKILL)
                    workers += 1
                    counts["worker"] += 1
                elif workers == 4 and scheduler.poll() is None:
                    scheduler.kill()
                    scheduler.wait(timeout=LONG_S)
                    counts["scheduler"] += 1

            with suppress(EngineError):
                sweep(plan, store=store, cluster=address, progress=disturb)
        assert open_store(store).verify() == []
    return counts


@pytest.mark.slow
def test_a_hundred_kills_of_workers_and_of_schedulers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_S", 600)
    plan, store = small_plan(replicates=60, slow=slow), tmp_path / "s.zarr"
    small_store(store, plan, runs=1)
    counts = killed_clusters(tmp_path, plan, store, 100)
    print(counts)
    assert sum(counts.values()) >= 100
    assert counts["scheduler"] >= 15
    assert sweep(plan, store=store, workers=2).identical(sweep(plan, workers=0))
    assert [path.name for path in tmp_path.glob(".*job*")] == []


def test_runs_that_hang_or_crash_on_a_cluster_are_recorded(tmp_path, monkeypatch):
    """What a Dask worker does with them, in this process."""
    monkeypatch.setattr(worker_deaths, "DEATHS", 2)
    for bad, timeout, outcome in ((crashes, None, "lost"), (hangs, 600.0, "overtime")):
        plan = small_plan(replicates=1, bad=bad)
        store = small_store(tmp_path / f"{outcome}.zarr", plan, runs=2)
        job = tmp_path / f"{outcome}.job"
        job.write_bytes(cluster.pack(cluster.WorkerJob(plan, str(store.path), timeout)))
        for shard in store.pending():
            assert cluster.compute_shard(str(job), shard, timeout) == shard
        kept = store.load()
        assert kept.sel(beta=4.0, n_tokens=5)["outcome"].values.tolist() == [shards.OUTCOMES.index(outcome)]
        assert (kept["outcome"] == 0).sum() == 5
        cluster._pools.pop(str(job)).close()


def test_an_answer_may_be_lost_with_its_worker():
    """Who finished a shard and was killed before the answer was looked at: the shard is in the store."""
    tasks = cluster._Tasks(None, None, Path("job"), None, "local")
    assert all(tasks._ended(SimpleNamespace(status=status), 0) for status in ("finished", "lost", "pending"))


KILLED = """
import sys
from small_sweeps import slow, small_plan
from tokenflock.sweeps import sweep
sweep(small_plan(slow=slow), store=sys.argv[1], workers=1, cluster="local", runs_a_shard=1)
"""


def test_the_job_of_a_killed_command_is_removed_by_the_next_and_that_of_a_live_one_is_not(tmp_path, undisturbed):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "s.zarr")], env=environment)
    while not (left := list(tmp_path.glob(f".s.zarr{cluster.JOB}*"))) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait(timeout=LONG_S)
    live = tmp_path / f".s.zarr{cluster.JOB}live"
    live.write_bytes(b"")
    young = tmp_path / f".s.zarr{cluster.JOB}young"
    young.write_bytes(b"")
    for file in (*left, live):
        os.utime(file, (time.time() - 3600,) * 2)
    assert left[0].exists()
    with live.open("rb") as held:
        assert take(held)
        made = sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", workers=1, cluster="local")
        assert made.identical(undisturbed)
        assert sorted(tmp_path.glob(f".s.zarr{cluster.JOB}*")) == [live, young]


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
        with pytest.raises(MissingExtra, match=re.escape(install_command(extra))):
            sweep(small_plan(), cluster=where)
        monkeypatch.undo()
