"""A process that computes a sweep and says what is done, to be killed at any moment: python victim.py STORE WORKERS."""

import resource
import sys
from pathlib import Path

from small_sweeps import slow, small_plan

from tokenflock.sweeps.depot import Depot
from tokenflock.sweeps.local import Crew, in_this_process


def main(store, workers, file_size=None):
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(file_size),) * 2)
    depot, plan = Depot(Path(store)), small_plan(slow=slow)
    tell = lambda shard: print(shard, flush=True)  # noqa: E731
    shards = depot.pending()
    if int(workers):
        Crew(plan, depot, int(workers), None).work(shards, tell)
    else:
        in_this_process(plan, depot, shards, None, tell)


if __name__ == "__main__":
    main(*sys.argv[1:])
