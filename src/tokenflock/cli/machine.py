"""tokenflock doctor and tokenflock cite: what this machine has, and whom a run owes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import tokenflock as flock
from tokenflock.cli.speech import app, say, show, spoken, switch
from tokenflock.errors import install_command


@app.command()
@spoken
def doctor(
    as_json: Annotated[bool, switch("--json", help="Answer as JSON on stdout.")] = False,
) -> None:
    """Say what this machine has: engines, each checked, versions, threads, the cache of compiled kernels, the GPU.

    Examples:
      tokenflock doctor
      tokenflock doctor --json > machine.json

    Every engine evaluates a causal and a full model of 32 tokens, compared with
    the equations in numpy, and follows two tokens to t = 1, compared with their
    closed form. Exit code 1 if one is wrong."""
    from importlib.metadata import version
    from importlib.util import find_spec

    from tokenflock.engine.choose import HOMES
    from tokenflock.engine.machine import threads
    from tokenflock.simulation import versions

    more = {name: version(name) for name in ("zarr", "h5netcdf", "matplotlib", "typer", "rich") if find_spec(name)}
    engines = {name: _examine(name) for name in HOMES}
    told = {"threads": threads(), "versions": versions() | more, "cache": _compile_cache(), "device": _device()}
    show({"engines": engines, **told} if as_json else engines | told, "json" if as_json else "table")
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


def _device() -> dict[str, str]:
    """What engine="gpu" finds: torch, CUDA, the device it would take, Triton; with the command that helps."""
    from importlib.metadata import version
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return {"torch": f"missing. Install it with: {install_command('gpu')}"}
    import torch

    from tokenflock.engine.gpu import HELP, device_named, free_bytes, name_of

    told: dict[str, str] = {"torch": str(torch.__version__)}
    told["cuda"] = f"{torch.version.cuda}, devices: {torch.cuda.device_count()}"
    if not torch.cuda.is_available():
        told["cuda"] = f"none that torch sees, engine='gpu' runs on the CPU. {HELP}"
    try:
        device = device_named()
        told["device"] = f"{device} ({name_of(device)}), {free_bytes(device) / 2**30:.1f} GiB"
    except flock.errors.TokenflockError as error:
        told["device"] = f"not available: {error}"
    lacking = f"missing: plain torch does its work, slower. Install it with: {install_command('gpu')}"
    told["triton"] = version("triton") if find_spec("triton") else lacking
    return told


def _compile_cache() -> str:
    """Where numba keeps compiled kernels, and whether it can: if not, every process compiles again."""
    try:
        from tokenflock.engine.explicit import pairs as pair_kernels
    except (ImportError, RuntimeError) as error:
        return f"none ({error})"
    folder = Path(pair_kernels.general.stats.cache_path)
    free = os.access(folder if folder.exists() else folder.parent, os.W_OK)
    return f"{folder} ({'writable' if free else 'not writable: set NUMBA_CACHE_DIR'})"


@app.command()
@spoken
def cite(file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A .zarr, .nc or run.toml.")] = None) -> None:
    """Print BibTeX for what a run used: tokenflock, the papers of its model, its scheme.

    Examples:
      tokenflock cite run.zarr >> paper.bib
      tokenflock cite run.toml

    Without FILE: everything that this package builds on."""
    from tokenflock.papers.citations import bibtex, used_by

    typer.echo(bibtex(None if file is None else used_by(file)))
