"""tokenflock study: the open questions, answered one after the other; what is finished is kept and not made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenflock.cli import place
from tokenflock.cli.check import Bar, _strict, _whole
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, sentence, spoken, switch
from tokenflock.errors import FileError, MissingExtra, SpecError, unknown
from tokenflock.store import write_text

if TYPE_CHECKING:
    from tokenflock.studies.ledger import Answer


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
    from tokenflock import studies

    if listing:
        return _list()
    if bool(names) == every:
        raise SpecError("which studies? Give names or --all, not both. `tokenflock study --list` shows the names.")
    for name in names or []:
        if name not in studies.NAMES:
            raise unknown("study", name, studies.NAMES)
    chosen = list(dict.fromkeys(names or studies.NAMES))
    number = _whole("--seed", seed, 0)
    target = None if to_json in (None, "-") else place.file(Path(str(to_json)), "--json", overwrite)
    folder = None if out is None else place.folder(out, [], overwrite)
    session = Session(chosen, number, quick, folder, overwrite, asked=not every)
    session.run()
    if to_json == "-":
        typer.echo(session.text())
    else:
        _tell(session.answers)
        if target is not None:
            write_text(target, session.text())
            typer.echo(f"wrote {target}")
        if folder is not None and session.answers:
            typer.echo(f"wrote {folder / 'index.html'}")
    session.end()


class _Bar(Bar):
    """That of `check`, without a count of verdicts."""

    def begin(self, k: int, verdicts: list[Any]) -> None:
        """Study number k comes next."""
        self._head = f"[{k + 1}/{self._claims}] "


class Session:
    """The studies of one command: what is answered, what could not be, and what crashed."""

    def __init__(
        self, names: list[str], seed: int, quick: bool, folder: Path | None, overwrite: bool, asked: bool
    ) -> None:
        self.names, self.seed, self.quick, self.folder, self.overwrite = names, seed, quick, folder, overwrite
        self.asked = asked  # by name: then one that cannot be made is an error
        self.answers: list[Answer] = []
        self.missing: dict[str, str] = {}
        self.crashed: dict[str, str] = {}
        self.interrupted = False

    def run(self) -> None:
        """All studies; one that crashes does not keep the others from running, Ctrl-C ends them."""
        with _Bar(len(self.names)) as bar:
            for k, name in enumerate(self.names):
                bar.begin(k, [])
                try:
                    self._one(name, bar)
                except KeyboardInterrupt:
                    self.interrupted = True
                    return

    def _one(self, name: str, bar: Bar) -> None:
        from tokenflock import studies

        try:
            answer = studies.study(
                name, self.seed, self.quick, out=self.folder, overwrite=self.overwrite, progress=bar.tell
            )
            self.answers.append(answer)
            if self.folder is not None and not (answer.read and (self.folder / f"{name}.html").is_file()):
                self._publish(answer)
        except (FileError, MissingExtra) as error:  # nothing is wrong with the package: something has to be fetched
            self.missing[name] = str(error)
        except Exception as error:  # whatever it is, the other studies are still wanted
            self.crashed[name] = sentence(error)

    def _publish(self, answer: Answer) -> None:
        import matplotlib

        from tokenflock.report.studies import publish

        matplotlib.use("Agg")
        assert self.folder is not None
        publish(answer, self.folder)

    def text(self) -> str:
        """Everything as JSON."""
        done = {answer.name for answer in self.answers}
        left = [name for name in self.names if name not in done | self.missing.keys() | self.crashed.keys()]
        told = [answer.plain() for answer in self.answers]
        whole = {"finished": not left, "studies": told, "missing": self.missing, "crashed": self.crashed}
        return json.dumps(_strict({**whole, "not_run": left, "seed": self.seed, "quick": self.quick}), indent=2)

    def end(self) -> None:
        """What went wrong, on stderr, and the exit code."""
        for name, why in self.missing.items():
            say(f"not made: {name}: {why}", "yellow")
        for name, why in self.crashed.items():
            say(f"error: {name}: {why}", "red")
        unsound = [answer.name for answer in self.answers if not answer.sound]
        if unsound:
            say(f"error: a control fails in {', '.join(unsound)}: do not trust the numbers.", "red")
        if self.interrupted:
            kept = f"{self.folder} keeps what is finished: repeat the command to go on" if self.folder else "not kept"
            say(f"Interrupted: {len(self.answers)} of {len(self.names)} studies are finished; {kept}.", "red")
            raise typer.Exit(130)
        if unsound or self.crashed or (self.missing and self.asked):
            raise typer.Exit(1)


def _list() -> None:
    from tokenflock import studies

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
        lines: list[tuple[str, Any]] = [("Answer", answer.sentence), ("What would change it", answer.change)]
        lines += [("Unasked", text) for text in answer.surprises]
        for word, text in lines:
            console.print(f"{word}: {text}", soft_wrap=True)


def _numbers(answer: Answer) -> Any:
    from rich.table import Table

    table = Table("number", "value", "95 % interval", "predicted", "trials", box=None, pad_edge=False)
    for n in answer.numbers:
        guess = "" if n.predicted is None else f"{n.predicted:.4g}"
        colour = {None: "", True: "green", False: "yellow"}[n.agrees]
        table.add_row(n.name, f"{n.value:.4g}", f"[{n.low:.4g}, {n.high:.4g}]", guess, str(n.trials), style=colour)
    return table
