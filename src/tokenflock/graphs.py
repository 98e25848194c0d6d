"""Graphs: the rows of a mask or a bias written out, from an array, dense or sparse, or a function of i and j (E19)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import numbers
from tokenflock.errors import SpecError, bad
from tokenflock.functions import Function, own
from tokenflock.geometry import Array

Index = NDArray[np.int64]
BLOCK = 1 << 22  # pairs that a function is asked about at a time
GIVES = "a function that gives"
MOST_PAIRS = 1 << 36  # that it is asked about at all: some minutes


@dataclass(frozen=True, eq=False)
class Graph:
    """Rows written out: row i of head h has the entries starts[h n + i] .. of `columns`, rising; one head serves all.

    Of a bias the entries have values, and all others are 0. source: the function of i and j that it was made by.
    """

    starts: Any
    columns: Any
    values: Any = None
    heads: int = 1
    source: Any = None

    def __post_init__(self) -> None:
        starts, columns = np.array(self.starts, dtype=np.int64), np.array(self.columns, dtype=np.int32)
        n = (len(starts) - 1) // max(self.heads, 1)
        rising = len(starts) > 1 and not starts[0] and (np.diff(starts) >= 0).all() and starts[-1] == len(columns)
        whole_rows = self.heads >= 1 and n * self.heads + 1 == len(starts)
        inside = not len(columns) or (columns.min() >= 0 and columns.max() < n)
        if not (rising and whole_rows and inside):
            raise bad(
                "Graph.starts, Graph.columns",
                "rows that do not fit their entries",
                "those of a mask",
                "Give mask= an array.",
            )
        arrays: dict[str, Any] = {"starts": starts, "columns": columns}
        if self.values is not None:
            arrays["values"] = np.array(self.values, dtype=np.float64)
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if isinstance(self.source, Mapping):
            object.__setattr__(self, "source", _known(self.source))

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
            full[h, self.rows[part] - h * n - first, self.columns[part]] = (
                True if self.values is None else self.values[part]
            )
        return full

    def one_way(self) -> str:
        """Which token does not see itself, or sees one that does not see it; nothing if none."""
        n = self.n_tokens
        head, i = np.divmod(self.rows, n)
        there, back = self.rows * n + self.columns, (head * n + self.columns) * n + i
        single = np.setdiff1d(there, back)
        if single.size:
            return f"token {single[0] // n % n} sees token {single[0] % n}, which does not see it"
        blind = np.setdiff1d(np.arange(self.heads * n), self.rows[self.columns == i])
        return f"token {blind[0] % n} does not see itself" if blind.size else ""

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


def of_array(given: Any) -> Graph:
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
    if isinstance(given, Function | Graph):
        return given
    if callable(given) or isinstance(given, Mapping) or is_text_of_function(given):
        return function_of("bias", given)
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


def _check_finite(array: Array, what: str = "an array with") -> None:
    if np.isnan(array).any():
        raise bad("bias", f"{what} nan", "finite numbers", "Look for a division by zero where it is made.")
    if np.isinf(array).any():
        raise bad("bias", f"{what} inf", "finite numbers", "What no token may see belongs to mask=.")


def check_size(bias: Any, n: int) -> None:
    """Refuse a bias array that is for other numbers of tokens."""
    size = bias.n_tokens if isinstance(bias, Graph) else bias.shape[-1] if isinstance(bias, np.ndarray) else n
    if size != n:
        advice = "Give a row and a column for every token."
        raise bad("bias.shape", getattr(bias, "shape", (size, size)), f"({n}, {n}) for {n} tokens", advice)


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
    check_size(bias, n)
    if isinstance(bias, Graph):
        return bias.dense(first, stop)
    if isinstance(bias, Function):
        bias = np.concatenate(list(_asked("bias", bias, n))).astype(np.float64)
        _check_finite(bias, GIVES)
    return np.reshape(bias, (-1, n, n))[:, first:stop]


def at_entries(bias: Any, seen: Graph, head: int) -> Array:
    """The bias of one head at the entries of that head of a mask: from an array, a Graph or a function of i and j."""
    n, line = seen.n_tokens, head if seen.heads > 1 else 0
    part = slice(seen.starts[line * n], seen.starts[(line + 1) * n])
    i, j = seen.rows[part] - line * n, seen.columns[part]
    if isinstance(bias, Function):
        found = np.broadcast_to(_called("bias", bias, i, j), i.shape).astype(np.float64)
        _check_finite(found, GIVES)
        return found
    if isinstance(bias, Graph):
        first = head * n if bias.heads > 1 else 0
        key, wanted = bias.rows * n + bias.columns, (first + i) * n + j
        place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
        there = key[place] == wanted if len(key) else np.zeros(len(wanted), bool)
        return np.where(there, bias.values[place] if len(key) else 0.0, 0.0)
    return np.asarray((bias[head] if bias.ndim == 3 else bias)[i, j])


def _rows_of(n: int) -> Iterator[int]:
    """How many rows a function is asked about at a time."""
    step = max(1, BLOCK // n)
    for first in range(0, n, step):
        yield min(step, n - first)


def _asked(name: str, function: Function, n: int) -> Iterator[Array]:
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
            raise bad(
                name, f"a function with values of shape {found.shape}", f"({rows}, {n}), as i and j have together"
            ) from None
        first += rows


def _called(name: str, function: Function, i: Index, j: Index) -> Array:
    """function(i, j) of whole arrays; of a mask it must be True or False."""
    advice = "It is called with arrays of indices: (i >= j) & (i - j < 5) for `and`."
    try:
        found = numbers(function(i, j))
    except Exception as error:
        told = f"a function that raises {type(error).__name__}: {str(error)[:80]}"
        raise bad(name, told, "a function f(i, j) of arrays of indices", advice) from error
    if np.isnan(found).any():
        raise bad(
            name, "a function that gives nan or no numbers", "True or False" if name == "mask" else "numbers", advice
        )
    if name == "mask" and not np.isin(found, (0, 1)).all():
        raise bad(name, "a function with other values than True and False", "True or False", advice)
    return found


def function_of(name: str, given: Any) -> Function:
    """A mask or a bias as a function of i and j, from a callable, a text, or what a file kept of one."""
    return own(name, given, ("i", "j"), elementwise=True)


def is_text_of_function(given: Any) -> bool:
    """Whether a text is an expression of i and j, rather than a name."""
    return isinstance(given, str) and re.search(r"\b[ij]\b", given) is not None


def _known(told: Mapping[str, Any]) -> Function | None:
    """The function that made a graph, from a file; None if a file may not bring it. The graph does without."""
    try:
        return function_of("mask", told)
    except SpecError:
        return None


def of_function(function: Function, n: int) -> Graph:
    """The Graph of a mask that is a function of i and j."""
    parts, first = [], 0
    for part in _asked("mask", function, n):
        i, j = np.nonzero(part)
        parts.append((i + first, j))
        first += len(part)
    rows, columns = (np.concatenate(both) for both in zip(*parts, strict=True))
    return replace(entries(n, rows, columns), source=None if function.lost else function)
