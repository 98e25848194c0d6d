"""Faults, for real: processes are killed in the middle, disks are full, runs raise, hang and crash. Nothing is lost."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

import tokenflock as flock
from small_sweeps import FAST, Clock, Gate, crashes, hangs, is_deaf, raises, slow, small_plan, small_store
from tokenflock.errors import EngineError, FileError, MissingExtra
from tokenflock.sweeps import heartbeat, local, open_store, shards, sweep, worker, worker_deaths, worker_process
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.sweep_store import SweepStore
from tokenflock.sweeps.worker_pool import WorkerPool
from waiting import LONG_S, marked

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="no distributed here")
VICTIM = Path(__file__).with_name("victim.py")
OURS = "TOKENFLOCK_TEST_MARK"  # in the environment of one victim and its workers


@pytest.fixture(scope="module")
def undisturbed():
    """The sweep that the victims compute, in one process and in peace."""
    return sweep(small_plan(slow=slow), workers=0)


def start_victim(store, workers, *more, mark=""):
    path = os.pathsep.join(sys.path)
    environment = os.environ | {"PYTHONPATH": path, OURS: mark}
    command = [sys.executable, str(VICTIM), str(store), str(workers), *map(str, more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)


def gone(mark):
    """Whether all of them end by themselves."""
    until = time.monotonic() + LONG_S
    while marked(mark, OURS) and time.monotonic() < until:
        time.sleep(0.05)
    return not marked(mark, OURS)


# Killed


def kill_workers(store, kills, dice, monkeypatch):
    """Compute a sweep with two workers while somebody kills them at random moments, a few for every shard."""
    monkeypatch.setattr(worker_deaths, "DEATHS", 10 * kills)  # the runs are not to blame,
    monkeypatch.setattr(worker_deaths, "KILLED_STARTS", 10 * kills)  # nor is the machine
    plan, gate = small_plan(slow=slow), Gate(store, monkeypatch)
    kept = small_store(store, plan, runs=2)
    pools, told, killed, ended = [], [], [], threading.Event()
    monkeypatch.setattr(local, "WorkerPool", lambda *given: pools.append(WorkerPool(*given)) or pools[0])

    def assassin():
        while len(killed) < kills and not ended.wait(dice.uniform(0.0, 0.7)):
            if workers := [worker for pool in pools for worker in [*pool._processes.values()]]:
                chosen = dice.choice(workers)
                chosen.kill()  # nothing, if it has ended
                killed.append(chosen.pid)
                gate.allow(len(killed) * len(kept.grid) // (kills + 1))
        gate.allow(len(kept.grid))

    thread = threading.Thread(target=assassin)
    thread.start()
    try:
        local.in_workers(plan, kept, kept.pending(), 2, None, told.append)
    finally:
        ended.set()
        thread.join(timeout=LONG_S)
    assert sorted(told) == list(range(len(kept.grid)))  # each once: nothing lost, nothing twice
    assert len(killed) == kills


def test_workers_may_be_killed_at_any_moment(tmp_path, undisturbed, monkeypatch):
    kill_workers(tmp_path / "s.zarr", 6, random.Random(1), monkeypatch)
    assert open_store(tmp_path / "s.zarr").load().identical(undisturbed)


def kill_mains(store, kills, dice, workers):
    """Start the sweep again and again, and kill it: what it said to be done is done, and its workers end with it."""
    small_store(store, small_plan(slow=slow), runs=1)
    for _ in range(kills):
        mark = uuid.uuid4().hex
        process = start_victim(store, workers, mark=mark)
        first = process.stdout.readline()  # it has begun
        time.sleep(dice.uniform(0.0, 0.25))
        process.kill()
        said = {
            int(line)
            for line in (first + process.communicate(timeout=LONG_S)[0]).splitlines(keepends=True)
            if line[-1:] == "\n"
        }
        assert gone(mark), "workers were left behind"
        kept = SweepStore(store)
        assert all(kept.is_done(shard) for shard in said)
        assert kept.verify() == []
        if not kept.pending():
            break


@pytest.mark.parametrize("workers", [0, 2])
def test_the_main_process_may_be_killed_at_any_moment(tmp_path, undisturbed, workers):
    kill_mains(tmp_path / "s.zarr", 2, random.Random(2), workers)
    assert sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", workers=0).identical(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(5))
def test_many_workers_are_killed(tmp_path, undisturbed, trial, monkeypatch):
    kill_workers(tmp_path / "s.zarr", 30, random.Random(trial), monkeypatch)
    assert open_store(tmp_path / "s.zarr").load().identical(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_main_process_is_killed_many_times(tmp_path, undisturbed, workers):
    kill_mains(tmp_path / "s.zarr", 15, random.Random(workers), workers)
    assert sweep(small_plan(slow=slow), store=tmp_path / "s.zarr").identical(undisturbed)


def test_two_processes_on_one_store_do_not_disturb_each_other(tmp_path, undisturbed):
    store = tmp_path / "s.zarr"
    small_store(store, small_plan(slow=slow), runs=1)
    both = [start_victim(store, 0) for _ in range(2)]
    told = []
    for process in both:
        out, err = process.communicate(timeout=LONG_S)
        assert process.returncode == 0, err
        told.append(out.split())
    kept = SweepStore(store)
    assert {int(shard) for out in told for shard in out} == set(range(len(kept.grid)))
    assert kept.verify() == []
    assert kept.load().identical(undisturbed)


def test_any_number_of_workers_makes_the_same_bits(undisturbed):
    assert sweep(small_plan(slow=slow), workers=3, runs_a_shard=3).identical(undisturbed)


def test_functions_of_a_script_reach_the_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import tokenflock as flock\n"
        "from tokenflock.sweeps import sweep\n"
        "factor = 3.0\n"
        "def mine(run):\n    return factor * len(run.final)\n"
        "kept = sweep(lambda beta: flock.Model(dim=2, beta=beta), {'beta': [1.0, 2.0]}, n_tokens=4, t_end=1.0,\n"
        "             record={'mine': mine}, engine='reference', scheme='rk4', dt=0.5, workers=1, runs_a_shard=1)\n"
        "print(kept['mine'].values.ravel().tolist())\n"  # no __main__ guard
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LONG_S, check=False)
    assert done.stdout.strip() == "[12.0, 12.0]", done.stderr


def test_without_cloudpickle_functions_of_a_script_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    mine = lambda run: 1.0  # noqa: E731
    mine.__module__ = "__main__"
    with pytest.raises(MissingExtra, match=r"needs cloudpickle.*\[sweep\]"):
        sweep(small_plan(mine=mine), workers=1)


# Runs that misbehave


def check_one_bad_point(kept, outcome, words):
    """The runs of the bad point have failed, all others are there."""
    failed = kept.sel(beta=4.0, n_tokens=5)
    assert (failed["outcome"] == shards.OUTCOMES.index(outcome)).all()
    assert all(words in reason for reason in failed["reason"].values.tolist())
    assert (kept["outcome"] == 0).sum() == 5 * kept.sizes["replicate"]
    assert kept["overlap"].isnull().sum() == kept.sizes["replicate"]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_raises_is_recorded_and_the_rest_goes_on(workers):
    kept = sweep(small_plan(bad=raises), workers=workers, runs_a_shard=100)
    check_one_bad_point(kept, "raised", "ZeroDivisionError: of all things")


def test_a_run_that_hangs_is_recorded_and_the_rest_goes_on():
    kept = sweep(small_plan(replicates=1, bad=hangs), workers=0, timeout=LONG_S, runs_a_shard=100)
    check_one_bad_point(kept, "overtime", f"timeout of {LONG_S} s")


def test_the_alarm_rings_at_its_time_and_not_before():
    with pytest.raises(shards.Overtime), worker.alarm(0.05):
        time.sleep(LONG_S)
    with worker.alarm(LONG_S):
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= LONG_S
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_run_that_hears_no_alarm_is_killed_and_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("TOKENFLOCK_TEST_DEAF", str(tmp_path / "deaf"))
    monkeypatch.setattr(worker_process, "time", Clock(tmp_path / "deaf"))
    kept = sweep(small_plan(replicates=1, bad=is_deaf), workers=1, timeout=LONG_S, runs_a_shard=2)
    failed = kept.sel(beta=4.0, n_tokens=5)
    assert failed["reason"].values.tolist() == [f"It hung beyond the timeout of {LONG_S} s."]
    assert (kept["outcome"] == 0).sum() == 5


def test_a_run_that_takes_its_worker_with_it_is_recorded(monkeypatch):
    monkeypatch.setattr(worker_deaths, "DEATHS", 2)
    kept = sweep(small_plan(replicates=1, bad=crashes), workers=2, runs_a_shard=2)
    failed = kept.sel(beta=4.0, n_tokens=5)
    assert failed["outcome"].values.tolist() == [shards.OUTCOMES.index("lost")]
    assert failed["reason"].values.tolist() == ["2 workers died in it (signal SIGKILL)."]
    assert (kept["outcome"] == 0).sum() == 5


def test_a_point_that_cannot_be_built_fails_alone():
    """The plan tries every value of an axis, not every pair of them."""
    kept = sweep(
        flock.Model(dim=2),
        {"beta": [1.0, float("inf")], "normaliser": ["softmax", "count"]},
        n_tokens=3,
        t_end=1.0,
        dt=0.5,
        scheme="rk4",
        engine="reference",
    )
    failed = kept.sel(beta=float("inf"), normaliser="count")
    assert "Hardmax is a limit of the softmax only" in failed["reason"].values[0]
    assert (kept["outcome"] == 0).sum() == 3


def test_a_run_that_is_no_longer_finite_says_so():
    kept = sweep(flock.Model(dim=2, space="euclidean", value=[[80.0, 0.0], [0.0, 80.0]]), {"t_end": [0.1, 50.0]},
                 start={"kind": "cube", "n_tokens": 3}, engine="reference", scheme="rk4", dt=0.1)  # fmt: skip
    assert kept["outcome"].values.ravel().tolist() == [0, shards.OUTCOMES.index("not_finite")]
    assert kept["reason"].values[1, 0].startswith("The tokens are no longer finite.")


def test_a_time_limit_from_another_thread_is_kept():
    """No alarm rings there: a worker is taken, although none was asked for."""
    kept = []
    plan = small_plan(replicates=1, bad=hangs)
    limited = lambda: kept.append(sweep(plan, workers=0, timeout=LONG_S, runs_a_shard=100))  # noqa: E731
    thread = threading.Thread(target=limited)
    thread.start()
    thread.join(timeout=LONG_S)
    check_one_bad_point(kept[0], "overtime", f"timeout of {LONG_S} s")


# Disks


def test_a_full_disk_stops_the_sweep_and_loses_nothing(tmp_path, undisturbed):
    store = tmp_path / "s.zarr"
    small_store(store, small_plan(slow=slow), runs=4)
    for shard in range(2):  # done before the disk was full
        SweepStore(store).write(shard, shards.compute(small_plan(slow=slow), SweepStore(store).grid, shard))
    process = start_victim(store, 1, 16)  # no file can be larger than this
    _, err = process.communicate(timeout=LONG_S)
    assert process.returncode == 1
    assert "cannot be written to: File too large. Everything that was reported done is safe" in err
    assert "UnwritableStore" in err, "the worker sends the type of its error, not only its words"
    kept = SweepStore(store)
    assert len(kept.pending()) == len(kept.grid) - 2
    assert kept.verify() == []
    assert sweep(small_plan(slow=slow), store=store, workers=0).identical(undisturbed)


def test_a_store_that_becomes_read_only_is_told(tmp_path, monkeypatch):
    kept = small_store(tmp_path / "s.zarr", small_plan(), runs=4)

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(FileError, match="cannot be written to: Permission denied"):
        kept.write(0, shards.compute(small_plan(), kept.grid, 0))
    monkeypatch.undo()
    assert not kept.is_done(0)


# Workers that cannot begin


def test_workers_that_cannot_begin_are_told(tmp_path, monkeypatch):
    plan = small_plan()
    kept = small_store(tmp_path / "s.zarr", plan)
    nonsense = worker.pack(worker.WorkerJob(plan, "", None))[: worker.HEADER.size] + b"x" * 100_000
    monkeypatch.setattr(local, "pack", lambda job: nonsense)  # every worker dies of it
    with pytest.raises(EngineError, match=r"workers die before they begin \(exit code 1\)"):
        local.in_workers(plan, kept, kept.pending(), 1, None, lambda shard: None)


def deadly(beta):
    """A model that no worker survives; a plan may try it."""
    if Path(sys.argv[0]).name == "worker.py":
        os.kill(os.getpid(), signal.SIGKILL)
    return flock.Model(dim=2, beta=beta)


@pytest.mark.parametrize("options", [{}, pytest.param({"cluster": "local"}, marks=needs_dask)], ids=["here", "dask"])
def test_workers_that_die_outside_of_runs_are_told(options):
    plan = Plan(deadly, {"beta": [1.0, 4.0]}, start={"n_tokens": 3}, simulate=FAST)
    with pytest.raises(EngineError, match=r"5 workers died in shard \d outside of its runs \(signal SIGKILL\)"):
        sweep(plan, workers=1, runs_a_shard=1, **options)


def test_a_worker_that_does_not_find_the_store_says_so(tmp_path):
    plan = small_plan()
    kept = small_store(tmp_path / "s.zarr", plan)
    (tmp_path / "s.zarr").rename(tmp_path / "moved.zarr")
    with pytest.raises(EngineError, match="is not the store of a sweep"):
        local.in_workers(plan, kept, [0], 1, None, lambda shard: None)


def test_what_a_run_prints_is_not_taken_for_an_answer(capfd):
    def loud(run):
        print("done")
        return 1.0

    kept = sweep(small_plan(loud=loud), workers=1, runs_a_shard=100)
    assert (kept["outcome"] == 0).all()
    assert "done" in capfd.readouterr().err


def test_ctrl_c_keeps_what_is_done(tmp_path, undisturbed):
    plan = small_plan(slow=slow)

    def press(fraction):
        if fraction > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(plan, store=tmp_path / "s.zarr", workers=2, runs_a_shard=1, progress=press)
    done = open_store(tmp_path / "s.zarr").load().attrs["runs_done"]
    assert 24 * 0.3 < done < 24
    with pytest.warns(UserWarning, match="Interrupted: .* shards were not computed"):
        part = sweep(plan, workers=0, runs_a_shard=1, progress=press)
    assert 0 < part.attrs["runs_done"] < 24
    assert sweep(plan, store=tmp_path / "s.zarr", workers=0).identical(undisturbed)


def test_a_heartbeat_is_shared_and_says_which_run_since_when():
    file = heartbeat.empty_file()
    mine, yours = heartbeat.Heartbeat(file), heartbeat.Heartbeat(file)
    assert yours.read() == (None, 0.0)
    before = time.monotonic()
    mine.begin(0)
    run, since = yours.read()
    assert run == 0
    assert before <= since <= time.monotonic()
    mine.restart_clock()
    assert yours.read()[1] >= since
    mine.clear()
    assert yours.read()[0] is None
    mine.close()
    yours.close()
