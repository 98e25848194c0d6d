"""The command line: tokenflock simulate, sweep, diagnose, plot, check, figure, network, ... A file for each noun.

Heavy libraries are imported inside the commands: --help stays fast. Answers go to stdout, everything else to stderr.
Exit codes: 0 done, 1 a run or a check failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

import tokenflock as flock
from tokenflock.cli.speech import app, say, spoken

__all__ = ["app", "main", "say", "spoken"]

# Each adds its verbs, in the order --help shows.
for _file in ("simulate", "sweep", "diagnose", "draw", "check", "papers", "study", "network", "explore", "machine"):
    importlib.import_module(f"tokenflock.cli.{_file}")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tokenflock {flock.__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, metavar="", help="Show it.")
    ] = False,
) -> None:
    """The laboratory for attention dynamics: tokens as interacting particles, depth as time.

    Begin with:
      tokenflock simulate --tokens 200 --dim 2 --beta 64 --t-end 50 --out run.zarr
      tokenflock diagnose run.zarr                   what happened, in sentences
      tokenflock plot run.zarr                       and as a figure
      tokenflock figure causal/2 --out figures       a figure of a paper
      tokenflock check causal/theorem-4.1 --quick    a statement of a paper
      tokenflock explore                             all of it in the browser

    Every verb has --help with examples; `tokenflock doctor` says what is missing."""


def main() -> None:
    """The command line, after what __main__.py sees to."""
    try:
        app()
    except OSError as error:  # of --help, which no command speaks
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what could not be written is let go
        say(f"error: {error}. The answer could not be written: check the disk.", "red")
        sys.exit(1)
