"""Public names by topic: a page a topic, with the docstring, the words and the example of every name.

A topic takes the names that it lists, and all that is inside of those that are modules. Every public name belongs to
exactly one topic; tests/project/test_docs_topics.py holds that. Nothing here needs Sphinx.
"""

import html
import inspect
from typing import NamedTuple

import entries
from pieces import DOCS, first, spoken, text

FOLDER = DOCS / "topics"


class Topic(NamedTuple):
    """What a page is about: the names after `flock.`, what is shown besides (module paths), and the guide to it."""

    stem: str
    title: str
    about: str
    names: str
    besides: str = ""
    guide: str = ""

    def takes(self, name):
        """Whether a public name is of this topic."""
        own = [f"flock.{n}" for n in self.names.split()]
        return any(name == n or name.startswith(f"{n}.") for n in own)


TOPICS = (
    Topic("model", "Model", "The equation, and its right-hand side.", "Model velocity", "model.attention", "model"),
    Topic(
        "options",
        "Parts of a model",
        "What a model may have besides.",
        "Window Dilated Blocks Prefix Sink RandomGraph Alibi Rope Absolute sinusoids Groups CommonNoise "
        "FeedForward Frozen LayerNorm Kernel Normaliser Schedule redrawn",
        "",
        "model",
    ),
    Topic(
        "starts",
        "Starts",
        "Where tokens begin.",
        "uniform cap cube gaussian orthonormal equiangular planted von_mises_fisher start",
    ),
    Topic("weights", "Weights", "Families of Q, K and V.", "weights"),
    Topic(
        "simulation",
        "Simulation",
        "The one verb, and how a run ended.",
        "simulate again",
        "engine.contract.Outcome",
        "quickstart",
    ),
    Topic(
        "trajectories",
        "Trajectories and files",
        "What a run is, and how it is kept.",
        "save load trajectory unrescale validate trajectories",
        "",
        "quickstart",
    ),
    Topic(
        "merging",
        "To the last cluster",
        "Who merges with whom, and when; more tokens after a causal run.",
        "merge_tree dendrogram extend",
        "",
        "long_times",
    ),
    Topic(
        "clusters",
        "Clusters",
        "Who sits together, by a radius or without one.",
        "analysis.clusters analysis.persistence analysis.tokens analysis.positive",
    ),
    Topic("centers", "Rényi centers", "Who will lead, read off the start.", "analysis.renyi"),
    Topic(
        "metastability",
        "Metastability and rates",
        "Plateaus, times of merges, energies, how fast runs converge.",
        "analysis.metastability analysis.convergence analysis.energy",
        "",
        "long_times",
    ),
    Topic("spectrum", "Spectra", "What the eigenvalues of V say of the end.", "analysis.spectrum analysis.triple"),
    Topic("attention", "Attention matrices", "Ranks, leaders, distance from Boolean.", "analysis.attention"),
    Topic(
        "states",
        "Hidden states",
        "Ranks, dimension, lengths and neighbours of the states of a network.",
        "analysis.states",
        "",
        "networks",
    ),
    Topic("polytopes", "Polytopes", "Hulls, corners and levels of tokens in R^d.", "analysis.polytope"),
    Topic("statistics", "Statistics", "Intervals, fits and slopes.", "analysis.statistics"),
    Topic("theory", "Theory", "Closed forms and constants of the papers.", "theory"),
    Topic(
        "claims",
        "Claims",
        "Statements of the papers, by experiment.",
        "check claims",
        " ".join(f"papers.claims.ledger.{name}" for name in "Claim Verdict Finding Trial Check claim".split()),
        "claims",
    ),
    Topic(
        "diagnosis",
        "Diagnosis",
        "What a run suffers from.",
        "diagnose",
        "diagnosis.symptom.Diagnosis diagnosis.symptom.Symptom",
        "numbers",
    ),
    Topic(
        "figures",
        "Figures and the report",
        "Figures of the papers, and everything at once.",
        "figure figures",
        "papers.report.reproduce papers.report.Report",
        "figures",
    ),
    Topic(
        "plots",
        "Plots",
        "Figures and films of runs, laws of sweeps.",
        "plot",
        "plot.center_legend plot.index_bar plot.eigenvalue_plane plot.spheres.sphere plot.spheres.view",
    ),
    Topic(
        "studies",
        "Studies",
        "The open questions.",
        "study studies",
        "papers.studies.ledger.Study papers.studies.ledger.Answer",
        "studies",
    ),
    Topic(
        "sweeps",
        "Many runs",
        "Runs in numbers, which survive a crash.",
        "sweep sweeps",
        "sweeps.sweep_store.SweepStore",
        "many_runs",
    ),
    Topic("gradients", "Gradients", "A model as a torch module.", "Flow gradient", "", "gradients"),
    Topic(
        "networks",
        "Trained networks",
        "Weights of trained networks, and what the theory says of them.",
        "networks",
        "networks.tensors.read",
        "networks",
    ),
    Topic(
        "transformers",
        "Trained transformers as runs",
        "Layers as time: what tokens do in a trained network.",
        "transformer",
        "",
        "networks",
    ),
    Topic("explorer", "Explorer", "The view in a notebook and in one HTML file.", "view export", "", "explorer"),
    Topic("schemes", "Schemes", "Time schemes as tables, and their step control.", "schemes", "", "choosing"),
    Topic("geometry", "Geometry", "The arithmetic of the sphere.", "geometry"),
    Topic("errors", "Errors", "What is raised, and the words of every error.", "errors"),
)
SETTING = """The examples take for granted:

```python
import numpy as np
import tokenflock as flock

model = flock.Model(dim=2, beta=9.0)
start = flock.uniform(12, 2, seed=0)
run = flock.simulate(model, start, 5.0)
```
"""


def besides(topic):
    """{module path: thing} of what a topic shows that is not public."""
    from importlib import import_module

    found = {}
    for path in topic.besides.split():
        module, _, name = path.rpartition(".")
        found[path] = getattr(import_module(f"tokenflock.{module}"), name)
    return found


def grouped():
    """{topic: {public name: thing}}, names in the order in which their module has them."""
    public = entries.callables()

    def place(name):
        thing = inspect.unwrap(public[name])
        code = getattr(thing, "__code__", None)
        line = code.co_firstlineno if code else inspect.getsourcelines(thing)[1]
        return name.rpartition(".")[0], thing.__module__, line

    return {t: {name: public[name] for name in sorted(filter(t.takes, public), key=place)} for t in TOPICS}


def directive(path, thing):
    """How autodoc is asked for a name."""
    if inspect.isclass(thing):
        return [f".. autoclass:: {path}", "   :members:"]
    return [f".. autofunction:: {path}"]


def page(topic, public):
    """The page of one topic."""
    lines = [f"(api-{topic.stem})=", f"# {topic.title}", "", text(topic.about), ""]
    if topic.guide:
        lines += [f"The guide to it is {{doc}}`/{topic.guide}`.", ""]
    lines += [f"- [`{name}`](#{anchor(thing)}): {spoken(first(thing))}" for name, thing in public.items()]
    lines += ["", SETTING]
    shown = {name: (f"{thing.__module__}.{thing.__qualname__}", thing) for name, thing in public.items()}
    for name, (path, thing) in shown.items():
        lines += [f"## {name}", "", "```{eval-rst}", *directive(path, thing), "```", ""]
    if topic.besides:
        lines += ["## Besides", ""]
        for path, thing in besides(topic).items():
            lines += ["```{eval-rst}", *directive(f"tokenflock.{path}", thing), "```", ""]
    return lines


def anchor(thing):
    """Where autodoc puts a name."""
    return f"{thing.__module__}.{thing.__qualname__}"


def pages():
    """{stem: the page of a topic}."""
    return {topic.stem: page(topic, public) for topic, public in grouped().items()}


def cards():
    """A card for every topic with its names, and the pages behind them for the table of contents."""
    lines = ['<div class="cards topics">']
    for topic, public in grouped().items():
        names = " ".join(f"<code>{name.removeprefix('flock.')}</code>" for name in public)
        words = f"<b>{topic.title}</b><span>{html.escape(topic.about)}</span><span>{names}</span>"
        lines += [f'<a class="card" href="topics/{topic.stem}.html">{words}</a>']
    order = ["```{toctree}", ":hidden:", "", *(f"topics/{topic.stem}" for topic in TOPICS), "```", ""]
    return [*lines, "</div>", "", *order]


def listed():
    """Every public name with a line, topic by topic, for readers of the repository."""
    lines = []
    for topic, public in grouped().items():
        lines += [f"## {topic.title}", "", text(topic.about), ""]
        lines += [f"- `{name}`: {spoken(first(thing))}" for name, thing in public.items()]
        lines += [""]
    return lines
