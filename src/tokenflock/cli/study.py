"""tokenflock study: the open questions, answered one after the other; what is finished is kept and not made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenflock.cli import place
from tokenflock.cli.checklist import Checklist, choose
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, spoken, switch, whole
from tokenflock.errors import FileError, MissingExtra

if TYPE_CHECKING:
    from rich.table import Table

    from tokenflock.papers.studies.ledger import Answer


@app.command()
@spoken
def study(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Names that --list shows.")] = None,
    every: Annotated[bool, switch("--all", help="All studies.")] = False,
    listing: Annotated[bool, switch("--list", help="List the names and their questions, and stop.")] = False,
    quick: QUICK = False,
    seed: Annotated[str, typer.Option(metavar="N", help="Of all cells.")] = "0",
    to_json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The answers; - is stdout.")] = None,
    out: OUT = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Answer open questions of the papers with numbers: intervals, controls, a sentence, and what would change it.

    Examples:
      tokenflock study --list
      tokenflock study complex-top --quick
      tokenflock study --all --out studies
      tokenflock study structured-qk --out studies --json answers.json

    With --out DIR every study leaves a page, a figure and tables there, and
    index.html lists them. The same command goes on where it was stopped:
    finished cells and studies are read, not made again (--overwrite makes them
    anew). Exit code 1 if a control of a study fails or one crashes."""
    from tokenflock.papers import studies

    if listing:
        return _list()
    chosen = choose("study", "study", names, every, studies.NAMES)
    options: dict[str, Any] = {"seed": whole("--seed", seed, 0), "quick": quick}
    target = place.json_file(to_json, overwrite)
    folder = None if out is None else place.folder(out, [], overwrite)
    answers = Checklist(
        plural="studies",
        names=chosen,
        options=options,
        target=target,
        make=lambda name, tell: studies.study(name, **options, out=folder, overwrite=overwrite, progress=tell),
        publish=None if folder is None else lambda answer: _publish(answer, folder),
        plain=lambda answer: answer.plain(),
        absent=(FileError, MissingExtra),
    )
    answers.run()
    if to_json == "-":
        typer.echo(answers.text())
    else:
        _tell(answers.finished)
        if answers.written:
            typer.echo(f"wrote {target}")
        if folder is not None and answers.finished:
            typer.echo(f"wrote {folder / 'index.html'}")
    _end(answers, folder, asked=not every)


def _publish(answer: Answer, folder: Path) -> None:
    from tokenflock.papers.report.studies import publish

    if not (answer.read and (folder / f"{answer.name}.html").is_file()):
        publish(answer, folder)


def _end(answers: Checklist[Answer], folder: Path | None, asked: bool) -> None:
    """What went wrong, on stderr, and the exit code; asked: by name, so that a missing study is an error."""
    answers.tell_errors()
    unsound = [answer.name for answer in answers.finished if not answer.sound]
    if unsound:
        say(f"error: a control fails in {', '.join(unsound)}: do not trust the numbers.", "red")
    if answers.interrupted:
        kept = f"{folder} keeps what is finished: repeat the command to go on" if folder else "not kept"
        say(f"Interrupted: {answers.count}; {kept}.", "red")
        raise typer.Exit(130)
    if unsound or answers.crashed or (answers.missing and asked):
        raise typer.Exit(1)


def _list() -> None:
    from tokenflock.papers import studies

    for name in studies.NAMES:
        typer.echo(f"{name}\n    {studies.find(name).question}")


def _tell(answers: list[Answer]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for answer in answers:
        console.print(f"\n{answer.name}: {answer.study.question}", style="bold", soft_wrap=True)
        console.print(_numbers(answer))
        for control in answer.controls:
            word, colour = ("ok", "green") if control.ok else ("FAILS", "red")
            console.print(f"  control {word}: {control.name} ({control.found})", style=colour, soft_wrap=True)
        lines: list[tuple[str, str]] = [("Answer", answer.sentence), ("What would change it", answer.change)]
        lines += [("Unasked", text) for text in answer.surprises]
        for word, text in lines:
            console.print(f"{word}: {text}", soft_wrap=True)


def _numbers(answer: Answer) -> Table:
    from rich.table import Table

    table = Table("number", "value", "95 % interval", "predicted", "trials", box=None, pad_edge=False)
    for n in answer.numbers:
        guess = "" if n.predicted is None else f"{n.predicted:.4g}"
        colour = {None: "", True: "green", False: "yellow"}[n.agrees]
        table.add_row(n.name, f"{n.value:.4g}", f"[{n.low:.4g}, {n.high:.4g}]", guess, str(n.trials), style=colour)
    return table
