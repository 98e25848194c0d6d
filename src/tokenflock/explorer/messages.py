"""What a page may ask for: every message checked by name, type and size before anything is computed.

A run is asked for as the dictionary that a run.toml holds (tokenflock.spec), with three differences: nothing may name a
file, beta may be "inf", and `then` lists changes on the way, each a model and its [simulate] from a frame on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tokenflock import spec
from tokenflock.engine.choose import engine_named
from tokenflock.errors import SpecError, bad, unknown
from tokenflock.explorer.limits import FRAMES, Limits, check_description, short, whole
from tokenflock.geometry import Array
from tokenflock.masks import is_interval, n_entries
from tokenflock.model import Model
from tokenflock.request import IMPLICIT, Request, default_times, finite_end

MESSAGE_BYTES = 256 * 1024
MOST_NUMBERS = 50_000  # in one message, counting every leaf
MOST_TEXT = 200  # characters of a name
DEEPEST = 12
SECTIONS = ("model", "start", "simulate", "then")


Check = tuple[Callable[[Any], bool], str]  # of a field, and the words for what it must be
SPEC: Check = (lambda v: isinstance(v, Mapping), "a run as in run.toml")
FRAME: Check = (whole, "the number of a frame")
HEAD: Check = (lambda v: whole(v) or v == "mean", "the number of a head, or 'mean'")
HOW: Check = (lambda v: v in ("eigenvectors", "principal"), "'eigenvectors' or 'principal'")
NAME: Check = (lambda v: isinstance(v, str) and len(v) <= MOST_TEXT, "the name of a claim")

#: type of message -> its fields; all are required
FIELDS: dict[str, dict[str, Check]] = {
    "start": {"spec": SPEC},
    "steer": {"spec": SPEC, "frame": FRAME},
    "seen": {"run": (whole, "the number of a run"), "frame": FRAME},
    "row": {"frame": FRAME, "token": (whole, "the number of a token"), "head": HEAD},
    "matrix": {"frame": FRAME, "head": HEAD},
    "look": {"how": HOW, "frame": FRAME},
    "statement": {"name": NAME},
    "pause": {"on": (lambda v: isinstance(v, bool), "true or false")},
}


def parse(text: Any) -> dict[str, Any]:
    """One message as a dictionary; anything else is refused with the reason."""
    if not isinstance(text, str):
        raise bad("message", type(text).__name__, "JSON text", "The page sends no binary messages.")
    if len(text) > MESSAGE_BYTES:
        raise bad("message", f"{len(text)} characters", f"at most {MESSAGE_BYTES}", "Make the run smaller.")
    try:
        message = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise bad("message", text[:40], "JSON", f"It cannot be read ({type(error).__name__}).") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise bad("message", text[:40], "an object with a type", f"Known types: {', '.join(FIELDS)}.")
    kind = message["type"]
    if kind not in FIELDS:
        raise unknown("type of message", kind[:MOST_TEXT], FIELDS)
    fields = FIELDS[kind]
    spec.known(f"key of message {kind!r}", (key[:MOST_TEXT] for key in message if key != "type"), fields)
    for key, (fits, words) in fields.items():
        if key not in message:
            raise SpecError(f"the message {kind!r} lacks {key}. Give {words}.")
        if not fits(message[key]):
            raise bad(f"{kind}.{key}", short(message[key]), words)
    _check_leaves(message)
    return message


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _check_leaves(message: Any) -> None:
    """No deep nesting, no long names, no numbers beyond float64, and not too many of anything."""
    level, count = [message], 0
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str) and len(item) > MOST_TEXT:
                raise bad("a text of the message", f"{item[:20]!r}...", f"at most {MOST_TEXT} characters")
            elif isinstance(item, int | float) and not abs(item) < 1e300:
                raise bad("a number of the message", short(item), "numbers below 1e300", 'Hardmax is beta = "inf".')
            count += 1
        if count > MOST_NUMBERS:
            raise bad("message", f"more than {MOST_NUMBERS} numbers", "fewer", "Make the run smaller.")
        if not below:
            return
        level = below
    raise bad("message", "deeply nested lists", f"at most {DEEPEST} levels")


@dataclass(frozen=True)
class CheckedRun:
    """A run that may be computed: what simulate takes, from the checked dictionary."""

    spec: dict[str, Any]
    model: Model
    start: Array
    options: dict[str, Any]  # keywords of simulate, times among them


def check_run(given: Mapping[str, Any], limits: Limits, start: Array | None = None) -> CheckedRun:
    """The run that a dictionary describes, if it is within the limits. `then` is left in its spec, unchecked.

    start: the tokens themselves, where another run of the same [start] has made them.
    """
    spec.known("section", given, SECTIONS)
    _check_leaves(given)
    raw: dict[str, dict[str, Any]] = {}
    for name in SECTIONS[:3]:
        if not isinstance(given.get(name), Mapping):
            raise SpecError(f"the section [{name}] is missing. A run has model, start and simulate.")
        raw[name] = dict(given[name])
    check_description(raw, limits)
    if raw["model"].get("beta") == "inf":
        raw["model"]["beta"] = math.inf
    layers = raw["simulate"].get("scheme") == "layers"
    wanted = raw["simulate"].pop("times", FRAMES) if layers else None
    spec.check(raw)
    model, options = spec.model_of(raw["model"]), spec.keywords_of(raw["simulate"])
    if layers:
        options["times"] = _layers(options, wanted)
    elif "times" not in options:
        options["times"] = default_times(finite_end(options["t_end"]), FRAMES, options.get("scheme") == IMPLICIT)
    made = spec.start_of(raw["start"], model.dim) if start is None else start
    if made.ndim != 2:
        raise bad("[start]", f"tokens of shape {made.shape}", "one run, of shape (n, d)")
    checked = CheckedRun(json.loads(json.dumps(dict(given))), model, made, options)
    _check_cost(checked, limits)
    return checked


def _layers(options: dict[str, Any], wanted: Any) -> Array:
    """Multiples of dt, about as many as wanted: layers have no time between."""
    import numpy as np

    dt, t_end = options.get("dt"), float(options["t_end"])
    if not isinstance(dt, int | float) or isinstance(dt, bool) or not 0 < dt <= t_end:
        raise bad("dt", dt, f"a step > 0, up to t_end = {t_end:g}, for scheme='layers'", "Give dt, for example 0.1.")
    last = min(math.floor(t_end / dt * (1 + 1e-12)), 10**7)
    count = wanted if isinstance(wanted, int) else FRAMES
    return dt * np.unique(np.round(np.linspace(0, last, count)))


def _check_cost(checked: CheckedRun, limits: Limits) -> None:
    """One velocity, and all positions of the run: what is too much is refused before the first step."""
    model, (n, d) = checked.model, checked.start.shape
    request = Request(model, **checked.options)
    frames = len(request.kept)
    if frames > limits.frames:
        raise bad("times", f"{frames} frames", f"at most {limits.frames}", "Keep fewer times.")
    held = 8 * n * (d + 1) * frames
    if held > limits.held_bytes:
        most = max(2, int(limits.held_bytes / (8 * n * (d + 1))))
        given = f"{frames} frames of {n} tokens in {d} dimensions: {held / 2**20:.0f} MB"
        raise bad("times", given, f"at most {limits.held_bytes / 2**20:.0f} MB", f"Keep {most} frames or fewer.")
    if (seen := n_entries(model.mask, n)) > limits.entries and not is_interval(model.mask):
        raise bad("mask", f"one with about {seen:.1e} entries", f"at most {limits.entries:.0e}", "Take a sparser one.")
    cost = engine_named("reference" if request.engine == "reference" else "cpu").evaluation_s(model, n)
    if cost > limits.evaluation_s:
        given = f"{n} tokens in {d} dimensions, about {cost:.2g} s for one velocity"
        raise bad("cost", given, f"at most {limits.evaluation_s:g} s", "Take fewer tokens or a smaller dim.")
    for name, one in (model.varying or {}).items():
        if len(list(islice(one.changes(float(request.kept[-1])), limits.draws + 1))) > limits.draws:
            raise bad(name, "weights that change too often", f"at most {limits.draws} changes", "Raise every.")
    if request.scheme == "rosenbrock" and model.mask != "causal" and n * (d - 1) > limits.implicit:
        given = f"implicit steps of {n * (d - 1)} unknowns"
        raise bad("scheme", given, f"at most {limits.implicit} where tokens see later ones", "Use scheme='auto'.")
