"""How to repeat a run outside the page: a run.toml, and the lines of Python that say the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]


def of(spec: Spec) -> dict[str, str]:
    """The run.toml and the lines of Python, as texts."""
    return {"toml": toml(spec), "python": python(spec)}


def _value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == "inf" or (isinstance(value, float) and math.isinf(value)):
        return "inf"
    if isinstance(value, float):
        text = repr(value)
        return text if any(mark in text for mark in ".en") else f"{text}.0"
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)  # TOML's basic strings are JSON's
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_value(item) for item in value) + "]"


def toml(spec: Spec) -> str:
    """The run.toml; changes on the way have no place in one, and a comment says so."""
    lines = []
    if spec.get("then"):
        lines.append("# The run up to its first change on the way; the Python lines repeat all of it.")
    for section in ("model", "start", "simulate"):
        lines.append(f"[{section}]")
        lines += [f"{key} = {_value(value)}" for key, value in dict(spec[section]).items()]
        lines.append("")
    return "\n".join(lines)


def python(spec: Spec) -> str:
    """Lines of Python that repeat the run and its changes on the way."""
    lines = ["import tomllib", "import tokenflock as flock", "from tokenflock import spec", ""]
    lines += [f'RUN = """\n{toml({key: value for key, value in spec.items() if key != "then"})}"""']
    lines += ["model, start, options = spec.build(tomllib.loads(RUN))"]
    lines += ["run = flock.simulate(model, start, **options)"]
    for k, change in enumerate(spec.get("then") or [], start=1):
        text = toml({"model": change["model"], "start": spec["start"], "simulate": change["simulate"]})
        here = change["at"] if k == 1 else change["at"] - spec["then"][k - 2]["at"]
        lines += ["", f"# From frame {change['at']} on with another model.", f'THEN = """\n{text}"""']
        lines += ["model, _, options = spec.build(tomllib.loads(THEN))"]
        lines += [f'run = flock.simulate(model, run["x"].values[{here}], **options)']
    return "\n".join(lines) + "\n"
