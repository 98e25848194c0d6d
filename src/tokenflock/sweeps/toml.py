"""The strict sweep.toml: the sections of a run.toml, and with them what changes from run to run.

    [model]                      # as in a run.toml
    dim = 3
    mask = "full"

    [start]
    n_tokens = 32

    [simulate]
    t_end = 50.0
    times = "log:0.01:100"

    [axes]                       # one dimension each
    beta = {log = [1.0, 64.0], points = 13}              # or {linear = [0.0, 9.0], points = 10}, or a list
    value = {family = "ginibre", draws = 20}             # or values by label: {real = "diag:1,1,0.5", ...}

    [record]                     # what to keep of each run: reducers, with their options
    clusters = {}
    coarse = {reducer = "clusters", radius = 0.3}
    merge_times = {}

    [sweep]
    replicates = 100             # runs at every point, each with a seed of its own
    seed = 0
    paired = false               # true: the same seeds at every point
    timeout = 60.0               # seconds a run may take
    hours = 8.0                  # stop cleanly after so long; the same command goes on
    runs_a_shard = 50            # left out: as many as take about a second

Files are looked for beside the sweep.toml, and read once, now.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenflock import spec
from tokenflock.errors import FileError, SpecError, bad, clash
from tokenflock.sweeps.plan import RECORD, Plan

SECTIONS = (*spec.SECTIONS, "axes", "record", "sweep")
PLANNED = ("replicates", "seed", "paired")
EXECUTION = ("timeout", "hours", "runs_a_shard")


def read(path: Path) -> tuple[Plan, dict[str, Any]]:
    """The plan, and the options of its execution in the file: timeout, hours, runs_a_shard."""
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder. Give the name of a sweep.toml; a store is given with --store.")
    return build(spec.parse(path, "sweep"), path.parent)


def build(raw: Mapping[str, Any], folder: Path = Path()) -> tuple[Plan, dict[str, Any]]:
    """The same from a dictionary; unknown keys are refused. folder: where files are."""
    spec.known("section", raw, SECTIONS)
    for name in ("model", "start", "simulate"):
        if not isinstance(raw.get(name), Mapping):
            needed = "[model], [start], [simulate] and [axes]"
            raise SpecError(f"the section [{name}] is missing. A sweep needs {needed}.")
    for name in ("axes", "sweep"):
        if not isinstance(raw.get(name, {}), Mapping):
            raise bad(name, raw[name], f"a section [{name}]")
    control = raw.get("sweep", {})
    spec.known("key of [sweep]", control, (*PLANNED, *EXECUTION, "record"))
    if "record" in control and "record" in raw:
        raise clash("[record]", "record of [sweep]", "Say once what to keep.")
    spec.known("key of [simulate]", raw["simulate"], spec.SIMULATE)
    plan = Plan(
        _loaded(raw["model"], folder, "model"),
        _loaded(raw.get("axes", {}), folder, "axes"),
        start=_loaded(raw["start"], folder, "start"),
        simulate=raw["simulate"],
        record=raw.get("record", control.get("record", list(RECORD))),
        **{key: control[key] for key in PLANNED if key in control},
    )
    return plan, {key: control[key] for key in EXECUTION if key in control}


def _loaded(value: Any, folder: Path, name: str) -> Any:
    """Files as the arrays in them: workers need not find the file, and a file that changes makes another plan."""
    if isinstance(value, Mapping):
        if name == "start" and "file" in value:
            return {k: v for k, v in value.items() if k != "file"} | {
                "array": spec.array_in(name, value["file"], folder)
            }
        if set(value) == {"file"}:
            return spec.array_in(name, value["file"], folder)
        return {key: _loaded(inner, folder, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_loaded(inner, folder, name) for inner in value]
    if isinstance(value, str) and value.endswith(".npy"):
        return spec.array_in(name, value, folder)
    return value
