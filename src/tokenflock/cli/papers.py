"""tokenflock figure and tokenflock reproduce: the figures of the papers, and everything in one report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tokenflock.cli import place, saved
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, sentence, spoken, switch, whole
from tokenflock.errors import SpecError, bad, clash, unknown

ANIMATIONS = ("gif", "mp4")
MOST_WORKERS = 4  # processes of a report: each uses all cores where it computes, and draws with one


@app.command()
@spoken
def figure(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Names that --list shows.")] = None,
    every: Annotated[bool, switch("--all", help="All figures.")] = False,
    listing: Annotated[bool, switch("--list", help="List the names and stop.")] = False,
    animate: Annotated[
        str | None, typer.Option(metavar="gif|mp4", help="A film of it instead, where it moves.")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of one figure.")
    ] = None,
    quick: QUICK = False,
    out: OUT = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Draw figures of the papers as PDF, SVG and PNG.

    Examples:
      tokenflock figure --list
      tokenflock figure causal/2 --quick --out figures
      tokenflock figure causal/2 --set beta=16 --set n_tokens=64 --out figures
      tokenflock figure causal/2 --animate mp4 --out figures
      tokenflock figure --all --out figures --overwrite

    A figure that cannot be drawn does not keep the others from it: it is named
    at the end, with exit code 1."""
    from tokenflock.papers import figures

    known = figures.NAMES if animate is None else figures.MOVIES
    if animate is not None and animate not in ANIMATIONS:
        raise unknown("animation", animate, ANIMATIONS)
    if listing:
        return typer.echo("\n".join(known))
    if bool(names) == every:
        raise SpecError("which figures? Give names or --all, not both. `tokenflock figure --list` shows the names.")
    if strange := [name for name in names or [] if name not in known]:
        raise unknown("figure" if strange[0] not in figures.NAMES else "figure that moves", strange[0], known)
    wanted = list(dict.fromkeys(names or known))
    changes = _changes(wanted, sets, quick)
    kinds = place.FORMATS if animate is None else (animate,)
    where = place.folder(out, [f"{place.stem(name)}.{kind}" for name in wanted for kind in kinds], overwrite)
    if animate is None:
        _each(wanted, lambda name: _draw(name, quick, where, changes))
    else:
        _each(wanted, lambda name: _film(name, animate, quick, where, changes))


def _changes(wanted: list[str], sets: list[str] | None, quick: bool) -> dict[str, object]:
    """What --set changes, checked before any work: parameters of one figure, of the kind that they have."""
    from tokenflock.papers import figures

    given = saved.settings(sets)
    if given and len(wanted) > 1:
        raise clash("--set", f"{len(wanted)} figures", "Each has parameters of its own: give one figure.")
    if not given:
        return {}
    usual = figures.parameters(wanted[0], quick)
    figures.parameters(wanted[0], quick, **given)
    for name, value in given.items():
        before = usual[name]
        kinds = (int, float) if isinstance(before, float) else type(before)
        if isinstance(before, tuple) and not isinstance(value, tuple):
            given[name] = (value,)
        elif before is not None and (
            not isinstance(value, kinds) or isinstance(value, bool) != isinstance(before, bool)
        ):
            raise bad(f"--set {name}", value, f"a value like the usual one, {before!r}")
    return given


def _draw(name: str, quick: bool, out: Path, changes: dict[str, Any]) -> str:
    from tokenflock.papers import figures

    place.no_window()
    drawn = figures.figure(name, quick=quick, **changes)
    place.save_figure(drawn, out, name)
    return f"wrote {out / place.stem(name)}.pdf .svg .png\n{getattr(drawn, 'caption', '')}".rstrip()


def _film(name: str, kind: str, quick: bool, out: Path, changes: dict[str, Any]) -> str:
    from tokenflock.papers import figures

    place.no_window()
    file = f"{place.stem(name)}.{kind}"
    with tempfile.TemporaryDirectory(prefix=".", dir=out) as part:
        figures.animate(name, Path(part, file), quick, **changes)
        Path(part, file).replace(out / file)
    return f"wrote {out / file}"


def _each(names: list[str], make: Callable[[str], str]) -> None:
    """Make one after the other: what fails or is interrupted is named, and what is made stays."""
    made, failed = 0, {}
    for name in names:
        try:
            typer.echo(make(name))
            made += 1
        except KeyboardInterrupt:
            say(f"Interrupted at {name}: {made} of {len(names)} figures were written.", "red")
            raise typer.Exit(130) from None
        except Exception as error:  # whatever it is, the other figures are still wanted
            failed[name] = sentence(error)
            say(f"error: {name}: {failed[name]}", "red")
    if failed:
        say(f"{made} of {len(names)} figures were written; not written: {', '.join(failed)}.", "red")
        raise typer.Exit(1)


@app.command()
@spoken
def reproduce(
    out: OUT = None,
    quick: QUICK = False,
    overwrite: OVERWRITE = False,
    workers: Annotated[
        str | None, typer.Option(metavar="N", help="Processes; 0: this one. Default: one a core, 4 at most.")
    ] = None,
) -> None:
    """Check every claim, draw every figure of the papers, and write one HTML report; again: go on where it stopped.

    Examples:
      tokenflock reproduce --quick --out report
      tokenflock reproduce --out report

    Exit code 1 if a claim fails that is not known to, or something crashed: it
    is red in the report. Ctrl-C leaves a report of what is finished."""
    from tokenflock.engine.machine import threads
    from tokenflock.papers import report

    place.no_window()
    processes = min(threads(), MOST_WORKERS) if workers is None else whole("--workers", workers, 0)
    own = (*report.FOLDERS, "report.html")
    foreign = [path.name for path in out.iterdir() if path.name not in own] if out is not None and out.is_dir() else []
    made = report.reproduce(place.folder(out, foreign, overwrite), quick, processes)
    typer.echo(f"wrote {made.path}")
    if made.failed:
        say(f"error: failed: {', '.join(made.failed)}. The report says how.", "red")
        raise typer.Exit(1)
