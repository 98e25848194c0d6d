"""The strict run.toml. The flags of the command line build the same dictionary, so there is one way to a run.

    [model]                       # keywords of flock.Model
    dim = 2
    beta = 64.0                                          # inf is hardmax
    mask = {window = 16, causal = true}                  # or "causal", "full", "window:16", rows of 0 and 1; also
                                                         # dilated, blocks, prefix, sink, random: "sink:16,sinks=4";
                                                         # an expression: "(i - j) % 2 == 0"
    value = {family = "diagonal", values = [1.0, 0.5]}   # or "diag:1,0.5", rows of numbers, {file = "v.npy"}
    query = ["ginibre:1", "ginibre:2"]                   # a list of matrices: one for each head
                                                         # query, key, value and beta may change with time:
                                                         # {redrawn = "ginibre", every = 1.0}, {of_t = "1 + t"}
                                                         # {knots = [0, 5], values = [1, 9], kind = "linear"}
    bias = {slope = 0.1}                                 # or rows of numbers, or "-0.1 * abs(i - j)"
    kernel = "sigmoid:bias=-3"                           # or "relu", or an expression "exp(-distance**2)"
    normaliser = "count"                                 # or "sink:1.5", "count:own=false", {kind = "l2"}
    layer_norm = {kind = "mix", switch = 2.0}            # or "pre", "mix:2"
    feedforward = {w = [[1.0, 0.0], [0.0, 1.0]], activation = "tanh"}
    frozen = {tokens = [[1.0, 0.0]], weights = [2.0]}
    masses = [1.0, 2.0]                                  # how often each token counts; or rows, or {file = "m.npy"}

    [start]                       # keywords of a function of tokenflock.start; or only file = "x.npy" or array = [[..]]
    kind = "uniform"
    n_tokens = 200
    seed = 0
    runs = 10                     # left out: a single run

    [simulate]                    # keywords of flock.simulate
    t_end = 150.0                 # inf: until all tokens have met, or nothing moves any more
    times = "log:0.01:200"        # 0 and 200 times in equal ratios from 0.01 to t_end; or a number of times, or a list

Files are looked for beside the run.toml. A name may carry its keywords in a string, as in "cap:angle=0.3": what has no
key= belongs to the first keyword of its own ("ginibre:7" has seed 7, "diag:1,0.5" these values). A model
without frozen tokens may have positions: position = {base = 100.0, fraction = 0.5}, rotary, or {vectors = [[..]]}.
"""

from __future__ import annotations

import inspect
import math
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tokenflock.common_noise import CommonNoise
from tokenflock.errors import FileError, SpecError, TokenflockError, bad, clash, unknown
from tokenflock.geometry import Array
from tokenflock.graphs import is_text_of_function
from tokenflock.groups import Groups
from tokenflock.interaction import NAMED, NORMALISERS, Kernel, Normaliser
from tokenflock.masks import WORDS
from tokenflock.model import Model
from tokenflock.options import Alibi, FeedForward, Frozen, LayerNorm
from tokenflock.positions import Absolute, Rope
from tokenflock.request import default_times, finite_end
from tokenflock.rules import MASKS
from tokenflock.start import STARTS
from tokenflock.varying import is_table, of_table
from tokenflock.weights import FAMILIES, PAPER_B

T = TypeVar("T")
SECTIONS = ("model", "start", "simulate")
SIMULATE = ("t_end", "times", "scheme", "rtol", "atol", "dt", "engine", "dtype", "seed")
NUMBERS = ("beta", "noise", "t_end", "rtol", "atol", "dt")
TEXTS = ("space", "scheme", "engine", "dtype")
LISTS = ("values", "eigenvalues", "center")  # keywords that stay a list with one number in it
SIZES = ("n_tokens", "dim")  # never what a bare number in "name:number" means
PARTS = {"feedforward": FeedForward, "frozen": Frozen, "groups": Groups, "common_noise": CommonNoise}
ARRAYS = ("w", "a", "b", "tokens", "weights", "vectors")  # of the parts


def read(path: Path) -> tuple[Model, Array, dict[str, Any]]:
    """A run.toml as what flock.simulate takes: the model, the start, and the keywords."""
    if path.suffix in (".zarr", ".nc"):
        raise FileError(f"{str(path)!r} is a saved run, not a run.toml. Repeat it with --again {path}")
    return build(parse(path, "simulate"), path.parent)


def parse(path: Path, verb: str) -> dict[str, Any]:
    """A TOML file as it stands. verb: the command whose --help shows such a file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        advice = f"Give the name of a {'run' if verb == 'simulate' else verb}.toml."
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror}. {advice}") from error
    except ValueError as error:  # not TOML, or not even text
        raise SpecError(f"{str(path)!r} is not valid TOML: {error}. `tokenflock {verb} --help` shows one.") from error


def build(raw: Mapping[str, Any], folder: Path = Path()) -> tuple[Model, Array, dict[str, Any]]:
    """The model, the start and the keywords of simulate; unknown keys are refused. folder: where files are."""
    check(raw)
    model = model_of(raw["model"], folder)
    return model, start_of(raw["start"], model.dim, folder), keywords_of(raw["simulate"])


def check(raw: Mapping[str, Any]) -> None:
    """Whether the sections are all there, with numbers and names where these belong."""
    known("section", raw, SECTIONS)
    for name in SECTIONS:
        if not isinstance(raw.get(name), Mapping):
            raise SpecError(f"the section [{name}] is missing. A run needs {', '.join(f'[{s}]' for s in SECTIONS)}.")
        for key in raw[name].keys() & {*NUMBERS, *TEXTS}:
            wanted, words = (int | float, "a number") if key in NUMBERS else (str, "a name in quotes")
            if key == "beta" and is_table(raw[name][key]):
                continue
            if isinstance(raw[name][key], bool) or not isinstance(raw[name][key], wanted):
                raise bad(f"[{name}] {key}", raw[name][key], words)


def known(kind: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse the first key that is not one of the names."""
    names = list(names)
    for key in given:
        if key not in names:
            raise unknown(kind, key, names)


def bound(what: str, function: Callable[..., T], given: Mapping[str, Any], **filled: Any) -> Callable[..., T]:
    """function with these keywords, each checked by name. filled: what the function is told from elsewhere."""
    parameters = inspect.signature(function).parameters
    takes = [p for p in parameters if p not in filled]
    known(f"key of {what}", given, takes)
    arguments = {name: value for name, value in filled.items() if name in parameters} | dict(given)
    absent = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
    if absent:
        raise SpecError(f"{what} lacks {' and '.join(absent)}. It takes: {', '.join(takes)}.")

    def called(**more: Any) -> T:
        try:
            return function(**arguments, **more)
        except TokenflockError:
            raise
        except (TypeError, ValueError) as error:
            raise bad(what, dict(given), f"values of the right types ({error})") from error

    return called


def call(what: str, function: Callable[..., T], given: Mapping[str, Any], **filled: Any) -> T:
    """function(**given), each keyword checked by name."""
    return bound(what, function, given, **filled)()


def split(text: str, first: str) -> dict[str, Any]:
    """`1,0.5` or `key=1,other=2`: keywords and values; what comes before any key= belongs to `first`."""
    found: dict[str, list[Any]] = {}
    key = first
    for item in text.split(","):
        left, equals, right = (part.strip() for part in item.partition("="))
        key = left if equals else key
        found.setdefault(key, []).append(plain(right if equals else left))
    return {name: values if len(values) > 1 or name in LISTS else values[0] for name, values in found.items()}


def plain(text: str) -> Any:
    """A word of the command line as the number, the true or the false that it looks like, else as it is."""
    for kind in (int, float, {"true": True, "false": False}.__getitem__):
        try:
            return kind(text)
        except (ValueError, KeyError):
            continue
    return text


def named(
    what: str, table: Mapping[str, Any], key: str, functions: Mapping[str, Callable[..., Array]]
) -> tuple[str, dict[str, Any]]:
    """The function that table[key] names, as `name` or `name:keywords`; and its keywords, the rest of the table too."""
    if not isinstance(table.get(key), str):
        raise bad(what, table.get(key), f"a name in quotes, one of {', '.join(functions)}")
    name, colon, words = table[key].partition(":")
    if name not in functions:
        raise unknown(what, name, functions)
    own = [p for p in inspect.signature(functions[name]).parameters if p not in SIZES]
    if colon and not own:
        raise bad(what, table[key], f"{name!r} without a colon", "It has nothing to set.")
    said = split(words, own[0]) if colon else {}
    rest = {k: v for k, v in table.items() if k != key}
    for twice in said.keys() & rest.keys():
        raise clash(f"{what} {table[key]!r}", f"{twice} = {rest[twice]!r}", f"Say {twice} once.")
    return name, said | rest


def _named(
    what: str, table: Mapping[str, Any], key: str, functions: Mapping[str, Callable[..., Array]], **filled: Any
) -> Callable[..., Array]:
    """The function that table[key] names, with its keywords."""
    name, keywords = named(what, table, key, functions)
    return bound(f"{what} {name!r}", functions[name], keywords, **filled)


def array_in(name: str, file: Any, folder: Path) -> Array:
    """The array in a .npy file. name: what it is for."""
    path = folder / str(file)
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{name}: {str(path)!r} cannot be read as .npy: {error}. Make it with numpy.save.") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise FileError(f"{name}: {str(path)!r} does not hold one array of real numbers. Make it with numpy.save.")
    return array


def _numbers(name: str, given: Any) -> Array:
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad(name, given, "rows of numbers of equal length") from error


MATRICES: dict[str, Callable[..., Array]] = {"diag": FAMILIES["diagonal"], **FAMILIES}
MATRICES |= {name: partial(_numbers, name, matrix) for name, matrix in PAPER_B.items()}


def _matrix(name: str, given: Any, dim: int, folder: Path) -> Array:
    """Rows of numbers, a family as a table or a string, a .npy file, or a list of such with one for each head."""
    if isinstance(given, list) and any(isinstance(head, str | Mapping) for head in given):
        heads = [_matrix(f"{name}[{k}]", head, dim, folder) for k, head in enumerate(given)]
        if len({head.shape for head in heads}) > 1:
            raise bad(name, [head.shape for head in heads], "heads of one shape")
        return np.stack(heads)
    if isinstance(given, str):
        given = {"file" if given.endswith(".npy") else "family": given}
    if not isinstance(given, Mapping):
        return _numbers(name, given)
    if "file" in given:
        known(f"key of {name} with a file", given, ["file"])
        return array_in(name, given["file"], folder)
    return _named(f"{name} family", given, "family", MATRICES, dim=dim)()


def _family(what: str, text: str) -> tuple[Callable[..., Array], dict[str, Any]]:
    """A family of flock.weights that is drawn anew, and its keywords."""
    name, keywords = named(what, {"family": text}, "family", FAMILIES)
    return FAMILIES[name], keywords


def _masses(given: Any, folder: Path) -> Array:
    """Numbers, rows of them, or a .npy file."""
    given = {"file": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping):
        return _numbers("masses", given)
    known("key of masses", given, ["file"])
    return array_in("masses", given.get("file"), folder)


def _mask(given: Any, folder: Path) -> Any:
    """A name, a family as a text or a table, rows of 0 and 1, or a .npy file with them."""
    word, colon, words = given.partition(":") if isinstance(given, str) else ("", "", "")
    if word.endswith(".npy"):
        given = {"file": given}
    elif colon and word in WORDS:
        given = split(words, word)
    elif isinstance(given, str) and given not in MASKS and not is_text_of_function(given):
        raise unknown("mask", given, [*MASKS, *(f"{word}:W" for word in WORDS)])
    if not isinstance(given, Mapping):
        return given
    if "file" in given:
        known("key of mask with a file", given, ["file"])
        return array_in("mask", given["file"], folder)
    word = next((word for word in WORDS if word in given), "")
    if not word:
        raise unknown("key of mask", next(iter(given), ""), WORDS)
    first, *others = WORDS[word].__dataclass_fields__
    known("key of mask", given, (word, *others))
    if not isinstance(given.get("causal", True), bool):
        raise bad("mask causal", given["causal"], "true or false")
    return call("mask", WORDS[word], {first if key == word else key: value for key, value in given.items()})


def _bias(given: Any, folder: Path) -> Any:
    """A table {slope}, rows of numbers, or a .npy file with them."""
    if isinstance(given, str) and given.endswith(".npy"):
        given = {"file": given}
    if isinstance(given, Mapping) and "file" in given:
        known("key of bias with a file", given, ["file"])
        return array_in("bias", given["file"], folder)
    return call("bias", Alibi, given) if isinstance(given, Mapping) and "source" not in given else given


def _layer_norm(given: Any) -> LayerNorm:
    if isinstance(given, LayerNorm):
        return given
    if isinstance(given, str):
        kind, colon, words = given.partition(":")
        given = {"kind": kind} | (split(words, "switch") if colon else {})
    return call("layer_norm", LayerNorm, given if isinstance(given, Mapping) else {"kind": given})


def _kernel(given: Any) -> Any:
    """A name as "sigmoid:bias=-3", an expression such as "exp(-distance**2)", or a table."""
    if isinstance(given, str):
        name, colon, words = given.partition(":")
        if name not in NAMED or not colon:
            return given
        numbers = NAMED[name].numbers
        if not numbers:
            raise bad("kernel", given, f"{name!r} without a colon", "It has nothing to set.")
        given = {"function": name} | split(words, next(iter(numbers)))
    if isinstance(given, Mapping):
        if not isinstance(given.get("function"), str):
            raise bad("kernel", dict(given), "a table with function = a name or an expression in quotes")
        return Kernel(given["function"], **{key: value for key, value in given.items() if key != "function"})
    return given


def _normaliser(given: Any) -> Any:
    """A name, "sink:1.5", "count:own=false", or a table."""
    if isinstance(given, str):
        kind, colon, words = given.partition(":")
        if not colon or kind not in NORMALISERS:
            return given
        given = {"kind": kind} | split(words, "logit")
    return call("normaliser", Normaliser, given) if isinstance(given, Mapping) else given


def model_of(table: Mapping[str, Any], folder: Path = Path()) -> Model:
    """The section [model]; its values may also be the objects that flock.Model takes."""
    given = dict(table)
    dim = given.get("dim", 0)
    if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
        raise bad("[model] dim", given.get("dim"), "an integer >= 1", "Every model needs its dimension: dim = 2.")
    for name in given.keys() & {"query", "key", "value", "beta"}:
        if is_table(given[name]):
            given[name] = of_table(name, given[name], lambda text: _family(f"{name} family", text))  # noqa: B023
        elif name != "beta":
            given[name] = _matrix(name, given[name], dim, folder)
    if "masses" in given:
        given["masses"] = _masses(given["masses"], folder)
    if "mask" in given:
        given["mask"] = _mask(given["mask"], folder)
    if "bias" in given:
        given["bias"] = _bias(given["bias"], folder)
    place = given.get("position")
    absolute = isinstance(place, Absolute) or (isinstance(place, Mapping) and "vectors" in place)
    parts = PARTS | {"position": Absolute if absolute else Rope}
    for name in given.keys() & parts.keys():
        if isinstance(given[name], parts[name]):
            continue
        if not isinstance(given[name], Mapping):
            raise bad(name, given[name], f"a table of {', '.join(inspect.signature(parts[name]).parameters)}")
        fields = {k: _matrix(f"{name}.{k}", v, dim, folder) if k in ARRAYS else v for k, v in given[name].items()}
        given[name] = call(name, parts[name], fields, varying=None)  # it follows from w, a and b
    readers = {"layer_norm": _layer_norm, "kernel": _kernel, "normaliser": _normaliser}
    for name, made in readers.items():
        if name in given:
            given[name] = made(given[name])
    return call("[model]", Model, given)


def start_of(table: Mapping[str, Any], dim: int, folder: Path = Path()) -> Array:
    """The section [start]."""
    source = next((key for key in ("file", "array") if key in table), None)
    if source is None:
        return starter(table, dim)()
    if others := [key for key in table if key != source]:
        raise clash(f"[start] {source}", " and ".join(others), "It holds the tokens: leave the others out.")
    return array_in("start", table["file"], folder) if source == "file" else _numbers("start", table["array"])


def starter(table: Mapping[str, Any], dim: int) -> Callable[..., Array]:
    """The section [start] as a function of what it leaves open, such as the seed."""
    return _named("start", {"kind": "uniform"} | dict(table), "kind", STARTS, dim=dim)


def keywords_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The section [simulate] as keywords of flock.simulate."""
    known("key of [simulate]", table, SIMULATE)
    if "t_end" not in table:
        raise SpecError("[simulate] lacks t_end, the end of time. Give for example t_end = 150.0.")
    t_end = float(table["t_end"])
    if t_end == math.inf:  # until all tokens have met: the times are made when the end is known
        made = partial(_times, table["times"], long=True) if not isinstance(table.get("times", []), list) else None
        return dict(table) | ({"times": made} if made else {})
    finite_end(table["t_end"])
    times = {"times": _times(table["times"], t_end)} if "times" in table else {}
    return dict(table) | times  # whether such a run can be is for request.py to say


def _times(given: Any, t_end: float, long: bool = False) -> Array:
    if isinstance(given, list):
        return _numbers("times", given)
    match [plain(part) for part in str(given).split(":")]:
        case [int(n)] if long and n >= 3:
            return default_times(t_end, n, long)
        case [int(n)] if n >= 2 and not long:
            return np.linspace(0.0, t_end, n)
        case ["log", int(first) | float(first), int(n)] if 0 < first < t_end and n >= 2:
            return np.concatenate([[0.0], np.geomspace(first, t_end, n)])
    raise bad("times", given, f"a number of times >= 2, a list, or log:FIRST:N with 0 < FIRST < {t_end:g}")
