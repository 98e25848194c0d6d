"""tokenflock network: the heads and the hidden states of a trained model, in one report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tokenflock.cli import place, saved
from tokenflock.cli.speech import OUT, OVERWRITE, QUICK, app, say, spoken, whole
from tokenflock.errors import bad, clash
from tokenflock.store import write_text

NETWORK = r"""Report on a trained model: the spectrum of every head, its row of the atlas, and what its tokens do.

PATH is a folder in the layout of Hugging Face, a .gguf file,
a wheel, zip or npm .tgz that holds one, or a name on the hub; or hidden
states of any network (.npy, .npz, .safetensors of a cache, .zarr, .nc).

Examples:
  pip download --no-deps rxnmapper==0.4.3 --dest weights    # a small ALBERT
  tokenflock network weights/rxnmapper-0.4.3-py3-none-any.whl --out albert
  tokenflock network gpt2 --text texts.txt --layers 0,5,11 --out report
  tokenflock network cache.npz --part "blocks.{}.hook_resid_post"
  tokenflock network model.gguf --ids ids.txt --quick --out report --json -

DIR/report.html has the eigenvalues of V = W_O W_V of the heads, which of
them are good triples, how often Gaussian weights do the same, heads simulated
beside what the theory predicts, the overlaps of tokens layer by layer, and
runs with parts of the model left out (feed-forward, norms, biases, attention)
to see which part gathers the tokens. A model that shares its weights among
layers, as ALBERT does, is also run ten times as deep.

Without --text and --ids random tokens of the model's vocabulary are read.
Reading weights needs numpy alone; with torch and transformers (pip install
'tokenflock\[hidden]') the model itself is run beside our blocks. No code of a
model is ever executed."""


@app.command(help=NETWORK, no_args_is_help=True)
@spoken
def network(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The model: folder, file, archive or hub name.")],
    text: Annotated[Path | None, typer.Option(metavar="FILE", help="What the model reads: one text a line.")] = None,
    ids: Annotated[Path | None, typer.Option(metavar="FILE", help="Instead: token ids, one text a line.")] = None,
    layers: Annotated[
        str | None, typer.Option(metavar="L,L,...", help="Heads to show and simulate. Default: first, middle, last.")
    ] = None,
    part: saved.PART = "",
    seed: Annotated[str, typer.Option(metavar="N", help="Of random tokens and Gaussian heads.")] = "0",
    quick: QUICK = False,
    to_json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The numbers; - is stdout.")] = None,
    out: OUT = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Report on a trained model; NETWORK is the help text."""
    from tokenflock.papers.report import network as report

    place.no_window()
    if _is_states(path):
        return _states(path, part, out, overwrite, to_json)
    if part:
        raise clash("--part", "a model", "It chooses among the entries of a cache of hidden states.")
    if text is not None and ids is not None:
        raise clash("--text", "--ids", "Both say what the model reads: give one.")
    chosen = None if layers is None else _layers(layers)
    number = whole("--seed", seed, 0)
    target = place.json_file(to_json, overwrite)
    folder = place.folder(out, list(report.FILES), overwrite)
    tell = lambda words: say(f"{words} ...")  # noqa: E731
    made = report.network(path, folder, texts=text, ids=ids, layers=chosen, quick=quick, seed=number, say=tell)
    numbers = json.dumps(made.facts, indent=1)
    if target is not None:
        write_text(target, numbers)
    if to_json == "-":
        typer.echo(numbers)
    else:
        typer.echo(f"wrote {made.path}" + (f"\nwrote {target}" if target else ""))


def _is_states(path: str) -> bool:
    """Whether a file holds hidden states, and no network: a .safetensors or .pt with a config.json beside is one."""
    from tokenflock.caches import SUFFIXES

    file = Path(path)
    known = file.suffix in (*SUFFIXES, ".zarr", ".nc") and file.exists()
    return known and not (file.parent / "config.json").is_file()


def _states(path: str, part: str, out: Path | None, overwrite: bool, to_json: str | None) -> None:
    """The report of hidden states."""
    from tokenflock.papers.report import states as report

    target = place.json_file(to_json, overwrite)
    run = saved.opened(Path(path), part)
    folder = place.folder(out, list(report.FILES), overwrite)
    made = report.states(run, folder, Path(path).stem, say=lambda words: say(f"{words} ..."))
    numbers = json.dumps(made.facts, indent=1)
    if target is not None:
        write_text(target, numbers)
    typer.echo(numbers if to_json == "-" else f"wrote {made.path}")


def _layers(said: str) -> list[int]:
    from tokenflock.arguments import digits

    found = [digits(word) for word in said.replace(" ", "").split(",")]
    if (numbers := [number for number in found if number is not None]) != found:
        raise bad("--layers", said, "numbers of layers, counted from 0", "For example --layers 0,5,11.")
    return numbers
