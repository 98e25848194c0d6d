"""What the report of a network says of real tokens: the measures of the field, the effective beta, theory and nulls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock import plot
from tokenflock.analysis import energy
from tokenflock.analysis.statistics import interval
from tokenflock.geometry import Array
from tokenflock.markup import Markup, joined, markup
from tokenflock.papers.report.network_study import NetworkStudy
from tokenflock.papers.report.page import grid
from tokenflock.transformer import against, working

if TYPE_CHECKING:
    import xarray as xr

C = plot.COLOURS
DECADE = 10.0  # a smaller range is no case for a logarithmic axis
#: lines of the two ranks, (variable, name, colour)
RANKS = tuple(
    ((f"{kind}_raw", "raw", "grey"), (f"{kind}_rest", "no outliers", "green"), (f"{kind}_normed", "normed", "blue"))
    for kind in ("rank", "stable")
)
#: panels of the figure of the field: title, its lines (variable, name, colour), whether the axis is logarithmic
PANELS: tuple[tuple[str, tuple[tuple[str, str, str], ...], bool], ...] = (
    ("sinks: first token", (("sink_rate", "rate", "red"), ("sink_mass", "mass", "orange")), False),
    ("first token's length / median", (("first_length", "", "blue"),), True),
    ("entropy of attention / log(seen)", (("attention_entropy", "", "blue"),), False),
    ("effective rank", RANKS[0], False),
    ("stable rank", RANKS[1], False),
    ("intrinsic dimension (two-NN)", (("dimension", "", "blue"),), False),
    ("neighbours kept by the next layer", (("neighbours", "", "blue"),), False),
    ("mean overlap (anisotropy)", (("overlap", "", "blue"), ("overlap_centred", "mean taken off", "sky")), False),
    ("energy", (("energy", "", "blue"),), False),
)  # fmt: skip
ROWS = (
    ("growth", "Re lambda_max > 0: tokens should gather in L"),
    ("gain_flow", "the head's own flow, from real tokens, moves them into L"),
    ("gain_write", "what the head really adds moves them into L"),
    ("gain_layer", "the whole layer moves them into L"),
)
KINDS = {"trained": "trained", "shuffled": "weights shuffled", "spectrum": "Gaussian, same spectrum"}


def with_interval(rows: Array) -> tuple[Array, Array, Array]:
    """The mean over texts (text, time) and its 95 % interval; nan where no text has a value."""
    found = np.full((3, rows.shape[1]), np.nan)
    for k, column in enumerate(rows.T):
        there = column[np.isfinite(column)]
        if len(there):
            one = interval(there)
            found[:, k] = one.value, one.low, one.high
    return found[0], found[1], found[2]


def field(fields: list[xr.Dataset]) -> plot.Figure:
    """The measures of interpretability, layer by layer: means over texts with 95 % intervals."""
    from matplotlib.ticker import MaxNLocator

    times = fields[0]["time"].values
    figure = plot.page(5.4)
    axes = figure.subplots(3, 3).ravel()
    for ax, (title, lines, logarithmic) in zip(axes, PANELS, strict=True):
        drawn = False
        for name, label, colour in lines:
            if name not in fields[0]:
                continue
            mean, low, high = with_interval(np.array([one[name].values for one in fields]))
            if np.isfinite(low).any() and np.isfinite(high).any() and len(fields) > 1:
                ax.fill_between(times, low, high, color=C[colour], alpha=0.25, lw=0)
            ax.plot(times, mean, color=C[colour], label=label or None)
            drawn = drawn or bool(np.isfinite(mean).any())
        if not drawn:
            ax.text(0.5, 0.5, "not known of these states", transform=ax.transAxes, ha="center", va="center")
        ax.set_title(title, pad=3)
        values = np.concatenate([line.get_ydata() for line in ax.get_lines()]) if drawn else np.ones(1)
        if logarithmic and np.nanmin(values) > 0 and np.nanmax(values) > DECADE * np.nanmin(values):
            ax.set_yscale("log")
        elif drawn and not any(name == "overlap" for name, _, _ in lines):
            ax.set_ylim(bottom=0)
        if drawn and len(lines) > 1:
            ax.legend(handlelength=1.2, fontsize=6.5)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    for ax in axes[6:]:
        ax.set_xlabel("layer", labelpad=1)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.95, bottom=0.08, wspace=0.26, hspace=0.38)
    falls = [energy.violations(one["energy"].values).share for one in fields] if len(times) > 1 else []
    told = (
        f" The energy, at beta = {fields[0].attrs['beta']:.3g}, falls in {np.mean(falls):.0%} of the layers."
        if falls
        else ""
    )
    count = f"mean over {len(fields)} texts with 95 % intervals" if len(fields) > 1 else "one text"
    return plot.captioned(
        figure,
        f"What interpretability measures of hidden states, layer by layer, {count}. Sink rate: heads whose first token "
        "gets more than 0.3 of the attention. Outliers: tokens 10 times as long as the median. Neighbours: of the 10 "
        "nearest (of a quarter of the tokens, if that is less) those that are so in the next layer."
        f"{told} A flow of full attention with V = I never lets it fall.",
    )


def betas(made: NetworkStudy) -> plot.Figure:
    """The map of heads: effective beta, and the time of the pass at which a head acts; theory's region beside."""
    work = made.work
    n = int(np.median([run.sizes["token"] for run in made.runs]))
    clock = work["step_attention"].mean("text").cumsum("layer").values
    figure = plot.page(2.9)
    panels = (("beta_norms", "from norms: scale |q| |k|"), ("beta", "from overlaps: best explains attention"))
    for k, (name, words) in enumerate(panels):
        ax = figure.add_axes((0.08 + 0.47 * k, 0.17, 0.36, 0.7))
        value = work[name].median("text").values
        colour = work["explained"].mean("text").values
        np.repeat(clock[:, None], value.shape[1], axis=1)
        shown = ax.scatter(
            value,
            np.repeat(clock[:, None], value.shape[1], axis=1),
            c=np.clip(colour, 0, 1),
            s=9,
            cmap="viridis",
            vmin=0,
            vmax=0.5,
            zorder=3,
        )
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_yscale("log")
        line = np.concatenate([[0.0], np.geomspace(0.05, 300.0, 60)])
        times = working.metastable(line, n)
        low, high = min(clock.min() / 2, 0.05), max(clock.max() * 4, 20.0)
        ax.fill_between(line, low, np.clip(times, low, high), color=C["sky"], alpha=0.22, lw=0)
        ax.plot(line, np.clip(times, low, high * 2), color=C["blue"], lw=1)
        ax.set(ylim=(low, high), xlabel=rf"effective $\beta$, {words}", ylabel="time of the pass" if not k else "")
        ax.set_xlim(min(-1.0, float(np.nanmin(value)) * 1.5), max(30.0, float(np.nanmax(value)) * 1.5))
    bar = figure.add_axes((0.925, 0.17, 0.012, 0.7))
    figure.colorbar(shown, cax=bar).set_label("share of attention that overlaps explain")
    plot.letters(figure, {"a": (0.015, 0.93), "b": (0.485, 0.93)})
    whole = working.effective_time(work)
    return plot.captioned(
        figure,
        f"Every head of {made.network.name}: its effective beta (median over {work.sizes['text']} texts) and the time "
        "of the pass at which it acts, the sum of |attention| / |h| over the layers up to its own; the whole pass is "
        f"{whole}. Shaded: before the exact time at which {n} orthogonal tokens with Q = K = V = I have come to "
        "overlap 0.5. Right of beta = 3 or so that is where theory has them metastable: apart, and waiting. Ours; no "
        "paper has this map.",
    )


def numbers(made: NetworkStudy) -> dict[str, Any]:
    """The facts of this file, for JSON."""
    work = made.work
    told = {name: working.over_texts(work, name)._asdict() for name in working.WORDS}
    layers = [
        {"layer": int(l)} | {name: working.over_texts(work, name, layer=int(l))._asdict() for name in working.WORDS}
        for l in work["layer"].values
    ]
    times = {
        part: working.effective_time(work, part)._asdict() for part in ("step_attention", "step_feedforward", "turned")
    }
    theory = {
        kind: {name: against.share(made.compared, name, kind)._asdict() for name, _ in ROWS}
        | {"cosine": against.mean(made.compared, "cosine", kind)._asdict()}
        for kind in KINDS
    }
    heads = {name: work[name].median("text").values for name in working.HEADS}
    mean = made.switched["overlap"].mean("text")
    switched = {str(p): mean.sel(part=p).values for p in mean["part"].values}
    fields = {
        name: with_interval(np.array([one[name].values for one in made.fields]))[0] for name in _common(made.fields)
    }
    return {"working": told, "working_by_layer": layers, "working_heads": heads, "effective_time": times,
            "against": theory, "switched": switched, "fields": fields}  # fmt: skip


def _common(fields: list[xr.Dataset]) -> list[str]:
    return [str(name) for name, one in fields[0].data_vars.items() if np.isfinite(one.values).any()]


def beta_table(made: NetworkStudy) -> Markup:
    """Effective beta, step and shares of the update, layer by layer, with intervals over texts."""
    work, rows = made.work, []
    for l in [*work["layer"].values, None]:
        where = {} if l is None else {"layer": int(l)}
        cells = [
            str(working.over_texts(work, name, **where)) for name in ("beta_norms", "beta", "explained", "beta_rest")
        ]
        cells += [str(working.over_texts(work, name, **where)) for name in working.LAYERS]
        rows.append(["all" if l is None else str(int(l)), *cells])
    head = ("layer", "β from norms", "β from overlaps", "explained", "β, no first token", "step, attention",
            "step, feed-forward", "turned (rad)", "share, attention", "share, feed-forward")  # fmt: skip
    note = markup(
        "<p>Medians over heads (steps: of the whole layer), means over {} texts with 95 % intervals. β from norms: "
        "scale |q| |k|. β from overlaps: the temperature at which softmax(β &lt;x_i, x_j&gt;) is nearest to the "
        "attention, and the share of it that this explains. A step is the length of what is added, over that of "
        "the token; shares are of the layer's update, and the rest is made by norms.</p>",
        work.sizes["text"],
    )
    return joined([grid(head, rows, ()), note])


def against_table(made: NetworkStudy) -> Markup:
    """The one table: what the theory says of heads, what they do, and what null models do."""
    found, rows = made.compared, []
    for name, words in ROWS:
        rows.append([words, *[_percent(against.share(found, name, kind)) for kind in KINDS]])
    rows.append(["flow beside write, mean cosine", *[str(against.mean(found, "cosine", kind)) for kind in KINDS]])
    moved = [str(against.mean(found, "gain_layer", kind)) for kind in KINDS]
    rows.append(["mean change of |P_L x| by the layer", *moved])
    note = markup(
        "<p>Share of {} heads (95 % intervals of Wilson; means: over {} texts). L is the space that the atlas says the "
        "tokens of a head go to. A null head stands in place of the trained one: its L is that of shuffled weights, "
        "or of Gaussian ones with the same singular values, and the tokens and the layer are the network's own. What "
        "holds for null heads as often as for trained ones says nothing about training.</p>",
        found.sizes["layer"] * found.sizes["head"],
        found.sizes["text"],
    )
    return joined([grid(("", *KINDS.values()), rows, ()), note, _switched(made), _every_head(made)])


def _percent(share: Any) -> str:
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def _switched(made: NetworkStudy) -> Markup:
    """Mean overlap after every layer, with parts switched off."""
    one = made.switched["overlap"].mean("text")
    rows = [
        [str(int(l)), *[f"{float(one.sel(part=p, layer=l)):.3f}" for p in one["part"].values]]
        for l in one["layer"].values
    ]
    head = ("layer", *[f"mean overlap {p}" if p == "before" else str(p) for p in one["part"].values])
    table = grid(head, rows, ())
    words = markup(
        "<p>Mean overlap before each layer, and after it with parts switched off, from the layer's real tokens.</p>"
    )
    return markup("<details><summary>Layer by layer, parts switched off</summary>{}{}</details>", words, table)


def _every_head(made: NetworkStudy) -> Markup:
    found = made.compared.sel(kind="trained")
    work = made.work.median("text")
    rows = []
    for l in found["layer"].values:
        for h in found["head"].values:
            one = found.sel(layer=l, head=h)
            gains = [f"{float(one[name].mean()):+.3f}" for name in ("gain_flow", "gain_write", "gain_layer")]
            head = work.sel(layer=l, head=h)
            told = [f"{float(head[name]):.3g}" for name in ("beta_norms", "beta", "explained", "step")]
            row = [f"{l}.{h}", str(one["row"].values[0]), f"{float(one['growth'].mean()):.3g}"]
            rows.append([*row, *told, *gains, f"{float(one['cosine'].mean()):.2f}"])
    head_row = (
        "head",
        "row",
        "Re λ_max",
        "β norms",
        "β overlaps",
        "explained",
        "step",
        "|P_L x|: flow",
        "write",
        "layer",
        "cosine",
    )
    return markup("<details><summary>Every head</summary>{}</details>", grid(head_row, rows, ()))


def summary(made: NetworkStudy) -> list[str]:
    """What came out, in sentences."""
    work = made.work
    one, two, much = (working.over_texts(work, name) for name in ("beta_norms", "beta", "explained"))
    time = working.effective_time(work)
    trained, *nulls = (against.share(made.compared, "gain_layer", kind) for kind in against.KINDS)
    apart = all(trained.low > null.high or trained.high < null.low for null in nulls)
    shown = "the trained interval is apart from both" if apart else "no difference from both is shown"
    return [
        (
            f"Effective beta of the median head: {one} from norms, {two} from overlaps, which explain {much} of the "
            f"attention; effective time of a pass {time}."
        ),
        (
            f"Layers move tokens into the L that the atlas predicts for {_percent(trained)} of the heads, and for "
            f"{_percent(nulls[0])} with their weights shuffled, {_percent(nulls[1])} with Gaussian ones of the same "
            f"spectrum: {shown}."
        ),
    ]
