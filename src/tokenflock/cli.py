"""The command line: tokenflock simulate, doctor, cite, figure, reproduce.

Heavy libraries are imported inside the commands: --help stays fast. Answers go to stdout, everything else to stderr.
Exit codes: 0 done, 1 a run or a check failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tokenflock as flock  # light: what it names is imported when first used
from tokenflock.errors import FileError, SpecError, TokenflockError, bad, clash, unknown

if TYPE_CHECKING:
    import xarray as xr

# Without this default typer imports pydantic, 0.1 s, to learn that no --help stands before the verb.
NO_HELP = {"default_map": {"help": False}}
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich", context_settings=NO_HELP)

# The section and the key of spec.build that each flag of simulate is. --seed is also that of the start.
FLAGS = {
    **dict.fromkeys("dim beta query key value mask normaliser space layer_norm noise".split(), "model"),
    **dict.fromkeys("tokens start start_file runs".split(), "start"),
    **dict.fromkeys("t_end times scheme dt rtol atol engine dtype seed".split(), "simulate"),
}
RENAMED = {"tokens": "n_tokens", "start": "kind", "start_file": "file"}
FORMATS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}  # no clock: same figure, same bytes

SIMULATE = r"""Follow tokens in time, from flags or from a strict RUN.TOML (not both), and save the trajectory.

Examples:
  tokenflock simulate --n 200 --d 2 --beta 64 --T 150 --out run.zarr
  tokenflock simulate --n 64 --d 3 --mask full --value diag:1,1,0 --T 9 --json
  tokenflock simulate --again run.zarr
  tokenflock simulate run.toml --out run.nc

A RUN.TOML has the keywords of flock.Model, a start, and flock.simulate:
  \[model]
  dim = 2
  beta = 64.0
  mask = {window = 16, causal = true}                 # or "causal", "full"
  value = {family = "diagonal", values = \[1.0, 0.5]}  # or {file = "v.npy"}
  \[start]
  n_tokens = 200
  \[simulate]
  t_end = 150.0
  times = "log:0.01:200"

Ctrl-C keeps what was computed. Read the file in Python with flock.load("run.zarr")."""
MATRIX = """V: FILE.npy, identity (default), diag:1,0.5, spectrum:1,0.5, plane_rotation:0.3, low_rank:RANK,
jordan:eigenvalue=1,size=2, paranormal:MULTIPLICITY, a matrix of paper B such as hyperplanes-2d, or with a seed
rotation:7, ginibre:7, goe:7, wigner:7, positive_definite:7, uniform_entries:7."""
START = """uniform (default), cap:ANGLE, cube:HALF_WIDTH, gaussian:SCALE, orthonormal, equiangular:OVERLAP,
planted:n_clusters=4,spread=0.1 or von_mises_fisher:KAPPA."""
TIMES = "What to keep: N equally spaced times, or 0 and N times in equal ratios from FIRST. Default 101."

Flag = str | None  # numbers too: spec.plain reads them, and errors then name the value
PANELS = ("Model", "Tokens", "Time", "Running and output")
_model, _tokens, _time, _output = (functools.partial(typer.Option, rich_help_panel=panel) for panel in PANELS)
OUT = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write to; made if it does not exist.")]
OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
QUICK = Annotated[bool, typer.Option("--quick", help="Smaller runs: seconds instead of minutes, the same shapes.")]


def say(text: str, style: str = "") -> None:
    """A line for the person, on stderr, never wrapped."""
    from rich.console import Console

    Console(stderr=True).print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def spoken(command: Callable[..., None]) -> Callable[..., None]:
    """Errors of a command as one sentence and an exit code, never a traceback."""

    @functools.wraps(command)
    def told(*arguments: Any, **keywords: Any) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", "yellow")
            try:
                return command(*arguments, **keywords)
            except TokenflockError as error:
                text, code = f"error: {error}", 2
            except KeyboardInterrupt:
                text, code = "Interrupted: nothing was written.", 130
            except (MemoryError, OSError) as error:
                text, code = f"error: {error}. Nothing was written: check the memory, the disk and the rights.", 1
        say(text, "red")
        raise typer.Exit(code)

    return told


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tokenflock {flock.__version__}")
        raise typer.Exit


@app.callback()
def top(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False):
    """The laboratory for attention dynamics: tokens as interacting particles, depth as time.

    Examples:
      tokenflock simulate --n 200 --d 2 --beta 64 --T 150 --out run.zarr
      tokenflock simulate --help"""


@app.command(help=SIMULATE, no_args_is_help=True)
@spoken
def simulate(
    ctx: typer.Context,
    run_toml: Annotated[Path | None, typer.Argument(metavar="RUN.TOML", help="The run in a file.")] = None,
    dim: Annotated[Flag, _model("--dim", "--d", metavar="INT", help="d, the dimension. Required.")] = None,
    beta: Annotated[Flag, _model(metavar="FLOAT", help="Inverse temperature; inf is hardmax. Default 1.")] = None,
    mask: Annotated[Flag, _model(help="causal (default), full, window:W or window:W,causal=false.")] = None,
    query: Annotated[Flag, _model(metavar="MATRIX", help="Q, said like V. Default identity.")] = None,
    key: Annotated[Flag, _model(metavar="MATRIX", help="K, said like V. Default identity.")] = None,
    value: Annotated[Flag, _model(metavar="MATRIX", help=MATRIX)] = None,
    normaliser: Annotated[Flag, _model(help="softmax (default), count or scaled-count.")] = None,
    space: Annotated[Flag, _model(help="sphere (default), euclidean or rescaled.")] = None,
    layer_norm: Annotated[Flag, _model(help="post (default), pre, mix:SWITCH, peri, ngpt or sqrt.")] = None,
    noise: Annotated[Flag, _model(metavar="FLOAT", help="sqrt(2/kappa) of the Brownian motion. Default 0.")] = None,
    tokens: Annotated[
        Flag, _tokens("--tokens", "--n", metavar="INT", help="n, the number of tokens. Required.")
    ] = None,
    start: Annotated[Flag, _tokens(metavar="START", help=START)] = None,
    start_file: Annotated[Flag, _tokens(metavar="FILE.npy", help="Instead: (n, d) or (runs, n, d).")] = None,
    runs: Annotated[Flag, _tokens(metavar="INT", help="An ensemble of so many starts. Default: a single run.")] = None,
    seed: Annotated[Flag, _tokens(metavar="INT", help="Of the start and of the noise. Default 0.")] = None,
    t_end: Annotated[Flag, _time("--t-end", "--T", metavar="FLOAT", help="The end of time. Required.")] = None,
    times: Annotated[Flag, _time(metavar="N|log:FIRST:N", help=TIMES)] = None,
    scheme: Annotated[Flag, _time(help="auto (default), tsit5, euler, heun, rk4 or layers.")] = None,
    dt: Annotated[Flag, _time(metavar="FLOAT", help="Step of euler, heun, rk4 and layers.")] = None,
    rtol: Annotated[Flag, _time(metavar="FLOAT", help="Relative error allowed. Default 1e-6.")] = None,
    atol: Annotated[Flag, _time(metavar="FLOAT", help="Absolute error allowed. Default 1e-9.")] = None,
    engine: Annotated[Flag, _output(help="auto (default), cpu or reference.")] = None,
    dtype: Annotated[Flag, _output(help="float64 (default) or float32.")] = None,
    out: Annotated[Path | None, _output(metavar="FILE", help="Save the run: a .zarr folder or a .nc file.")] = None,
    overwrite: Annotated[bool, _output("--overwrite", help="Replace FILE if it exists.")] = False,
    again: Annotated[Path | None, _output(metavar="FILE", help="Repeat a saved run, compare bit for bit.")] = None,
    as_json: Annotated[bool, _output("--json", help="The summary as JSON on stdout.")] = False,
    quiet: Annotated[bool, _output("--quiet", help="No progress, no summary.")] = False,
) -> None:
    """Follow tokens in time; SIMULATE is the help text."""
    from tokenflock.store import check_target

    asked = {name: given for name, given in ctx.params.items() if name in FLAGS and given is not None}
    target, progress = None if out is None else check_target(out, overwrite), False if quiet else None
    if overwrite and out is None:
        raise clash("--overwrite", "no --out", "Say what to replace: --out FILE.")
    if again is not None:
        _alone("--again", [*(["RUN.TOML"] if run_toml else []), *asked])
        data, compared = _repeat(again, progress)
    else:
        data, compared = _simulate(run_toml, asked, progress), {}
    _finish(data, target, overwrite, compared, "json" if as_json else "nothing" if quiet else "table")


def _alone(chosen: str, others: list[str]) -> None:
    if others:  # the file says everything about a run: a flag beside it would contradict it
        flags = ", ".join(name if name.isupper() else f"--{name.replace('_', '-')}" for name in others)
        raise clash(chosen, flags, "Only --out, --overwrite, --json and --quiet go with it: leave the others out.")


def _simulate(run_toml: Path | None, asked: dict[str, Any], progress: bool | None) -> xr.Dataset:
    """A run from a file or from flags, which build the same dictionary."""
    from tokenflock import spec

    if run_toml is not None:
        _alone("RUN.TOML", list(asked))
        model, start, options = spec.read(run_toml)
    else:
        for flag, names in (("--dim", {"dim"}), ("--tokens", {"tokens", "start_file"}), ("--t-end", {"t_end"})):
            if not names & asked.keys():
                raise SpecError(f"{flag} is missing. For example: tokenflock simulate --n 200 --d 2 --beta 64 --T 150")
        raw: dict[str, dict[str, Any]] = {"model": {}, "start": {}, "simulate": {}}
        for name, given in asked.items():
            raw[FLAGS[name]][RENAMED.get(name, name)] = spec.plain(given)
        raw["start"] |= {"seed": raw["simulate"]["seed"]} if "seed" in asked and "start_file" not in asked else {}
        model, start, options = spec.build(raw)
    return flock.simulate(model, start, **options, progress=progress, throw=False)


def _repeat(file: Path, progress: bool | None) -> tuple[xr.Dataset, dict[str, Any]]:
    """A saved run once more, and how it compares over the frames that the file holds."""
    from tokenflock.simulation import versions

    saved = flock.load(file)
    data = flock.again(saved, progress=progress)
    frames, equal, gap = slice(min(saved.sizes["time"], data.sizes["time"])), True, 0.0
    for name in saved.data_vars.keys() & {"x", "radius"}:
        old, new = (run[name].isel(time=frames).values for run in (saved, data))
        known = old == old  # an interrupted ensemble has nan where it did not come to
        equal = equal and old[known].tobytes() == new[known].tobytes()
        gap = max(gap, float(abs(old[known] - new[known]).max(initial=0.0)))
    then, now = json.loads(saved.attrs["versions"]), versions()
    other = {name: f"{then.get(name)} then {now[name]} now" for name in now if then.get(name) != now[name]}
    return data, {"repeats": str(file), "bit_for_bit": equal, "largest_difference": gap, "other_versions": other}


def _finish(data: xr.Dataset, target: Path | None, overwrite: bool, compared: dict[str, Any], form: str) -> None:
    """Save, tell, and end with the exit code that the run deserves."""
    from tokenflock.engine.contract import Outcome

    attrs, names, frames = data.attrs, list(Outcome), data.sizes["time"]
    ended = [names[code] for code in data["outcome"].values] if "outcome" in data else [Outcome(attrs["outcome"])]
    wrote = flock.save(data, target, overwrite) if target is not None and frames else None
    sizes = {"runs": data.sizes.get("run", 1), "n_tokens": data.sizes["token"], "frames": frames}
    kept = "scheme engine dtype seed t_end steps rejected evaluations wall_s".split()
    summary = {"outcome": attrs["outcome"], "model": json.loads(attrs["model"]), **sizes, **{k: attrs[k] for k in kept}}
    _show(summary | compared | {"wrote": None if wrote is None else str(wrote)}, form)
    if Outcome.INTERRUPTED in ended:
        reached = f"computed up to t = {data['time'].values[-1]:g}" if frames else "nothing was computed"
        if len(ended) > 1:
            reached = f"{len(ended) - ended.count(Outcome.INTERRUPTED)} of {len(ended)} runs reached their end"
        say(f"Interrupted: {reached}; {f'wrote {wrote}' if wrote else 'nothing was written'}.", "red")
        raise typer.Exit(130)
    if any(outcome.failed for outcome in ended):
        say(f"error: {attrs['outcome']}" + (f" What was computed is in {wrote}." if wrote else ""), "red")
        raise typer.Exit(1)
    if not compared.get("bit_for_bit", True):
        gap, why = compared["largest_difference"], _text(compared["other_versions"]) or "same versions"
        say(f"error: the positions differ by up to {gap:.1e} from those of the file ({why}).", "red")
        raise typer.Exit(1)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return value.get("kind") or ", ".join(f"{k} {_text(v)}" for k, v in value.items() if v is not None)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _show(told: dict[str, Any], form: str = "table") -> None:
    """An answer on stdout, as JSON or as a table of two columns."""
    from rich.console import Console
    from rich.table import Column, Table

    if form == "json":
        typer.echo(json.dumps(told, indent=2))
    elif form == "table":
        table = Table(Column(), Column(overflow="fold"), show_header=False, box=None, padding=(0, 2, 0, 0))
        for row in ((name, _text(value)) for name, value in told.items() if value not in (None, {})):
            table.add_row(*row)
        Console().print(table, markup=False, highlight=False)


@app.command()
@spoken
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON on stdout.")] = False) -> None:
    """Say what this machine has: engines, each checked, versions, threads, the cache of compiled kernels.

    Examples:
      tokenflock doctor
      tokenflock doctor --json > machine.json

    Every engine evaluates a causal and a full model of 32 tokens, compared with the equations in numpy, and follows two
    tokens to t = 1, compared with their closed form. Exit code 1 if one is wrong."""
    from importlib.metadata import version
    from importlib.util import find_spec

    from tokenflock.engine.choose import HOMES
    from tokenflock.engine.machine import threads
    from tokenflock.simulation import versions

    more = {name: version(name) for name in ("zarr", "h5netcdf", "matplotlib", "typer", "rich") if find_spec(name)}
    told = {"threads": threads(), "versions": versions() | more, "cache": _compile_cache()}
    engines = {name: _examine(name) for name in HOMES}
    _show({"engines": engines, **told} if as_json else engines | told, "json" if as_json else "table")
    if wrong := [name for name, engine in engines.items() if engine["state"] == "wrong"]:
        say(f"error: {', '.join(wrong)} disagrees with the equations. Please report `tokenflock doctor --json`.", "red")
        raise typer.Exit(1)


def _examine(name: str) -> dict[str, Any]:
    """One engine against the equations, and against the closed form of two tokens (L3)."""
    from tokenflock.engine.choose import engine_named

    x, pair, errors, began = flock.uniform(32, 3, seed=1), flock.uniform(2, 3, seed=2), {}, time.perf_counter()
    truth = flock.theory.two_token_overlap(1.0, float(pair[0] @ pair[1]), beta=1.0)
    try:
        for mask in ("causal", "full"):
            model = flock.Model(dim=3, beta=1.0, mask=mask)
            errors[mask] = float(abs(engine_named(name).velocity(model, x) - flock.velocity(model, x)).max())
        first_s, began = time.perf_counter() - began, time.perf_counter()
        end = flock.simulate(model, pair, 1.0, times=[1.0], engine=name, rtol=1e-10, progress=False)["x"].values[-1]
        errors["run"] = float(abs(end[0] @ end[1] - truth))
    except Exception as error:  # whatever keeps an engine from working is the answer here
        return {"state": f"not available: {error}"}
    right = max(errors["causal"], errors["full"]) < 1e-12 and errors["run"] < 1e-8
    seconds = {"first_s": first_s, "run_s": time.perf_counter() - began}
    return {"state": "right" if right else "wrong", **errors, **seconds}


def _compile_cache() -> str:
    """Where numba keeps compiled kernels, and whether it can: if not, every process compiles again."""
    try:
        from tokenflock.engine import pair_kernels
    except (ImportError, RuntimeError) as error:
        return f"none ({error})"
    folder = next(Path(f.stats.cache_path) for f in vars(pair_kernels).values() if hasattr(f, "stats"))
    free = os.access(folder if folder.exists() else folder.parent, os.W_OK)
    return f"{folder} ({'writable' if free else 'not writable: set NUMBA_CACHE_DIR'})"


@app.command()
@spoken
def cite(file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A .zarr, .nc or run.toml.")] = None) -> None:
    """Print BibTeX for what a run used: tokenflock, the papers of its model, its scheme. Without FILE: everything.

    Examples:
      tokenflock cite run.zarr >> paper.bib
      tokenflock cite run.toml
    """
    from tokenflock.citations import bibtex, used_by

    typer.echo(bibtex(None if file is None else used_by(file)))


@app.command()
@spoken
def figure(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Names that --list shows.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the names and stop.")] = False,
    quick: QUICK = False,
    out: OUT = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Draw figures of the papers as PDF, SVG and PNG.

    Examples:
      tokenflock figure --list
      tokenflock figure causal/2 --quick --out figures
      tokenflock figure --all --out figures --overwrite
    """
    import matplotlib

    from tokenflock import figures

    if listing:
        return typer.echo("\n".join(figures.NAMES))
    if bool(names) == every:
        raise SpecError("which figures? Give names or --all, not both. `tokenflock figure --list` shows the names.")
    if strange := [name for name in names or [] if name not in figures.NAMES]:
        raise unknown("figure", strange[0], figures.NAMES)
    stems = {name: name.replace("/", "-") for name in names or figures.NAMES}
    folder = _folder(out, [f"{stem}.{kind}" for stem in stems.values() for kind in FORMATS], overwrite)
    matplotlib.use("Agg")
    for name, stem in stems.items():
        drawn = figures.figure(name, quick=quick)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as part, matplotlib.rc_context({"svg.hashsalt": name}):
            for kind, metadata in FORMATS.items():
                drawn.savefig(Path(part, f"{stem}.{kind}"), metadata=metadata)
                Path(part, f"{stem}.{kind}").replace(folder / f"{stem}.{kind}")
        typer.echo(f"wrote {folder / stem}.pdf .svg .png\n{getattr(drawn, 'caption', '')}".rstrip())


@app.command()
@spoken
def reproduce(out: OUT = None, quick: QUICK = False, overwrite: OVERWRITE = False) -> None:
    """Check every claim, draw every figure of the two papers, and write one HTML report; again: go on where it stopped.

    Examples:
      tokenflock reproduce --quick --out report
      tokenflock reproduce --out report
    """
    from tokenflock.report import reproduce as report

    own = ("figures", "tables", "report.html")
    foreign = [path.name for path in out.iterdir() if path.name not in own] if out is not None and out.is_dir() else []
    typer.echo(f"wrote {report(_folder(out, foreign, overwrite), quick)}")


def _folder(out: Path | None, names: list[str], overwrite: bool) -> Path:
    """Say before any work whether these files can be written to a folder; make it."""
    if out is None:
        raise bad("--out", None, "a folder", "For example --out figures.")
    if (there := [out / name for name in names if (out / name).exists()]) and not overwrite:
        raise FileError(f"{str(there[0])!r} exists. Choose another --out, or allow it with --overwrite.")
    near = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not near.is_dir() or not os.access(near, os.W_OK):
        raise FileError(f"{str(near)!r} is not a folder that can be written to. Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    return out


def main() -> None:
    """The entry point of the command `tokenflock`."""
    app()
