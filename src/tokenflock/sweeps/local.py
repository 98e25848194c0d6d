"""Many runs on this machine: in this process, or in worker processes that may die at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing

from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.shards import compute
from tokenflock.sweeps.sweep_store import SweepStore
from tokenflock.sweeps.worker import WorkerJob, alarm, pack
from tokenflock.sweeps.worker_pool import WorkerPool

CANNOT_START = "workers die before they begin ({}); what they said is above. Try workers=0: no workers."

Tell = Callable[[int], None]  # called with the number of a shard that is done


def in_this_process(plan: Plan, store: SweepStore, shards: Iterable[int], timeout: float | None, tell: Tell) -> None:
    """Compute one shard after the other; what another process finishes meanwhile is left out."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # as in a worker: the bits are the same
        for shard in shards:
            if not store.is_done(shard):
                store.write(shard, compute(plan, store.grid, shard, timeout=timeout, limit=alarm))
            tell(shard)


def in_workers(
    plan: Plan, store: SweepStore, shards: Iterable[int], workers: int, timeout: float | None, tell: Tell
) -> None:
    """Compute the shards in so many worker processes, each with a thread that waits for it."""
    job = pack(WorkerJob(plan, str(store.path.resolve()), timeout, store.durable))
    under_way: set[Future[int]] = set()

    def wait_for_one() -> None:
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            under_way.remove(future)
            tell(future.result())

    with closing(WorkerPool(lambda: job, timeout, CANNOT_START)) as pool, ThreadPoolExecutor(workers) as threads:
        try:
            for shard in shards:
                if store.is_done(shard):
                    tell(shard)
                    continue
                under_way.add(threads.submit(pool.compute, shard))
                if len(under_way) == workers:
                    wait_for_one()
            while under_way:
                wait_for_one()
        finally:
            pool.stop()
