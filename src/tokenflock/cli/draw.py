"""tokenflock plot and tokenflock animate: a saved run, or the store of a sweep, as a figure; a run as a film."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

import tokenflock as flock
from tokenflock.cli import place, saved
from tokenflock.cli.speech import OVERWRITE, app, spoken
from tokenflock.errors import FileError

RUN = Annotated[str | None, typer.Option("--run", metavar="K", help="This run of an ensemble, from 0.")]


@app.command()
@spoken
def plot(
    file: saved.FILE,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .png, .pdf or .svg. Default: NAME.png here.")
    ] = None,
    run: RUN = None,
    part: saved.PART = "",
    of: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a sweep: the quantity. Default: the first.")
    ] = None,
    along: Annotated[
        str | None, typer.Option(metavar="AXIS", help="Of a sweep: the axis. Default: the longest.")
    ] = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Draw a saved run: its tokens, their paths, the number of clusters; or the law in the store of a sweep.

    Examples:
      tokenflock plot run.zarr
      tokenflock plot ensemble.zarr --run 3 --out run3.pdf
      tokenflock plot phase.zarr --of clusters --along beta
      tokenflock plot hidden_states.npy

    A sweep is drawn on logarithmic scales: means over replicates with 95 %
    intervals, and the slope. The caption goes to stdout."""
    target = out or Path(f"{file.absolute().stem}.png")
    if target.suffix.removeprefix(".") not in place.FORMATS:
        allowed = ", ".join(f".{kind}" for kind in place.FORMATS)
        raise FileError(f"cannot tell the format of {str(target)!r}. Allowed: names ending in {allowed}.")
    place.file(target, "--out", overwrite)
    place.no_window()
    drawn = flock.plot.draw(saved.opened(file, part), saved.number(run), of=of, along=along)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.absolute().parent) as part:
        flock.plot.save(drawn, part, "figure", [target.suffix[1:]])[0].replace(target)
    typer.echo(f"wrote {target}\n{getattr(drawn, 'caption', '')}".rstrip())


@app.command()
@spoken
def animate(
    file: saved.FILE,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A .gif or .mp4. Default: NAME.gif here.")] = None,
    run: RUN = None,
    part: saved.PART = "",
    overwrite: OVERWRITE = False,
) -> None:
    """Film a saved run: some ten seconds of its tokens in motion, as .gif or .mp4.

    Examples:
      tokenflock animate run.zarr
      tokenflock animate run.zarr --out run.mp4 --overwrite

    A .gif needs nothing more; an .mp4 needs ffmpeg on the PATH, or the extra
    animate."""
    target = out or Path(f"{file.absolute().stem}.gif")
    place.file(target, "--out", overwrite)
    place.no_window()
    written = flock.plot.animate(saved.opened(file, part), target, saved.number(run))
    typer.echo(f"wrote {written} ({written.stat().st_size / 1e6:.2f} MB)")
