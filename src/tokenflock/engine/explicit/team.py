"""Running the parts of a sum over pairs: by one thread, or by a team of threads that share them out in compiled code.

The thread that steps a run puts the parts of an evaluation into the work queue; this thread and its helpers take one
after the other until none is left. A helper that the machine holds up delays nothing but the part that it has taken,
and with no helper at all the stepping thread does everything. Each part is computed in one way whoever takes it: the
bits do not depend on the team. Handing over costs less than a microsecond, so runs of a hundred tokens already gain.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from tokenflock.engine.compiled.atomics import pause, publish, read, step_aside, take
from tokenflock.engine.compiled.declare import inline, kernel, pointed
from tokenflock.engine.compiled.pointers import Pointer
from tokenflock.engine.explicit import pairs as by_rows
from tokenflock.engine.explicit.graph_pairs import LAY_OUT, SUM, n_graph_parts
from tokenflock.engine.explicit.mutual_products import ADD, MEET
from tokenflock.engine.explicit.pairs import n_adding, n_parts
from tokenflock.engine.explicit.products import TRANSPOSE, WEIGH, n_tiles
from tokenflock.engine.explicit.work import PairWork
from tokenflock.engine.machine import threads

# Places of the queue, one to a cache line: parts handed out so far, parts in all, parts done, whether helpers are to
# leave, and whether there are any.
NEXT, PARTS, DONE, CLOSED, HELPERS = 0, 8, 16, 24, 32
QUEUE_SIZE = 40
NONE = 1 << 40  # more parts than there are: nobody can take one
# Turns of a waiting loop. After SPIN of them, some 20 microseconds, the other thread may have been put to sleep: the
# one that waits lets it have the core. After PATIENCE, some 20 milliseconds, the stepping thread sends its helpers away
# for the rest of a call: the machine is busy with something else, and a helper that sleeps with a part of the work
# holds up everyone.
SPIN, PATIENCE = 300, 40_000


@inline
def _wait(waited):
    """One more turn of a waiting loop; returns how many there were."""
    if waited < SPIN:
        pause()
    else:
        step_aside()
    return waited + 1


@inline
def run_parts(part, pairs, stage, parts):
    """All parts of a stage: by this thread alone, or with the helpers that are there."""
    call, queue = pairs.call, pairs.queue
    if queue[HELPERS] == 0:
        call.stage = stage
        for k in range(parts):
            part(pairs, k)
        return
    publish(queue, NEXT, NONE)  # while the number of parts changes nobody may take one
    call.stage = stage
    publish(queue, DONE, 0)
    publish(queue, PARTS, parts)
    publish(queue, NEXT, 0)  # from here on helpers may take: everything they read was written before
    k = take(queue, NEXT)
    while k < parts:
        part(pairs, k)
        take(queue, DONE)
        k = take(queue, NEXT)
    waited = 0
    while read(queue, DONE) < parts:
        waited = _wait(waited)
        if waited == PATIENCE:
            publish(queue, CLOSED, 1)


# Which parts and stages there are belongs to the kernel of the parts. Functions of their own: a run that sums over rows
# shall not wait until those for products are compiled.
@pointed
def sum_rows(part, pairs):
    """For kernels whose parts are rows."""
    run_parts(part, pairs, 0, n_parts(pairs.x, pairs.numbers.n))


@pointed
def sum_mutual(part, pairs):
    """For `mutual`."""
    run_parts(part, pairs, by_rows.MEET, len(pairs.partial))
    run_parts(part, pairs, by_rows.ADD, n_adding(pairs.numbers.n))


@pointed
def sum_graph(part, pairs):
    """For graphs."""
    run_parts(part, pairs, LAY_OUT, n_graph_parts(pairs))
    run_parts(part, pairs, SUM, n_graph_parts(pairs))


@pointed
def sum_products(part, pairs):
    """For `products`."""
    tiles = n_tiles(pairs.numbers.n)
    run_parts(part, pairs, TRANSPOSE, tiles)
    run_parts(part, pairs, WEIGH, tiles)


@pointed
def sum_mutual_products(part, pairs):
    """For `mutual_products`."""
    tiles = n_tiles(pairs.numbers.n)
    run_parts(part, pairs, TRANSPOSE, tiles)
    run_parts(part, pairs, MEET, len(pairs.partial))
    run_parts(part, pairs, ADD, tiles)


@kernel
def help_out(part, pairs):
    """Take parts until the queue is closed."""
    queue, waited = pairs.queue, 0
    while read(queue, CLOSED) == 0:
        if read(queue, NEXT) < read(queue, PARTS):
            k = take(queue, NEXT)
            if k < read(queue, PARTS):
                part(pairs, k)
                take(queue, DONE)
            waited = 0
        else:
            waited = _wait(waited)


@kernel
def close(queue):
    """Tell the helpers to leave."""
    publish(queue, CLOSED, 1)


@contextmanager
def team(part: Pointer, pairs: PairWork) -> Iterator[None]:
    """Helpers on the other cores, for the length of one call of a kernel that sums over pairs."""
    pairs.queue[CLOSED], pairs.queue[HELPERS] = 0, 1
    helpers = [
        pool().submit(help_out, part, pairs._replace(tile=np.empty_like(pairs.tile))) for _ in range(threads() - 1)
    ]
    try:
        yield
    finally:
        close(pairs.queue)
        for helper in helpers:
            if not helper.cancel():
                helper.result()
        pairs.queue[HELPERS] = 0


@lru_cache
def pool() -> ThreadPoolExecutor:
    """Threads that compiled code runs in beside the one that called for it."""
    return ThreadPoolExecutor(thread_name_prefix="tokenflock")
