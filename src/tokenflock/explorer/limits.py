"""What a run of the page may ask of this machine, told from its description alone: nothing is made before.

Every field that can grow has a bound here: tokens, dimensions, heads, frames, the rows of matrices written out, and the
keywords of families and starts, whether they stand in a table or inside of a text as in "uniform:runs=5000".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenflock import spec
from tokenflock.errors import SpecError, bad
from tokenflock.start import STARTS
from tokenflock.varying import is_table
from tokenflock.weights import FAMILIES

FRAMES = 300  # kept times of a run that does not say


@dataclass(frozen=True)
class Limits:
    """What one tab may ask of this machine."""

    tokens: int = 20_000  # that move, or that are frozen
    dim: int = 64
    numbers: int = 400_000  # tokens times dimensions: an engine holds a dozen of such arrays
    heads: int = 8
    hidden: int = 512  # of a feed-forward part
    rows: int = 512  # of a mask or a bias that is written out
    entries: int = 4_000_000  # of a mask that has no intervals
    frames: int = 2_000
    draws: int = 10_000  # in a run, of weights that are drawn anew
    knots: int = 200  # of a weight that changes with time
    changes: int = 40  # on the way of one run
    held_bytes: int = 128 * 2**20  # positions of one run
    evaluation_s: float = 0.6  # of one velocity, estimated
    wall_s: float = 600.0  # of computing for one run
    implicit: int = 1_500  # n (d - 1) of implicit steps where tokens see later ones


def whole(given: Any) -> bool:
    """Whether it is a whole number >= 0 of 31 bits, as all that count something are."""
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**31


def short(given: Any) -> str:
    """What was given, cut."""
    return repr(given)[:60]


def check_description(raw: Mapping[str, Mapping[str, Any]], limits: Limits) -> None:
    """Refuse a run that would be too large, by the first field that makes it so. raw: its three sections."""
    _no_files(raw)
    _bounded("[model] dim", raw["model"].get("dim"), limits.dim, "The explorer is for looking: use flock.simulate.")
    _check_model(raw["model"], limits)
    _check_start(raw["start"], limits)
    _check_simulate(raw["simulate"], limits)
    dim, n_tokens = raw["model"].get("dim", 1), _n_tokens(raw["start"])
    if whole(dim) and n_tokens * dim > limits.numbers:
        advice = "Take fewer tokens, or use flock.simulate."
        raise bad("[start] n_tokens", n_tokens, f"at most {limits.numbers // dim} in {dim} dimensions", advice)


def _no_files(item: Any) -> None:
    if (isinstance(item, Mapping) and "file" in item) or (isinstance(item, str) and item.endswith(".npy")):
        raise SpecError("a page cannot read files. Give the numbers themselves, or a family of matrices.")
    if isinstance(item, Mapping | list):
        for inner in item.values() if isinstance(item, Mapping) else item:
            _no_files(inner)


def _bounded(name: str, given: Any, most: int, advice: str) -> None:
    if given is not None and not (whole(given) and 1 <= given <= most):
        raise bad(name, given, f"a whole number from 1 to {most}", advice)


def _check_model(table: Mapping[str, Any], limits: Limits) -> None:
    heads, dim, hidden, tokens = limits.heads, limits.dim, limits.hidden, limits.tokens
    for name in ("query", "key", "value", "beta"):
        if is_table(table.get(name)):
            _check_changes(name, table[name], limits)
        elif name != "beta":
            _check_matrix(name, table.get(name), (heads, dim, dim), limits)
    for name in ("mask", "bias"):
        if isinstance(table.get(name), list):
            _check_numbers(name, table[name], (heads, limits.rows, limits.rows))
    parts = {"feedforward": {"w": (dim, hidden), "a": (hidden, dim), "b": (hidden,)}}
    parts["frozen"] = {"tokens": (tokens, dim), "weights": (tokens,)}
    for part, fields in parts.items():
        given = table.get(part)
        if isinstance(given, Mapping):
            for key, most in fields.items():
                _check_matrix(f"{part}.{key}", given.get(key), most, limits)


def _check_changes(name: str, table: Mapping[str, Any], limits: Limits) -> None:
    """Of a weight that changes with time: knots, values, a family."""
    _check_numbers(f"{name}.knots", table.get("knots", 0), (limits.knots,))
    _check_numbers(f"{name}.values", table.get("values", 0), (limits.knots, limits.heads, limits.dim, limits.dim))
    if "redrawn" in table:
        _check_keywords(spec.named(f"{name} family", table, "redrawn", FAMILIES)[1], limits)
        _bounded(f"{name}.heads", table.get("heads"), limits.heads, "Take fewer heads.")


def _check_matrix(name: str, given: Any, most: tuple[int, ...], limits: Limits) -> None:
    """Numbers, a family, or a list with such of each head. most: of numbers along each axis, the last ones if fewer."""
    if isinstance(given, str):
        given = {"family": given}
    if isinstance(given, Mapping):
        return _check_keywords(spec.named(f"{name} family", given, "family", spec.MATRICES)[1], limits)
    if isinstance(given, list) and any(isinstance(head, str | Mapping) for head in given):
        if len(given) > limits.heads:
            raise bad("heads", len(given), f"at most {limits.heads}")
        for k, head in enumerate(given):
            _check_matrix(f"{name}[{k}]", head if isinstance(head, str | Mapping) else [head], (1, *most[-2:]), limits)
        return None
    return _check_numbers(name, given, most)


def _check_keywords(keywords: Mapping[str, Any], limits: Limits) -> None:
    """Of a family or a start: no list is longer than a token, so that no matrix is larger than a model's."""
    for key, value in keywords.items():
        _check_numbers(key, value, (limits.dim,))


def _check_numbers(name: str, given: Any, most: tuple[int, ...]) -> None:
    """Lists of lists of numbers, as deep as there are axes at most."""
    depth, level = 0, [given]
    sizes = []
    while lists := [item for item in level if isinstance(item, list)]:
        level = [inner for item in lists for inner in item]
        sizes.append(max(map(len, lists)))
        depth += 1
        if depth > len(most) or (lists and any(isinstance(item, str | Mapping) for item in level)):
            raise bad(name, short(given), f"rows of numbers with at most {len(most)} axes")
    for size, bound in zip(sizes, most[len(most) - depth :], strict=True):
        if size > bound:
            words = " x ".join(map(str, most[len(most) - depth :]))
            raise bad(name, f"{' x '.join(map(str, sizes))} numbers", f"at most {words}", "Make the run smaller.")


def _n_tokens(table: Mapping[str, Any]) -> int:
    """Of a section [start] that was checked; what is written out is short, and counts as nothing."""
    if "array" in table:
        return 0
    n_tokens: int = spec.named("start", {"kind": "uniform"} | dict(table), "kind", STARTS)[1]["n_tokens"]
    return n_tokens


def _check_start(table: Mapping[str, Any], limits: Limits) -> None:
    if "array" in table:
        return _check_numbers("[start] array", table["array"], (limits.tokens, limits.dim))
    _, keywords = spec.named("start", {"kind": "uniform"} | dict(table), "kind", STARTS)
    if "n_tokens" not in keywords:
        raise SpecError("[start] lacks n_tokens, the number of tokens. Give for example n_tokens = 64.")
    advice = "Take fewer tokens, or use flock.simulate."
    if not whole(keywords["n_tokens"]):
        raise bad("[start] n_tokens", keywords["n_tokens"], f"a whole number from 1 to {limits.tokens}", advice)
    _bounded("[start] n_tokens", keywords["n_tokens"], limits.tokens, advice)
    if "runs" in keywords:
        raise SpecError("a page shows one run: leave runs out of [start]. Ensembles are for flock.simulate.")
    for key in ("seed", "n_clusters"):
        if key in keywords and not whole(keywords[key]):
            raise bad(f"[start] {key}", keywords[key], "a whole number >= 0")
    return _check_keywords(keywords, limits)


def _check_simulate(table: Mapping[str, Any], limits: Limits) -> None:
    if table.get("dtype") == "float32":
        raise bad("dtype", table["dtype"], "float64", "The page shows single precision of double runs.")
    times = table.get("times", FRAMES)
    count = len(times) if isinstance(times, list) else spec.plain(str(times).split(":")[-1])
    if not (whole(count) and 2 <= count <= limits.frames):
        raise bad("times", short(times), f"2 to {limits.frames} frames: a number, a list, or log:FIRST:N")
    t_end = table.get("t_end")
    if isinstance(t_end, int | float) and t_end > 1e300:
        raise bad("t_end", t_end, "a finite number > 0, up to 1e300")
