"""The adaptive loop of engine/explicit/steps.py as one Triton kernel: a program integrates a whole run on the device.

Each run has its own clock and step size, and no step waits for the host. What a run needs to go on is in `pages` and
`clocks`, so it can pause after a number of evaluations and resume with the same bits. Pages are (d, NP) arrays:

    STATE + k, SLOPE + k   a ring of the last accepted states and their velocities, and a slot for the step under trial
    MIDDLE + s             the stages between the first, which is a slope of the ring, and the last, which becomes one
    after them             tokens on the sphere, scaled, which all threads of a program read
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from tokenflock import schemes
from tokenflock.engine import status as codes
from tokenflock.engine.triton.pairs import PairTile, RowBlock, TokenColumns, VisibleRange, least_rise, sweep, tokens_of

NODES, RING = 4, 5
SLOPE, MIDDLE = tl.constexpr(RING), tl.constexpr(2 * RING)
N_NODES, SLOTS = tl.constexpr(NODES), tl.constexpr(RING)
ON, PAUSED, FULL = (tl.constexpr(code) for code in (codes.ON, codes.PAUSED, codes.FULL))
ENDED, COLLAPSED = tl.constexpr(codes.ENDED), tl.constexpr(codes.COLLAPSED)
SMALL, NOT_FINITE = tl.constexpr(codes.SMALL), tl.constexpr(codes.NOT_FINITE)
SAFETY, SHRINK, GROW = (tl.constexpr(v) for v in (schemes.SAFETY, schemes.SHRINK, schemes.GROW))
PROPORTIONAL, INTEGRAL = tl.constexpr(schemes.PROPORTIONAL), tl.constexpr(schemes.INTEGRAL)
STABLE, NOISE = tl.constexpr(schemes.STABLE), tl.constexpr(schemes.NOISE)
# The places of a clock, all float64, and of a goal.
CLOCK = tuple("t t1 t2 t3 h error nodes left steps rejected evaluations frame head status".split())
GOAL = ("t_stop", "rtol", "atol", "collapse", "scale", "order", "eps")


class RunShape(NamedTuple):
    """Constants of a kernel: columns of a page, stages of the scheme, whether V = c I, and the block of pairs."""

    NP: int
    S: int
    SCALAR: bool
    TILE: PairTile


# Any: a field is a tensor of Triton's while it compiles.
class VelocityField(NamedTuple):
    """What a velocity is made of: the form, V and then V - c I of model.less, the scale, how many tokens, the mask."""

    form: Any
    value: Any
    scale: Any
    n: Any
    sight: VisibleRange


@triton.jit
def _velocity(x, out, field, SHAPE: tl.constexpr):
    """(E6) with softmax weights at the tokens x, scaled as the form asks."""
    n, sight = field.n, field.sight
    TILE: tl.constexpr = SHAPE.TILE
    D: tl.constexpr = TILE.D
    BM: tl.constexpr = TILE.BM
    BN: tl.constexpr = TILE.BN
    NP: tl.constexpr = SHAPE.NP
    columns = TokenColumns(x, NP, n)
    for first in range(0, n, BM):
        i = first + tl.arange(0, BM)
        own = tokens_of(columns, i, D)
        start = tl.maximum(first - sight.back, 0) // BN * BN
        stop = tl.minimum(first + BM + sight.ahead, n)
        free = tl.minimum((tl.maximum(first + BM - 1 - sight.back, 0) + BN - 1) // BN * BN, stop)
        held = tl.minimum(tl.maximum(tl.minimum(first + sight.ahead + 1, n) // BN * BN, free), stop)
        query, top = own, own[0]
        if not TILE.NEAR:
            query = ()
            for b in tl.static_range(D):
                u = own[0] * tl.load(field.form + b)
                for a in tl.static_range(1, D):
                    u += own[a] * tl.load(field.form + a * D + b)
                query = query + (-u,)  # noqa: RUF005
            least = tl.zeros((BM, BN), x.dtype.element_ty)
            for column in range(start, stop, BN):
                least = least_rise(columns, RowBlock(i, own, query, 0.0, 0.0), sight, column, least, TILE, True)
            top = -tl.min(least, 1)[:, None]
        rows = RowBlock(i, own, query, top, 0.0)
        totals = (tl.zeros((BM,), x.dtype.element_ty),)
        for _ in tl.static_range(D):
            totals = totals + (tl.zeros((BM,), x.dtype.element_ty),)  # noqa: RUF005
        totals = sweep(columns, rows, sight, start, free, totals, TILE, True)
        totals = sweep(columns, rows, sight, free, held, totals, TILE, False)
        totals = sweep(columns, rows, sight, held, stop, totals, TILE, True)
        _project(x, out, totals, field, i, D, NP, SHAPE.SCALAR)


@triton.jit
def _project(x, out, totals, field, i, D: tl.constexpr, NP: tl.constexpr, SCALAR: tl.constexpr):
    """P_x of V p / z + (V - c I) x."""
    n, value = field.n, field.value
    tokens, drive = (), ()
    for a in tl.static_range(D):
        tokens = tokens + (tl.load(x + a * NP + i, mask=i < n, other=0.0) / field.scale,)  # noqa: RUF005
    inverse = 1.0 / (tl.where(i < n, totals[0], 1.0) * field.scale)
    for a in tl.static_range(D):
        if SCALAR:
            v = tl.load(value) * totals[a + 1] * inverse
        else:
            v = tl.zeros_like(inverse)
            for b in tl.static_range(D):
                v += tl.load(value + a * D + b) * totals[b + 1] * inverse
                v += tl.load(value + (D + a) * D + b) * tokens[b]
        drive = drive + (v,)  # noqa: RUF005
    along = drive[0] * tokens[0]
    for a in tl.static_range(1, D):
        along += drive[a] * tokens[a]
    for a in tl.static_range(D):
        tl.store(out + a * NP + i, drive[a] - along * tokens[a], mask=i < n)


@triton.jit
def _load(page, D: tl.constexpr, NP: tl.constexpr):
    """A page, one vector for each axis."""
    out = ()
    for a in tl.static_range(D):
        out = out + (tl.load(page + a * NP + tl.arange(0, NP)),)  # noqa: RUF005
    return out


@triton.jit
def _square(y, D: tl.constexpr):
    """|y_i|^2."""
    square = y[0] * y[0]
    for a in tl.static_range(1, D):
        square += y[a] * y[a]
    return square


@triton.jit
def _place(y, page, tokens, scale, n, D: tl.constexpr, NP: tl.constexpr):
    """The tokens y back on the sphere, into a page, and scaled into the page that all threads read."""
    i = tl.arange(0, NP)
    inverse = tl.where(i < n, 1.0 / tl.sqrt(tl.where(i < n, _square(y, D), 1.0)), 0.0)
    for a in tl.static_range(D):
        tl.store(page + a * NP + i, y[a] * inverse)
        tl.store(tokens + a * NP + i, y[a] * inverse * scale)


@triton.jit
def _axpy(y, c, page, D: tl.constexpr, NP: tl.constexpr):
    """y + c times a page."""
    out = ()
    for a in tl.static_range(D):
        out = out + (y[a] + c * tl.load(page + a * NP + tl.arange(0, NP)),)  # noqa: RUF005
    return out


@triton.jit
def _nothing(like, D: tl.constexpr, NP: tl.constexpr):
    out = ()
    for _ in tl.static_range(D):
        out = out + (tl.zeros((NP,), like.dtype.element_ty),)  # noqa: RUF005
    return out


@triton.jit
def _size(v, y, rtol, atol, D: tl.constexpr):
    """Largest over the tokens of |v_i| / (atol + rtol |x_i|), in float64; not finite if a v is not."""
    ratio = tl.sqrt(_square(v, D).to(tl.float64)) / (atol + rtol * tl.sqrt(_square(y, D).to(tl.float64)))
    most, whole = tl.max(ratio), tl.sum(ratio)
    return tl.where(whole - whole == 0.0, most, float("inf"))


@triton.jit
def _stage(s, head, trial, S: tl.constexpr):
    """The page of stage s."""
    return tl.where(s == 0, SLOPE + head, tl.where(s == S - 1, SLOPE + trial, MIDDLE + s - 1))


@triton.jit
def begin(pages, clocks, goal, form, value, n, back, ahead, SHAPE: tl.constexpr):
    """The first node, and a first step from the size of the velocity and of its change (Hairer et al. II.4)."""
    run = tl.program_id(0).to(tl.int64)
    D: tl.constexpr = SHAPE.TILE.D
    NP: tl.constexpr = SHAPE.NP
    PAGE: tl.constexpr = D * NP
    pages, clocks = pages + run * (MIDDLE + SHAPE.S - 1) * PAGE, clocks + run * 14
    tokens, slope, trial = pages + (MIDDLE + SHAPE.S - 2) * PAGE, pages + SLOPE * PAGE, pages + (SLOPE - 1) * PAGE
    t_stop, rtol, atol = tl.load(goal), tl.load(goal + 1), tl.load(goal + 2)
    scale, order = tl.load(goal + 4).to(pages.dtype.element_ty), tl.load(goal + 5)
    field = VelocityField(form, value, scale, n, VisibleRange(back, ahead))
    y = _load(pages, D, NP)
    _place(y, trial, tokens, scale, n, D, NP)
    tl.debug_barrier()
    _velocity(tokens, slope, field, SHAPE)
    tl.debug_barrier()
    f = _load(slope, D, NP)
    speed = _size(f, y, rtol, atol, D)
    small = tl.minimum(0.01 / (tl.where(speed > 0.0, speed, 1.0) * (atol + rtol)), 0.5 * t_stop)
    _place(_axpy(y, small.to(scale.dtype), slope, D, NP), trial, tokens, scale, n, D, NP)
    tl.debug_barrier()
    _velocity(tokens, pages + MIDDLE * PAGE, field, SHAPE)
    tl.debug_barrier()
    change = ()
    for a in tl.static_range(D):
        there = tl.load(pages + MIDDLE * PAGE + a * NP + tl.arange(0, NP))
        change = change + ((there - f[a]) / small.to(scale.dtype),)  # noqa: RUF005
    turn = tl.maximum(speed, _size(change, y, rtol, atol, D))
    h = tl.exp2(tl.log2(0.01 / tl.where(speed > 0.0, turn, 1.0)) / order)
    h = tl.where(speed > 0.0, tl.minimum(tl.minimum(100.0 * small, h), 0.5 * t_stop), 0.5 * t_stop)
    tl.store(clocks + 4, h)
    tl.store(clocks + 5, 1.0)
    tl.store(clocks + 6, 1.0)
    tl.store(clocks + 10, tl.where(speed > 0.0, 2.0, 1.0))


@triton.jit
def _hermite(t, k: tl.constexpr, times, nodes):
    """Weights of the value and of the slope at node k, in the polynomial through both at all nodes."""
    p, rise = t * 0.0 + 1.0, t * 0.0
    for j in tl.static_range(N_NODES):
        if j != k:
            used = (j < nodes) & (k < nodes)
            gap = tl.where(used, times[k] - times[j], 1.0)
            p *= tl.where(used, (t - times[j]) / gap, 1.0)
            rise += tl.where(used, 1.0 / gap, 0.0)
    keep = tl.where(k < nodes, p * p, 0.0)
    return keep * (1.0 - 2.0 * (t - times[k]) * rise), keep * (t - times[k])


@triton.jit
def _record(pages, frame, times, nodes, head, t, exact, n, SHAPE: tl.constexpr):
    """The state at time t, of order 8 between four nodes and free of evaluations; exact: the newest node itself."""
    D: tl.constexpr = SHAPE.TILE.D
    NP: tl.constexpr = SHAPE.NP
    PAGE: tl.constexpr = D * NP
    i = tl.arange(0, NP)
    y = _nothing(pages, D, NP)
    for k in tl.static_range(N_NODES):
        value, slope = _hermite(t, k, times, nodes)
        value = tl.where(exact, 1.0 if k == 0 else 0.0, value).to(pages.dtype.element_ty)
        slope = tl.where(exact, 0.0, slope).to(pages.dtype.element_ty)
        slot = (head + SLOTS - k) % SLOTS
        y = _axpy(y, value, pages + slot * PAGE, D, NP)
        y = _axpy(y, slope, pages + (SLOPE + slot) * PAGE, D, NP)
    length = tl.where(exact, 1.0, tl.where(i < n, tl.sqrt(_square(y, D)), 1.0))
    for a in tl.static_range(D):
        tl.store(frame + i * D + a, y[a] / length, mask=i < n)


@triton.jit
def _record_ready(pages, wanted, clock, frame, final, collapsed, n, SHAPE: tl.constexpr):
    """The frames from `frame` on that can be recorded; returns the first that cannot. wanted: the times that are kept,
    how many there are, and where the frames of this run go."""
    times, count, frames = wanted
    t, t1, t2, t3, nodes, head = clock
    more = frame < count
    while more:
        # One step late, so that nodes stand on both sides: else errors between steps exceed those at the steps.
        when = tl.load(times + frame)
        ready = (when == t) | (final & (when <= t)) | collapsed | ((nodes == N_NODES) & (when <= t1))
        if ready:
            out = frames + frame * n * SHAPE.TILE.D
            _record(pages, out, (t, t1, t2, t3), nodes, head, when, when >= t, n, SHAPE)
            frame += 1
        more = ready & (frame < count)
    return frame


@triton.jit
def _spread(y, n, D: tl.constexpr, NP: tl.constexpr):
    """Largest squared distance of a token from the first."""
    i = tl.arange(0, NP)
    square = tl.zeros((NP,), tl.float64)
    for a in tl.static_range(D):
        gap = (y[a] - tl.sum(tl.where(i == 0, y[a], 0.0))).to(tl.float64)
        square += gap * gap
    return tl.max(tl.where(i < n, square, 0.0))


@triton.jit
def _evaluate_stages(pages, table, step, head, trial, field, SHAPE: tl.constexpr):
    """The velocities of all stages but the first, and the state at the end of the step."""
    D: tl.constexpr = SHAPE.TILE.D
    NP: tl.constexpr = SHAPE.NP
    S: tl.constexpr = SHAPE.S
    PAGE: tl.constexpr = D * NP
    tokens = pages + (MIDDLE + S - 2) * PAGE
    for s in range(1, S):
        y = _load(pages + head * PAGE, D, NP)
        for r in range(0, s):
            c = (step * tl.load(table + s * S + r)).to(pages.dtype.element_ty)
            y = _axpy(y, c, pages + _stage(r, head, trial, S) * PAGE, D, NP)
        _place(y, pages + trial * PAGE, tokens, field.scale, field.n, D, NP)
        tl.debug_barrier()
        _velocity(tokens, pages + _stage(s, head, trial, S) * PAGE, field, SHAPE)
        tl.debug_barrier()


@triton.jit
def _judge(pages, table, h, head, trial, tolerances, SHAPE: tl.constexpr):
    """The local error of a step in units of the tolerance, and how fast the velocity changes between the last two
    stages, which stand at the same time: 0 if they coincide to rounding."""
    eps, rtol, atol = tolerances
    D: tl.constexpr = SHAPE.TILE.D
    NP: tl.constexpr = SHAPE.NP
    S: tl.constexpr = SHAPE.S
    PAGE: tl.constexpr = D * NP
    e, g = _nothing(pages, D, NP), _nothing(pages, D, NP)
    for s in range(0, S):
        page = pages + _stage(s, head, trial, S) * PAGE
        e = _axpy(e, tl.load(table + (S + 1) * S + s).to(pages.dtype.element_ty), page, D, NP)
        turn = tl.load(table + (S - 1) * S + s) - tl.load(table + (S - 2) * S + s)
        g = _axpy(g, turn.to(pages.dtype.element_ty), page, D, NP)
    error = h * _size(e, _load(pages + head * PAGE, D, NP), rtol, atol, D)
    c = _axpy(_load(pages + (SLOPE + trial) * PAGE, D, NP), tl.full((), -1.0, pages.dtype.element_ty),
              pages + (MIDDLE + S - 3) * PAGE, D, NP)  # fmt: skip
    change, gap = tl.sum(_square(c, D).to(tl.float64)), tl.sum(_square(g, D).to(tl.float64))
    reach = tl.sum(_square(_load(pages + trial * PAGE, D, NP), D).to(tl.float64))
    moves = h * h * gap > (NOISE * eps) * (NOISE * eps) * reach
    return error, tl.where(moves, tl.sqrt(change / tl.where(moves, gap, 1.0)) / h, 0.0)


@triton.jit
def _next_step(way, h, left):
    """The step to try: t_stop is hit, in two equal steps. left: how many of the two are still to be taken."""
    left = tl.where((left == 0) & (2.0 * h >= way), 2, left)
    half, whole = (left == 2) & (h >= 0.5 * way), (left == 1) & (2.0 * h >= way)
    left = tl.where(half | whole, left, 0)
    return tl.where(half, 0.5 * way, tl.where(whole, way, h)), left


# 14 arguments: Triton makes a version of a kernel for the kind of each pointer and number at its launch.
@triton.jit
def integrate(
    pages, clocks, goal, table, times, frames, form, value, n, n_times, budget, back, ahead, SHAPE: tl.constexpr
):  # fmt: skip
    """Steps of the size that the tolerances allow, until the frames are full, the time is up or the budget is spent."""
    run = tl.program_id(0).to(tl.int64)
    D: tl.constexpr = SHAPE.TILE.D
    NP: tl.constexpr = SHAPE.NP
    PAGE: tl.constexpr = D * NP
    pages, clocks = pages + run * (MIDDLE + SHAPE.S - 1) * PAGE, clocks + run * 14
    wanted = (times, n_times, frames + run * n_times * n * D)
    t_stop, rtol, atol, collapse = tl.load(goal), tl.load(goal + 1), tl.load(goal + 2), tl.load(goal + 3)
    scale, order, eps = tl.load(goal + 4).to(pages.dtype.element_ty), tl.load(goal + 5), tl.load(goal + 6)
    field = VelocityField(form, value, scale, n, VisibleRange(back, ahead))
    t, t1, t2, t3 = tl.load(clocks), tl.load(clocks + 1), tl.load(clocks + 2), tl.load(clocks + 3)
    h, before = tl.load(clocks + 4), tl.load(clocks + 5)
    nodes, left = tl.load(clocks + 6).to(tl.int32), tl.load(clocks + 7).to(tl.int32)
    steps, rejected = tl.load(clocks + 8).to(tl.int32), tl.load(clocks + 9).to(tl.int32)
    evaluations, frame = tl.load(clocks + 10).to(tl.int32), tl.load(clocks + 11).to(tl.int32)
    head, status = tl.load(clocks + 12).to(tl.int32), tl.load(clocks + 13).to(tl.int32)
    most = evaluations + budget
    while status == ON:
        met = (collapse > 0.0) & (t < t_stop)
        if met:
            met = _spread(_load(pages + head * PAGE, D, NP), n, D, NP) <= collapse * collapse
        final = (t >= t_stop) | met
        # Only with frames ahead: how the wanted times are dealt out over calls changes no bit.
        collapsed = met & (frame < n_times) & (tl.load(times + n_times - 1) > t)
        frame = _record_ready(pages, wanted, (t, t1, t2, t3, nodes, head), frame, final, collapsed, n, SHAPE)
        status = tl.where(t >= t_stop, ENDED, tl.where(evaluations >= most, PAUSED, ON))
        status = tl.where(collapsed, COLLAPSED, tl.where(frame >= n_times, FULL, status))
        way = t_stop - t
        step, left = _next_step(way, h, left)
        if (status == ON) & (t + step <= t):
            f = _load(pages + (SLOPE + head) * PAGE, D, NP)
            finite = _size(f, _load(pages + head * PAGE, D, NP), rtol, atol, D) < float("inf")
            status = tl.where(finite, SMALL, NOT_FINITE)
        if status == ON:
            trial = (head + 1) % SLOTS
            _evaluate_stages(pages, table, step, head, trial, field, SHAPE)
            evaluations += SHAPE.S - 1
            error, rate = _judge(pages, table, step, head, trial, (eps, rtol, atol), SHAPE)
            if error <= 1.0:
                safe = tl.maximum(error, 1e-10)
                factor = SAFETY * tl.exp2((tl.log2(before) * INTEGRAL - tl.log2(safe) * PROPORTIONAL) / order)
                before, head, steps = safe, trial, steps + 1
                t3, t2, t1, t = t2, t1, t, tl.where(step == way, t_stop, t + step)
                nodes, left = tl.minimum(nodes + 1, N_NODES), tl.maximum(left - 1, 0)
                if left == 0:
                    h = step * tl.minimum(GROW, tl.maximum(SHRINK, factor))
                    fast = h * rate > STABLE
                    h = tl.where(fast, STABLE / tl.where(fast, rate, 1.0), h)
            else:
                rejected += 1
                left = left * 0
                lost = ~(error < float("inf"))
                h = step * tl.where(lost, SHRINK, tl.maximum(SHRINK, SAFETY * tl.exp2(-tl.log2(error) / order)))
                if lost & ((t + h <= t) | (h < 1e-30)):
                    status = status * 0 + NOT_FINITE
    _keep(clocks, (t, t1, t2, t3, h, before, nodes, left, steps, rejected, evaluations, frame, head, status))


@triton.jit
def _keep(clocks, values):
    for k in tl.static_range(14):
        tl.store(clocks + k, values[k].to(tl.float64))
