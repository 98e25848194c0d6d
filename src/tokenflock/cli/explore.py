"""tokenflock explore: the explorer in the browser, or one HTML file with a saved run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokenflock.cli import saved
from tokenflock.cli.speech import OVERWRITE, app, say, spoken, switch
from tokenflock.errors import SpecError, clash

if TYPE_CHECKING:
    import xarray as xr


@app.command()
@spoken
def explore(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN [PAGE.HTML]]", help="A saved run; with --export also the file.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="The port; 8077 or any that is free if left out.")
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Who may connect: any but loopback needs the token that is printed.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, switch("--no-browser", help="Do not open a browser.")] = False,
    export: Annotated[bool, switch("--export", help="Write a page with a saved run, and stop.")] = False,
    run: Annotated[str | None, typer.Option("--run", metavar="K", help="This run of a saved ensemble, from 0.")] = None,
    part: saved.PART = "",
    overwrite: OVERWRITE = False,
) -> None:
    """Watch and steer runs in the browser, or send a saved one as a single HTML file.

    Examples:
      tokenflock explore
      tokenflock explore run.zarr
      tokenflock explore --port 9000 --no-browser
      tokenflock explore --export run.zarr page.html
      tokenflock explore --export hidden_states.npz page.html

    The page computes on this machine with the real engines; it loads nothing
    from any network. Ctrl-C stops it. A saved run is shown as it is and needs
    nothing more; the live page needs the extra explore."""
    which = saved.number(run)
    if export:
        if len(files or []) != 2:
            raise SpecError(
                "--export needs a saved run and a file. For example: `tokenflock explore --export run.zarr page.html`."
            )
        assert files is not None
        return _export(saved.opened(files[0], part), files[1], which, overwrite)
    if len(files or []) > 1 or overwrite:
        name = "PAGE.HTML" if not overwrite else "--overwrite"
        raise clash(name, "no --export", "Add --export to write a page; or give the run alone to look at it.")
    if which is not None and not files:
        raise clash("--run", "no saved run", "The page starts its own runs: give the run, tokenflock explore run.zarr.")
    with suppress(KeyboardInterrupt):  # the way in which it is stopped
        _serve(saved.opened(files[0], part) if files else None, which, host, port, not no_browser)
    what = "the saved run is as it was" if files else "it can no longer compute, and its runs are saved nowhere"
    say(f"Stopped: the page is served no longer; {what}.")
    return None


def _serve(run: xr.Dataset | None, which: int | None, host: str, port: int | None, browser: bool) -> None:
    if run is None:
        from tokenflock.explorer.server import serve

        return serve(host, port, browser=browser, told=lambda address: typer.echo(f"The explorer is at {address}"))
    from tokenflock.explorer.showing import HOST, show

    if host != HOST:
        raise clash(
            "--host", "a saved run", "It is shown on this machine only; to share it: tokenflock explore --export."
        )
    told = lambda address: typer.echo(f"The run is at {address}  (Ctrl-C stops)")  # noqa: E731
    return show(run, which, port, browser, told)


def _export(source: xr.Dataset, target: Path, run: int | None, overwrite: bool) -> None:
    from tokenflock.explorer.export import check_target, export

    check_target(target, overwrite)
    written = export(source, target, run, overwrite=overwrite)
    typer.echo(f"wrote {written} ({written.stat().st_size / 1e6:.2f} MB)")
