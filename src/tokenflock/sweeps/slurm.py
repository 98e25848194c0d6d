"""Jobs of Slurm, through dask-jobqueue, and watched where Dask does not look.

Dask submits a job again whose worker has come and gone. For a job that sbatch refuses, or that ends before its worker
has come, Dask waits without end: WatchedCluster.look submits these again as well, and raises if none comes to work.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed.core import Status

from tokenflock.arguments import warn
from tokenflock.errors import EngineError

LOOK_S = 15.0  # between two questions to the queue; there are none while every job works
ROUNDS = 3  # so many times jobs were lost, and no worker was there: it has a reason
ASKED = {"cores": 1, "processes": 1, "memory": "2GB"}  # by a job, unless jobqueue.yaml says otherwise
SETTINGS = (
    "Queue, account, walltime and memory come from jobqueue.yaml or from DASK_JOBQUEUE__SLURM__QUEUE and the like."
)
SAFE = "Everything that was reported done is in the store: give the same command again."


class WatchedJob(SLURMJob):
    """A job in the queue of Slurm, which remembers why sbatch refused it."""

    refusal = ""  # the words of sbatch

    async def start(self) -> None:
        """Submit it. A refusal is kept, not raised: Dask would not pass it on."""
        try:
            await super().start()  # type: ignore[no-untyped-call]
        except (OSError, RuntimeError, ValueError) as error:
            words = str(error).rpartition("stderr:\n")[2].strip().splitlines()
            self.refusal = "; ".join(line.removeprefix("sbatch: error: ") for line in words)
            self.status = Status.running

    async def close(self) -> None:
        """Cancel it."""
        await super().close()  # type: ignore[no-untyped-call]
        self.status = Status.closed


class WatchedCluster(SLURMCluster):
    """The jobs of a sweep."""

    job_cls = WatchedJob

    def __init__(self, **options: Any) -> None:
        self._look_at = time.monotonic() + LOOK_S
        self._rounds, self._worked, self._told = 0, False, False
        super().__init__(**options)

    def look(self) -> None:
        """Drop jobs that do not come to work, and others are submitted in their place; raise if none of them does."""
        if seen := self.observed:
            self._rounds, self._worked = 0, True
        idle = {name: job for name, job in list(self.workers.items()) if not seen & self._names(name)}
        if idle and not self._worked and all(job.refusal for job in idle.values()):
            raise _hopeless([*idle.values()])
        if not idle or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_S
        if (queue := _queue()) is None:
            return
        lost = {name: job for name, job in idle.items() if job.job_id not in queue}
        for name in lost:
            self.sync(self._drop, name)  # type: ignore[no-untyped-call]
        if lost and not seen:
            self._rounds += 1
            if self._rounds == ROUNDS:
                raise _hopeless([*lost.values()])
        reasons = {queue[job.job_id] for job in idle.values() if job.job_id in queue}
        if reasons and "None" not in reasons and not self._worked and not self._told:
            self._told = True
            warn(f"no job of Slurm runs yet ({', '.join(sorted(reasons))}): waiting for one.")

    def _names(self, name: str) -> set[str]:
        """The names of the workers of a job."""
        return {name + suffix for suffix in self.worker_spec.get(name, {}).get("group", [""])}

    async def _drop(self, name: str) -> None:
        if job := self.workers.pop(name, None):
            await job.close()


def _hopeless(jobs: list[WatchedJob]) -> EngineError:
    """Why there is no use in submitting more."""
    if refusals := [job.refusal for job in jobs if job.refusal]:
        return EngineError(f"sbatch refuses the jobs: {refusals[0]}. {SETTINGS} {SAFE}")
    job = jobs[0].job_id
    return EngineError(
        f"jobs of Slurm end before their worker begins, {ROUNDS} times by now. The output of job {job} says why: "
        f"slurm-{job}.out in the folder of the command, or in the log-directory of jobqueue.yaml. {SAFE}"
    )


def _queue() -> dict[str, str] | None:
    """{job: why it waits} of this user, or None if squeue does not answer."""
    words = ["squeue", "--noheader", "--format=%A %r", f"--user={os.getuid()}"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=LOOK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode:
        return None
    return {job: why for job, _, why in (line.partition(" ") for line in answer.stdout.splitlines())}


def slurm_cluster(workers: int, scheduler_options: dict[str, Any]) -> WatchedCluster:
    """A cluster of up to so many jobs of one core. adapt submits jobs again that the queue lost; scale does not."""
    options: dict[str, Any] = {k: v for k, v in ASKED.items() if dask.config.get(f"jobqueue.slurm.{k}", None) is None}
    if not dask.config.get("jobqueue.slurm.scheduler-options", None):
        options["scheduler_options"] = scheduler_options
    try:
        made = WatchedCluster(**options)
    except (OSError, ValueError, RuntimeError) as error:
        raise EngineError(f"no Slurm cluster can be made: {error}. Look at jobqueue.yaml.") from error
    made.adapt(minimum_jobs=1, maximum_jobs=workers)
    return made
