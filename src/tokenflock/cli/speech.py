"""How the command line speaks: the app, answers on stdout, words on stderr, errors as one sentence and an exit code."""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from tokenflock.errors import WHOLE_RUNS, TokenflockError, UnwritableFile, bad

# Without these defaults typer imports pydantic, 0.1 s, to learn that none of them stands before the verb.
NONE_GIVEN = {"default_map": {"help": False, "install_completion": False, "show_completion": False}}


def _without_types(cls: type) -> None:
    """Leave out of --help what typer derives from Python's types, <list[str]>: the name beside it says what to give."""
    shown = getattr(cls, "display_type_rich", None)  # typer of another version writes no such column
    if shown is not None:

        def ours(self: Any, *arguments: Any, **keywords: Any) -> str | None:
            said = shown(self, *arguments, **keywords)
            return None if said is None or said.startswith("<") else str(said)

        setattr(cls, "display_type_rich", ours)  # noqa: B010


for _kind in (TyperArgument, TyperOption):
    _without_types(_kind)


class OneLine(TyperGroup):
    """The command line, whose errors of flags are said as all others: in one line on stderr, exit code 2."""

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        """Run a command; what is wrong with its words is told, and ends it."""
        standalone_mode = keywords.pop("standalone_mode", True)
        try:
            code = super().main(*arguments, **{**keywords, "standalone_mode": False})
        except Exception as error:  # typer and click have classes of their own for what is wrong, by version
            if not standalone_mode or not (hasattr(error, "format_message") or type(error).__name__ == "Abort"):
                raise
            code = _misused(error)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _nearest(words: str, options: list[str]) -> str:
    """The one of typer's suggestions that is nearest to the last word of what it says."""
    given = words.partition(" (")[0].split()[-1]
    return f" Did you mean {max(options, key=lambda name: difflib.SequenceMatcher(None, given, name).ratio())}"


def _misused(error: Any) -> int:
    """Say what typer or click found wrong; the exit code."""
    if type(error).__name__ == "Abort":
        say("Interrupted: nothing was written.", "red")
        return 130
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    path = getattr(getattr(error, "ctx", None), "command_path", "")
    path = " ".join(["tokenflock", *path.split()[1:]])
    words = error.format_message().rstrip(".?")
    words = re.sub(r"^Missing argument '?(.+?)'?$", r"\1 is missing", words)
    words = re.sub(r"^Missing option '?(.+?)'?$", r"\1 is missing", words)
    words = re.sub(r"^Got unexpected extra arguments?(?:\(s\))? \((.+?)\)$", r"\1 is too much", words)
    words = re.sub(r"^No such (\w+):? '?([^' ]+?)'?(?=$|[. ;(])", r"there is no \1 \2", words)
    words = re.sub(r" *\(Possible options: (.+?)\)", lambda m: _nearest(words, m[1].split(", ")), words)
    words = re.sub(r"^Invalid value for '?(.+?)'?: ", r"\1 cannot be used: ", words).replace(" Did you", ". Did you")
    words = words.replace("..", ".")
    if path.endswith(" figure") and "no option" in words:
        words = f"{words.partition('. Did you')[0]}. Parameters of a figure change with --set NAME=VALUE"
    if words.endswith("is too much") and re.search(r" (plot|animate|figure|simulate|check)$", path):
        words += ". What is to be written is said with --out"
    end = "?" if "Did you mean" in words else "."
    say(f"error: {words}{end} `{path} --help` shows what there is.", "red")
    return int(getattr(error, "exit_code", 2))


app = typer.Typer(cls=OneLine, no_args_is_help=True, rich_markup_mode="rich", context_settings=NONE_GIVEN)

# An option that is given or not: without a metavar the help shows <bool> beside it.
switch = functools.partial(typer.Option, metavar="")
OUT = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write to; made if it does not exist.")]
OVERWRITE = Annotated[bool, switch("--overwrite", help="Replace what is there.")]
QUICK = Annotated[bool, switch("--quick", help="Smaller runs: seconds instead of minutes, the same shapes.")]


def say(text: str, style: str = "") -> None:
    """A line for the person, on stderr, never wrapped."""
    from rich.console import Console

    Console(stderr=True).print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def spoken(command: Callable[..., None]) -> Callable[..., None]:
    """Errors of a command as one sentence and an exit code, never a traceback."""

    @functools.wraps(command)
    def told(*arguments: Any, **keywords: Any) -> None:
        # Ctrl-C leaves a run of `simulate` as far as it came; a claim or a figure of half a run would be wrong.
        before = WHOLE_RUNS.set(command.__name__ != "simulate")
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", "yellow")
            try:
                return command(*arguments, **keywords)
            except TokenflockError as error:
                text, code = f"error: {error}", 1 if isinstance(error, UnwritableFile) else 2
            except KeyboardInterrupt:
                text, code = "Interrupted: nothing was written.", 130
            except BrokenPipeError:  # whoever read the answer has enough of it: `| head`
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(128 + 13) from None  # as a program that SIGPIPE ended
            except (MemoryError, OSError) as error:
                text, code = f"error: {error}. Nothing was written: check the memory, the disk and the rights.", 1
            finally:
                WHOLE_RUNS.reset(before)
        say(text, "red")
        raise typer.Exit(code)

    return told


def whole(flag: str, given: str, least: int) -> int:
    """A flag as a whole number."""
    try:
        number = int(given)
    except ValueError:
        number = least - 1
    if number < least:
        raise bad(flag, given, f"a whole number >= {least}")
    return number


def brief(value: Any) -> str:
    """A value in a table."""
    if isinstance(value, dict):
        return value.get("kind") or ", ".join(f"{k} {brief(v)}" for k, v in value.items() if v is not None)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def show(told: dict[str, Any], form: str = "table") -> None:
    """An answer on stdout, as JSON or as a table of two columns."""
    from rich.console import Console
    from rich.table import Column, Table

    if form == "json":
        typer.echo(json.dumps(told, indent=2))
    elif form == "table":
        table = Table(Column(), Column(overflow="fold"), show_header=False, box=None, padding=(0, 2, 0, 0))
        for row in ((name, brief(value)) for name, value in told.items() if value not in (None, {})):
            table.add_row(*row)
        Console().print(table, markup=False, highlight=False)


def compiled() -> bool:
    """Whether kernels of an earlier run are on disk: if not, the first run takes long before it moves."""
    from tokenflock.engine.compiled.declare import folder

    return next(folder().rglob("*.nbi"), None) is not None


def note_compiling() -> None:
    """Say to whoever sits before a terminal why nothing moves yet."""
    if sys.stderr.isatty() and not compiled():
        say("The first run compiles its kernels: some seconds, once. Later ones start at once.")


def sentence(error: BaseException) -> str:
    """An error that does not end the command: our own as it is, any other with its kind and where it came from."""
    if isinstance(error, TokenflockError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
