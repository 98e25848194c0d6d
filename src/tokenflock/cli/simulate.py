"""tokenflock simulate: a run from flags, from a run.toml or from a saved run, and how it is told and saved."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tokenflock as flock  # light: what it names is imported when first used
from tokenflock.cli.speech import app, brief, note_compiling, say, show, spoken
from tokenflock.errors import SpecError, clash

if TYPE_CHECKING:
    import xarray as xr

# The section and the key of spec.build that each flag of simulate is. --seed is also that of the start.
FLAGS = {
    **dict.fromkeys("dim beta query key value mask kernel normaliser space layer_norm noise".split(), "model"),
    **dict.fromkeys("tokens start start_file runs".split(), "start"),
    **dict.fromkeys("t_end times scheme dt rtol atol engine dtype seed".split(), "simulate"),
}
RENAMED = {"tokens": "n_tokens", "start": "kind", "start_file": "file"}

SIMULATE = r"""Follow tokens in time, from flags or from a strict RUN.TOML (not both), and save the trajectory.

Examples:
  tokenflock simulate --tokens 200 --dim 2 --beta 64 --t-end 50 --out run.zarr
  tokenflock simulate --tokens 64 --dim 3 --mask full --t-end 9 --json
  tokenflock simulate --tokens 200 --dim 2 --beta 64 --to-collapse --json
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

Ctrl-C keeps what was computed. Read the file in Python with
flock.load("run.zarr")."""
MATRIX = """V: FILE.npy, identity (default), diag:1,0.5, spectrum:1,0.5, plane_rotation:0.3, low_rank:RANK,
jordan:eigenvalue=1,size=2, paranormal:MULTIPLICITY, a matrix of paper B such as hyperplanes-2d, or with a seed
rotation:7, ginibre:7, goe:7, wigner:7, positive_definite:7, uniform_entries:7."""
KERNEL = """How a logit becomes a weight: exp (default), sigmoid:bias=-3, relu, power:3, softplus, linear, cosine,
gaussian:WIDTH, bounded:RADIUS, or an expression of logit, overlap and distance: 'exp(-distance**2)'."""
NORMALISER = """What a row is divided by: softmax (default), count, scaled-count, none, l2, sink:LOGIT, positions or
sinkhorn; count:own=false leaves the token itself out."""
START = """uniform (default), cap:ANGLE, cube:HALF_WIDTH, gaussian:SCALE, orthonormal, equiangular:OVERLAP,
planted:n_clusters=4,spread=0.1 or von_mises_fisher:KAPPA."""
TIMES = """What to keep: N equally spaced times, or 0 and N times in equal ratios from FIRST.
Default 101, in equal ratios from t_end = 1e4 on."""

COLLAPSE = "Instead of --t-end: until all tokens have met, or nothing moves any more. Takes implicit steps."

MASK = (
    "causal (default), full, window:W, dilated:W, blocks:N, prefix:N, sink:W, random:SHARE, an expression of i and j."
)
Flag = str | None  # numbers too: spec.plain reads them, and errors then name the value
PANELS = ("Model", "Tokens", "Time", "Running and output")
_model, _tokens, _time, _output = (functools.partial(typer.Option, rich_help_panel=panel) for panel in PANELS)


@app.command(help=SIMULATE, no_args_is_help=True)
@spoken  # the arguments below are the flags of the command: typer reads them from the signature
def simulate(
    ctx: typer.Context,
    run_toml: Annotated[Path | None, typer.Argument(metavar="RUN.TOML", help="The run in a file.")] = None,
    dim: Annotated[Flag, _model("--dim", "--d", metavar="INT", help="d, the dimension. Required.")] = None,
    beta: Annotated[Flag, _model(metavar="FLOAT", help="Inverse temperature; inf is hardmax. Default 1.")] = None,
    mask: Annotated[Flag, _model(metavar="MASK", help=MASK)] = None,
    query: Annotated[Flag, _model(metavar="MATRIX", help="Q, said like V. Default identity.")] = None,
    key: Annotated[Flag, _model(metavar="MATRIX", help="K, said like V. Default identity.")] = None,
    value: Annotated[Flag, _model(metavar="MATRIX", help=MATRIX)] = None,
    kernel: Annotated[Flag, _model(metavar="KERNEL", help=KERNEL)] = None,
    normaliser: Annotated[Flag, _model(metavar="NAME", help=NORMALISER)] = None,
    space: Annotated[Flag, _model(metavar="NAME", help="sphere (default), euclidean or rescaled.")] = None,
    layer_norm: Annotated[
        Flag, _model(metavar="KIND", help="post (default), pre, mix:SWITCH, peri, ngpt or sqrt.")
    ] = None,
    noise: Annotated[Flag, _model(metavar="FLOAT", help="sqrt(2/kappa) of the Brownian motion. Default 0.")] = None,
    tokens: Annotated[
        Flag, _tokens("--tokens", "--n-tokens", "--n", metavar="INT", help="n, the number of tokens. Required.")
    ] = None,
    start: Annotated[Flag, _tokens(metavar="START", help=START)] = None,
    start_file: Annotated[Flag, _tokens(metavar="FILE.npy", help="Instead: (n, d) or (runs, n, d).")] = None,
    runs: Annotated[Flag, _tokens(metavar="INT", help="An ensemble of so many starts. Default: a single run.")] = None,
    seed: Annotated[Flag, _tokens(metavar="INT", help="Of the start and of the noise. Default 0.")] = None,
    t_end: Annotated[Flag, _time("--t-end", "--T", metavar="FLOAT", help="The end of time. Required.")] = None,
    to_collapse: Annotated[bool, _time("--to-collapse", metavar="", help=COLLAPSE)] = False,
    times: Annotated[Flag, _time(metavar="N|log:FIRST:N", help=TIMES)] = None,
    scheme: Annotated[
        Flag, _time(metavar="NAME", help="auto, tsit5, rosenbrock, skeleton, euler, heun, rk4 or layers.")
    ] = None,
    dt: Annotated[Flag, _time(metavar="FLOAT", help="Step of euler, heun, rk4 and layers.")] = None,
    rtol: Annotated[Flag, _time(metavar="FLOAT", help="Relative error allowed. Default 1e-6.")] = None,
    atol: Annotated[Flag, _time(metavar="FLOAT", help="Absolute error allowed. Default 1e-9.")] = None,
    engine: Annotated[Flag, _output(metavar="NAME", help="auto (default), cpu, gpu, harmonic or reference.")] = None,
    dtype: Annotated[Flag, _output(metavar="NAME", help="float64 (default) or float32.")] = None,
    out: Annotated[Path | None, _output(metavar="FILE", help="Save the run: a .zarr folder or a .nc file.")] = None,
    overwrite: Annotated[bool, _output("--overwrite", metavar="", help="Replace FILE if it exists.")] = False,
    again: Annotated[Path | None, _output(metavar="FILE", help="Repeat a saved run, compare bit for bit.")] = None,
    as_json: Annotated[bool, _output("--json", metavar="", help="The summary as JSON on stdout.")] = False,
    quiet: Annotated[bool, _output("--quiet", metavar="", help="No progress, no summary.")] = False,
) -> None:
    """Follow tokens in time; SIMULATE is the help text."""
    from tokenflock.store import check_target

    asked = {name: given for name, given in ctx.params.items() if name in FLAGS and given is not None}
    target, progress = None if out is None else check_target(out, overwrite), False if quiet else None
    if overwrite and out is None:
        raise clash("--overwrite", "no --out", "Say what to replace: --out FILE.")
    if to_collapse:
        if "t_end" in asked:
            raise clash("--to-collapse", "--t-end", "It goes on until all tokens have met: leave --t-end out.")
        asked["to_collapse"] = True
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
        if asked.pop("to_collapse", False):
            asked["t_end"] = "inf"
        for flag, names in (("--dim", {"dim"}), ("--tokens", {"tokens", "start_file"}), ("--t-end", {"t_end"})):
            if not names & asked.keys():
                raise SpecError(
                    f"{flag} is missing. For example: tokenflock simulate --tokens 200 --dim 2 --beta 64 --t-end 50"
                )
        raw: dict[str, dict[str, Any]] = {"model": {}, "start": {}, "simulate": {}}
        for name, given in asked.items():
            raw[FLAGS[name]][RENAMED.get(name, name)] = spec.plain(given)
        raw["start"] |= {"seed": raw["simulate"]["seed"]} if "seed" in asked and "start_file" not in asked else {}
        try:
            model, start, options = spec.build(raw)
        except SpecError as error:
            raise SpecError(_by_flag(str(error))) from None
    if progress is not False:
        note_compiling()
    try:
        run: xr.Dataset = flock.simulate(model, start, **options, progress=progress, throw=False)
    except SpecError as error:
        raise error if run_toml is not None else SpecError(_by_flag(str(error))) from None
    return run


def _by_flag(words: str) -> str:
    """An error that names a key of a run.toml, as whoever typed a flag knows it: [model] dim, or dim, is --dim."""
    for name, section in FLAGS.items():
        key = RENAMED.get(name, name)
        if found := re.match(rf"(?:\[{section}\] )?{key}(?= = )", words):
            return f"--{name.replace('_', '-')}{words[found.end() :]}"
    return words


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
    show(summary | compared | {"wrote": None if wrote is None else str(wrote)}, form)
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
        gap, why = compared["largest_difference"], brief(compared["other_versions"]) or "same versions"
        say(f"error: the positions differ by up to {gap:.1e} from those of the file ({why}).", "red")
        raise typer.Exit(1)
