"""tokenflock check: the claims of the papers, run one after the other; what is finished is never lost."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenflock.cli import place
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, sentence, spoken, switch
from tokenflock.errors import SpecError, bad, clash, unknown
from tokenflock.store import write_text

if TYPE_CHECKING:
    from rich.console import Console

    from tokenflock.claims.ledger import Finding, Verdict

COLOURS = {True: "green", None: "yellow", False: "red"}
FAILED_SHOWN = 10  # of one claim; the JSON file has them all


@app.command()
@spoken
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Names, or a paper: causal/.")] = None,
    every: Annotated[bool, switch("--all", help="All claims.")] = False,
    listing: Annotated[bool, switch("--list", help="List the names and stop; with --verbose what they say.")] = (False),
    quick: QUICK = False,
    trials: Annotated[str | None, typer.Option(metavar="N", help="Of every case. Default: the claim's own.")] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Of all trials.")] = "0",
    trial: Annotated[str | None, typer.Option(metavar="CASE#K", help="This trial alone, of one claim.")] = None,
    to_json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The verdicts; - is stdout.")] = None,
    out: OUT = None,
    overwrite: OVERWRITE = False,
    verbose: Annotated[bool, switch("--verbose", help="Statements and cases, as for a single claim.")] = False,
) -> None:
    """Check claims of the papers by experiment: what each states, what was measured, and the verdict.

    Examples:
      tokenflock check --list
      tokenflock check causal/theorem-4.1
      tokenflock check causal/ --quick --json claims.json --out figures
      tokenflock check causal/theorem-4.1 --trial "gaussian#3"

    With --out DIR every claim has a figure there: ID.pdf, .svg and .png. Exit
    code 1 if a claim fails that is not known to (as conjecture-1 is); a claim
    that crashes and Ctrl-C keep the verdicts that are there."""
    from tokenflock import claims

    if listing:
        return _list(verbose)
    chosen = choose(names or [], every, claims.NAMES)
    if trial is not None and len(chosen) > 1:
        raise clash("--trial", f"{len(chosen)} claims", "A trial belongs to one claim: give that one.")
    if trial is not None and not ("#" in trial and trial.rpartition("#")[2].isdigit()):
        raise bad("--trial", trial, "CASE#NUMBER", "A check that fails prints the command that repeats a trial.")
    options = {
        "trials": None if trials is None else _whole("--trials", trials, 1),
        "seed": _whole("--seed", seed, 0),
        "quick": quick,
        "trial": trial,
    }
    target = None if to_json in (None, "-") else place.file(Path(str(to_json)), "--json", overwrite)
    pictures = [f"{place.stem(name)}.{kind}" for name in chosen for kind in place.FORMATS]
    folder = None if out is None else place.folder(out, pictures, overwrite)
    session = Session(chosen, options, target, folder)
    session.run()
    if to_json == "-":
        typer.echo(session.text())
    else:
        _tell(session, verbose or len(chosen) == 1)
    session.end()


def choose(names: list[str], every: bool, known: dict[str, str]) -> list[str]:
    """The claims asked for: a name, or "paper/" (or "paper") for all of that paper; each once, in their order."""
    if bool(names) == every:
        raise SpecError("which claims? Give names or --all, not both. `tokenflock check --list` shows the names.")
    wanted = set(known if every else ())
    for name in names:
        group = [other for other in known if other.startswith(name.rstrip("/") + "/")]
        if name not in known and not group:
            raise unknown("claim", name, known)
        wanted.update([name] if name in known else group)
    return [name for name in known if name in wanted]


def _whole(flag: str, given: str, least: int) -> int:
    try:
        number = int(given)
    except ValueError:
        number = least - 1
    if number < least:
        raise bad(flag, given, f"a whole number >= {least}")
    return number


class Session:
    """The claims of one command: what is finished, what crashed, and the JSON file that keeps up with it."""

    def __init__(self, names: list[str], options: dict[str, Any], target: Path | None, folder: Path | None) -> None:
        self.names, self.options, self.target, self.folder = names, options, target, folder
        self.verdicts: list[Verdict] = []
        self.crashed: dict[str, str] = {}
        self.interrupted = False
        self.written = False

    def run(self) -> None:
        """All claims; a crash of one is noted, Ctrl-C ends them."""
        with Bar(len(self.names)) as bar:
            for k, name in enumerate(self.names):
                bar.begin(k, self.verdicts)
                try:
                    self._one(name, bar)
                except KeyboardInterrupt:
                    self.interrupted = True
                    return self._write()
                self._write()

    def _one(self, name: str, bar: Bar) -> None:
        from tokenflock import claims

        try:
            verdict = claims.check(name, progress=bar.tell, **self.options)
        except Exception as error:  # whatever it is, the other claims are still wanted
            if isinstance(error, SpecError) and self.options["trial"] is not None:
                raise  # no case has this name: bad input, not a crash
            self.crashed[name] = sentence(error)
        else:
            self.verdicts.append(verdict)
            self._draw(verdict)

    def _draw(self, verdict: Verdict) -> None:
        if self.folder is None:
            return
        import matplotlib

        matplotlib.use("Agg")
        try:
            place.save_figure(verdict.figure, self.folder, verdict.name)
        except Exception as error:  # the verdict stands without its picture
            self.crashed[f"the figure of {verdict.name}"] = sentence(error)

    def text(self) -> str:
        """Everything so far as JSON."""
        left = [name for name in self.names if name not in {v.name for v in self.verdicts} | self.crashed.keys()]
        told = [v.plain() | {"repeat": [self.command(v, trial) for trial in v.failed]} for v in self.verdicts]
        whole = {"finished": not left, "claims": told, "crashed": self.crashed, "not_run": left, **self.options}
        return json.dumps(_strict(whole), indent=2)

    def _write(self) -> None:
        if self.target is None:
            return
        try:
            write_text(self.target, self.text())
            self.written = True
        except OSError as error:  # a full disk: the verdicts are still told on the screen
            self.crashed[str(self.target)] = sentence(error)

    def command(self, verdict: Verdict, trial: str) -> str:
        """The command that repeats a trial."""
        words = ["tokenflock", "check", verdict.name, "--trial", shlex.quote(trial), "--seed", str(verdict.seed)]
        words += ["--quick"] if verdict.quick else []
        words += ["--trials", str(self.options["trials"])] if self.options["trials"] else []
        return " ".join(words)

    def end(self) -> None:
        """What went wrong, on stderr, and the exit code."""
        for name, why in self.crashed.items():
            say(f"error: {name}: {why}", "red")
        wrong = [v.name for v in self.verdicts if v.alarming]
        where = f"wrote {self.target}" if self.written else "nothing was written"
        if self.interrupted:
            say(f"Interrupted: {len(self.verdicts)} of {len(self.names)} claims are finished; {where}.", "red")
            raise typer.Exit(130)
        if self.crashed:
            say(f"{len(self.verdicts)} of {len(self.names)} claims are finished; {where}.", "red")
        if wrong:
            say(f"error: {len(wrong)} of {len(self.names)} claims fail: {', '.join(wrong)}.", "red")
        if wrong or self.crashed:
            raise typer.Exit(1)


def _strict(value: Any) -> Any:
    """What JSON can say: no nan and no inf, and words for what it has no type for."""
    if isinstance(value, dict):
        return {str(name): _strict(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [_strict(part) for part in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


class Bar:
    """How far a check is, on stderr, on a terminal only: verdicts so far, the case under way."""

    def __init__(self, claims: int) -> None:
        self._claims, self._head = claims, ""
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:3.0f}%"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("check", total=1.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, k: int, verdicts: list[Verdict]) -> None:
        """Claim number k comes next."""
        wrong = sum(v.holds is False for v in verdicts)
        self._head = f"[{k + 1}/{self._claims}] {f'{wrong} failed, ' if wrong else ''}{len(verdicts) - wrong} fine; "

    def tell(self, what: str, fraction: float) -> None:
        """The case under way, and how much of it is done."""
        if self._bar is not None:
            self._bar.update(self._task, description=self._head + what, completed=fraction)


def _list(verbose: bool) -> None:
    from tokenflock import claims

    for name in claims.NAMES:
        typer.echo(name)
        if verbose:
            try:
                claim = claims.find(name)
                typer.echo(f"    {claim.kind}: {claim.statement}")
            except ImportError as error:
                typer.echo(f"    cannot be read: {error}")


def _tell(session: Session, verbose: bool) -> None:
    """The verdicts on stdout: a row a claim, and below what is worth more words."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if session.verdicts:
        table = Table("claim", "verdict", "trials", "undecided", "measured", "against", "s", box=None, pad_edge=False)
        table.columns[0].no_wrap = table.columns[1].no_wrap = True
        for v in session.verdicts:
            numbers = (str(v.trials), str(v.undecided), *_numbers(v.tightest), f"{v.wall_s:.1f}")
            word = v.word.split(" on ")[0]  # the range of a proof stands beside what was measured
            table.add_row(v.name, word, *numbers, style=COLOURS[v.holds])
        console.print(table)
    for v in session.verdicts:
        if verbose:
            _details(console, v)
        for trial in v.failed[:FAILED_SHOWN]:
            console.print(f"  repeat: {session.command(v, trial)}", soft_wrap=True)
        if len(v.failed) > FAILED_SHOWN:
            console.print(f"  and {len(v.failed) - FAILED_SHOWN} more: --json FILE lists all of them.", soft_wrap=True)
    for where, what in ((session.target, "wrote"), (session.folder, "figures in")):
        if where is not None and (session.written or what != "wrote"):
            console.print(f"{what} {where}", soft_wrap=True)


def _details(console: Console, verdict: Verdict) -> None:
    from rich.table import Table

    console.print(f"\n{verdict.name} ({verdict.claim.kind}): {verdict.statement}", soft_wrap=True)
    for word, said in (("Correction", verdict.claim.erratum), ("Rule", verdict.claim.rule), ("Note", verdict.note)):
        if said:
            console.print(f"  {word}: {said}", soft_wrap=True)
    table = Table("case", "trials", "measured", "against", "note", box=None, pad_edge=False)
    for f in verdict.findings:
        table.add_row(f.case, str(f.trials), *_numbers(f), f.note, style=COLOURS[f.holds])
    console.print(table)


def _numbers(finding: Finding) -> tuple[str, str]:
    """What was measured, with its interval, and what it is held against: a bound, a predicted value or a proof."""
    if finding.proved and math.isnan(finding.measured):
        return "", f"proved on {finding.proved}" if not finding.failed else f"not proved on {finding.proved}"
    measured = f"{finding.measured:.4g}"
    if finding.low is not None and finding.high is not None:
        measured += f" [{finding.low:.4g}, {finding.high:.4g}]"
    return measured, "" if finding.bound is None else f"{finding.relation} {finding.bound:.4g}"
