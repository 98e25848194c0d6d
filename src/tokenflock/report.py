"""Everything this package reproduces, in one folder and one HTML file that needs nothing else.

    OUT/figures/NAME.pdf .svg .png .json     a figure, and beside it what it was made with
    OUT/tables/NAME.json                     a table of checks, likewise
    OUT/report.html                          all of it, figures inside

What is there and was made with the same parameters, versions and source is not made again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tokenflock import figures, plot, theory
from tokenflock.analysis import clusters, renyi
from tokenflock.engine.machine import threads
from tokenflock.errors import FileError
from tokenflock.geometry import circle, distance
from tokenflock.model import Model
from tokenflock.simulation import simulate, versions
from tokenflock.start import uniform

Made = dict[str, Any]
MISPLACED = 0.05  # radians: far more than the width of a cluster at t = 150, far less than the gaps between them
#: What every table is made with, and what a quick look changes. The setting is that of paper A's Figures 2 and 3.
PARAMETERS: dict[str, dict[str, Any]] = {
    "right-step": {"beta": 64.0, "n_tokens": 200, "t_end": 150.0, "runs": 64, "fine": 0.01, "truth_rtol": 1e-10},
    "center-counts": {"n_tokens": 200, "delta": 0.5, "seed": 0, "runs": 2000},
}
QUICK: dict[str, dict[str, Any]] = {"right-step": {"runs": 16, "fine": None}, "center-counts": {"runs": 200}}


def reproduce(out: str | Path, quick: bool = False) -> Path:
    """Make every figure and table that is missing or stale, and the report; returns the path of report.html."""
    out = Path(out)
    try:
        for folder in ("figures", "tables"):
            (out / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {str(out)!r} cannot be made: {error.strerror}. Choose another place.") from error
    began = time.perf_counter()
    jobs: list[tuple[str, str]] = [*(("table", name) for name in TABLES), *(("figure", name) for name in figures.NAMES)]
    done: list[Made] = []
    for k, (kind, name) in enumerate(jobs):
        print(f"[{k + 1}/{len(jobs)}] {kind} {name} ...", end=" ", file=sys.stderr, flush=True)
        made, new = (_table if kind == "table" else _figure)(out / f"{kind}s", name, quick)
        print(f"{made['wall_s']:.1f} s" if new else "up to date", file=sys.stderr, flush=True)
        done.append({**made, "kind": kind, "name": name})
    path = out / "report.html"
    _write(path, page(done, out, quick, time.perf_counter() - began))
    return path


def right_step(beta: float, n_tokens: int, t_end: float, runs: int, fine: float | None, truth_rtol: float) -> Made:
    """Does the usual step put every token into the right cluster?"""
    model = Model(dim=2, beta=beta)
    start = circle(np.stack([np.random.default_rng(s).uniform(0, 2 * np.pi, n_tokens) for s in range(runs)]))

    def end(**how: Any) -> tuple[Any, float]:
        run = simulate(model, start, t_end, times=[t_end], **how)
        return run["x"].values[:, 0], run.attrs["evaluations"] / runs

    truth, _ = end(rtol=truth_rtol, atol=truth_rtol * 1e-3)
    found = clusters.count(truth, MISPLACED)
    usual = [(f"step and normalise, dt = {dt:g}", {"scheme": "layers", "dt": dt}) for dt in (0.1, fine) if dt]
    rows = []
    for label, how in (*usual, ("Euler, dt = 0.1", {"scheme": "euler", "dt": 0.1}), ("tokenflock", {})):
        x, evaluations = end(**how)
        off, count = distance(x, truth) > MISPLACED, clusters.count(x, MISPLACED)
        wrong = [off.any(axis=1).sum(), off.sum(), (count != found).sum()]
        rows.append([label, *map(str, wrong), f"{count.mean():.3f}", f"{evaluations:.0f}"])
    of_what = [("runs with a misplaced token", runs), ("misplaced tokens", off.size), ("runs with a wrong count", runs)]
    return {
        "title": f"Does the usual step find the right clusters? {runs} runs of paper A's setting",
        "columns": ["", *(f"{what} (of {of})" for what, of in of_what), "clusters a run", "velocities a run"],
        "rows": rows,
        "note": f"Causal self-attention on the circle, n = {n_tokens}, beta = {beta:g}, to t = {t_end:g}; the angles "
        f"of run s are numpy.random.default_rng(s).uniform(0, 2 pi, {n_tokens}). The truth is tsit5 at "
        f"rtol = {truth_rtol:g}, with {found.mean():.3f} clusters a run. Misplaced: more than {MISPLACED:g} rad off "
        f"at the end; clusters: cut at gaps wider than {MISPLACED:g} rad. Step and normalise: x + dt times the "
        "attention output, divided by its length, which is what published codes do with dt = 0.1. Euler: the same "
        "with the output projected on the tangent plane first. tokenflock: its defaults, tsit5 with rtol = 1e-6.",
    }


def center_counts(n_tokens: int, delta: float, seed: int, runs: int) -> Made:
    """How many centers a start has, against Lemma C.1 of A and Renyi's parking constant (A.5.5)."""
    start = uniform(n_tokens, 2, seed=seed, runs=runs)
    known = (
        ("strong Rényi centers", renyi.strong_centers, float(theory.strong_center_count(delta, 2, n_tokens)), "exact"),
        ("Rényi centers", renyi.centers, float(theory.renyi_center_count(delta)), "for infinitely many tokens"),
    )
    rows = []
    for label, centers, expected, kind in known:
        count = np.array([len(found) for found in centers(start, delta)])
        low, high = np.quantile(count, [0.1, 0.9])
        error = count.std(ddof=1) / np.sqrt(runs)
        rows.append(
            [label, f"{count.mean():.3f} ± {error:.3f}", f"{low:.0f} to {high:.0f}", f"{expected:.3f} ({kind})"]
        )
    return {
        "title": f"Centers on the circle: {runs} uniform starts of {n_tokens} tokens",
        "columns": ["", "mean ± standard error", "10 % to 90 %", "theory"],
        "rows": rows,
        "note": f"delta = {delta:g}. The theory of the second row is the limit of many tokens; {n_tokens} leave a few "
        "gaps unfilled, so that the mean lies below it.",
    }


TABLES: dict[str, Callable[..., Made]] = {"right-step": right_step, "center-counts": center_counts}


@lru_cache
def _source() -> str:
    """A digest of the package: an edited file makes everything stale."""
    folder, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(path: Path, parameters: dict[str, Any], build: Callable[[], Made]) -> tuple[Made, bool]:
    """What is made with these parameters, and whether it had to be made now."""
    used = {**versions(), "matplotlib": version("matplotlib")}
    key = json.loads(json.dumps({"parameters": parameters, "versions": used, "source": _source()}))
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        if made["key"] == key and all((path.parent / name).is_file() for name in made.get("files", [])):
            return made, False
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, or not ours: make it
    began = time.perf_counter()
    made = {**build(), "key": key, "wall_s": time.perf_counter() - began}
    _write(path, json.dumps(made, indent=1, ensure_ascii=False))  # last: what was interrupted is made again
    return made, True


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def _table(folder: Path, name: str, quick: bool) -> tuple[Made, bool]:
    parameters = {**PARAMETERS[name], **(QUICK[name] if quick else {})}
    return _make(folder / f"{name}.json", parameters, lambda: TABLES[name](**parameters))


def _figure(folder: Path, name: str, quick: bool) -> tuple[Made, bool]:
    stem = name.replace("/", "-")

    def build() -> Made:
        drawn: Any = figures.figure(name, quick)
        return {"caption": drawn.caption, "files": [file.name for file in plot.save(drawn, folder, stem)]}

    return _make(folder / f"{stem}.json", figures.parameters(name, quick), build)


def page(done: list[Made], out: Path, quick: bool, wall: float) -> str:
    """The report as one page of HTML: no script, no font, no picture from anywhere else."""
    keys = [made["key"] for made in done]
    used = ", ".join(f"{name} {number}" for name, number in keys[0]["versions"].items())
    parts = [_table_html(made) if made["kind"] == "table" else _figure_html(made, out) for made in done]
    banner = (
        '<p class="quick">Quick version: smaller ensembles and coarser curves than the full report.</p>'
        if quick
        else ""
    )
    spent = sum(made["wall_s"] for made in done)
    made_at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    facts = f"Made {made_at} in {wall:.1f} s; all of it takes {spent:.1f} s on {threads()} threads, "
    facts += f"{platform.machine()}. {used}. Source {keys[0]['source']}."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>tokenflock: reproduction report</title><style>{_CSS}</style></head><body><main>"
        "<h1>tokenflock: reproduction report</h1>"
        "<p>Attention dynamics, recomputed: what the papers state, measured, and their figures, redrawn. Every "
        f"seed and parameter is given.</p>{banner}{''.join(parts)}"
        f"<footer><p>{escape(facts)}</p></footer></main></body></html>\n"
    )


def _details(made: Made) -> str:
    text = json.dumps(made["key"]["parameters"])
    return (
        f"<details><summary>Parameters and seed ({made['wall_s']:.1f} s)</summary><pre>{escape(text)}</pre></details>"
    )


def _table_html(made: Made) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in made["columns"])
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(v)}</td>" for v in row[1:]) + "</tr>"
        for row in made["rows"]
    )
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return f"<section><h2>{escape(made['title'])}</h2>{table}<p>{escape(made['note'])}</p>{_details(made)}</section>"


def _figure_html(made: Made, out: Path) -> str:
    folder = out / "figures"
    svg = next(name for name in made["files"] if name.endswith(".svg"))
    data = base64.b64encode((folder / svg).read_bytes()).decode()
    files = ", ".join(f"<code>figures/{escape(name)}</code>" for name in made["files"])
    image = f'<img alt="{escape(made["name"])}" src="data:image/svg+xml;base64,{data}">'
    text = f"<figcaption>{escape(made['caption'])}</figcaption>"
    head = f"<h2>Figure {escape(made['name'])}</h2>"
    body = f'<figure><div class="wide picture">{image}</div>{text}</figure><p class="files">{files}</p>'
    return f"<section>{head}{body}{_details(made)}</section>"


_CSS = """
:root{color-scheme:light dark;--ink:#1a1c1f;--soft:#5b6169;--line:#d9dce0;--page:#fff;--card:#f5f6f8;--mark:#fff3d6}
@media (prefers-color-scheme:dark){
:root{--ink:#e8eaed;--soft:#a3a9b1;--line:#3a3f46;--page:#16181b;--card:#202327;--mark:#4a3b12}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0 1rem} h2{font-size:1.15rem;line-height:1.3;margin:0 0 .75rem}
section{margin:2.25rem 0;padding-top:1.25rem;border-top:1px solid var(--line)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem;width:100%}
th,td{text-align:right;padding:.4rem .7rem;border-bottom:1px solid var(--line);vertical-align:bottom}
td,tbody th{white-space:nowrap} th:first-child{text-align:left}
thead th{color:var(--soft);font-weight:600;min-width:6rem} tbody th{font-weight:500}
figure{margin:0} figcaption{margin-top:.75rem;font-size:.95rem}
.picture{background:#fff;border:1px solid var(--line);border-radius:6px;padding:.5rem}
img{display:block;width:100%;min-width:36rem;height:auto}
.files,footer,details{color:var(--soft);font-size:.88rem}
pre{background:var(--card);padding:.75rem;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
.quick{background:var(--mark);padding:.5rem .75rem;border-radius:6px}
footer{border-top:1px solid var(--line);margin-top:2.5rem}
"""
