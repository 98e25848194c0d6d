"""What a study is, how its cells are run once and kept, and what an answer holds.

    Study     an open question of a paper: words, method, sizes, the experiment and the drawing
    Inquiry      one study under way: runs cells, each from its own seed, and collects what they come to
    Answer    numbers with 95 % intervals, tables, controls, the sentence that answers, and what would change it

A cell is a point of the study's grid. Given a folder, every finished cell is written to NAME.cells.jsonl at once, and
the finished answer to NAME.json: a second call goes on where the first one stopped, and a finished study is read, not
made again, as long as its parameters, its file and the versions are the same.

A control is a case whose outcome is known beforehand: an effect that must be there, or a planted null. An answer whose
controls fail is not sound, whatever its numbers say.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tokenflock import plot
from tokenflock.analysis.statistics import Estimate
from tokenflock.arguments import changed, flag, function, whole
from tokenflock.arguments import path as a_path
from tokenflock.cores import in_order
from tokenflock.errors import FileError, unknown
from tokenflock.geometry import Array
from tokenflock.simulation import versions
from tokenflock.store import write_text

Tell = Callable[[str, float], None]
Experiment = Callable[..., None]
Sizes = dict[str, Any]  # the sizes of a run of a study, by name
T = TypeVar("T")


@dataclass(frozen=True)
class Number:
    """A measured number, its 95 % interval, and what a theory or the paper predicts for it, if anything."""

    name: str
    value: float
    low: float
    high: float
    trials: int
    predicted: float | None = None
    note: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the interval holds the prediction; None without one."""
        return None if self.predicted is None else self.low <= self.predicted <= self.high


@dataclass(frozen=True)
class Control:
    """A case whose outcome is known beforehand."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words under named columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""

    def __getitem__(self, column: str) -> Any:
        """A column as an array."""
        if column not in self.columns:
            raise unknown(f"column of {self.name}", column, self.columns)
        k = self.columns.index(column)
        return np.array([row[k] for row in self.rows])

    def where(self, **wanted: Any) -> Table:
        """The rows with these values in these columns."""
        places = {self.columns.index(name): value for name, value in wanted.items()}
        kept = tuple(row for row in self.rows if all(row[k] == value for k, value in places.items()))
        return Table(self.name, self.columns, kept, self.note)

    def bars(self, column: str) -> list[Array]:
        """How far the 95 % interval of a column reaches below and above: columns low, high or NAME_low, NAME_high."""
        ends = [f"{column}_{end}" if f"{column}_{end}" in self.columns else end for end in ("low", "high")]
        return [self[column] - self[ends[0]], self[ends[1]] - self[column]]

    def points(self, ax: plot.Axes, x: str | Array, column: str, **look: Any) -> None:
        """Draw a column with its 95 % interval over another column, or over given numbers."""
        options: dict[str, Any] = {"fmt": "o-", "ms": 3, "capsize": 2, **look}
        ax.errorbar(self[x] if isinstance(x, str) else x, self[column], self.bars(column), **options)

    def csv(self) -> str:
        """The rows as text: six digits, the column names first."""
        lines = [self.columns, *([f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in self.rows)]
        return "".join(",".join(f'"{w}"' if "," in w else w for w in line) + "\n" for line in lines)


@dataclass(frozen=True)
class Study:
    """One open question: `experiment(work, **sizes)` is what is run, `draw(answer)` shows it, inside plot.style()."""

    name: str
    question: str
    source: str  # the paper and the section that ask
    method: str
    sizes: Mapping[str, Any]
    quick: Mapping[str, Any]
    experiment: Experiment
    draw: Callable[[Answer], plot.Figure] = field(repr=False)
    inputs: Callable[[], Mapping[str, str]] | None = None  # files it reads, with digests; raises if they are missing

    def parameters(self, quick: bool = False, changes: Mapping[str, Any] | None = None) -> Sizes:
        """The sizes of a run of it."""
        return changed(self.name, {**self.sizes, **(self.quick if flag("quick", quick) else {})}, changes or {})


def study(name: str, **words: Any) -> Callable[[Experiment], Study]:
    """Make the function below a Study."""
    return lambda experiment: Study(name=name, experiment=experiment, **words)


@dataclass(frozen=True)
class Answer:
    """What a study came to."""

    study: Study
    numbers: tuple[Number, ...]
    tables: tuple[Table, ...]
    controls: tuple[Control, ...]
    sentence: str
    change: str
    surprises: tuple[str, ...]
    parameters: Sizes
    seed: int
    quick: bool
    wall_s: float
    read: bool = False  # it was there already

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.study.name

    @property
    def sound(self) -> bool:
        """Whether every control came out as it must."""
        return all(control.ok for control in self.controls)

    def __getitem__(self, name: str) -> Number:
        """A number by its name."""
        for number in self.numbers:
            if number.name == name:
                return number
        raise unknown(f"number of {self.name}", name, [number.name for number in self.numbers])

    def table(self, name: str) -> Table:
        """A table by its name."""
        for table in self.tables:
            if table.name == name:
                return table
        raise unknown(f"table of {self.name}", name, [table.name for table in self.tables])

    @property
    def figure(self) -> plot.Figure:
        """The picture, with a caption."""
        with plot.style():
            drawn = self.study.draw(self)
        return plot.captioned(drawn, f"{self.name}: {self.study.question} {self.sentence}")

    def plain(self) -> dict[str, Any]:
        """The answer without its picture, for JSON."""
        asked = {word: getattr(self.study, word) for word in ("name", "question", "source", "method")}
        said = {"answer": self.sentence, "change": self.change, "surprises": list(self.surprises), "sound": self.sound}
        found = {name: [asdict(item) for item in getattr(self, name)] for name in ("numbers", "tables", "controls")}
        how = {"parameters": json.loads(json.dumps(self.parameters, default=str)), "seed": self.seed}
        return {**asked, **said, **found, **how, "quick": self.quick, "wall_s": self.wall_s}


class Inquiry:
    """One study under way: what its experiment is given."""

    def __init__(self, study: Study, seed: int, journal: Path | None, tell: Tell | None, key: str = "") -> None:
        self.study, self.seed = study, seed
        self.numbers: list[Number] = []
        self.tables: list[Table] = []
        self.controls: list[Control] = []
        self.surprises: list[str] = []
        self.sentence = self.change = ""
        self._tell = tell
        self._journal = journal
        self._cells = _read_cells(journal, key) if journal is not None else {}
        if journal is not None and not self._cells:
            journal.write_text(json.dumps({"key": key}) + "\n", encoding="utf-8")

    def each(self, cases: Mapping[str, Sequence[Any]], one: Callable[..., Any]) -> dict[str, Any]:
        """one(generator, *arguments) of every case, by its name: plain numbers, lists and dicts, kept once found.

        The generator of a case depends on the seed and on its name only.
        """
        found = {}
        for k, (name, arguments) in enumerate(cases.items()):
            self.tell(name, k / len(cases))
            if name not in self._cells:
                generator = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
                self._keep(name, one(generator, *arguments))
            found[name] = self._cells[name]
        return found

    def _keep(self, name: str, result: Any) -> None:
        line = json.dumps({"cell": name, "result": result}, default=_plain)
        self._cells[name] = json.loads(line)["result"]  # so that a cell is the same, made or read
        if self._journal is not None:
            with self._journal.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def number(
        self, name: str, estimate: Estimate, trials: int, predicted: float | None = None, note: str = ""
    ) -> Number:
        """Add a number of the answer."""
        low, high = sorted((float(estimate.low), float(estimate.high)))
        guess = None if predicted is None else float(predicted)
        self.numbers.append(Number(name, float(estimate.value), low, high, int(trials), guess, note))
        return self.numbers[-1]

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> Table:
        """Add a table of the answer."""
        plain = json.loads(json.dumps([list(row) for row in rows], default=_plain))
        self.tables.append(Table(name, tuple(columns), tuple(tuple(row) for row in plain), note))
        return self.tables[-1]

    def control(self, name: str, ok: Any, found: str) -> None:
        """Add a control: ok is whether what is known beforehand came out."""
        self.controls.append(Control(name, bool(ok), found))

    def surprise(self, text: str) -> None:
        """Something nobody asked for."""
        self.surprises.append(text)

    def answer(self, sentence: str, change: str) -> None:
        """The sentence that answers the question as far as the numbers allow, and what would change it."""
        self.sentence, self.change = sentence, change

    def tell(self, what: str, fraction: float) -> None:
        """Tell how far the study is: a fraction of its cases."""
        if self._tell is not None:
            self._tell(f"{self.study.name}: {what}", fraction)


def spread(one: Callable[[np.random.Generator], T], generator: np.random.Generator, trials: int) -> list[T]:
    """one(generator of its own) for every trial, over the cores. Trial k does not depend on how many there are."""
    seed = int(generator.integers(2**31))
    return in_order(lambda k: one(np.random.default_rng([seed, k])), range(trials))


def run(
    study: Study,
    seed: int = 0,
    quick: bool = False,
    folder: str | Path | None = None,
    overwrite: bool = False,
    tell: Tell | None = None,
    **changes: Any,
) -> Answer:
    """Answer one question. With a folder: read what is there, keep what is found."""
    parameters = study.parameters(quick, changes)
    whole("seed", seed, 0)
    flag("overwrite", overwrite)
    if tell is not None:
        function("progress", tell, "a function of (what, fraction)", takes=2)
    home, journal, key = None, None, ""
    if folder is not None:
        key = _key(study, parameters, int(seed), quick)
        folder = a_path("out", folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"the folder {str(folder)!r} cannot be made: {error.strerror}. Choose another.") from error
        home, journal = Path(folder, f"{study.name}.json"), Path(folder, f"{study.name}.cells.jsonl")
        if overwrite:
            journal.unlink(missing_ok=True)
        elif (there := _read_answer(home, study, parameters, key)) is not None:
            return there
    work, began = Inquiry(study, int(seed), journal, tell, key), time.perf_counter()
    study.experiment(work, **parameters)
    kept = tuple(work.numbers), tuple(work.tables), tuple(work.controls)
    said = work.sentence, work.change, tuple(work.surprises)
    made = Answer(study, *kept, *said, parameters, int(seed), quick, time.perf_counter() - began)
    if home is not None and journal is not None:
        write_text(home, json.dumps({**made.plain(), "key": key}, indent=1, ensure_ascii=False))
        journal.unlink(missing_ok=True)  # last: what was interrupted goes on
    return made


def _key(study: Study, parameters: Sizes, seed: int, quick: bool) -> str:
    """What an answer depends on: parameters, seed, versions, files it reads, and the text of the study."""
    source = inspect.getsourcefile(study.experiment)
    text = _text(Path(source), {}) if source and Path(source).is_file() else {}
    read = dict(study.inputs()) if study.inputs is not None else {}
    whole = [parameters, seed, quick, versions(), read, text]
    return hashlib.sha256(json.dumps(whole, default=str, sort_keys=True).encode()).hexdigest()[:16]


def _text(path: Path, seen: dict[str, str]) -> dict[str, str]:
    """The file of a study and those of its folder that it imports; not this one, which only keeps what they find."""
    if path.is_file() and path.name not in seen and path.name != Path(__file__).name:
        seen[path.name] = path.read_text(encoding="utf-8")
        for name in re.findall(r"tokenflock\.papers\.studies\.(\w+)", seen[path.name]):
            _text(path.with_name(f"{name}.py"), seen)
    return seen


def _read_cells(journal: Path, key: str) -> dict[str, Any]:
    """The finished cells, if they are of this study as it is now; a line that was cut off counts as none."""
    try:
        lines = journal.read_text(encoding="utf-8").splitlines()
        if not lines or json.loads(lines[0]).get("key") != key:
            return {}
    except (OSError, ValueError, AttributeError):
        return {}
    cells = {}
    for line in lines[1:]:
        try:
            cell = json.loads(line)
            cells[cell["cell"]] = cell["result"]
        except (ValueError, KeyError, TypeError):
            continue
    return cells


def _read_answer(home: Path, study: Study, parameters: Sizes, key: str) -> Answer | None:
    try:
        told = json.loads(home.read_text(encoding="utf-8"))
        if told["key"] != key:
            return None
        tables = tuple(
            Table(t["name"], tuple(t["columns"]), tuple(map(tuple, t["rows"])), t["note"]) for t in told["tables"]
        )
        numbers = tuple(Number(**n) for n in told["numbers"])
        controls = tuple(Control(**c) for c in told["controls"])
        words = told["answer"], told["change"], tuple(told["surprises"])
        size = told["seed"], told["quick"], told["wall_s"]
        return Answer(study, numbers, tables, controls, *words, parameters, *size, read=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, or not ours: make it


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a cell may hold numbers, words, lists and dicts, not {type(value).__name__}")
