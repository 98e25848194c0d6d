"""A process that computes a sweep and says what is done, to be killed at any moment.

python victim.py STORE WORKERS, with the folder tests/ on the PYTHONPATH.
"""

import resource
import sys
from pathlib import Path

from small_sweeps import slow, small_plan
from tokenflock.sweeps.local import in_this_process, in_workers
from tokenflock.sweeps.sweep_store import SweepStore


def main(store, workers, file_size=None):
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(file_size),) * 2)
    kept, plan = SweepStore(Path(store)), small_plan(slow=slow)
    tell = lambda shard: print(shard, flush=True)  # noqa: E731
    shards = kept.pending()
    if int(workers):
        in_workers(plan, kept, shards, int(workers), None, tell)
    else:
        in_this_process(plan, kept, shards, None, tell)


if __name__ == "__main__":
    main(*sys.argv[1:])
