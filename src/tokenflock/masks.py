"""Masks: who sees whom (E1). Named ones, an array, a function of i and j, one for each head; what they come to for n tokens.

A mask is an interval in every row ("causal", "full", Window, Blocks, Prefix: `visible`), or its rows are written out as a
Graph: Dilated, Sink, RandomGraph, and whatever is given as an array or a function. Sums over an interval take all pairs
at full speed; sums over a graph take the time of its entries, so 1e5 tokens with 50 neighbours are a small run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import flag, numbers, room, scalar, whole
from tokenflock.errors import SpecError, bad, unknown
from tokenflock.geometry import Array
from tokenflock.options import MOST_WIDTH, Window

Index = NDArray[np.int64]
INTERVALS = ("causal", "full")  # masks that are words
BLOCK = 1 << 22  # pairs that a function is asked about at a time
MOST_PAIRS = 1 << 36  # that it is asked about at all: some minutes
EACH = 64  # bytes of an entry while a mask is written out
MOST_TOKENS = 2**31 - 1  # columns have 32 bits


@dataclass(frozen=True, eq=False)
class Graph:
    """Rows written out: row i of head h has the entries starts[h n + i] .. of `columns`, rising; one head serves all.

    Of a bias the entries have values, and all others are 0.
    """

    starts: Any
    columns: Any
    values: Any = None
    heads: int = 1

    def __post_init__(self) -> None:
        starts, columns = np.array(self.starts, dtype=np.int64), np.array(self.columns, dtype=np.int32)
        n = (len(starts) - 1) // max(self.heads, 1)
        rising = len(starts) > 1 and not starts[0] and (np.diff(starts) >= 0).all() and starts[-1] == len(columns)
        whole_rows = self.heads >= 1 and n * self.heads + 1 == len(starts)
        inside = not len(columns) or (columns.min() >= 0 and columns.max() < n)
        if not (rising and whole_rows and inside):
            raise bad("Graph.starts, Graph.columns", "rows that do not fit their entries", "those of a mask", "Give mask= an array.")
        arrays = {"starts": starts, "columns": columns}
        if self.values is not None:
            arrays["values"] = np.array(self.values, dtype=np.float64)
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        heads = f", {self.heads} heads" if self.heads > 1 else ""
        return f"Graph({self.n_tokens} tokens, {len(self.columns)} entries{heads})"

    @property
    def n_tokens(self) -> int:
        """For how many tokens it is."""
        return (len(self.starts) - 1) // self.heads

    @cached_property
    def rows(self) -> Index:
        """The row of every entry; those of later heads follow."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def causal(self) -> bool:
        """Whether no token sees a later one: the rows of the first tokens are those of a run with no others."""
        return not len(self.columns) or bool((self.columns <= self.rows % self.n_tokens).all())

    @cached_property
    def own(self) -> bool:
        """Whether every token sees itself."""
        return int((self.columns == self.rows % self.n_tokens).sum()) == len(self.starts) - 1

    def dense(self, first: int = 0, stop: int | None = None) -> NDArray[Any]:
        """(heads, rows, n) of the rows first .. stop - 1: its values, or True, at its entries, 0 or False elsewhere."""
        n, last = self.n_tokens, self.n_tokens if stop is None else stop
        full = np.zeros((self.heads, last - first, n), dtype=bool if self.values is None else float)
        for h in range(self.heads):
            part = slice(self.starts[h * n + first], self.starts[h * n + last])
            full[h, self.rows[part] - h * n - first, self.columns[part]] = True if self.values is None else self.values[part]
        return full

    def check_rows(self) -> None:
        """Refuse a row without entries: its weights would be 0 / 0."""
        if (empty := np.flatnonzero(np.diff(self.starts) == 0)).size:
            head, token = divmod(int(empty[0]), self.n_tokens)
            where = f" in head {head}" if self.heads > 1 else ""
            more = f" (and {empty.size - 1} more)" if empty.size > 1 else ""
            advice = "Let it see itself (mask | numpy.eye(n, dtype=bool)), or leave the token out."
            raise bad("mask", f"one in which token {token} sees nobody{where}{more}", "an entry in every row", advice)


def entries(n: int, i: Index, j: Index, values: Any = None, heads: int = 1) -> Graph:
    """The Graph of the entries (i, j), in any order; rows of head h are h n + i."""
    key = i.astype(np.int64) * n + j
    if (np.diff(key) <= 0).any():
        key, first = np.unique(key, return_index=True)
        i, j, values = i[first], j[first], None if values is None else values[first]
    starts = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=heads * n))])
    return Graph(starts, j, values, heads)


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

    def n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return float(n) * min(self.width, n) * (1 if self.causal else 2)

    def pairs(self, n: int) -> tuple[Index, Index]:
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

    def interval(self, n: int) -> tuple[Index, Index]:
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

    def interval(self, n: int) -> tuple[Index, Index]:
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

    def n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return float(n) * min(self.width + self.sinks, n)

    def pairs(self, n: int) -> tuple[Index, Index]:
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
        share = scalar("RandomGraph.share", self.share, "a probability from 0 to 1", lambda v: (v >= 0) & (v <= 1), advice)
        object.__setattr__(self, "share", share)
        object.__setattr__(self, "seed", whole("RandomGraph.seed", self.seed, 0))
        object.__setattr__(self, "causal", flag("RandomGraph.causal", self.causal))

    def n_entries(self, n: int) -> float:
        """About how many entries it has."""
        return n * (1 + self.share * (n - 1) * (0.5 if self.causal else 1))

    def pairs(self, n: int) -> tuple[Index, Index]:
        """Rows and columns of its entries. Pairs below the diagonal, row by row, with gaps between those that are there."""
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
ByInterval: TypeAlias = str | Window | Blocks | Prefix
Mask: TypeAlias = "ByInterval | Dilated | Sink | RandomGraph | Graph | Callable[[Any, Any], Any] | tuple[Any, ...]"
#: what a table of a run.toml calls a family; the number beside the word is the family's first field
WORDS: dict[str, Any] = {"window": Window, "dilated": Dilated, "blocks": Blocks, "prefix": Prefix, "sink": Sink}
WORDS |= {"random": RandomGraph}
ALLOWED = [*INTERVALS, *(f"flock.{family.__name__}(...)" for family in FAMILIES), "an array (n, n)", "a function of i and j"]


def checked(given: Any) -> Mask:
    """The mask that was given, in its final form: arrays as a Graph, masks for each head as a tuple."""
    if isinstance(given, (Graph, *FAMILIES)):
        return given
    if isinstance(given, str):
        if given not in INTERVALS:
            raise unknown("mask", given, ALLOWED)
        return given
    if callable(given):
        return given  # type: ignore[no-any-return]
    if _are_masks(given):
        made = tuple(checked(one) for one in given)
        if nested := [one for one in made if isinstance(one, tuple) or (isinstance(one, Graph) and one.heads > 1)]:
            raise bad("mask", nested[0], "for each head one mask that is for one head")
        return made if any(not isinstance(one, Graph) for one in made) else stacked(made)  # type: ignore[arg-type]
    return _graph_of_array(given)


def _are_masks(given: Any) -> bool:
    """Whether a list has masks in it, one for each head, rather than numbers."""
    kinds = (str, Graph, *FAMILIES)
    listed = isinstance(given, list | tuple) and len(given) > 0
    return listed and any(isinstance(one, kinds) or callable(one) or hasattr(one, "tocsr") for one in given)


def _graph_of_array(given: Any) -> Graph:
    """A dense array (n, n) or (heads, n, n) of bool or of 0 and 1, or a sparse one (n, n)."""
    shapes = "(n, n), or (heads, n, n) for a mask of each head"
    if hasattr(given, "tocsr"):
        found = _sparse("mask", given)
        keep = found.data != 0
        if not np.isin(found.data, (0, 1)).all():
            raise _no_mask(found.data)
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        return entries(found.shape[0], rows[keep], found.indices[keep])
    array = numbers(given)
    if not array.ndim:
        raise unknown("mask", given, ALLOWED)
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2] or not array.size:
        raise bad("mask.shape", array.shape, shapes, "mask[i, j] says whether token i sees token j.")
    if not np.isin(array, (0, 1)).all():
        raise _no_mask(array)
    n = array.shape[-1]
    rows, columns = np.nonzero(array.reshape(-1, n))
    return entries(n, rows, columns, heads=len(array) if array.ndim == 3 else 1)


def _no_mask(array: Any) -> SpecError:
    """The sentence for an array that holds something else than who sees whom."""
    if np.isnan(array).any():
        return bad("mask", "an array with nan", "True and False, or 1 and 0", "Look for where it is made.")
    advice = "Weights are masses= or bias=; of one that is added to logits, 0 and -inf, take mask == 0."
    other = float(array[~np.isin(array, (0, 1))][0])
    return bad("mask", f"an array with {other:g} in it", "True and False, or 1 and 0", advice)


def _sparse(name: str, given: Any) -> Any:
    """A sparse array (n, n) by rows, finite, each entry once."""
    found = given.tocsr().astype(np.float64)
    if found.shape[0] != found.shape[1] or not found.shape[0]:
        raise bad(f"{name}.shape", found.shape, "(n, n)", f"{name}[i, j] belongs to the pair in which token i sees j.")
    found.sum_duplicates()
    return found


def checked_bias(given: Any) -> Any:
    """A bias that was given as an array (n, n) or (heads, n, n), a sparse one, or a function of i and j."""
    if callable(given) or isinstance(given, Graph):
        return given
    if hasattr(given, "tocsr"):
        found = _sparse("bias", given)
        _check_finite(found.data)
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        return entries(found.shape[0], rows, found.indices, found.data)
    array = np.array(numbers(given))
    if not array.ndim:
        raise bad("bias", given, "None, flock.Alibi(...), an array (n, n) or (heads, n, n), or a function of i and j")
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2] or not array.size:
        advice = "bias[i, j] is added to the logit of token i for token j."
        raise bad("bias.shape", array.shape, "(n, n), or (heads, n, n) for a bias of each head", advice)
    _check_finite(array)
    array.setflags(write=False)
    return array


def _check_finite(array: Array) -> None:
    if np.isnan(array).any():
        raise bad("bias", "an array with nan", "finite numbers", "Look for a division by zero where it is made.")
    if np.isinf(array).any():
        raise bad("bias", "an array with inf", "finite numbers", "What no token may see belongs to mask=.")


def written(mask: Mask, bias: Any, n: int, may_be_empty: bool) -> tuple[Mask, Any]:
    """A mask and a bias for n tokens: functions are asked, masks of each head joined; what does not fit is refused."""
    if callable(mask) or isinstance(mask, tuple | Graph):
        mask = graph(mask, n)
        if not may_be_empty:
            mask.check_rows()
    if callable(bias) and is_interval(mask):
        bias = dense_bias(bias, n)[0]
    elif callable(bias):
        seen = graph(mask, n)
        values = [at_entries(bias, seen, head) for head in range(seen.heads)]
        bias = Graph(seen.starts, seen.columns, np.concatenate(values), seen.heads)
    _check_size(bias, n)
    return mask, bias


def _check_size(bias: Any, n: int) -> None:
    """Refuse a bias array that is for other numbers of tokens."""
    size = bias.n_tokens if isinstance(bias, Graph) else bias.shape[-1] if isinstance(bias, np.ndarray) else n
    if size != n:
        advice = "Give a row and a column for every token."
        raise bad("bias.shape", getattr(bias, "shape", (size, size)), f"({n}, {n}) for {n} tokens", advice)


def heads_of(given: Any) -> int:
    """For how many heads a mask or a bias is; one is for all of them."""
    if isinstance(given, Graph):
        return given.heads
    return len(given) if isinstance(given, tuple) or (isinstance(given, np.ndarray) and given.ndim == 3) else 1


def is_interval(mask: Mask) -> bool:
    """Whether every row sees an interval: `visible` has it."""
    return isinstance(mask, str | Window | Blocks | Prefix)


def is_causal(mask: Mask) -> bool:
    """Whether no token sees a later one. Of a function this is not known before it is written out (`Model.at`)."""
    if isinstance(mask, tuple):
        return all(is_causal(one) for one in mask)
    return mask == "causal" if isinstance(mask, str) else bool(getattr(mask, "causal", False))


def visible(mask: Mask, n: int) -> tuple[Index, Index]:
    """Row i sees lo_i <= j < hi_i (E1), of a mask with intervals; both never fall with i."""
    i = np.arange(n)
    if mask == "full":
        return np.zeros(n, int), np.full(n, n)
    if isinstance(mask, Window):
        ahead = 1 if mask.causal else mask.width
        return np.maximum(i - mask.width + 1, 0), np.minimum(i + ahead, n)
    if isinstance(mask, Blocks | Prefix):
        return mask.interval(n)
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
    return mask.n_entries(n) if isinstance(mask, Dilated | Sink | RandomGraph) else float(n) ** 2


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
    room("mask", int(n_entries(mask, n)), EACH)
    if isinstance(mask, Dilated | Sink | RandomGraph):
        return entries(n, *mask.pairs(n))
    if is_interval(mask):
        lo, hi = visible(mask, n)
        size = hi - lo
        before = np.repeat(np.cumsum(size) - size, size)
        return Graph(np.concatenate([[0], np.cumsum(size)]), np.arange(size.sum()) - before + np.repeat(lo, size))
    parts = [np.nonzero(part) for part in _asked("mask", mask, n)]  # type: ignore[arg-type]
    first = np.cumsum([0, *(n_rows for n_rows in _rows_of(n))])
    rows = np.concatenate([i + first[k] for k, (i, _) in enumerate(parts)])
    return entries(n, rows, np.concatenate([j for _, j in parts]))


def stacked(graphs: tuple[Graph, ...]) -> Graph:
    """One Graph of the masks of all heads."""
    sizes = {one.n_tokens for one in graphs}
    if len(sizes) > 1:
        raise bad("mask", f"masks of {sorted(sizes)} tokens", "masks of one number of tokens, one for each head")
    first = np.cumsum([0, *(len(one.columns) for one in graphs)])
    starts = [one.starts[bool(k) :] + first[k] for k, one in enumerate(graphs)]
    return Graph(np.concatenate(starts), np.concatenate([one.columns for one in graphs]), heads=len(graphs))


def dense_bias(bias: Any, n: int, first: int = 0, stop: int | None = None) -> Array:
    """(H or 1, rows, n) of a bias that is an array, a Graph or a function of i and j, in the rows first .. stop - 1."""
    _check_size(bias, n)
    if isinstance(bias, Graph):
        return bias.dense(first, stop)
    if callable(bias):
        bias = np.concatenate(list(_asked("bias", bias, n))).astype(np.float64)
        _check_finite(bias)
    return np.reshape(bias, (-1, n, n))[:, first:stop]


def at_entries(bias: Any, seen: Graph, head: int) -> Array:
    """The bias of one head at the entries of that head of a mask: from an array, a Graph or a function of i and j."""
    n, line = seen.n_tokens, head if seen.heads > 1 else 0
    part = slice(seen.starts[line * n], seen.starts[(line + 1) * n])
    i, j = seen.rows[part] - line * n, seen.columns[part]
    if callable(bias):
        found = np.broadcast_to(_called("bias", bias, i, j), i.shape).astype(np.float64)
        _check_finite(found)
        return found
    if isinstance(bias, Graph):
        key, wanted = bias.rows * n + bias.columns, i * n + j
        place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
        there = key[place] == wanted if len(key) else np.zeros(len(wanted), bool)
        return np.where(there, bias.values[place] if len(key) else 0.0, 0.0)
    return np.asarray((bias[head] if bias.ndim == 3 else bias)[i, j])


def _rows_of(n: int) -> Iterator[int]:
    """How many rows a function is asked about at a time."""
    step = max(1, BLOCK // n)
    for first in range(0, n, step):
        yield min(step, n - first)


def _asked(name: str, function: Callable[[Any, Any], Any], n: int) -> Iterator[Array]:
    """function(i, j) for all pairs of n tokens, some rows at a time."""
    if n * n > MOST_PAIRS:
        advice = "Give the entries as a scipy.sparse array: that takes the time of the entries."
        raise bad(name, f"a function of the {n * n:.1e} pairs of {n} tokens", f"one of up to {MOST_PAIRS:.1e}", advice)
    first, j = 0, np.arange(n)[None]
    for rows in _rows_of(n):
        found = _called(name, function, np.arange(first, first + rows)[:, None], j)
        try:
            yield np.broadcast_to(found, (rows, n))
        except ValueError:
            raise bad(name, f"a function with values of shape {found.shape}", f"({rows}, {n}), as i and j have together") from None
        first += rows


def _called(name: str, function: Callable[[Any, Any], Any], i: Index, j: Index) -> Array:
    """function(i, j) of whole arrays; of a mask it must be True or False."""
    advice = "It is called with arrays: write (i >= j) & (i - j < 5), numpy.where(...), not `and`, `or`, `if`."
    try:
        found = numbers(function(i, j))
    except Exception as error:
        told = f"a function that raises {type(error).__name__}: {str(error)[:80]}"
        raise bad(name, told, "a function f(i, j) of arrays of indices", advice) from error
    if np.isnan(found).any():
        raise bad(name, "a function that gives nan or no numbers", "True or False" if name == "mask" else "numbers", advice)
    if name == "mask" and not np.isin(found, (0, 1)).all():
        raise bad(name, "a function with other values than True and False", "True or False", advice)
    return found
