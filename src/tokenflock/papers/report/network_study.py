"""What is computed for the report of a trained network: its heads, its hidden states, and which part does what.

Every step is a function of the network and of what was read; `NetworkStudy` holds what they come to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokenflock import networks
from tokenflock.analysis import spectrum
from tokenflock.analysis.spectrum import one_thread
from tokenflock.errors import EngineError, FileError, MissingExtra, SpecError
from tokenflock.geometry import Array
from tokenflock.networks.layer import Layer
from tokenflock.networks.network import Network
from tokenflock.transformer import against, behaviour, chance, prediction, record, stack, states, wording, working
from tokenflock.transformer.block import Parts

if TYPE_CHECKING:
    import xarray as xr

Say = Callable[[str], None]
#: How much deeper a stack that shares its weights is run.
DEEPER = 10
#: name -> what of a block is in force
ABLATIONS: dict[str, Parts] = {
    "all of it": Parts(),
    "no biases": Parts(bias=False),
    "norms that only set the length": Parts(norm="sphere"),
    "no norms": Parts(norm="none"),
    "no feed-forward": Parts(feedforward=False),
    "no attention": Parts(attention=False),
    "attention alone, on the sphere": Parts(feedforward=False, bias=False, norm="sphere"),
}
#: Sizes of small Gaussian heads: counted, and by subset simulation.
SMALL, RARE = (1, 2, 3, 4, 5, 6), (8, 12)
GAUSSIAN = 200  # heads drawn to be compared with the trained ones
MOST_SIMULATED = 32  # heads
MOST_COMPARED = 400  # heads beside their theory: a second for some twenty
LARGEST_SUM = 1100  # hidden size up to which the value matrix of a whole layer is classified


@dataclass(frozen=True)
class Sizes:
    """How much is done."""

    n_tokens: int = 64
    n_texts: int = 4
    samples: int = 2_000
    simulated: int = 32  #: tokens of a simulated head
    rare: tuple[int, ...] = RARE
    compared: int = 4  #: texts on which heads stand beside their theory


FULL = Sizes()
QUICK = Sizes(n_tokens=32, n_texts=2, samples=500, simulated=16, rare=(8,), compared=2)


@dataclass
class NetworkStudy:
    """What was computed for the report of one network."""

    network: Network
    sizes: Sizes
    seed: int
    read: str  #: what was read, in words
    inputs: list[NDArray[Any]] = field(default_factory=list)  #: token ids or images
    shown: list[int] = field(default_factory=list)  #: layers whose heads are shown
    heads: Any = None  #: networks.heads
    chances: dict[int, chance.Chance] = field(default_factory=dict)
    tops: Any = None  #: the largest real part of Gaussian heads of the same sizes
    runs: list[xr.Dataset] = field(default_factory=list)  #: hidden states of every text
    engine: str = ""  #: what computed them
    apart: float | None = None  #: the largest difference between the model and our blocks, in mean lengths of tokens
    measures: list[xr.Dataset] = field(default_factory=list)
    deep: Any = None  #: the first text, to the full depth
    subspaces: dict[int, Array] = field(default_factory=dict)  #: L of the sum of the value matrices of a layer
    ablations: dict[str, Any] = field(default_factory=dict)  #: name -> curves, or why there are none
    simulated: list[dict[str, Any]] = field(default_factory=list)
    work: Any = None  #: transformer.working.measure, all texts
    compared: Any = None  #: transformer.against.heads, some texts
    switched: Any = None  #: transformer.against.layers, some texts
    fields: list[xr.Dataset] = field(default_factory=list)  #: behaviour.survey of every text
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def study(
    path: str | Path,
    *,
    texts: Path | None = None,
    ids: Path | None = None,
    layers: list[int] | None = None,
    sizes: Sizes = FULL,
    seed: int = 0,
    say: Say = lambda text: None,
) -> NetworkStudy:
    """Compute everything that the report says of the network at a path."""
    net = networks.read(path)
    made = NetworkStudy(net, sizes, seed, "")
    made.shown = _shown(net, layers)
    steps: dict[str, Callable[[NetworkStudy], None]] = {
        "reading": partial(_inputs, texts=texts, ids=ids),
        "heads": _heads,
        "Gaussian heads": _chances,
        "hidden states": _states,
        "which part does what": _ablate,
        "predicted and simulated heads": _simulate,
        "at what beta the heads run": _work,
        "heads beside their theory and null models": _compare,
    }
    for words, step in steps.items():
        say(words)
        began = time.perf_counter()
        step(made)
        made.seconds[words] = time.perf_counter() - began
    return made


def _shown(net: Network, layers: list[int] | None) -> list[int]:
    if layers is not None:
        chosen = sorted(set(stack.layers_of(net, layers, None)))
        return sorted({0 if len(net.blocks) == 1 else l for l in chosen})
    blocks = net.blocks
    return sorted({blocks[0], blocks[len(blocks) // 2], blocks[-1]})


def _inputs(made: NetworkStudy, texts: Path | None, ids: Path | None) -> None:
    net, sizes = made.network, made.sizes
    size, most = stack.vocabulary(net), stack.longest(net)
    if not size:
        if texts is not None or ids is not None:
            raise SpecError(f"{net.name} reads images, not texts: leave --text and --ids out.")
        generator, shape = np.random.default_rng([made.seed, 7]), stack.image_size(net)
        made.inputs = [generator.standard_normal(shape) for _ in range(sizes.n_texts)]
        made.read = f"{sizes.n_texts} images of Gaussian noise, seed {made.seed}"
    elif texts is not None:
        encode = wording.Encoder(net.words)
        said = wording.lines(texts)
        made.inputs = [wording.check(encode(t), size, most, f"text {k + 1}") for k, t in enumerate(said)]
        made.read = f"{len(said)} texts of {texts.name}, cut into tokens by {encode.kind}"
    elif ids is not None:
        made.inputs = [wording.check(row, size, most, f"line {k + 1}") for k, row in enumerate(wording.numbers(ids))]
        made.read = f"{len(made.inputs)} lines of token ids of {ids.name}"
    else:
        n = min(sizes.n_tokens, most or sizes.n_tokens)
        made.inputs = wording.chosen(sizes.n_texts, n, size, made.seed, net.config.get("pad_token_id"))
        made.read = (
            f"{sizes.n_texts} times {n} random tokens of the model's own vocabulary, seed {made.seed} "
            "(real text: --text FILE)"
        )
    short = [k for k, given in enumerate(made.inputs) if given.ndim == 1 and len(given) < 3]
    if short:
        count = len(made.inputs[short[0]])
        raise SpecError(
            f"line {short[0] + 1} has {count} token(s). Wanted: at least three. Leave it out, or lengthen it."
        )


def _heads(made: NetworkStudy) -> None:
    made.heads = networks.heads(made.network)


def _chances(made: NetworkStudy) -> None:
    net, sizes = made.network, made.sizes
    k, samples = net.head_dim, sizes.samples
    for size in SMALL:
        made.chances[size] = chance.counted(size, 4 * size, 4 * samples, made.seed)
    for size in sizes.rare:
        if size < k:
            made.chances[size] = chance.split(size, 4 * size, seed=made.seed)
    # The time of an eigenvalue problem grows like k^3: fewer of large heads.
    made.chances[k] = chance.counted(k, net.dim, max(100, round(samples * min(1.0, (32 / k) ** 2))), made.seed)
    generator = np.random.default_rng([made.seed, 3])
    made.tops = chance.largest(chance.draw(generator, GAUSSIAN, k, net.dim)) / np.sqrt(net.dim * k)


def _states(made: NetworkStudy) -> None:
    """The model itself where transformers can run it; our own blocks otherwise, and beside it."""
    net = made.network
    ours = [stack.run(net, given) for given in made.inputs]
    made.runs, made.engine = ours, "numpy"
    try:
        original = states.Original(net)
        theirs = [original.run(given) for given in made.inputs]
    except (MissingExtra, FileError) as error:
        made.notes.append(f"The hidden states were computed by our own blocks in numpy: {error}")
    else:
        made.runs, made.engine = theirs, "transformers"
        off = [np.abs(record.hidden(a) - record.hidden(b)).max() for a, b in zip(ours, theirs, strict=True)]
        made.apart = max(float(gap / run["radius"].values.mean()) for gap, run in zip(off, theirs, strict=True))
    deeper = DEEPER * net.n_layers if len(net.blocks) == 1 else None
    made.deep = made.runs[0] if deeper is None else stack.run(net, made.inputs[0], depth=deeper)
    if net.dim <= LARGEST_SUM:
        for l in made.shown:
            layer = net.layer(l, feedforward=False)
            gain = layer.attention_norm.weight if net.norm == "pre" else 1.0
            V = np.einsum("hdk,hke->de", layer.output, layer.value, optimize=True) * gain
            # After a norm a layer is a whole step of x + V x; before one it is a small part of a long residual.
            made.subspaces[l] = prediction.leading(V, spectrum.classify(V), layers=net.norm == "post").L
    made.measures = [behaviour.measure(run) for run in made.runs]


def _ablate(made: NetworkStudy) -> None:
    net = made.network
    depth = DEEPER * net.n_layers if len(net.blocks) == 1 else None
    few = made.inputs[: max(1, made.sizes.n_texts // 2)]
    L = made.subspaces.get(0) if len(net.blocks) == 1 else None
    for name, parts in ABLATIONS.items():
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                runs = [stack.run(net, given, depth=depth, parts=parts, attention=False) for given in few]
        except EngineError as error:
            made.ablations[name] = str(error)
            continue
        found = [behaviour.measure(run) for run in runs]
        curves = ("overlap", "clusters", "effective_rank")
        made.ablations[name] = {
            "time": runs[0]["time"].values,
            **{curve: np.mean([m[curve].values for m in found], axis=0) for curve in curves},
            "inside": None if L is None else inside(runs, L),
            "n_tokens": float(np.mean([run.sizes["token"] for run in runs])),
        }


def inside(runs: list[xr.Dataset], L: Array) -> Array:
    """The mean part of the tokens in a subspace, over time, mean over texts."""
    return np.asarray(np.mean([behaviour.inside(run["x"].values, L).mean(axis=-1) for run in runs], axis=0))


def _simulate(made: NetworkStudy) -> None:
    """The heads of the layers that are shown, on the space that they write to, as a flow and in layers."""
    net = made.network
    places = [(l, h) for l in made.shown for h in range(net.n_heads)]
    if len(places) > MOST_SIMULATED:
        picked = np.unique(np.linspace(0, len(places) - 1, MOST_SIMULATED).astype(int))
        places = [places[k] for k in picked]
        made.notes.append(f"Of the heads shown {len(places)} were simulated, evenly chosen.")
    hidden = record.hidden(made.runs[0])
    layers: dict[int, Layer] = {}
    with one_thread():
        for l, h in places:
            if l not in layers:
                layers = {l: net.layer(l, feedforward=False)}
            head = prediction.theory(layers[l], h, hidden[l][: made.sizes.simulated])
            found = {scheme: prediction.observe(head, scheme)[0] for scheme in prediction.SCHEMES}
            made.simulated.append({"layer": l, "head": h, "theory": head, **found})


def _work(made: NetworkStudy) -> None:
    """The effective beta and step of every head on every text, and the measures of the field at that beta."""
    made.work = working.measure(made.network, made.inputs)
    beta = float(made.work["beta_norms"].median())
    with one_thread():
        made.fields = [behaviour.survey(run, beta) for run in made.runs]


def _compare(made: NetworkStudy) -> None:
    """Every head beside its theory and null models; of many heads those of evenly chosen layers."""
    net = made.network
    some = made.inputs[: made.sizes.compared]
    count = max(1, min(net.n_layers, MOST_COMPARED // net.n_heads))
    layers = sorted({int(l) for l in np.linspace(0, net.n_layers - 1, count).round()})
    if len(layers) < net.n_layers:
        made.notes.append(
            f"Beside their theory stand the heads of {len(layers)} of {net.n_layers} layers, evenly chosen."
        )
    made.compared = against.heads(net, some, seed=made.seed, layers=layers)
    made.switched = against.layers(net, some)
