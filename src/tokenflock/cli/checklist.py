"""The claims or the studies of one command, made one after the other; what is finished is never lost."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tokenflock.cli import place
from tokenflock.cli.speech import say, sentence
from tokenflock.errors import SpecError, unknown
from tokenflock.store import write_text

if TYPE_CHECKING:
    from tokenflock.papers.claims.ledger import Verdict
    from tokenflock.papers.studies.ledger import Answer

Tell = Callable[[str, float], None]


T = TypeVar("T", bound="Verdict | Answer")


def choose(verb: str, kind: str, names: list[str] | None, every: bool, known: Iterable[str]) -> list[str]:
    """The names asked for, each once, in the order of the command: a name, or "paper/" for all of that paper."""
    if bool(names) == every:
        plural = "studies" if kind == "study" else f"{kind}s"
        raise SpecError(f"which {plural}? Give names or --all, not both. `tokenflock {verb} --list` shows the names.")
    wanted: list[str] = list(known) if every else []
    for name in names or []:
        group = [other for other in known if other.startswith(name.rstrip("/") + "/")]
        if name not in known and not group:
            raise unknown(kind, name, known)
        wanted += [name] if name in known else group
    return list(dict.fromkeys(wanted))


@dataclass
class Checklist(Generic[T]):
    """The items of one command: what is finished, what is missing, what crashed, and the JSON file of all of it."""

    plural: str  # "claims" or "studies"
    names: list[str]
    options: dict[str, Any]  # of every item
    target: Path | None  # the JSON file
    make: Callable[[str, Tell], T]
    publish: Callable[[T], None] | None  # writes the figure or the page of an item
    plain: Callable[[T], dict[str, Any]]  # an item as JSON
    so_far: Callable[[list[T]], str] = lambda finished: ""
    absent: tuple[type[Exception], ...] = ()  # errors that say what has to be fetched before an item can be made
    refused: tuple[type[Exception], ...] = ()  # errors of bad input, which end the command
    finished: list[T] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    crashed: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    written: bool = False

    def run(self) -> None:
        """Make every item; one that crashes is noted and does not keep the others from running, Ctrl-C ends them."""
        with bar() as show:
            for k, name in enumerate(self.names):
                head = f"[{k + 1}/{len(self.names)}] {self.so_far(self.finished)}"
                try:
                    self._one(name, partial(show, head))
                except KeyboardInterrupt:
                    self.interrupted = True
                    return self._write()
                self._write()

    def _one(self, name: str, tell: Tell) -> None:
        try:
            self.finished.append(made := self.make(name, tell))
        except self.refused:
            raise
        except self.absent as error:  # nothing is wrong with the package
            self.missing[name] = str(error)
        except Exception as error:  # whatever it is, the other items are still wanted
            self.crashed[name] = sentence(error)
        else:
            if self.publish is not None:
                place.no_window()
                try:
                    self.publish(made)
                except Exception as error:  # the numbers stand without their picture
                    self.crashed[f"the figure of {name}"] = sentence(error)

    def text(self) -> str:
        """The items so far as JSON."""
        told = {item.name for item in self.finished} | self.missing.keys() | self.crashed.keys()
        left = [name for name in self.names if name not in told]
        whole = {"finished": not left, self.plural: [self.plain(item) for item in self.finished]}
        whole |= ({"missing": self.missing} if self.absent else {}) | {"crashed": self.crashed, "not_run": left}
        return json.dumps(strict({**whole, **self.options}), indent=2)

    def _write(self) -> None:
        if self.target is None:
            return
        try:
            write_text(self.target, self.text())
            self.written = True
        except OSError as error:  # a full disk: the answers are still told on the screen
            self.crashed[str(self.target)] = sentence(error)

    def tell_errors(self) -> None:
        """What is missing and what crashed, on stderr."""
        for name, why in self.missing.items():
            say(f"not made: {name}: {why}", "yellow")
        for name, why in self.crashed.items():
            say(f"error: {name}: {why}", "red")

    @property
    def count(self) -> str:
        """How many items are finished, in words."""
        return f"{len(self.finished)} of {len(self.names)} {self.plural} are finished"


def strict(value: Any) -> Any:
    """What JSON can say: no nan and no inf, and words for what it has no type for."""
    if isinstance(value, dict):
        return {str(name): strict(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [strict(part) for part in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


@contextmanager
def bar() -> Iterator[Callable[[str, str, float], None]]:
    """Show on stderr, on a terminal only, how far a command is: a function of (head, what, fraction)."""
    if not sys.stderr.isatty():
        yield lambda head, what, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:3.0f}%"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda head, what, fraction: progress.update(task, description=head + what, completed=fraction)
