"""Hidden states as other libraries keep them: a layer after the other in a list, by name in a cache, or in a file.

    an array                   (layers, tokens, dim), or (texts, layers, tokens, dim); numpy, torch, anything like them
    a list of layers           each (tokens, dim) or (texts, tokens, dim): output_hidden_states of transformers, what
                               nnsight saves; of a batch with one text that text is taken
    an output of transformers  its hidden_states, and attentions if there are any
    a cache                    layers by name: that of TransformerLens, a dictionary of one's own
    .npy .npz .safetensors .pt all of this in a file

In a cache names that differ in one number are layers. Where there are several kinds, `part` says which, with {} for the
number: part="blocks.{}.hook_resid_mid".
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tokenflock.arguments import path as a_path
from tokenflock.errors import FileError, SpecError, bad
from tokenflock.geometry import Array
from tokenflock.networks import tensors

SUFFIXES = (".npy", ".npz", ".safetensors", ".pt", ".pth")
#: what a cache may hold besides its layers, or its layers in one: names that stand for them
WHOLE = ("x", "hidden_states", "hidden", "states", "activations")
BESIDE = ("words", "layers", "times", "attention", "attentions")
#: layers by name, in the order in which they are looked for: what every layer reads, and what the last one leaves
READS = {
    "blocks.{}.hook_resid_pre": "blocks.{}.hook_resid_post",  # TransformerLens
    "blocks.{}.hook_in": "blocks.{}.hook_out",  # its bridge to transformers
}
#: what every layer leaves, and what the first one read
LEAVES = {"blocks.{}.hook_resid_post": "blocks.0.hook_resid_pre", "blocks.{}.hook_out": "blocks.0.hook_in"}
PATTERNS = ("blocks.{}.attn.hook_pattern", "blocks.{}.attn.hook_attention_weights")
WANTED = "(layers, tokens, dim), or (texts, layers, tokens, dim)"
MOST_NAMED = 6  # kinds of names that an error lists


class States(NamedTuple):
    """What was found: positions (layers, n, d) or (texts, layers, n, d), and what stood beside them."""

    x: Array
    layers: Any = None
    attention: Array | None = None
    words: Any = None
    times: Any = None


def collect(given: Any, part: str = "") -> States:
    """Hidden states out of whatever holds them."""
    if isinstance(given, str | Path):
        given = read(given)
    if hasattr(given, "data_vars"):
        raise bad("x", given, f"numbers {WANTED}", "A trajectory is ready as it is; of another Dataset give an array.")
    if not isinstance(given, Mapping) and hasattr(given, "hidden_states"):
        given = {name: getattr(given, name, None) for name in ("hidden_states", "attentions")}
    if hasattr(given, "keys") and hasattr(given, "__getitem__"):
        return _of_cache({str(name): name for name in given.keys()}, given, part)  # noqa: SIM118 (a cache of others)
    if part:
        raise bad("part", part, "nothing, for states that have no names", "It chooses among the entries of a cache.")
    if isinstance(given, list | tuple) and given and np.ndim(_first(given[0])) in (2, 3):
        return States(_stacked({f"layer {k}": one for k, one in enumerate(given)}))
    return States(number_array(given))


def number_array(given: Any) -> Array:
    """An array of numpy of what a library of tensors holds, whatever its type, device and gradient."""
    found = _first(given)
    if hasattr(found, "detach"):  # torch
        found = found.detach()
        found = found.float() if str(found.dtype) == "torch.bfloat16" else found
        found = found.cpu()
    try:
        array = np.asarray(found)
        return array if array.dtype.kind in "iuf" else np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise bad("x", given, f"numbers {WANTED}", f"They are no array ({error}).".replace("\n", " ")) from error


def _first(given: Any) -> Any:
    """What a library hands out in a wrapping: a value yet to be read, and the first of what a block gives."""
    while True:
        if isinstance(given, tuple) and given and hasattr(given[0], "shape"):
            given = given[0]
        elif type(given).__module__.startswith("nnsight") and hasattr(given, "value"):
            given = given.value
        else:
            return given


def _stacked(layers: Mapping[str, Any]) -> Array:
    """Layers of one shape, in their order: (layers, n, d), or (texts, layers, n, d)."""
    found: list[Array] = []
    for name, one in layers.items():
        array = number_array(one)
        if array.ndim not in (2, 3) or (found and array.shape != found[0].shape):
            wanted = str(found[0].shape) if found else "(tokens, dim), or (texts, tokens, dim)"
            advice = "All layers have one shape. Texts of several lengths: a trajectory each."
            raise bad(f"the shape of {name}", array.shape, wanted, advice)
        found.append(array)
    x = np.stack(found)
    if x.ndim == 4:
        x = x[:, 0] if x.shape[1] == 1 else np.swapaxes(x, 0, 1)
    return x


def _of_cache(names: Mapping[str, Any], cache: Any, part: str) -> States:
    """The hidden states of a cache, by the names of its entries."""
    beside = {name: cache[names[name]] for name in BESIDE if name in names}
    pattern = beside.get("attention", beside.get("attentions"))
    attention = None if pattern is None else _attention(pattern)
    more = {"words": _texts(beside.get("words")), "times": beside.get("times")}
    whole = next((name for name in WHOLE if name in names and not part), None)
    if whole is not None:
        inner = collect(cache[names[whole]])
        layers = _texts(beside.get("layers"))
        return States(
            inner.x,
            inner.layers if layers is None else layers,
            attention if attention is not None else inner.attention,
            **more,
        )
    chosen = _chosen([name for name in names if name not in BESIDE], part, cache, names)
    x = _stacked({name: cache[names[name]] for name in chosen})
    if attention is None and not part:
        attention = _patterns(names, cache, len(x) if x.ndim == 3 else x.shape[1])
    layers = _texts(beside.get("layers"))
    return States(x, chosen if layers is None else layers, attention, **more)


def _texts(given: Any) -> Any | None:
    """Texts of a file: as they are, or in the bytes of their JSON, as safetensors can hold them."""
    if given is None:
        return None
    array = np.asarray(given)
    if array.dtype == np.uint8:
        try:
            return json.loads(array.tobytes().decode())
        except ValueError as error:
            raise FileError(
                f"words or layers are bytes that are no JSON ({error}). Wanted: a list of texts."
            ) from error
    return array.tolist()


def _attention(given: Any) -> Array | None:
    """Weights of attention, (layers, heads, n, n): of one array, or a layer after the other; None of several texts."""
    if isinstance(given, list | tuple):
        given = np.stack([number_array(one) for one in given])
    array = number_array(given)
    if array.ndim == 5:
        return array[:, 0] if array.shape[1] == 1 else None
    return array


def _patterns(names: Mapping[str, Any], cache: Any, n_layers: int) -> Array | None:
    """The weights of attention of a cache of TransformerLens, if it has those of every step from layer to layer."""
    for pattern in PATTERNS:
        found = [pattern.format(l) for l in range(n_layers - 1)]
        if found and all(name in names for name in found):
            return _attention([cache[names[name]] for name in found])
    return None


def _chosen(known: list[str], part: str, cache: Any, names: Mapping[str, Any]) -> list[str]:
    """The names of the layers, in their order."""
    if part:
        if part.count("{}") != 1:
            raise bad("part", part, "a name with {} for the number of the layer", "For example 'blocks.{}.hook_out'.")
        return _numbered(part, known)
    for reads, leaves in READS.items():
        if reads.format(0) in known:
            inner = _numbered(reads, known)
            last = leaves.format(len(inner) - 1)
            return [*inner, last] if last in known else inner
    for leaves, first in LEAVES.items():
        if leaves.format(0) in known:
            return [*([first] if first in known else []), *_numbered(leaves, known)]
    kinds = {kind: found for kind, found in _kinds(known).items() if _is_state(cache, names[found[0]])}
    if len(kinds) == 1:
        return _numbered(next(iter(kinds)), known)
    if not kinds and len(known) == 1:
        return known
    listed = ", ".join(list(kinds or known)[:MOST_NAMED]) + (", ..." if len(kinds or known) > MOST_NAMED else "")
    wanted = f"one array {WANTED} under {WHOLE[0]!r} or {WHOLE[1]!r}, or layers under names with their number"
    if kinds:
        raise SpecError(
            f"the cache holds several kinds of layers: {listed}. Give part, {{}} for the number: "
            f"flock.trajectory(cache, part={next(iter(kinds))!r}); on the command line --part."
        )
    raise SpecError(f"the cache holds no hidden states that can be told by their names: {listed}. Wanted: {wanted}.")


def _numbered(part: str, known: list[str]) -> list[str]:
    """The names of one kind by their numbers, none of which may be missing."""
    before, after = (re.escape(end) for end in part.split("{}"))
    found = {int(m[1]): name for name in known if (m := re.fullmatch(f"{before}([0-9]+){after}", name))}
    if not found:
        raise bad("part", part, "a name of this cache", f"It holds {', '.join(sorted(known)[:MOST_NAMED])}, ...")
    every = range(min(found), max(found) + 1)
    if absent := [part.format(l) for l in every if l not in found]:
        raise SpecError(f"the cache lacks {', '.join(absent[:MOST_NAMED])}. Wanted: every layer. Keep them all.")
    return [found[l] for l in every]


def _kinds(known: list[str]) -> dict[str, list[str]]:
    """Names that differ in one number, by what they have in common; a name counts to the largest of its kinds."""
    of: dict[str, list[str]] = {}
    for name in known:
        for match in re.finditer("[0-9]+", name):
            of.setdefault(f"{name[: match.start()]}{{}}{name[match.end() :]}", []).append(name)
    best = {
        name: max((kind for kind in of if name in of[kind]), key=lambda kind: len(of[kind]), default="")
        for name in known
    }
    return {kind: found for kind, found in of.items() if any(best[name] == kind for name in found)}


def _is_state(cache: Any, name: Any) -> bool:
    """Whether an entry has the axes of hidden states: (tokens, dim) or (texts, tokens, dim)."""
    shape = cache.shape(name) if isinstance(cache, tensors.Tensors) else np.shape(_first(cache[name]))
    return len(shape) in (2, 3)


def read(path: str | Path) -> Any:
    """What a file holds: an array, or arrays by their names."""
    file = a_path("path", path)
    if file.suffix not in SUFFIXES:
        raise FileError(f"{str(file)!r} is no file of hidden states. Allowed: names ending in {', '.join(SUFFIXES)}.")
    if not file.is_file():
        raise FileError(f"{str(file)!r} is not there, or no file. Give the file of a cache.")
    if file.suffix in (".npy", ".npz"):
        try:
            if file.suffix == ".npy":
                return np.load(file, mmap_mode="r", allow_pickle=False)
            with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
            why = (
                "it holds Python objects, which are never run"
                if "ickle" in str(error) or "objects" in str(error)
                else str(error)
            )
            raise FileError(f"{str(file)!r} cannot be read: {why}. Write it again, with arrays of numbers.") from error
    return tensors.read(file)
