"""tokenflock diagnose: what a saved run suffers from, in sentences with the numbers behind them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import tokenflock as flock
from tokenflock.cli import saved
from tokenflock.cli.speech import app, spoken, switch


@app.command()
@spoken
def diagnose(
    file: saved.FILE,
    run: Annotated[str | None, typer.Option("--run", metavar="K", help="This run of an ensemble, from 0.")] = None,
    part: saved.PART = "",
    again: Annotated[bool, switch("--again/--no-again", help="Repeat the run, finer and disturbed.")] = True,
    as_json: Annotated[bool, switch("--json", help="Answer as JSON on stdout.")] = False,
) -> None:
    """Say what is wrong or remarkable about a saved run: symptoms, the numbers behind them, what to try.

    Examples:
      tokenflock diagnose run.zarr
      tokenflock diagnose ensemble.nc --run 3 --json
      tokenflock diagnose cache.npz --part "blocks.{}.hook_resid_post"

    A run that is small enough is repeated, more finely and from a disturbed
    start: are its steps fine enough, and does it depend on its start? Hidden
    states (.npy, .npz, .safetensors, .pt too) are told layer by layer; of a
    sweep, which runs failed."""
    found = flock.diagnose(saved.opened(file, part), saved.number(run), again=again)
    typer.echo(json.dumps(found.plain(), indent=2) if as_json else str(found))
