"""Groups: tokens of several kinds, each with its own Q, K, V and beta, and who sees whom. Checked when made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenflock.arguments import named, numbers, whole_numbers
from tokenflock.errors import bad, unknown
from tokenflock.geometry import Array
from tokenflock.options import matrix

MATRICES = ("query", "key", "value")


@dataclass(frozen=True, eq=False)
class Groups:
    """Tokens of several kinds: two species, text and a memory, queries that only look.

    labels: the name of every token's group. sees: {name: the names that it sees}; all see all if left out, and a group
    that sees no name at all rests. beta, query, key, value: {name: its own}, one for every group, in place of the
    model's. Q and beta are those of the token that looks, K and V those of the token that is looked at.
    """

    labels: Any
    sees: Any = None
    beta: Any = None
    query: Any = None
    key: Any = None
    value: Any = None
    names: Any = None

    def __post_init__(self) -> None:
        labels, names = _labelled(self.labels, self.names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "sees", _sight(self.sees, names))
        if self.beta is not None:
            object.__setattr__(self, "beta", matrix("Groups.beta", _of_each("beta", self.beta, names), (len(names),)))
        for name in MATRICES:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _stack(name, getattr(self, name), names))

    def matrices(self, name: str) -> Array | None:
        """Q, K or V of every group, (G, H or 1, rows, d); None where the model's own holds for all."""
        given: Array | None = getattr(self, named("matrix of Groups", name, MATRICES))
        return None if given is None else given.reshape(len(self.names), -1, *given.shape[-2:])

    @property
    def n_tokens(self) -> int:
        """How many tokens there are labels for."""
        return len(self.labels)

    @property
    def counts(self) -> dict[str, int]:
        """How many tokens each group has."""
        return {name: int((self.labels == k).sum()) for k, name in enumerate(self.names)}


def _labelled(labels: Any, names: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels as numbers, and the names that they stand for."""
    advice = 'For example Groups(["text"] * 30 + ["memory"] * 5).'
    if not isinstance(names, list | tuple | None) or (names and not all(isinstance(n, str) for n in names)):
        raise bad("Groups.names", names, "a list of different names, one for each group")
    if isinstance(labels, str | Mapping) or not isinstance(labels, Sequence | np.ndarray) or not len(labels):
        raise bad("Groups.labels", labels, "the name of its group for every token", advice)
    given = [str(label) for label in labels] if names is None else list(names)
    if names is not None and (not given or len(set(given)) < len(given)):
        raise bad("Groups.names", names, "a list of different names, one for each group")
    known = tuple(dict.fromkeys(given))
    if names is None or any(isinstance(label, str) for label in labels):
        if strange := [label for label in labels if str(label) not in known]:
            raise unknown("group", str(strange[0]), known)
        found = np.array([known.index(str(label)) for label in labels])
    else:
        found = whole_numbers("Groups.labels", labels, "names, or whole numbers that stand for the names", advice)
    if found.ndim != 1 or found.min() < 0 or found.max() >= len(known):
        raise bad("Groups.labels", labels, f"one axis of numbers from 0 to {len(known) - 1}", advice)
    if missing := [name for k, name in enumerate(known) if not (found == k).any()]:
        raise bad("Groups.names", missing[0], "names of groups that have tokens", "Leave the empty group out.")
    found = found.astype(np.int64)
    found.setflags(write=False)
    return found, known


def _of_each(what: str, given: Any, names: tuple[str, ...]) -> Any:
    """{name: one} as a list in the order of the names; what is no table stays as it is."""
    if not isinstance(given, Mapping):
        return given
    if strange := [name for name in given if name not in names]:
        raise unknown(f"group of Groups.{what}", strange[0], names)
    if missing := [name for name in names if name not in given]:
        advice = f"Give {what} for {', '.join(missing)} too: groups share what the model says, or each has its own."
        raise bad(
            f"Groups.{what}", f"one for {', '.join(map(str, given))}", f"one for each of {', '.join(names)}", advice
        )
    return [given[name] for name in names]


def _sight(given: Any, names: tuple[str, ...]) -> np.ndarray:
    """Whether the group of a row sees that of a column, (G, G) of 0 and 1."""
    size = len(names)
    found = np.ones((size, size), dtype=np.int64)
    if isinstance(given, Mapping):
        for row, seen in enumerate(_of_each("sees", given, names)):
            seen = [seen] if isinstance(seen, str) else list(seen) if isinstance(seen, Sequence) else seen
            if not isinstance(seen, list):
                raise bad(
                    f"Groups.sees[{names[row]!r}]", seen, "a list of names of groups", "[] for a group that rests."
                )
            if strange := [name for name in seen if name not in names]:
                raise unknown(f"group that {names[row]!r} sees", str(strange[0]), names)
            found[row] = [name in seen for name in names]
    elif given is not None:
        rows = numbers(given)
        if rows.shape != (size, size) or not np.isin(rows, (0.0, 1.0)).all():
            raise bad("Groups.sees", given, f"{{name: names}}, or ({size}, {size}) of 0 and 1")
        found = rows.astype(np.int64)
    found.setflags(write=False)
    return found


def _stack(what: str, given: Any, names: tuple[str, ...]) -> Array:
    """The matrices of all groups, (G, rows, d) or (G, H, rows, d)."""
    given = _of_each(what, given, names)
    if isinstance(given, list):
        shapes = {name: np.shape(one) for name, one in zip(names, given, strict=False)}
        if len(set(shapes.values())) > 1:
            raise bad(f"Groups.{what}", shapes, "matrices of one shape, with the same heads in every group")
    return matrix(f"Groups.{what}", given, (len(names), *(None,) * (2 if numbers(given).ndim == 3 else 3)))


def split(a: Array, groups: Groups) -> Array:
    """Weights (H, n, n) by the group that is looked at: (H G, n, n), that of head h and group g at h G + g."""
    of = groups.labels == np.arange(len(groups.names))[:, None]  # (G, n)
    parts: Array = a[:, None] * of[:, None, :]
    return parts.reshape(-1, *a.shape[-2:])


def met(groups: Groups | None) -> np.ndarray:
    """Whether the group of row i sees that of token j, (n, n); True without groups."""
    return np.array(True) if groups is None else groups.sees[groups.labels][:, groups.labels] > 0


def heads_in(groups: Groups | None) -> int:
    """H, as the matrices of groups have it; 1 without such an axis."""
    found = [] if groups is None else [groups.matrices(name) for name in MATRICES]
    return max([m.shape[1] for m in found if m is not None], default=1)


def check_groups(groups: Any, width: int, dim: int, heads: int) -> None:
    """Whether queries of so many numbers and tokens of so many coordinates can have these groups."""
    if not isinstance(groups, Groups):
        raise bad("groups", groups, "None or flock.Groups(labels, ...)")
    for name in MATRICES:
        found = groups.matrices(name)
        if found is None:
            continue
        allowed = (dim, dim) if name == "value" else (width, dim)
        if found.shape[-2:] != allowed:
            raise bad(f"Groups.{name}.shape", found.shape[-2:], f"{allowed} for every group")
        if found.shape[1] not in (1, heads):
            raise bad(f"Groups.{name}", f"{found.shape[1]} heads", f"{heads}, as the other matrices have")


def check_rows(groups: Groups, seen: np.ndarray) -> None:
    """Whether every token of a group that looks at all sees somebody. seen: whether row i sees token j, by the mask."""
    lonely = (~(seen & met(groups)).any(axis=-1)).reshape(-1, groups.n_tokens).any(axis=0)  # in any head
    lonely &= (groups.sees[groups.labels] > 0).any(axis=1)
    if lonely.any():
        i = int(np.argmax(lonely))
        name = groups.names[groups.labels[i]]
        given = f"token {i} of group {name!r}, which sees nobody at any time"
        others = [other for other, sight in zip(groups.names, groups.sees[groups.labels[i]], strict=True) if sight]
        advice = f"It looks for {' and '.join(others)}: take mask='full', or let {name!r} see itself; [] makes it rest."
        raise bad("groups", given, "a row with a token in it for everyone", advice)
