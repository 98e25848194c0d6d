"""How the command line speaks: the app, answers on stdout, words on stderr, errors as one sentence and an exit code."""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tokenflock.errors import WHOLE_RUNS, TokenflockError, bad

# Without these defaults typer imports pydantic, 0.1 s, to learn that none of them stands before the verb.
NONE_GIVEN = {"default_map": {"help": False, "install_completion": False, "show_completion": False}}
app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", context_settings=NONE_GIVEN)

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
                text, code = f"error: {error}", 2
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
