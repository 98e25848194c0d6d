"""The same questions with Q, K and V of real heads.

Every head of a trained ALBERT as a model of ours: V_h = W_O,h W_V,h, scaled so that its largest eigenvalue has modulus
1 (that only sets the unit of time), and logits as the network makes them, with its tokens of length sqrt(d) times the
gain of the norm. V_h has rank k below d, and tokens live on the sphere of its range: V only reads what lies outside,
and where Re lambda_max < 0 the eigenvalue 0 of that outside would lead, whatever the head does. Three questions of the
other studies are asked again: which row of the atlas is V_h in, do tokens end where that row says although Q and K are
large and of no special form, and do they gather? Beside it stand Gaussian
heads of the same sizes, and heads whose Q and K are those of another head: a null for what training has tied together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import clusters, spectrum
from tokenflock.analysis.statistics import Estimate, interval, wilson
from tokenflock.geometry import Array, to_sphere
from tokenflock.model import Model
from tokenflock.networks.network import Network, read
from tokenflock.networks.place import find
from tokenflock.networks.spectra import Head
from tokenflock.papers.layout import panels
from tokenflock.papers.studies.ledger import Answer, Inquiry, Sizes, Table, spread, study
from tokenflock.simulation import simulate

KINDS = ("trained", "mixed", "gaussian")
MASKS = ("full", "causal")
THERE = 0.99  # |P_L x| beyond which a token is in L; a uniform token of R^32 has 0.14 in a line
TOGETHER = 0.1  # radians: tokens in chains of such steps are one cluster


def network() -> Network:
    """The trained ALBERT that is there; a FileError says what to fetch if there is none."""
    return read(find(None, "albert"))


def inputs() -> dict[str, str]:
    """What the answer depends on."""
    model = network()
    return {model.name: model.digest}


def as_models(net: Network, kind: str, rng: np.random.Generator, mask: str) -> list[Model]:
    """Every head of the first layer as a model on the range of its V.

    mixed: with Q and K of the next head. gaussian: Gaussian matrices of equal norms on that range, where tokens live:
    outside of it Q and K of a head and of Gaussian matrices have other shares of their norm.
    """
    layer, d = net.layer(0, feedforward=False), net.dim
    gain = 1.0 if layer.order == "pre" else net.gain(0)
    heads = [Head.of(layer, h) for h in range(layer.n_heads)]
    made = []
    for h, head in enumerate(heads):
        other = heads[(h + 1) % len(heads)] if kind == "mixed" else head
        whole = {"query": other.query * gain, "key": other.key * gain, "value": head.value, "output": head.output}
        parts = on_range(whole)
        if kind == "gaussian":
            drawn = {name: rng.standard_normal(m.shape) for name, m in parts.items()}
            parts = {name: m * np.linalg.norm(parts[name]) / np.linalg.norm(m) for name, m in drawn.items()}
        V = parts["output"] @ parts["value"]
        size = float(np.abs(np.linalg.eigvals(V)).max())
        query = parts["query"] * head.scale * d  # tokens of the network have length sqrt(d), ours have length 1
        made.append(Model(dim=len(V), mask=mask, query=query, key=parts["key"], value=V / size))
    return made


def on_range(parts: Mapping[str, Array]) -> dict[str, Array]:
    """The same head for the coordinates of tokens in the range of V: R^k, lengths and angles kept."""
    u, sizes, _ = np.linalg.svd(parts["output"] @ parts["value"])
    basis = u[:, : int((sizes > 1e-9 * sizes[0]).sum())]
    return {name: basis.T @ m if name == "output" else m @ basis for name, m in parts.items()}


def _ends(model: Model, s: Sizes, row: str, L: Array, rng: np.random.Generator) -> list[Any]:
    """[row, mean |P_L x|, share of tokens in L, clusters up to sign, clusters] at the end, and |P_L x| at the start."""
    start = to_sphere(rng, (s["n_tokens"], model.dim))
    x = simulate(model, start, s["t_end"], times=[s["t_end"]], rtol=1e-5, progress=False)["x"].values[0]
    part = np.linalg.norm(x @ L, axis=1)
    folded = x * np.where(x @ x[0] < 0, -1.0, 1.0)[:, None]
    counts = [int(clusters.count(y, TOGETHER)) for y in (folded, x)]
    at_first = float(np.linalg.norm(start @ L, axis=1).mean())
    return [row, float(part.mean()), float(np.mean(part > THERE)), *counts, at_first]


def _cell(generator: np.random.Generator, kind: str, mask: str, net: Network, s: Sizes) -> list[list[Any]]:
    """All heads of a kind, several starts each."""
    models = as_models(net, kind, generator, mask)[: s["heads"]]
    rows: list[list[Any]] = []
    for h, model in enumerate(models):
        found = spectrum.classify(model.values[0])
        ends = spread(partial(_ends, model, s, found.row, found.L), generator, s["starts"])
        rows += [[h, float(found.lambda_max.real > 0), *end] for end in ends]
    return rows


def _draw(answer: Answer) -> plot.Figure:
    table, heads = answer.table("kinds"), answer.table("heads")
    figure, axes = panels(2, 2.8, width_ratios=[1.6, 1.0])
    place = np.arange(len(heads.where(kind="trained", mask="full").rows))
    for kind, colour, off in zip(KINDS, ("blue", "orange", "grey"), (-0.22, 0.0, 0.22), strict=True):
        for mask, mark in (("full", "o"), ("causal", "^")):
            rows = heads.where(kind=kind, mask=mask)
            shifted, label = place[: len(rows.rows)] + off, f"{kind}, {mask}"
            axes[0].plot(shifted, rows["in_L"], mark, label=label, ms=4, color=plot.COLOURS[colour], ls="")
    rows = heads.where(kind="trained", mask="full")
    names = [f"{h}\n{row}" for h, row in zip(rows["head"], rows["row"], strict=True)]
    axes[0].set_xticks(place, names, fontsize=6)
    axes[0].set(ylabel="mean $|P_L x|$ at the end", ylim=(-0.22, 1.05))
    axes[0].set_xlabel("head, and the row of its trained $V$")
    axes[0].set_yticks(np.linspace(0, 1, 6))
    axes[0].legend(fontsize=6, ncols=3, loc="lower center")
    at = np.arange(len(table.rows))
    for sign, colour, relation in (("positive", "blue", ">"), ("negative", "red", "<")):
        rows, where = table.where(sign=sign), -at[table["sign"] == sign]
        look: Any = {"fmt": "o", "ms": 4, "capsize": 2, "color": plot.COLOURS[colour]}
        label = rf"Re $\lambda_{{max}}$ {relation} 0"
        axes[1].errorbar(rows["one_place"], where, xerr=rows.bars("one_place"), label=label, **look)
    axes[1].set_yticks(-at, [f"{k}, {m}" for k, m in zip(table["kind"], table["mask"], strict=True)])
    axes[1].set(xlabel="share of runs at one place, up to sign", xlim=(-0.04, 1.04))
    axes[1].legend(fontsize=6, loc="lower left")
    return figure


@study(
    "trained-weights",
    source="A, appendix B.3 (ALBERT); B, section on trained spectra",
    question="Do Q, K and V of trained heads behave as the atlas and the other studies say?",
    method="All heads of a trained ALBERT as single-head models on the sphere of the range of V (32 of 256 "
    "dimensions), full attention (as the network has it) and causal, uniform tokens. V has a spectral radius of 1, "
    "logits are the network's. Row of the atlas by the spectrum of V on its range; at the end the mean |P_L x| "
    "and whether all tokens are at one place up to sign (Wilson, over starts: the heads are those of this "
    "network). Beside it Gaussian heads of equal norms on that range, and trained V with the Q and K of another head. "
    "Feed- "
    "forward, biases, other heads and positions are left out.",
    sizes={"starts": 20, "n_tokens": 12, "t_end": 30.0, "heads": 64},
    quick={"starts": 1, "n_tokens": 6, "t_end": 4.0, "heads": 3},
    draw=_draw,
    inputs=inputs,
)
def trained_weights(work: Inquiry, **s: Any) -> None:
    """Heads of every kind under both masks."""
    net = network()
    cases = {f"{kind}, {mask}": (kind, mask, net, s) for kind in KINDS for mask in MASKS}
    found = work.each(cases, _cell)
    kinds, heads = [], []
    for name, (kind, mask, *_) in cases.items():
        runs = found[name]
        for sign in (1.0, 0.0):
            mine = [row for row in runs if row[1] == sign]
            if mine:
                one = wilson(sum(row[5] == 1 for row in mine), len(mine))
                _, low, high = part = interval([row[3] for row in mine])
                ends = [part.value, max(low, 0.0), min(high, 1.0), float(np.mean([row[5] for row in mine]))]
                started = float(np.mean([row[7] for row in mine]))
                kinds.append([kind, mask, "positive" if sign else "negative", *one, *ends, len(mine), started])
        for h in sorted({row[0] for row in runs}):
            mine = [row for row in runs if row[0] == h]
            means = [float(np.mean([row[k] for row in mine])) for k in (3, 4, 5)]
            heads.append([kind, mask, h, mine[0][2], bool(mine[0][1]), *means])
    columns = (
        "kind",
        "mask",
        "sign",
        "one_place",
        "low",
        "high",
        "in_L",
        "in_L_low",
        "in_L_high",
        "clusters",
        "runs",
        "at_first",
    )
    table = work.table(
        "kinds", columns, kinds, "sign: of Re lambda_max; clusters: up to sign; at_first: in_L of the starts"
    )
    each = work.table("heads", ("kind", "mask", "head", "row", "positive", "in_L", "share_in_L", "clusters"), heads)
    _say(work, table, each, net, s)


def _say(work: Inquiry, table: Table, heads: Table, net: Network, s: Sizes) -> None:
    for row in table.rows:
        name = f"{row[0]}, {row[1]}, Re lambda_max {row[2]}"
        work.number(f"at one place up to sign, {name}", Estimate(*row[3:6]), row[10])
        work.number(f"mean |P_L x|, {name}", Estimate(*row[6:9]), row[10])
    mine = heads.where(kind="trained", mask="full")
    rows = {row: int((mine["row"] == row).sum()) for row in dict.fromkeys(mine["row"])}
    told = ", ".join(f"{count} {row}" for row, count in rows.items())
    ahead = table.where(sign="positive")
    reached = ahead["in_L"] / ahead["at_first"]
    words = f"mean |P_L x| at least {reached.min():.1f} times that of the start"
    work.control("where Re lambda_max > 0 tokens come to L", reached.min() > 2, words)
    real, mixed, chance = (table.where(kind=kind, mask="full", sign="positive").rows[0] for kind in KINDS)
    causal = table.where(kind="trained", mask="causal", sign="positive").rows[0]
    pulled = mine.where(positive=True)
    always = int((pulled["clusters"] == 1.0).sum())
    spread_out = table.where(kind="trained", mask="full", sign="negative").rows
    apart = ""
    if spread_out:
        row = spread_out[0]
        count = int((~mine["positive"]).sum())
        drawn = heads.where(kind="gaussian")["positive"]
        by_luck, odd = len(drawn), int((~drawn).sum())
        apart = (
            f" The {count} with Re lambda_max < 0 do the opposite: one place in {Estimate(*row[3:6])} of runs, "
            f"{row[9]:.1f} places for {s['n_tokens']} tokens. Of the {by_luck} Gaussian heads {odd or 'none'} are of "
            "that kind."
        )
        words = f"mean |P_L x| {row[6]:.2f} ({row[11]:.2f} at the start) against {real[6]:.2f}"
        work.control("tokens come to L where Re lambda_max > 0, not below", row[6] < real[6], words)
    work.answer(
        f"By and large. Of {len(mine.rows)} heads of {Path(net.name).name} the rows are {told}. Those with Re "
        "lambda_max > 0 gather: full attention, their own Q and K, all tokens at one place up to sign in "
        f"{Estimate(*real[3:6])} of runs at t = {s['t_end']:g}, in {always} of {len(pulled.rows)} heads from every "
        f"start (causal {Estimate(*causal[3:6])}; with the Q and K of "
        f"another head {Estimate(*mixed[3:6])}; Gaussian heads of the same norms on that range "
        f"{Estimate(*chance[3:6])}), and |P_L "
        f"x| is {Estimate(*real[6:9])} (Gaussian {Estimate(*chance[6:9])}).{apart}",
        "A longer time (slow heads have eigenvalues close to the leading one), starts that are the network's own "
        f"tokens rather than uniform ones, or a larger network: the intervals are over the {s['starts']} starts of a "
        f"head, and {len(mine.rows)} heads are few.",
    )
