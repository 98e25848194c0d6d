"""tokenflock explore: the explorer in the browser, or one HTML file with a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tokenflock.cli.speech import OVERWRITE, app, say, spoken, switch
from tokenflock.errors import SpecError, clash


@app.command()
@spoken
def explore(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN PAGE.HTML]", help="With --export: a saved run, and the file.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="The port; 8077 or any that is free if left out.")
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Who may connect: any but loopback needs the token that is printed.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, switch("--no-browser", help="Do not open a browser.")] = False,
    export: Annotated[bool, switch("--export", help="Write a page with a saved run, and stop.")] = False,
    run: Annotated[int | None, typer.Option(metavar="K", help="With --export: this run of an ensemble.")] = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Watch and steer runs in the browser, or send a saved one as a single HTML file.

    Examples:
      tokenflock explore
      tokenflock explore --port 9000 --no-browser
      tokenflock explore --export run.zarr page.html

    The page computes on this machine with the real engines; it loads nothing
    from any network. Ctrl-C stops it.
    It needs the extra explore: pip install 'tokenflock\\[explore]'."""
    if export:
        if len(files or []) != 2:
            raise SpecError("--export needs a saved run and a file: tokenflock explore --export run.zarr page.html")
        assert files is not None
        return _export(files[0], files[1], run, overwrite)
    for given, name in ((files, "RUN"), (run is not None, "--run"), (overwrite, "--overwrite")):
        if given:
            raise clash(name, "no --export", "The page starts its own runs; --export writes a saved one to a file.")
    from tokenflock.explorer.server import serve

    serve(host, port, browser=not no_browser, told=lambda address: typer.echo(f"The explorer is at {address}"))
    say("Stopped.")
    return None


def _export(source: Path, target: Path, run: int | None, overwrite: bool) -> None:
    import tokenflock as flock
    from tokenflock.explorer.export import check_target, export

    check_target(target, overwrite)
    written = export(flock.load(source), target, run, overwrite=overwrite)
    typer.echo(f"wrote {written} ({written.stat().st_size / 1e6:.2f} MB)")
