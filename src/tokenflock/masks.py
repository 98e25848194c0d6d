"""Masks: who sees whom (E1), (E19). Named ones, an array, a function of i and j, or one for each head.

A mask is an interval in every row ("causal", "full", Window, Blocks, Prefix: `visible`), or its rows are written out
as a Graph: Dilated, Sink, RandomGraph, and what is given as an array or a function. Sums over intervals go at full
speed; sums over a graph take the time of its entries, so that 1e5 tokens with 50 neighbours are a small run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import flag, numbers, room, scalar, whole
from tokenflock.errors import bad, unknown
from tokenflock.functions import Function
from tokenflock.graphs import (
    Graph,
    Index,
    at_entries,
    check_size,
    dense_bias,
    entries,
    function_of,
    is_text_of_function,
    of_array,
    of_function,
    stacked,
)
from tokenflock.options import MOST_WIDTH, Alibi, Window

INTERVALS = ("causal", "full")  # masks that are words
EACH = 64  # bytes of an entry while a mask is written out
MOST_TOKENS = 2**31 - 1  # columns have 32 bits


@dataclass(frozen=True)
class Dilated:
    """Token i sees itself and i - gap, i - 2 gap, ..: `width` tokens; causal=False: also the width - 1 after it."""

    width: int
    gap: int = 2
    causal: bool = True

    def __post_init__(self) -> None:
        for name in ("width", "gap"):
            advice = "width=1 sees only the token itself; gap=1 is flock.Window."
            object.__setattr__(self, name, whole(f"Dilated.{name}", getattr(self, name), 1, advice, most=MOST_TOKENS))
        object.__setattr__(self, "causal", flag("Dilated.causal", self.causal))

    def _n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return float(n) * min(self.width, n) * (1 if self.causal else 2)

    def _pairs(self, n: int) -> tuple[Index, Index]:
        """Rows and columns of its entries."""
        reach = min(self.width - 1, (n - 1) // self.gap)
        return _offsets(n, self.gap * np.arange(-reach, 1 if self.causal else reach + 1))


@dataclass(frozen=True)
class Blocks:
    """Blocks of `size` tokens: a token sees its own block up to itself, and the width - 1 blocks before it.

    causal=False: all of its own block, and the width - 1 blocks after it too; width=1 are then independent runs.
    """

    size: int
    width: int = 1
    causal: bool = True

    def __post_init__(self) -> None:
        for name in ("size", "width"):
            object.__setattr__(self, name, whole(f"Blocks.{name}", getattr(self, name), 1, most=MOST_WIDTH))
        object.__setattr__(self, "causal", flag("Blocks.causal", self.causal))

    def _interval(self, n: int) -> tuple[Index, Index]:
        """lo, hi of `visible`."""
        i, size, width = np.arange(n), min(self.size, n), min(self.width, n)
        block = i // size
        last = i + 1 if self.causal else np.minimum((block + width) * size, n)
        return np.maximum((block - width + 1) * size, 0), last


@dataclass(frozen=True)
class Prefix:
    """The first `length` tokens see each other (a prompt); the later ones all before them and themselves."""

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", whole("Prefix.length", self.length, 1, "1 is causal.", most=MOST_WIDTH))

    @property
    def causal(self) -> bool:
        """Whether no token sees a later one."""
        return self.length == 1

    def _interval(self, n: int) -> tuple[Index, Index]:
        """lo, hi of `visible`."""
        return np.zeros(n, int), np.maximum(np.arange(n) + 1, min(self.length, n))


@dataclass(frozen=True)
class Sink:
    """Causal: token i sees the first `sinks` tokens, and `width` tokens up to itself."""

    width: int
    sinks: int = 4

    causal = True

    def __post_init__(self) -> None:
        for name in ("width", "sinks"):
            object.__setattr__(self, name, whole(f"Sink.{name}", getattr(self, name), 1, most=MOST_TOKENS))

    def _n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return float(n) * min(self.width + self.sinks, n)

    def _pairs(self, n: int) -> tuple[Index, Index]:
        """Rows and columns of its entries."""
        i, j = _offsets(n, np.arange(1 - min(self.width, n), 1))
        first, token = np.arange(min(self.sinks, n)), np.arange(n)
        far = first <= token[:, None] - self.width
        rows, columns = np.nonzero(far)
        return np.concatenate([rows, i]), np.concatenate([columns, j])


@dataclass(frozen=True)
class RandomGraph:
    """Every token sees itself, and each pair of tokens sees each other with probability `share`; share=1 is full.

    causal=True: the later of the two sees the earlier one, and more tokens leave the rows of the first as they are.
    """

    share: float
    seed: int = 0
    causal: bool = False

    def __post_init__(self) -> None:
        advice = "For about k neighbours among n tokens give k / n."
        share = scalar(
            "RandomGraph.share", self.share, "a probability from 0 to 1", lambda v: (v >= 0) & (v <= 1), advice
        )
        object.__setattr__(self, "share", share)
        object.__setattr__(self, "seed", whole("RandomGraph.seed", self.seed, 0))
        object.__setattr__(self, "causal", flag("RandomGraph.causal", self.causal))

    def _n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return n * (1 + self.share * (n - 1) * (0.5 if self.causal else 1))

    def _pairs(self, n: int) -> tuple[Index, Index]:
        """Rows and columns of its entries: pairs below the diagonal, row by row, with random gaps between them."""
        own, pairs = np.arange(n), n * (n - 1) // 2
        draw, found, last = np.random.default_rng([self.seed, 2023]), [np.zeros(0, np.int64)], -1
        while self.share and last < pairs - 1:
            gaps = draw.geometric(self.share, min(1 << 16, pairs))
            at = last + np.cumsum(gaps)
            found.append(at)
            last = int(at[-1])
        k = np.concatenate(found)
        k = k[k < pairs]
        i = ((1 + np.sqrt(1 + 8 * k.astype(float))) / 2).astype(np.int64)
        i = i - (i * (i - 1) // 2 > k) + (i * (i + 1) // 2 <= k)  # the root is rounded
        j = k - i * (i - 1) // 2
        if self.causal:
            return np.concatenate([i, own]), np.concatenate([j, own])
        return np.concatenate([i, own, j]), np.concatenate([j, own, i])


def _offsets(n: int, offsets: Index) -> tuple[Index, Index]:
    """Rows i and columns i + offset, of those that are there."""
    j = np.arange(n)[:, None] + offsets
    inside = (j >= 0) & (j < n)
    return np.repeat(np.arange(n), inside.sum(axis=1)), j[inside]


FAMILIES = (Window, Dilated, Blocks, Prefix, Sink, RandomGraph)
Mask: TypeAlias = Any  # a word, one of the families, a Graph, a function of i and j, or a tuple with one for each head
ALLOWED = [
    *INTERVALS,
    *(f"flock.{family.__name__}(...)" for family in FAMILIES),
    "an array (n, n)",
    "a function of i and j",
]
#: what a table of a run.toml calls a family; the number beside the word is the family's first field
WORDS: dict[str, Any] = {"window": Window, "dilated": Dilated, "blocks": Blocks, "prefix": Prefix, "sink": Sink}
WORDS |= {"random": RandomGraph}
ALLOWED = [
    *INTERVALS,
    *(f"flock.{family.__name__}(...)" for family in FAMILIES),
    "an array (n, n)",
    "a function of i and j",
]


def checked(given: Any) -> Mask:
    """The mask that was given, in its final form: arrays as a Graph, masks for each head as a tuple."""
    if isinstance(given, (Graph, *FAMILIES)):
        return given
    if isinstance(given, Function):
        return given
    if callable(given) or isinstance(given, Mapping) or is_text_of_function(given):
        return function_of("mask", given)
    if isinstance(given, str):
        if given not in INTERVALS:
            raise unknown("mask", given, ALLOWED)
        return given
    if _are_masks(given):
        made = tuple(checked(one) for one in given)
        if nested := [one for one in made if isinstance(one, tuple) or (isinstance(one, Graph) and one.heads > 1)]:
            raise bad("mask", nested[0], "for each head one mask that is for one head")
        return made if any(not isinstance(one, Graph) for one in made) else stacked(made)
    if not hasattr(given, "tocsr") and not numbers(given).ndim:
        raise unknown("mask", given, ALLOWED)
    return of_array(given)


def _are_masks(given: Any) -> bool:
    """Whether a list has masks in it, one for each head, rather than numbers."""
    kinds = (str, Graph, *FAMILIES)
    listed = isinstance(given, list | tuple) and len(given) > 0
    return listed and any(isinstance(one, kinds) or callable(one) or hasattr(one, "tocsr") for one in given)


def written(mask: Mask, bias: Any, n: int, may_be_empty: bool) -> tuple[Mask, Any]:
    """A mask and a bias for n tokens: functions are asked, masks of each head joined; what does not fit is refused."""
    if isinstance(mask, Function | tuple | Graph):
        mask = graph(mask, n)
        if not may_be_empty:
            mask.check_rows()
    if isinstance(bias, Function) and bias.lost and is_interval(mask):  # as an array it can be kept
        bias = dense_bias(bias, n)[0]
    elif isinstance(bias, Function) and bias.lost:
        seen = graph(mask, n)
        values = [at_entries(bias, seen, head) for head in range(seen.heads)]
        bias = Graph(seen.starts, seen.columns, np.concatenate(values), seen.heads)
    check_size(bias, n)
    return mask, bias


def has_table(bias: Any) -> bool:
    """Whether a bias is one of one's own, rather than ALiBi or none."""
    return not isinstance(bias, Alibi | None)


def heads_of(given: Any) -> int:
    """For how many heads a mask or a bias is; one is for all of them."""
    if isinstance(given, Graph):
        return given.heads
    return len(given) if isinstance(given, tuple) or (isinstance(given, np.ndarray) and given.ndim == 3) else 1


def n_fixed(given: Any) -> int | None:
    """For how many tokens an array or a graph is; None of what is for any number."""
    return given.n_tokens if isinstance(given, Graph) else given.shape[-1] if isinstance(given, np.ndarray) else None


def is_interval(mask: Mask) -> bool:
    """Whether every row sees an interval: `visible` has it."""
    return isinstance(mask, str | Window | Blocks | Prefix)


def is_causal(mask: Mask) -> bool:
    """Whether no token sees a later one. Of a function this is not known before it is written out (`Model.at`)."""
    if isinstance(mask, tuple):
        return all(is_causal(one) for one in mask)
    return mask == "causal" if isinstance(mask, str) else bool(getattr(mask, "causal", False))


def one_way(mask: Mask) -> str:
    """Which token does not see itself, or sees one that does not see it; nothing if none is known."""
    if isinstance(mask, tuple):
        return next((why for why in map(one_way, mask) if why), "")
    if isinstance(mask, Graph):
        return mask.one_way()
    if isinstance(mask, Prefix):
        return "the first tokens do not see those after the prefix"
    return "nobody sees later tokens" if is_causal(mask) else ""


def visible(mask: Mask, n: int) -> tuple[Index, Index]:
    """Row i sees lo_i <= j < hi_i (E1), of a mask with intervals; both never fall with i."""
    i = np.arange(n)
    if mask == "full":
        return np.zeros(n, int), np.full(n, n)
    if isinstance(mask, Window):
        ahead = 1 if mask.causal else mask.width
        return np.maximum(i - mask.width + 1, 0), np.minimum(i + ahead, n)
    if isinstance(mask, Blocks | Prefix):
        return mask._interval(n)
    assert mask == "causal", f"{mask} has no intervals"
    return np.zeros(n, int), i + 1


def sees(mask: Mask, n: int, first: int = 0, stop: int | None = None) -> NDArray[np.bool_]:
    """Whether i sees j, (n, n), or (heads, n, n); only of the rows first .. stop - 1."""
    if is_interval(mask):
        lo, hi = (edge[first:stop, None] for edge in visible(mask, n))
        return (np.arange(n) >= lo) & (np.arange(n) < hi)
    found = graph(mask, n).dense(first, stop)
    return found[0] if len(found) == 1 else found


def n_entries(mask: Mask, n: int) -> float:
    """About how many pairs see each other, in the mean of the heads; n^2 of a function that was not asked yet."""
    if is_interval(mask):
        lo, hi = visible(mask, n)
        return float((hi - lo).sum())
    if isinstance(mask, tuple):
        return sum(n_entries(one, n) for one in mask) / len(mask)
    if isinstance(mask, Graph):
        return len(mask.columns) / mask.heads
    return mask._n_entries(n) if isinstance(mask, Dilated | Sink | RandomGraph) else float(n) ** 2


@lru_cache(maxsize=4)
def graph(mask: Mask, n: int) -> Graph:
    """A mask of n tokens, written out."""
    if isinstance(mask, Graph):
        if mask.n_tokens != n:
            given = (mask.heads,) * (mask.heads > 1) + (mask.n_tokens,) * 2
            raise bad("mask.shape", given, f"({n}, {n}) for {n} tokens", "Give a row and a column for every token.")
        return mask
    if isinstance(mask, tuple):
        return stacked(tuple(graph(one, n) for one in mask))
    if isinstance(mask, Function):
        return of_function(mask, n)
    room("mask", int(n_entries(mask, n)), EACH)
    if isinstance(mask, Dilated | Sink | RandomGraph):
        return entries(n, *mask._pairs(n))
    lo, hi = visible(mask, n)
    size = hi - lo
    before = np.repeat(np.cumsum(size) - size, size)
    return Graph(np.concatenate([[0], np.cumsum(size)]), np.arange(size.sum()) - before + np.repeat(lo, size))
