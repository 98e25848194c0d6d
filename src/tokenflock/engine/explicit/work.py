"""The named records that compiled kernels take: constants of a model, scratch space, and what sums over pairs.

A *part* is a kernel `part(pairs, k)` that computes part k of the sums over pairs: a PairWork and a number, nothing
else. What runs the parts of one evaluation, in stages and on one core or on several, is `sums(part, pairs)` (team.py).
A velocity is `velocity(sums, part, field, y, t, kind, out)` and a layer `layer(sums, part, field, y, t, dt, kind)`:
the two pointers, the Field of arrays that they work on, and the state y with its time and its kind of layer norm.

Every record has one numba type for each dtype, so that one pointer type names every part: arrays that a kernel does not
need are empty ones of the same type. Pointers stand beside the records, not in them: numba finds the type of a tuple
with a pointer in it in milliseconds, of one without in microseconds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from tokenflock.engine.compiled.pointers import PointerType

Numbers = NDArray[Any]  # of float64 or float32, the dtype of a run

SPHERE, EUCLIDEAN, RESCALED = 0, 1, 2  # Terms.numbers.space
FORM, VALUE, LESS = 0, 1, 2  # the pages of Terms.heads
LO, HI, COUNTS, OF_GROUP, SEES = range(5)  # the lines of Terms.rows
X, U, P, SPARE, MX, ALONG, LESSER, DRIVE = range(8)  # the pages of Work.tokens

#: constants of a model
NUMBERS = np.dtype(
    [
        ("n", np.int64),
        ("d", np.int64),
        ("space", np.int64),
        ("by_count", np.int64),  # (E3) rather than (E2)
        ("own", np.int64),  # per_token has what each row is multiplied by, see own_pairs.py
        ("hard", np.int64),  # beta = inf: equal shares of the largest logits
        ("scaled", np.int64),  # the part takes tokens times `scale`
        ("by_differences", np.int64),  # `products` takes differences of tokens first where logits are large (E8)
        ("scalar_form", np.int64),
        ("scalar_value", np.int64),
        ("activation", np.int64),
        ("grouped", np.int64),  # tokens belong to groups
        ("shake", np.int64),  # the kind of common noise, 0 without
        ("strength", np.float64),  # of it
        ("scale", np.float64),
        ("shift", np.float64),
        ("alpha", np.float64),
        ("decay", np.float64),
        ("noise", np.float64),
        ("mu", np.float64),
        ("rho", np.float64),
        ("sink", np.float64),  # the logit of a sink
    ],
    align=True,
)

#: what changes from one call of the parts to the next; every thread of a team reads the same record
CALL = np.dtype(
    [
        ("group", np.int64),  # whose tokens a sum is over, -1 for all
        ("stage", np.int64),  # of a sum that goes over its parts more than once
        ("head", np.int64),  # the present head
        ("slope", np.float64),  # of ALiBi's bias, for the present head
        ("level", np.float64),  # the largest logit of every row where it is known and positive, else 0
        ("log", np.float64),  # rescaled space: exp(log) was taken out of the product of two flows
        ("undecided", np.float64),  # how far the rows of this evaluation were from having one leader each
    ],
    align=True,
)


class Terms(NamedTuple):
    """The constants of one model for n tokens."""

    numbers: Any  # a record, see NUMBERS
    heads: Numbers  # (3, H, d, d): beta B in units of log 2 (hardmax: B itself), V, V - c I of model.less
    flow: Numbers  # (d, d): V - mu I, mu the largest real part of an eigenvalue
    slopes: Numbers  # (H,) of the bias, in the units of the form
    # (2 + H, columns): lo, hi, number of visible tokens; one line is for all heads. With groups then the group of the
    # token, and for each whether the row sees it
    rows: Numbers
    frozen: Numbers  # (d + 1, m): frozen tokens and log2 of their weights (hardmax: the weights)
    # (n, 1), or (columns / m, n m) with a_ij at [i / m, j m + i % m], m the width of a register, or (0, 0) without
    # masses: log2 of them, but as they are for hardmax and for the kernels `weighed`
    masses: Numbers
    inner: Numbers  # (k, d + 1): the feed-forward's a and b
    outer: Numbers  # (d, k): its w
    starts: NDArray[np.int64]  # of a graph: see graph_pairs.py; its biases stand in the place of masses
    entries: NDArray[np.int32]
    sides: Numbers  # (2 G, H, k, d): beta Q of every group in units of log 2, then K; or empty, see placed.py
    turns: Numbers  # (r, columns): cosines, then sines of the angles by which queries and keys turn
    offsets: Numbers  # (d, columns) vectors that queries and keys see added to the tokens
    shaking: Numbers  # of common noise: the waves of a field and their phases, or matrices below each other


class PairWork(NamedTuple):
    """What the parts of one sum over pairs read and write. Tokens are columns; `columns` is n and some padding."""

    numbers: Any  # those of Terms
    call: Any  # a record, see CALL
    queue: NDArray[np.int64]  # (QUEUE_SIZE,) from which the threads of a team take parts, see team.py
    x: Numbers  # (d, columns) tokens, scaled where numbers.scaled or the velocity says so
    u: Numbers  # (d, columns) queries B'x
    rows: Numbers  # those of Terms
    frozen: Numbers  # those of Terms
    masses: Numbers  # those of Terms
    p: Numbers  # (d, columns) result: sum_j w_ij (x_j - x_i)
    z: Numbers  # (1, columns) result: sum_j w_ij
    top: Numbers  # (1, columns) result: the logit that has weight 1
    tile: Numbers  # scratch of one thread: every thread has its own
    per_token: Numbers  # (rows, columns) what a kernel notes of every token: its leader, its powers, its masses
    by_rows: Numbers  # (2, n, d) tokens as rows, for products: x' and u'
    partial: Numbers  # (chunks, ...) sums of every chunk of tokens, where several chunks add to one row
    tables: Numbers  # (rows, length) the coefficients of a series, for sums over waves
    starts: NDArray[np.int64]  # those of Terms
    entries: NDArray[np.int32]


class Work(NamedTuple):
    """Scratch space of one run."""

    pairs: PairWork
    tokens: Numbers  # (8, d, columns)
    hidden: Numbers  # (k, columns)
    form: Numbers  # (H, d, d): the form; in rescaled space B M at the present time, exp(tV) = exp(log / 2) M
    flow: Numbers  # (d, d): M


class Field(NamedTuple):
    """All arrays that the right-hand side of one run works on."""

    terms: Terms
    work: Work


@lru_cache
def no_pairs(dtype: str | np.dtype[Any]) -> PairWork:
    """A PairWork without anything in it: each run fills in a `call` of its own and the arrays that its sums need."""
    table, pages = np.zeros((0, 0), dtype=dtype), np.zeros((0, 0, 0), dtype=dtype)
    three = {"by_rows": pages, "partial": pages}
    graph: dict[str, Any] = {"starts": np.zeros(0, dtype=np.int64), "entries": np.zeros(0, dtype=np.int32)}
    two = dict.fromkeys((name for name in PairWork._fields[3:] if name not in three | graph), table)
    numbers, call = np.zeros((), dtype=NUMBERS)[()], np.zeros((), dtype=CALL)[()]
    return PairWork(numbers, call, np.zeros(0, dtype=np.int64), **two, **three, **graph)


@lru_cache
def part_signature(dtype: str) -> Any:
    """Of every part: (pairs, k)."""
    return types.void(typeof(no_pairs(dtype)), types.int64)


@lru_cache
def sums_signature(dtype: str) -> Any:
    """Of what runs the parts: (part, pairs)."""
    part = part_signature(dtype)
    return types.void(PointerType(part), part.args[0])


@lru_cache
def _field_type(dtype: str) -> Any:
    two, three, four = (np.zeros((0,) * k, dtype=dtype) for k in (2, 3, 4))
    pairs = no_pairs(dtype)
    plain, graph = np.zeros((0, 0)), (pairs.starts, pairs.entries)
    extra = (*graph, four, two, two, plain)
    terms = Terms(pairs.numbers, four, plain, np.zeros(0), two, two, two, two, two, *extra)
    return typeof(Field(terms, Work(pairs, three, two, three, two)))


@lru_cache
def velocity_signature(dtype: str) -> Any:
    """Of every velocity: (sums, part, field, y, t, kind, out)."""
    sums, page = sums_signature(dtype), typeof(np.zeros((0, 0), dtype=dtype))
    pointers = (PointerType(sums), sums.args[0])
    return types.void(*pointers, _field_type(dtype), page, types.float64, types.int64, page)


@lru_cache
def layer_signature(dtype: str) -> Any:
    """Of every layer: (sums, part, field, y, t, dt, kind)."""
    return types.void(*velocity_signature(dtype).args[:4], types.float64, types.float64, types.int64)
