"""tokenflock sweep: many runs from a sweep.toml, into a store that the same command goes on with."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenflock.cli import place
from tokenflock.cli.speech import app, say, show, spoken
from tokenflock.errors import SpecError, bad, clash

if TYPE_CHECKING:
    from tokenflock.sweeps.execution import ExecutionOptions
    from tokenflock.sweeps.sweep_store import SweepStore

SWEEP = r"""Run a strict SWEEP.TOML, thousands of runs, into a store. Give the same command again to go on.

Examples:
  tokenflock sweep phase.toml --dry-run
  tokenflock sweep phase.toml --store phase.zarr
  tokenflock sweep phase.toml --store phase.zarr --cluster slurm --workers 64
  tokenflock sweep phase.toml --store phase.zarr --shard 0/8    # job array
  tokenflock sweep --status phase.zarr
  tokenflock sweep --store phase.zarr --export phase.parquet

A SWEEP.TOML has the sections of a run.toml, and what changes from run to run:
  \[model]
  dim = 3
  mask = "full"
  \[start]
  n_tokens = 32
  \[simulate]
  t_end = 50.0
  \[axes]
  beta = {log = \[1.0, 64.0], points = 13}      # or {linear = ...}, or a list
  value = {family = "ginibre", draws = 20}     # or "value.angle" = \[0.1, 0.2]
  \[record]
  clusters = {radius = 0.05}
  energy = {}
  \[sweep]
  replicates = 100
  timeout = 60.0

Nothing that was reported done is lost, whatever is killed; a run that fails
is recorded with its reason and the rest goes on. The bits do not depend on
workers, clusters, crashes or order. Read the store in Python with
flock.sweeps.open_store("phase.zarr").load(), or with xarray.open_zarr."""

CLUSTER = "local, slurm, or the ADDRESS of a Dask scheduler, such as tcp://10.0.0.1:8786."
PANELS = ("What", "How", "Looking at a store", "Output")
_what, _how, _look, _output = (functools.partial(typer.Option, rich_help_panel=panel) for panel in PANELS)


@app.command(help=SWEEP, no_args_is_help=True)
@spoken  # the arguments below are the flags of the command: typer reads them from the signature
def sweep(
    spec: Annotated[Path | None, typer.Argument(metavar="SWEEP.TOML", help="The sweep; or a store to look at.")] = None,
    store: Annotated[Path | None, _what(metavar="DIR", help="The store: a new folder, or one to go on with.")] = None,
    dry_run: Annotated[
        bool, _what("--dry-run", metavar="", help="Time a few runs, tell runs, time and disk, and stop.")
    ] = False,
    cluster: Annotated[str | None, _how(metavar="WHERE", help=CLUSTER)] = None,
    workers: Annotated[int | None, _how(metavar="N", help="Processes; 0: this one. Default: one a core.")] = None,
    shard: Annotated[str | None, _how(metavar="I/N", help="Part I of N, counted from 0: for job arrays.")] = None,
    timeout: Annotated[float | None, _how(metavar="S", help="Seconds a run may take.")] = None,
    hours: Annotated[float | None, _how(metavar="H", help="Stop cleanly after so long.")] = None,
    retry: Annotated[bool, _how("--retry-failed", metavar="", help="Compute shards with failed runs again.")] = False,
    status: Annotated[bool, _look("--status", metavar="", help="How far a store is, and which runs failed.")] = False,
    verify: Annotated[bool, _look("--verify", metavar="", help="Compare every shard with its checksum.")] = False,
    export: Annotated[Path | None, _output(metavar="FILE", help="Also as .parquet, .csv or .nc.")] = None,
    overwrite: Annotated[bool, _output("--overwrite", metavar="", help="Replace FILE if it exists.")] = False,
    as_json: Annotated[bool, _output("--json", metavar="", help="The summary as JSON on stdout.")] = False,
    quiet: Annotated[bool, _output("--quiet", metavar="", help="No progress, no summary.")] = False,
) -> None:
    """Many runs; SWEEP is the help text."""
    form = "json" if as_json else "nothing" if quiet else "table"
    if spec is not None and spec.is_dir() and store is None:
        spec, store = None, spec
    if export is not None:
        from tokenflock.sweeps.export import check_target

        check_target(export, overwrite)
    if dry_run:
        _estimate(spec, workers, form)
    elif status or verify:
        if spec is not None:
            raise clash("SWEEP.TOML", "--status or --verify", "They look at what is there: give --store DIR only.")
        _look_at(_opened(store), verify, form)
    elif spec is None:
        if export is None:
            raise SpecError("what to run? Give a SWEEP.TOML; or look at a store with --status, --verify or --export.")
        typer.echo(f"wrote {_export(_opened(store), export, overwrite)}")
    else:
        _run(spec, store, (cluster, workers, shard, timeout, hours, retry), export, overwrite, form)


def _opened(store: Path | None) -> SweepStore:
    from tokenflock.sweeps.sweep_store import SweepStore

    if store is None:
        raise SpecError("which store? Give --store DIR.")
    return SweepStore(store)


def _estimate(spec: Path | None, workers: int | None, form: str) -> None:
    from tokenflock.engine.machine import threads
    from tokenflock.sweeps import toml
    from tokenflock.sweeps.cost_estimate import estimate_cost

    if spec is None:
        raise SpecError("what to estimate? Give a SWEEP.TOML with --dry-run.")
    plan, told = toml.read(spec)
    made = estimate_cost(plan, told.get("runs_a_shard"), in_worker=workers != 0, timeout=told.get("timeout"))
    show(made.table(workers or threads()), form)


def _part(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    from tokenflock.arguments import digits

    first, slash, count = text.partition("/")
    part, parts = digits(first), digits(count)
    if not slash or part is None or parts is None or not part < parts:
        raise bad("--shard", text, "I/N with I from 0 to N - 1", "For a job array of 8: --shard 0/8 to --shard 7/8.")
    return part, parts


def _options(how: tuple[Any, ...], told: dict[str, Any]) -> ExecutionOptions:
    from tokenflock.engine.machine import threads
    from tokenflock.sweeps.execution import ExecutionOptions

    cluster, workers, shard, timeout, hours, retry = how
    workers = threads() if workers is None else workers  # a run that crashes must not take the command with it
    given = {"timeout": timeout, "hours": hours}
    return ExecutionOptions.of(told, given, workers=workers, cluster=cluster, retry=retry, part=_part(shard))


def _run(spec: Path, store: Path | None, how: tuple[Any, ...], export: Path | None, overwrite: bool, form: str) -> None:
    from tokenflock.sweeps import execution, toml
    from tokenflock.sweeps.sweep_store import SweepStore

    if store is None:
        raise place.lacking("--store", "phase.zarr")
    plan, told = toml.read(spec)
    options, began = _options(how, told), time.monotonic()
    try:
        kept = execution.run_pending(plan, store, options, False if form == "nothing" else None)
    except KeyboardInterrupt:
        if not (store / "zarr.json").is_file():
            raise
        told = SweepStore(store).load().attrs
        done = f"{told['runs_done']} of {told['runs']} runs are done and safe"
        say(f"Interrupted: {done}. Give the same command again to go on.", "red")
        raise typer.Exit(130) from None
    summary = _summary(kept) | {"wall_s": time.monotonic() - began}
    wrote = None if export is None else str(_export(kept, export, overwrite))
    show(summary | {"exported": wrote}, form)
    if summary["runs_done"] < summary["runs"] and options.part is None:
        say("The time is over: give the same command again to go on.", "yellow")
    if failed := summary["failed"]:
        kinds = ", ".join(f"{n} {kind}" for kind, n in failed.items())
        words = f"{sum(failed.values())} runs failed ({kinds})"
        say(f"error: {words}: `tokenflock sweep --status {store}` shows why.", "red")
        raise typer.Exit(1)


def _summary(store: SweepStore) -> dict[str, Any]:
    """How far a store is."""
    import numpy as np

    from tokenflock.sweeps.shards import FAILED, OUTCOMES
    from tokenflock.sweeps.sweep_store import reading

    data = store.load()
    with reading(store.path):
        codes, counts = np.unique(data["outcome"].values, return_counts=True)
    failed = {OUTCOMES[code]: int(n) for code, n in zip(codes, counts, strict=True) if code in FAILED}
    sizes = {str(dim): int(data.sizes[dim]) for dim in data["seed"].dims}
    done = {name: int(data.attrs[name]) for name in ("runs", "runs_done")}
    return {"store": str(store.path), "axes": sizes, **done, "shards": len(store.grid), "failed": failed}


def _look_at(store: SweepStore, verify: bool, form: str) -> None:
    if not verify:
        return show(_summary(store) | {"reasons": _reasons(store)}, form)
    if damaged := store.verify():  # before its outcomes are counted: those of a damaged shard may not be readable
        show({"store": str(store.path), "shards": len(store.grid), "damaged_shards": damaged}, form)
        say(f"error: {len(damaged)} shards are damaged. The command that made the store computes them again.", "red")
        raise typer.Exit(1)
    return show(_summary(store) | {"damaged_shards": damaged}, form)


def _reasons(store: SweepStore) -> dict[str, int]:
    """Why runs failed, the most frequent first."""
    import numpy as np

    from tokenflock.sweeps.sweep_store import reading

    with reading(store.path):
        found = store.load()["reason"].values.astype(object)
    words, counts = np.unique(found[found != ""], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:10]
    return {str(words[k]): int(counts[k]) for k in order}


def _export(store: SweepStore, path: Path, overwrite: bool) -> Path:
    from tokenflock.sweeps import export
    from tokenflock.sweeps.sweep_store import reading

    data = store.load()
    if data.attrs["runs_done"] < data.attrs["runs"]:
        left = data.attrs["runs"] - data.attrs["runs_done"]
        from tokenflock.arguments import warn  # with numpy, which --help does not need

        warn(f"{left} runs are not done yet: their outcome is -1.")
    with reading(store.path):
        data = data.load()
    return export.export(data, path, overwrite)
