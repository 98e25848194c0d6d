"""Everything this package reproduces, in one folder and one HTML file that needs nothing else.

    OUT/claims/NAME.json .pdf .svg .png      a verdict with its findings, and its picture
    OUT/figures/NAME.pdf .svg .png .json     a figure, and beside it what it was made with
    OUT/tables/NAME.json                     a table, likewise
    OUT/report.html                          all of it, pictures inside

What is there and was made with the same parameters, versions and source is not made again.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tokenflock import plot
from tokenflock.arguments import whole
from tokenflock.errors import FileError, MissingExtra
from tokenflock.papers import claims, figures
from tokenflock.papers.report.page import Made, page
from tokenflock.papers.report.processes import finished
from tokenflock.papers.report.tables import PARAMETERS, QUICK, TABLES
from tokenflock.simulation import versions
from tokenflock.store import write_text

FOLDERS = ("claims", "figures", "tables")


class Report(NamedTuple):
    """Where the page is, and what failed: claims that nobody knew to fail, and items that crashed."""

    path: Path
    failed: list[str]


def reproduce(out: str | Path, quick: bool = False, workers: int = 0) -> Report:
    """Make every claim, figure and table that is missing or stale, and the report.

    One that crashes is named in the report and does not keep the others from being made; one whose weights or extra
    package are missing says what to fetch. Ctrl-C leaves a report of what there is. workers: processes
    that make them; 0: this one.
    """
    workers = whole("workers", workers, 0)
    out = Path(out)
    try:
        for folder in FOLDERS:
            (out / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {str(out)!r} cannot be made: {error.strerror}. Choose another place.") from error
    names: dict[str, Iterable[str]] = {"claim": claims.NAMES, "figure": figures.NAMES, "table": TABLES}
    jobs = [(kind, name, out, quick) for kind in names for name in names[kind]]
    made: dict[int, Made] = {}
    path, began, ended = out / "report.html", time.perf_counter(), "Interrupted: what follows was finished."
    try:
        for k, item in finished(_item, jobs, workers) if workers else enumerate(_item(*job) for job in jobs):
            made[k] = item
            told = f"[{len(made)}/{len(jobs)}] {item['kind']} {item['name']} ... {_told(item)}"
            print(told, file=sys.stderr, flush=True)
        ended = ""
    finally:
        done = [made[k] for k in sorted(made)]
        write_text(path, page(done, out, quick, time.perf_counter() - began, ended))
    return Report(path, [item["name"] for item in done if item.get("alarming") or item.get("failed") is True])


def _item(kind: str, name: str, out: Path, quick: bool) -> Made:
    """One item, or why there is none."""
    named = {"kind": kind, "name": name}
    try:
        made, new = {"claim": _claim, "figure": _figure, "table": _table}[kind](out / f"{kind}s", name, quick)
    except (FileError, MissingExtra) as error:  # nothing is wrong with the package: something has to be fetched
        return {**named, "error": str(error), "state": "not made", "failed": False}
    except Exception as error:  # whatever it is, the others are still wanted
        return {**named, "error": f"{type(error).__name__}: {error}", "state": "crashed", "failed": True}
    return {**made, **named, "new": new}


def _told(made: Made) -> str:
    if "error" in made:
        return f"{made['state']}: {made['error']}"
    return f"{made.get('verdict', '')} {made['wall_s']:.1f} s".strip() if made["new"] else "up to date"


@lru_cache
def _source() -> str:
    """A digest of the package: an edited file makes everything stale."""
    folder, digest = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(path: Path, parameters: dict[str, Any], build: Callable[[], Made]) -> tuple[Made, bool]:
    """What is made with these parameters, and whether it had to be made now."""
    used = {**versions(), "matplotlib": version("matplotlib")}
    key = json.loads(json.dumps({"parameters": parameters, "versions": used, "source": _source()}, default=str))
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        if made["key"] == key and all((path.parent / name).is_file() for name in made.get("files", [])):
            return made, False
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, or not ours: make it
    began = time.perf_counter()
    made = {**build(), "key": key, "wall_s": time.perf_counter() - began}
    write_text(path, json.dumps(made, indent=1, ensure_ascii=False))  # last: what was interrupted is made again
    return made, True


def _claim(folder: Path, name: str, quick: bool) -> tuple[Made, bool]:
    stem = name.replace("/", "-")

    def build() -> Made:
        verdict = claims.check(name, quick=quick)
        plain = verdict.plain()
        tightest = plain["findings"][verdict.findings.index(verdict.tightest)]
        drawn: Any = verdict.figure
        files = [file.name for file in plot.save(drawn, folder, stem)]
        command = f"tokenflock check {name} --seed {verdict.seed}" + (" --quick" if quick else "")
        return {**plain, "tightest": tightest, "caption": drawn.caption, "files": files, "command": command}

    return _make(folder / f"{stem}.json", {**claims.find(name).parameters(quick), "seed": 0}, build)


def _figure(folder: Path, name: str, quick: bool) -> tuple[Made, bool]:
    stem = name.replace("/", "-")

    def build() -> Made:
        drawn: Any = figures.figure(name, quick)
        return {"caption": drawn.caption, "files": [file.name for file in plot.save(drawn, folder, stem)]}

    read = figures.inputs(name)  # a FileError here says what to fetch
    parameters = {**figures.parameters(name, quick), **({"read": read} if read else {})}
    return _make(folder / f"{stem}.json", parameters, build)


def _table(folder: Path, name: str, quick: bool) -> tuple[Made, bool]:
    parameters = {**PARAMETERS[name], **(QUICK[name] if quick else {})}
    return _make(folder / f"{name}.json", parameters, lambda: TABLES[name](**parameters))
