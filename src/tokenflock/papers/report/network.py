"""The report of a trained network: what the theory says of its heads, and what its tokens do.

OUT/report.html                 all of it, pictures inside
OUT/figures/NAME.pdf .svg .png
OUT/network.json                every number of the report
OUT/states.zarr                 the hidden states of the first text, a trajectory for flock.load
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tokenflock import plot
from tokenflock.analysis.spectrum import ROWS
from tokenflock.markup import Markup, joined, markup
from tokenflock.papers.report import network_figures as figures
from tokenflock.papers.report import network_working as working
from tokenflock.papers.report.network_study import FULL, QUICK, NetworkStudy, Say, study
from tokenflock.papers.report.page import captioned, document, grid, notices, picture
from tokenflock.store import write_text
from tokenflock.trajectories import save
from tokenflock.transformer import behaviour

FILES = ("report.html", "network.json", "figures", "states.zarr")
LONG = 40  # rows of a table from which it is folded


Draw = Callable[[NetworkStudy], "plot.Figure"]
Facts = dict[str, Any]  # numbers and words by name, for JSON


class NetworkReport(NamedTuple):
    """Where the page is, and what it says."""

    path: Path
    facts: Facts


def network(
    path: str | Path,
    out: str | Path,
    *,
    texts: Path | None = None,
    ids: Path | None = None,
    layers: list[int] | None = None,
    quick: bool = False,
    seed: int = 0,
    say: Say = lambda text: None,
) -> NetworkReport:
    """NetworkStudy the network at a path and write its report to a folder.

    texts: a file with one text a line; ids: with token ids instead; neither: random tokens. layers: those whose heads
    are shown and simulated. Nothing is written before everything is computed.
    """
    began = time.perf_counter()
    made = study(path, texts=texts, ids=ids, layers=layers, sizes=QUICK if quick else FULL, seed=seed, say=say)
    say("figures")
    folder = Path(out)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    pictures = {name: _drawn(draw, made, folder, name) for name, draw in _figures(made).items()}
    facts = _facts(made) | {"quick": quick}
    save(made.runs[0], folder / "states.zarr", overwrite=True)
    write_text(folder / "network.json", json.dumps(facts, indent=1))
    write_text(folder / "report.html", _page(made, facts, pictures, quick, time.perf_counter() - began))
    return NetworkReport(folder / "report.html", facts)


def _figures(made: NetworkStudy) -> dict[str, Draw]:
    chosen: dict[str, Draw] = {"spectra": figures.spectra, "triples": figures.triples}
    if len(made.network.blocks) > 1:
        chosen["tops"] = figures.tops
    rest = {"chance": figures.by_chance, "histograms": figures.histograms, "layers": figures.layers}
    more: dict[str, Draw] = {"field": lambda one: working.field(one.fields), "betas": working.betas}
    return {**chosen, **rest, "persistence": figures.by_radius, "ablations": figures.ablations, **more}


def _drawn(draw: Draw, made: NetworkStudy, folder: Path, name: str) -> Markup:
    with plot.style():
        figure = draw(made)
    files = [file.name for file in plot.save(figure, folder / "figures", name)]
    drawn = picture({"files": files, "name": name}, folder / "figures")
    return captioned(getattr(figure, "caption", ""), drawn)


# What is said, as numbers.


def _facts(made: NetworkStudy) -> Facts:
    net, heads = made.network, made.heads
    named = ("regime", "multiplicity", "good", "good_fails", "beta_effective", "form_asymmetry", "value_norm")
    rows: list[Facts] = []
    for l, h in product(heads["layer"].values, heads["head"].values):
        one = heads.sel(layer=l, head=h)
        lam = complex(one["lambda_max"].values)
        place = {"layer": int(l), "head": int(h), "lambda_max": [lam.real, lam.imag]}
        rows.append(place | {n: one[n].values.item() for n in named})
    observed: list[Facts] = []
    for item in made.simulated:
        told = {name: dataclasses.asdict(item[name]) for name in ("flow", "layers")}
        observed.append({"layer": item["layer"], "head": item["head"], "beta": item["theory"].model.beta} | told)
    own = made.chances[net.head_dim]
    means = {name: figures.mean_of(made.measures, name) for name in ("overlap", "clusters", "effective_rank")}
    facts = {
        "network": {**dict(heads.attrs), "n_heads": net.n_heads},
        "read": made.read,
        "rows": dict(Counter(row["regime"] for row in rows)),
        "heads": rows,
        "negative": sum(row["lambda_max"][0] < 0 for row in rows),
        "chance": {str(size): dataclasses.asdict(found) for size, found in made.chances.items()},
        "chance_of_these": {"seen": own.seen, "samples": own.samples, "at_most": 10**own.high},
        "hidden_states": {"by": made.engine, "blocks_differ_by": made.apart, **means},
        "ablations": made.ablations,
        "predicted_and_simulated": observed,
        **working.numbers(made),
        "notes": made.notes,
        "seconds": made.seconds,
    }
    return {name: _plain(fact) for name, fact in facts.items()}


def _plain(value: Any) -> Any:
    """Numbers that JSON has: no arrays, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


# The page.


def _page(made: NetworkStudy, facts: Facts, pictures: dict[str, Markup], quick: bool, wall: float) -> Markup:
    net = made.network
    banner = notices("Quick version: fewer tokens, texts and samples." if quick else "", *made.notes)
    left_out = f"In the spectra and the simulated heads: {made.heads.attrs['left_out']}."
    left_out += " In the hidden states and in our blocks nothing is left out."
    sections = [
        ("What came out", _summary(made, facts)),
        ("The network", _identity(made)),
        ("Spectra of the value matrices", joined([pictures["spectra"], pictures.get("tops", "")])),
        ("Heads by row of the atlas", _rows(facts)),
        ("Good triples", pictures["triples"]),
        ("Every head", _heads(made, facts)),
        ("By chance?", joined([_by_chance(made), pictures["chance"]])),
        ("Predicted and simulated, head by head", _simulated(made)),
        ("At what beta it runs, and for how long", joined([pictures["betas"], working.beta_table(made)])),
        ("Prediction against what happens", working.against_table(made)),
        ("What interpretability measures", pictures["field"]),
        ("Overlaps, layer by layer", pictures["histograms"]),
        ("Clusters at every radius", pictures["persistence"]),
        ("Hidden states of the model", pictures["layers"]),
        ("Which part gathers the tokens", joined([_parts(made), pictures["ablations"]])),
        ("What the theory leaves out", markup("<p>{}</p>", left_out)),
    ]
    spent = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in made.seconds.items())
    return document(
        net.name,
        markup(
            "<h1>{name}</h1>"
            "<p>A trained transformer under the theory of attention dynamics: the spectrum of every head and the row "
            "of the atlas it falls in, and what tokens really do from layer to layer.</p>{banner}{body}"
            "<footer><p>Made in {wall:.1f} s ({spent}). Seed {seed}. Numbers: <code>network.json</code>; hidden "
            "states: <code>states.zarr</code>, for <code>flock.load</code>.</p></footer>",
            name=net.name,
            banner=banner,
            body=joined(markup("<section><h2>{}</h2>{}</section>", title, told) for title, told in sections),
            wall=wall,
            spent=spent,
            seed=made.seed,
        ),
    )


def _summary(made: NetworkStudy, facts: Facts) -> Markup:
    net, total = made.network, len(facts["heads"])
    rows: Counter[str] = Counter(facts["rows"])
    counts = ", ".join(f"{number} {row}" for row, number in rows.most_common())
    overlap, clusters = (figures.mean_of(made.measures, name) for name in ("overlap", "clusters"))
    tokens = np.mean([run.sizes["token"] for run in made.runs])
    below = f"{facts['negative']} have lambda_max < 0;"
    by_chance = made.chances[net.head_dim].method.replace(" Gaussian heads", "")
    ends = f"mean overlap {overlap[0]:.2f} at the embeddings, {overlap[-1]:.2f} after layer {net.n_layers}"
    lines = [
        f"Of {total} heads: {counts}. {below} of Gaussian heads of this size {by_chance} have.",
        f"{sum(row['good'] for row in facts['heads'])} of {total} heads are good triples.",
        f"The model's own tokens: {ends}; {clusters[-1]:.0f} clusters of {tokens:.0f} tokens.",
        _gathers(made),
        _agreement(made),
        *working.summary(made),
    ]
    if made.apart is not None:
        lines.append(f"Our blocks in numpy give the hidden states of transformers to {made.apart:.0e} of their length.")
    return markup("<ul>{}</ul>", joined(markup("<li>{}</li>", line) for line in lines if line))


def _gathers(made: NetworkStudy) -> str:
    """After as many layers as the model has, which parts left out make the tokens one cluster."""
    at = made.network.n_layers
    found = {name: one["clusters"][at] for name, one in made.ablations.items() if not isinstance(one, str)}
    one = [name for name, number in found.items() if number <= 1.5]
    if not one:
        return f"With any one part left out tokens still are in several clusters after layer {at}."
    return f"After layer {at} all tokens are one cluster with: {'; '.join(one)}."


def _agreement(made: NetworkStudy) -> str:
    parts = []
    for scheme, words in (("flow", "as a flow"), ("layers", "in layers")):
        judged = [item[scheme].agrees for item in made.simulated if item[scheme].agrees is not None]
        parts.append(f"{sum(judged)} of {len(judged)} {words}")
    return f"Simulated heads that end as the atlas says: {', '.join(parts)}."


def _identity(made: NetworkStudy) -> Markup:
    net = made.network
    heads = f"{net.n_heads} of dimension {net.head_dim}"
    if net.n_groups != net.n_heads:
        heads += f", {net.n_groups} groups of keys and values"
    rows = {
        "family": net.family,
        "layers": f"{net.n_layers}" + (", all with the same weights" if len(net.blocks) == 1 else ""),
        "hidden size": str(net.dim),
        "heads": heads,
        "attention": "causal" if net.causal else "full",
        "norm": f"{net.norm}, {'after' if net.norm == 'post' else 'before'} each part",
        "positions": net.positions,
        "SHA-256 of the weights": markup("<code>{}</code>", net.digest[:16]),
        "read": made.read,
        "hidden states by": made.engine,
    }
    return grid(("", ""), [[name, value] for name, value in rows.items()], (1,))


def _rows(facts: Facts) -> Markup:
    rows = [[row, str(facts["rows"].get(row, 0)), words] for row, words in ROWS.items() if row in facts["rows"]]
    note = markup(
        "<p>The row is that of V_h on the space it writes to: the eigenvalues 0 that its rank leaves over do not "
        "count. The atlas (Table 1 of arXiv:2411.04990) is a theorem for V = I and conjectures otherwise.</p>"
    )
    return joined([grid(("row", "heads", "what all tokens tend to"), rows, (2,)), note])


def _heads(made: NetworkStudy, facts: Facts) -> Markup:
    rows = []
    for row in facts["heads"]:
        lam = figures.number(complex(*row["lambda_max"]))
        why = "" if row["good"] else row["good_fails"].removeprefix("Def 4.1: ").partition(" Def 4.1:")[0]
        numbers = [f"{row[name]:.3g}" for name in ("beta_effective", "form_asymmetry", "value_norm")]
        place = f"{row['layer']}.{row['head']}" if len(made.network.blocks) > 1 else str(row["head"])
        rows.append([place, lam, row["regime"], *numbers, "good" if row["good"] else why])
    head = ("head", LAMBDA, "row", "β effective", "asymmetry of Q'K", "|V|", "good triple?")
    table = grid(head, rows, (6,))
    note = markup(
        "<p>{}β effective: that of the identity with the same symmetric part of Q'K, on unit tokens. "
        "Asymmetry: 0 symmetric, 1 antisymmetric.</p>",
        "layer.head. " if len(made.network.blocks) > 1 else "",
    )
    if len(rows) > LONG:
        table = markup("<details><summary>All {} heads</summary>{}</details>", len(rows), table)
    return joined([table, note])


def _by_chance(made: NetworkStudy) -> Markup:
    k = made.network.head_dim
    rows = []
    for size, found in sorted(made.chances.items()):
        seen = found.log10 > -math.inf
        middle = f"{10**found.log10:.2g}" if seen else "0"
        low = f"{10**found.low:.2g}" if found.low > -math.inf else "0"
        name = f"{size}" + (" (these heads)" if size == k else "")
        rows.append([name, middle, f"{low} to {10**found.high:.2g}", found.method])
    guess = figures.extrapolated(made)[2]
    said = f"1e{guess:.0f}" if guess < -3 else f"{10**guess:.2g}"
    note = markup(
        "<p>How often every eigenvalue of a head with Gaussian weights has a negative real part, with 95 % intervals. "
        "A parabola through the logarithms of what could be estimated gives about {} at size {}: an extrapolation, "
        "not an estimate.</p>",
        said,
        k,
    )
    return joined([grid(("size of a head", "share", "95 % interval", "by"), rows, (3,)), note])


def _simulated(made: NetworkStudy) -> Markup:
    rows = []
    for item in made.simulated:
        regime, place = item["theory"].regime, f"{item['layer']}.{item['head']}"
        cells = []
        for scheme in ("flow", "layers"):
            one = item[scheme]
            word = {True: "holds", False: "fails", None: "open"}[one.agrees]
            other = "" if one.same else " (L of the eigenvalue of largest |1 + λ|)"
            cells.append(markup('<span class="{}">{}</span>: {}{}', word, AGREES[one.agrees], one.words, other))
        lam = figures.number(regime.lambda_max)
        rows.append([place if len(made.network.blocks) > 1 else str(item["head"]), regime.row, lam, *cells])
    note = markup(
        "<p>Each head as a model of its own: tokens of the first text on the sphere of the space that it writes to, "
        "its Q, K and V, β from the length that the norm gives to tokens. <i>As the atlas says</i>: for "
        "λ<sub>max</sub> &gt; 0 all tokens in L, and in no more places than the row allows; for "
        "λ<sub>max</sub> &lt; 0 a cloud around L (mean |P_L x| &gt; 0.7) in which no tokens have met. The flow "
        "runs for 12 decay times of the other directions; layers are steps of 1, as in the model, in which tokens "
        "that have met follow the eigenvalue of largest |1 + λ|.</p>"
    )
    return joined([note, grid(("head", "row", LAMBDA, "as a flow", "in layers"), rows, (3, 4))])


LAMBDA = markup("λ<sub>max</sub>")
AGREES = {True: "as the atlas says", False: "not as the atlas says", None: "no row"}


def _parts(made: NetworkStudy) -> Markup:
    own = made.network.n_layers
    note = markup("<p>Clusters: tokens linked by overlaps above {:g}.</p>", behaviour.TOGETHER)
    rows, last = [], own
    for name, found in made.ablations.items():
        if isinstance(found, str):
            rows.append([name, found.partition(". ")[0], *[""] * 6])
            continue
        last = int(found["time"][-1])
        numbers = [f"{found['overlap'][at]:.3f}" for at in (own, -1)]
        numbers += [f"{found['clusters'][at]:.0f}" for at in (own, -1)]
        first = np.flatnonzero(found["clusters"] <= 1.5)
        part = "" if found["inside"] is None else f"{found['inside'][-1]:.2f}"
        when = str(int(found["time"][first[0]])) if first.size else "never"
        rows.append([name, *numbers, f"{found['effective_rank'][-1]:.1f}", when, part])
    ends = [f"{what}, layer {at}" for what in ("overlap", "clusters") for at in (own, last)]
    head = ("in force", *ends, "rank at the end", "one cluster from layer", "|P_L x| at the end")
    # Where the run ends with the model, its two layers are one; and a column without numbers is left out.
    used = [k for k in range(len(head)) if any(row[k] for row in rows) and not (last == own and k in (2, 4))]
    return joined([grid(tuple(head[k] for k in used), [[row[k] for k in used] for row in rows]), note])
