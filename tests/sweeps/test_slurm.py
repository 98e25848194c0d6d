"""Sweeps on Slurm: on one of a few shell scripts, and on the Slurm at hand if there is one.

On a cluster the folder of the tests must be one that its nodes see: pytest --basetemp.
"""

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from small_sweeps import SPEC, Gate, slow, small_plan
from tokenflock.errors import EngineError
from tokenflock.sweeps import cluster, sweep, toml
from waiting import LONG_S

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("dask_jobqueue") is None, reason="no dask-jobqueue here"),
    pytest.mark.filterwarnings("ignore:no job of Slurm runs yet"),  # others may be using it
]


@pytest.fixture(scope="module")
def undisturbed():
    return sweep(small_plan(slow=slow), workers=0)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """The module, in a hurry, and a folder where jobs find what they import and leave what they say."""
    module = cluster._slurm()
    monkeypatch.setattr(module, "LOOK_S", 1.0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    return module


# A Slurm of shell scripts: jobs are processes of this machine. sbatch copies the script, as Slurm does, for whoever
# submitted it deletes it at once; the first job is lost before it begins.
SBATCH = """#!/bin/bash
if mkdir {folder}/lost; then echo "Submitted batch job 999999999"; exit; fi
cp "$1" {folder}/job-$$
setsid nohup bash {folder}/job-$$ > {folder}/out-$$ 2>&1 &
echo "Submitted batch job $!"
echo $! >> {folder}/jobs
"""
SCANCEL = '#!/bin/bash\nkill -9 -- "-$1" 2>/dev/null; true\n'
SQUEUE = '#!/bin/bash\nfor job in $(cat {folder}/jobs); do kill -0 $job && echo "$job None"; done; true\n'


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put shell scripts in the place of commands."""

    def put(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text.replace("{folder}", str(tmp_path)))
            (tmp_path / name).chmod(stat.S_IRWXU)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


def test_the_job_script_is_sound(tmp_path, monkeypatch, slurm, stand_in):
    stand_in(sbatch="#!/bin/bash\necho Submitted batch job 7\n", scancel="#!/bin/bash\n")
    monkeypatch.setenv("TOKENFLOCK_TEST_TOKEN", "of-nobody's-business")
    with slurm.slurm_cluster(3, cluster.ANY_PORT) as made:
        script, (least, most) = made.job_script(), (made._adaptive.minimum, made._adaptive.maximum)
    assert (least, most) == (1, 3)  # adaptive: lost jobs come back
    (tmp_path / "job").write_text(script)
    subprocess.run(["bash", "-n", tmp_path / "job"], check=True, timeout=LONG_S)
    first, *_, last = script.split("\n\n", 2)
    assert first.startswith("#!")
    assert {"#SBATCH -n 1", "#SBATCH --cpus-per-task=1"} <= set(script.splitlines())
    words = last.split()
    assert words[:3] == [sys.executable, "-m", "distributed.cli.dask_worker"]
    assert words[words.index("--nthreads") + 1] == "1"
    assert "--death-timeout" in words  # a job whose scheduler is gone ends
    assert "business" not in script


def test_ctrl_c_stays_ours():
    """dask-jobqueue 0.9.0 would end the process without a word."""
    code = "import signal\nfrom tokenflock.sweeps import cluster\ncluster._slurm()\nsignal.raise_signal(signal.SIGINT)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LONG_S)
    assert done.returncode not in (0, 1)
    assert "KeyboardInterrupt" in done.stderr


def test_no_sbatch_is_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"needs the command sbatch, and there is none.*Nothing was begun"):
        sweep(small_plan(), store=tmp_path / "s.zarr", cluster="slurm")
    assert not list(tmp_path.iterdir())


def test_what_sbatch_refuses_is_told(tmp_path, slurm, stand_in):
    stand_in(sbatch="#!/bin/bash\necho 'sbatch: error: no partition nope' >&2\nexit 1\n")
    with pytest.raises(
        EngineError, match=r"sbatch refuses the jobs: no partition nope\. .*give the same command again"
    ):
        sweep(small_plan(), cluster="slurm", workers=2, runs_a_shard=4)


def test_jobs_that_never_come_to_work_are_told(slurm, stand_in):
    stand_in(sbatch="#!/bin/bash\necho Submitted batch job 7\n", squeue="#!/bin/bash\n", scancel="#!/bin/bash\n")
    with pytest.raises(EngineError, match=r"end before their worker begins, 3 times by now.*slurm-7\.out"):
        sweep(small_plan(), cluster="slurm", workers=1, runs_a_shard=4)


@pytest.mark.slow
def test_jobs_make_the_same_bits(tmp_path, undisturbed, slurm, stand_in):
    (tmp_path / "jobs").touch()
    stand_in(sbatch=SBATCH, scancel=SCANCEL, squeue=SQUEUE)
    try:
        kept = sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", cluster="slurm", workers=1, runs_a_shard=4)
    finally:
        for job in (tmp_path / "jobs").read_text().split():
            try:
                os.killpg(int(job), signal.SIGKILL)
            except ProcessLookupError:
                continue
    assert kept.identical(undisturbed)
    assert (tmp_path / "lost").is_dir()


def answers():
    """Whether a Slurm is at hand."""
    if shutil.which("sbatch") is None or shutil.which("sinfo") is None:
        return False
    try:
        told = subprocess.run(["sinfo", "--noheader"], capture_output=True, timeout=10, check=False)
        return told.stdout.strip() != b""
    except subprocess.TimeoutExpired:
        return False


INSTALL = "apt-get install slurm-wlm munge, and as root: tests/sweeps/slurm_here.sh pytest tests/sweeps/test_slurm.py"
needs_slurm = pytest.mark.skipif(not answers(), reason=f"no Slurm answers. {INSTALL}")
NAME = f"tokenflock-test-{os.getpid()}"


def queued():
    """The jobs of these tests."""
    words = ["squeue", "--noheader", "--format=%A", f"--name={NAME}"]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=LONG_S).stdout.split()


def emptied():
    """A job that is cancelled leaves the queue when its processes have ended."""
    late = time.monotonic() + 120
    while queued() and time.monotonic() < late:
        time.sleep(0.2)
    return not queued()


@pytest.fixture
def real(slurm):
    """Jobs with a name of ours, as jobqueue.yaml would have it."""
    import dask

    with dask.config.set({"jobqueue.slurm.name": NAME}):
        yield dask.config
    subprocess.run(["scancel", f"--name={NAME}"], check=True, timeout=LONG_S)


@needs_slurm
def test_jobs_that_are_cancelled_come_back(tmp_path, undisturbed, monkeypatch, real):
    store, told, cancelled = tmp_path / "s.zarr", [], []
    gate = Gate(store, monkeypatch)
    gate.allow(8)

    def disturb(fraction):
        told.append(fraction)
        if len(told) == 4:
            cancelled.extend(queued())
            subprocess.run(["scancel", *cancelled], check=True, timeout=LONG_S)
            gate.allow(24)

    kept = sweep(small_plan(slow=slow), store=store, cluster="slurm", workers=2, runs_a_shard=1, progress=disturb)
    assert kept.identical(undisturbed)
    assert cancelled
    assert emptied()


@needs_slurm
def test_jobs_that_wait_are_told_and_come_back(tmp_path, undisturbed, real):
    """A job that is held and cancelled before it begins; the next is let go."""

    def hold():
        while not (first := queued()):
            time.sleep(0.1)
        time.sleep(3.0)  # so that it is seen to wait
        subprocess.run(["scancel", *first], check=True, timeout=LONG_S)
        while not (second := set(queued()) - set(first)):
            time.sleep(0.1)
        subprocess.run(["scontrol", "release", *second], check=True, timeout=LONG_S)

    keeper = threading.Thread(target=hold)
    keeper.start()
    held = real.set({"jobqueue.slurm.job-extra-directives": ["--hold"]})
    with held, pytest.warns(UserWarning, match=r"no job of Slurm runs yet \(JobHeldUser\)"):
        kept = sweep(small_plan(slow=slow), store=tmp_path / "s.zarr", cluster="slurm", workers=1, runs_a_shard=4)
    keeper.join(timeout=LONG_S)
    assert kept.identical(undisturbed)
    assert emptied()


@needs_slurm
def test_ctrl_c_empties_the_queue(tmp_path, undisturbed, monkeypatch, real):
    plan, store = small_plan(slow=slow), tmp_path / "s.zarr"
    gate = Gate(store, monkeypatch)
    gate.allow(6)
    with pytest.raises(KeyboardInterrupt):
        sweep(
            plan,
            store=store,
            cluster="slurm",
            workers=2,
            runs_a_shard=1,
            progress=lambda fraction: signal.raise_signal(signal.SIGINT),
        )
    assert emptied()
    gate.allow(24)
    assert sweep(plan, store=store, cluster="slurm", workers=2).identical(undisturbed)


@needs_slurm
def test_what_slurm_refuses_is_told(real):
    refused = pytest.raises(EngineError, match=r"sbatch refuses the jobs: .*nvalid partition")
    with real.set({"jobqueue.slurm.queue": "nowhere"}), refused:
        sweep(small_plan(), cluster="slurm", workers=2, runs_a_shard=4)


ARRAY = """#!/bin/bash
#SBATCH --array=0-3
#SBATCH --mem=1G
#SBATCH --time=00:05:00
{tokenflock} sweep sweep.toml --store s.zarr --workers 1 --shard $SLURM_ARRAY_TASK_ID/4
"""


@needs_slurm
def test_a_job_array_makes_the_same_bits(tmp_path, real):
    (tmp_path / "sweep.toml").write_text(SPEC.replace("replicates = 4", "replicates = 8"))
    (tmp_path / "array.sh").write_text(ARRAY.format(tokenflock=Path(sys.executable).with_name("tokenflock")))
    subprocess.run(["sbatch", f"--job-name={NAME}", "array.sh"], check=True, timeout=LONG_S)
    assert emptied()
    plan, _ = toml.read(tmp_path / "sweep.toml")
    assert cluster.SweepStore(tmp_path / "s.zarr").load().load().identical(sweep(plan, workers=0))
