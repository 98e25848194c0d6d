"""tokenflock check: the claims of the papers, run one after the other; what is finished is never lost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenflock.cli import place
from tokenflock.cli.checklist import Checklist, choose
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, spoken, switch, whole
from tokenflock.errors import SpecError, bad, clash

if TYPE_CHECKING:
    from rich.console import Console

    from tokenflock.papers.claims.ledger import Verdict

COLOURS = {True: "green", None: "yellow", False: "red"}
FAILED_SHOWN = 10  # of one claim; the JSON file has them all


@app.command()
@spoken  # the arguments below are the flags of the command: typer reads them from the signature
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
    from tokenflock.arguments import digits
    from tokenflock.papers import claims

    if listing:
        return _list(verbose)
    asked = choose("check", "claim", names, every, claims.NAMES)
    chosen = [name for name in claims.NAMES if name in asked]
    if trial is not None and len(chosen) > 1:
        raise clash("--trial", f"{len(chosen)} claims", "A trial belongs to one claim: give that one.")
    if trial is not None and ("#" not in trial or digits(trial.rpartition("#")[2]) is None):
        raise bad("--trial", trial, "CASE#NUMBER", "A check that fails prints the command that repeats a trial.")
    number = None if trials is None else whole("--trials", trials, 1)
    options: dict[str, Any] = {"trials": number, "seed": whole("--seed", seed, 0), "quick": quick, "trial": trial}
    target = place.json_file(to_json, overwrite)
    pictures = [f"{place.stem(name)}.{kind}" for name in chosen for kind in place.FORMATS]
    folder = None if out is None else place.folder(out, pictures, overwrite)
    checks = Checklist(
        plural="claims",
        names=chosen,
        options=options,
        target=target,
        make=lambda name, tell: claims.check(name, progress=tell, **options),
        publish=None if folder is None else lambda verdict: place.save_figure(verdict.figure, folder, verdict.name),
        plain=lambda verdict: verdict.plain() | {"repeat": _repeat(verdict, number)},
        so_far=_so_far,
        refused=() if trial is None else (SpecError,),  # no case has this name: bad input, not a crash
    )
    checks.run()
    if to_json == "-":
        typer.echo(checks.text())
    else:
        _tell(checks, folder, verbose or len(chosen) == 1)
    _end(checks)


def _so_far(verdicts: list[Verdict]) -> str:
    """How many claims failed, and how many did not."""
    wrong = sum(v.holds is False for v in verdicts)
    return f"{f'{wrong} failed, ' if wrong else ''}{len(verdicts) - wrong} fine; "


def _repeat(verdict: Verdict, trials: int | None) -> list[str]:
    """The commands that repeat the trials that failed."""
    words = f" --seed {verdict.seed}" + " --quick" * verdict.quick + (f" --trials {trials}" if trials else "")
    return [f"tokenflock check {verdict.name} --trial {shlex.quote(trial)}{words}" for trial in verdict.failed]


def _end(checks: Checklist[Verdict]) -> None:
    """What went wrong, on stderr, and the exit code."""
    checks.tell_errors()
    wrong = [v.name for v in checks.finished if v.alarming]
    where = f"wrote {checks.target}" if checks.written else "nothing was written"
    if checks.interrupted:
        say(f"Interrupted: {checks.count}; {where}.", "red")
        raise typer.Exit(130)
    if checks.crashed:
        say(f"{checks.count}; {where}.", "red")
    if wrong:
        say(f"error: {len(wrong)} of {len(checks.names)} claims fail: {', '.join(wrong)}.", "red")
    if wrong or checks.crashed:
        raise typer.Exit(1)


def _list(verbose: bool) -> None:
    from tokenflock.papers import claims

    for name in claims.NAMES:
        typer.echo(name)
        if verbose:
            try:
                claim = claims.find(name)
                typer.echo(f"    {claim.kind}: {claim.statement}")
            except ImportError as error:
                typer.echo(f"    cannot be read: {error}")


def _tell(checks: Checklist[Verdict], folder: Path | None, verbose: bool) -> None:
    """The verdicts on stdout: a row a claim, and below what is worth more words."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if checks.finished:
        table = Table("claim", "verdict", "trials", "undecided", "measured", "against", "s", box=None, pad_edge=False)
        table.columns[0].no_wrap = table.columns[1].no_wrap = True
        for v in checks.finished:
            numbers = (str(v.trials), str(v.undecided), v.tightest.shown, v.tightest.against, f"{v.wall_s:.1f}")
            word = v.word.split(" on ")[0] + "*" * bool(v.remark)  # the range of a proof stands beside it
            table.add_row(v.name, word, *numbers, style=COLOURS[v.holds])
        console.print(table)
    for v in checks.finished:
        if verbose:
            _details(console, v)
        if v.remark:
            console.print(f"  * {v.name}: {v.remark}", soft_wrap=True)
        for command in _repeat(v, checks.options["trials"])[:FAILED_SHOWN]:
            console.print(f"  repeat: {command}", soft_wrap=True)
        if len(v.failed) > FAILED_SHOWN:
            console.print(f"  and {len(v.failed) - FAILED_SHOWN} more: --json FILE lists all of them.", soft_wrap=True)
    for where, what in ((checks.target, "wrote"), (folder, "figures in")):
        if where is not None and (checks.written or what != "wrote"):
            console.print(f"{what} {where}", soft_wrap=True)


def _details(console: Console, verdict: Verdict) -> None:
    from rich.table import Table

    console.print(f"\n{verdict.name} ({verdict.claim.kind}): {verdict.statement}", soft_wrap=True)
    for word, said in (("Correction", verdict.claim.erratum), ("Rule", verdict.claim.rule), ("Note", verdict.note)):
        if said:
            console.print(f"  {word}: {said}", soft_wrap=True)
    table = Table("case", "trials", "undecided", "measured", "against", "detects", "note", box=None, pad_edge=False)
    for f in verdict.findings:
        seen = "" if f.detects is None else f"{f.detects:.2g}"
        counts = (str(f.trials), str(f.undecided or ""))
        table.add_row(f.case, *counts, f.shown, f.against, seen, f.note, style=COLOURS[f.holds])
    console.print(table)
