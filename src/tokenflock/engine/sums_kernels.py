"""Running the parts of a pair kernel: alone, or as a team of threads that share them out inside compiled code.

The leader (the thread that steps the run) puts the parts of an evaluation on the desk; it and its helpers take one
after the other until none is left. A helper that the machine holds up delays nothing but the part in its hands, and
with no helper at all the leader does everything. Each part is computed in one way whoever takes it: the bits do not
depend on the team. Handing over costs less than a microsecond, so runs of a hundred tokens already gain.
"""

from __future__ import annotations

import numpy as np

from tokenflock.engine.atomics import pause, publish, read, step_aside, take
from tokenflock.engine.blas_kernels import n_tiles
from tokenflock.engine.compiling import kernel, piece, target
from tokenflock.engine.mutual_products import STRIPS
from tokenflock.engine.pair_kernels import CHUNKS, gather, n_parts

# Places on the desk, one to a cache line: parts handed out so far, parts in all, parts done, closing time, the slope of
# the present call (as a float64), and the number of its first part.
NEXT, PARTS, DONE, CLOSED, SLOPE, FIRST = 0, 8, 16, 24, 32, 40
DESK_SIZE = 48
NONE = 1 << 40  # more parts than there are: nobody can take one
# Turns of a waiting loop. After SPIN of them, some 20 microseconds, the other side may have been put to sleep: whoever
# waits lets it have the core. After PATIENCE, some 20 milliseconds, the leader sends its helpers home for the rest of a
# call: the machine is busy with something else, and a helper put to sleep with a part in its hands holds up everyone.
SPIN, PATIENCE = 300, 40_000


def new_desk() -> np.ndarray:
    """An empty desk: all parts handed out, or an early helper would take one before it is there."""
    desk = np.zeros(DESK_SIZE, dtype=np.int64)
    desk[NEXT] = NONE
    return desk


@piece
def _wait(waited):
    """One more turn of a waiting loop; returns how many there were."""
    if waited < SPIN:
        pause()
    else:
        step_aside()
    return waited + 1


@piece
def _all(first, parts, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """All parts on this core; called like _shared, it needs no desk."""
    for k in range(first, first + parts):
        part(x, u, rows, frozen, slope, hard, k, last, p, z, top, share, tile)


@piece
def _shared(first, parts, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """All parts, with the helpers that are there."""
    publish(desk, NEXT, NONE)  # while the number of parts changes nobody may take one
    desk.view(np.float64)[SLOPE] = slope
    publish(desk, FIRST, first)
    publish(desk, DONE, 0)
    publish(desk, PARTS, parts)
    publish(desk, NEXT, 0)  # from here on helpers may take: everything they read was written before
    k = take(desk, NEXT)
    while k < parts:
        part(x, u, rows, frozen, slope, hard, first + k, last, p, z, top, share, tile)
        take(desk, DONE)
        k = take(desk, NEXT)
    waited = 0
    while read(desk, DONE) < parts:
        waited = _wait(waited)
        if waited == PATIENCE:
            publish(desk, CLOSED, 1)


# Which parts there are, and what is done after them, belongs to the pair kernel. Functions of their own: who sums over
# rows shall not wait until those for products are compiled.
@target
def rows_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For kernels whose parts are rows."""
    _all(0, n_parts(x, last), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def rows_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    _shared(0, n_parts(x, last), part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def mutual_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `mutual`."""
    _all(0, CHUNKS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather(share, p, z)


@target
def mutual_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    _shared(0, CHUNKS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    gather(share, p, z)


@target
def products_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `products`."""
    tiles = n_tiles(last)
    _all(-tiles, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # lay down
    _all(0, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def products_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    tiles = n_tiles(last)
    _shared(-tiles, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # lay down
    _shared(0, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)


@target
def mutual_products_alone(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """For `mutual_products`."""
    tiles = n_tiles(last)
    _all(-tiles, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # lay down
    _all(0, STRIPS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    _all(STRIPS, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # gather


@target
def mutual_products_led(part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk):
    """The same with a team."""
    tiles = n_tiles(last)
    _shared(-tiles, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # lay down
    _shared(0, STRIPS, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)
    _shared(STRIPS, tiles, part, x, u, rows, frozen, slope, hard, last, p, z, top, share, tile, desk)  # gather


@kernel
def help_out(part, x, u, rows, frozen, hard, last, p, z, top, share, tile, desk):
    """Take parts until closing time, with a tile of one's own."""
    tile, waited = np.empty_like(tile), 0
    while read(desk, CLOSED) == 0:
        if read(desk, NEXT) < read(desk, PARTS):
            k = take(desk, NEXT)
            if k < read(desk, PARTS):
                slope = desk.view(np.float64)[SLOPE]
                part(x, u, rows, frozen, slope, hard, read(desk, FIRST) + k, last, p, z, top, share, tile)
                take(desk, DONE)
            waited = 0
        else:
            waited = _wait(waited)


@kernel
def close(desk):
    """Closing time: the helpers go home."""
    publish(desk, CLOSED, 1)
