"""A valid call of every public name: what the fuzz of tests/test_arguments.py begins with.

The calls are the examples of docs/reference, so that a new name is fuzzed from its first day; CALLS has those that are
too slow there, or that show a name without calling it. Fixtures are small: a call takes milliseconds.
"""

import ast
import copy
import doctest
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import xarray as xr

import tokenflock as flock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
try:
    import entries
finally:
    sys.path.remove(str(ROOT / "docs"))

#: results, which callers read and only the package makes; and errors
RECORDS = re.compile(
    r"flock\.(errors\.[A-Z]\w+|theory\.Metastability|analysis\.\w+\.[A-Z]\w+|networks\.(Network|Layer|Feedforward)|schemes\.(Scheme|Rosenbrock)"
    r"|transformer\.(chance\.Chance|block\.HeadsAtWork|against\.Judged|prediction\.[A-Z]\w+)|transformer\.states\.quiet_transformers|networks\.supported)$"
)
#: names that need an extra, weights, or more than a second: the slow fuzz calls them
HEAVY = re.compile(
    r"flock\.(Flow|Schedule|gradient|view|export|figure|figures|plot|check|study|claims|studies|sweeps?|simulate|again|extend|merge_tree|diagnose"
    r"|save|load|unrescale|networks\.(read|find|heads)|transformer\.(states|wording\.Encoder|prediction|stack)|dendrogram|trajector"
    r"|analysis\.(metastability\.quantiles|spectrum|triple)|transformer\.chance\.(split|counted)"
    r"|analysis\.polytope\.levels|networks\.(regime|triple))"
)
#: what examples lean on, small
FIXTURES = {
    "figure": "flock.plot.draw(run)",
    "model": "flock.Model(dim=2, beta=4.0)",
    "start": "flock.uniform(4, 2, seed=0)",
    "run": "flock.simulate(model, start, 1.0, times=[0.0, 0.5, 1.0], engine='reference')",  # compiles nothing
    "many": "flock.simulate(model, start, 1.0, times=np.linspace(0.0, 1.0, 6), engine='reference')",
    "ensemble": "flock.simulate(model, np.stack([start, -start]), 1.0, times=[0.0, 0.5, 1.0], engine='reference')",
    "z": "flock.simulate(flat, flock.cube(3, 2), 1.0, times=[0.0, 1.0], engine='reference')",
    "flat": "flock.Model(dim=2, space='rescaled', mask='full')",
    "tree": "flock.analysis.metastability.tree([0.0, 1.0, 2.0], [[0, 1], [0, 1], [0, 0]])",
    "grown": "flock.merge_tree(model, start)",
    "several": "flock.merge_tree(model, flock.uniform(3, 2, runs=2), energy=False)",
    "net": "tiny_network()",
    "vit": "tiny_network('vit')",
    "deep": "flock.transformer.stack.run(net, [3, 4, 5], depth=2)",
    "h": "flock.transformer.record.hidden(deep)[0]",
    "transformer": "flock.transformer",
    "one": "flock.transformer.prediction.theory(net.layer(0), 0, h)",
    "simulated": "flock.transformer.prediction.observe(one, t_end=1.0)[1]",
    "labels": "np.array([[0, 1, 1], [1, 0, 0]])",
    "ax": "__import__('matplotlib.pyplot').pyplot.figure().add_subplot()",
    "torch": "__import__('torch')",
    "Path": "__import__('pathlib').Path",
}
CALLS = {
    "flock.analysis.metastability.quantiles": "flock.analysis.metastability.quantiles(several, q=(0.1, 0.5))",
    "flock.simulate": "flock.simulate(model, start, 1.0, times=[0.0, 1.0])",
    "flock.merge_tree": "flock.merge_tree(model, start, energy=False, per_decade=5)",
    "flock.dendrogram.draw": "flock.dendrogram.draw(ax, tree)",
    "flock.dendrogram.counts": "flock.dendrogram.counts(ax, grown)",
    "flock.dendrogram.staircase": "flock.dendrogram.staircase(ax, grown)",
    "flock.check": 'flock.check("causal/lemma-3.1", trials=1, quick=True)',
    "flock.study": 'flock.study("complex-top", quick=True, runs=1, runs_life=1)',
    "flock.figure": 'flock.figure("causal/2", quick=True)',
    "flock.save": 'flock.save(run, "saved.zarr", overwrite=True)',
    "flock.load": 'flock.load("kept.zarr")',
    "flock.export": 'flock.export(run, "page.html", frames=5, overwrite=True)',
    "flock.view": "flock.view(run, height=420, frames=20)",
    "flock.networks.read": 'flock.networks.read("tiny-gpt2")',
    "flock.networks.find": 'flock.networks.find("tiny-gpt2", family="gpt2")',
    "flock.transformer.stack.run": "flock.transformer.stack.run(net, [3, 4, 5], depth=2)",
    "flock.transformer.stack.embed": "flock.transformer.stack.embed(net, [3, 4, 5])",
    "flock.transformer.states.Original": "flock.transformer.states.Original(net)",
    "flock.transformer.chance.counted": "flock.transformer.chance.counted(2, 8, samples=50)",
    "flock.transformer.chance.split": "flock.transformer.chance.split(2, 4, walkers=20, repeats=2)",
    "flock.transformer.record.Origin": "flock.transformer.record.Origin({'name': 'ones'}, False, 'post', 'numpy')",
    "flock.sweep": 'flock.sweep(model, {"beta": [1.0, 9.0]}, n_tokens=4, t_end=1.0, workers=0, progress=False)',
    # methods
    "flock.Model.with_options": "model.with_options(beta=1.0)",
    "flock.analysis.statistics.Estimate.holds": "flock.analysis.statistics.Estimate(1.0, 0.5, 1.5).holds(1.2)",
    "flock.analysis.statistics.Fit.estimate": "flock.analysis.statistics.fit([[1.0], [2.0]], [1.0, 2.5]).estimate(0)",
    "flock.networks.Network.layer": "net.layer(1)",
    "flock.networks.Network.gain": "net.gain(1)",
    "flock.networks.Rotary.turn": "flock.networks.Rotary(width=2, base=9.0).turn(np.ones((3, 4)), np.arange(3))",
    "flock.transformer.prediction.Theory.t_end": "one.t_end()",
    "flock.transformer.prediction.Theory.leading": "one.leading()",
    "flock.transformer.record.Origin.of": "flock.transformer.record.Origin.of(net, 'numpy', 'float64', {})",
    "flock.transformer.states.Original.run": "flock.transformer.states.Original(net).run([3, 4, 5])",
    "flock.Flow.forward": "flock.Flow(model, scheme='rk4', dt=0.5).forward(torch.as_tensor(start), 1.0)",
}
#: members that take nothing, or that torch calls
IDLE = {
    "flock.Flow.extra_repr",
    "flock.networks.Network.embeddings",
    "flock.networks.Network.final_norm",
    "flock.networks.Network.release",
}


def public_functions():
    """{name: function, class or method}: everything public that is called."""
    found = dict(entries.callables())
    for name, thing in list(found.items()):
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, method in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(method) or isinstance(method, classmethod)):
                    found[f"{name}.{member}"] = getattr(thing, member)
    return {name: thing for name, thing in found.items() if not RECORDS.match(name) and name not in IDLE}


def tiny_network(kind="gpt2"):
    """A network of random weights, read from the folder that transformers wrote."""
    import tiny_networks

    folder = Path(f"tiny-{kind}")
    if not folder.exists():
        tiny_networks.tiny(kind).save_pretrained(folder)
    return flock.networks.read(folder)


class Names(dict):
    """The names that an example uses, made when they are asked for: fixtures, else what examples before it assign."""

    def __init__(self, statements):
        super().__init__(flock=flock, np=np, tiny_network=tiny_network)
        self._statements = statements

    def __missing__(self, key):
        if key in FIXTURES:
            self[key] = eval(FIXTURES[key], {}, self)
        elif key in self._statements:
            exec(self._statements[key], {}, self)
        else:
            raise KeyError(key)
        return self[key]


def _statements(example):
    """{name: source of the last statement of an example that makes it}."""
    found = {}
    for part in doctest.DocTestParser().get_examples("\n".join(example) + "\n"):
        for node in ast.parse(part.source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                made = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.Assign):
                made = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            else:
                continue
            found |= dict.fromkeys(made, part.source)
    return found


def _call_in(name, example):
    """The first call of a name in its example, as source."""
    last = name.rpartition(".")[2]
    for part in doctest.DocTestParser().get_examples("\n".join(example) + "\n"):
        for node in ast.walk(ast.parse(part.source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == last:
                return ast.unparse(node)
    raise AssertionError(f"the example of {name} does not call it: give a small call in tests/calls.py")


class Call(dict):
    """Arguments of one call by name; those of *args under "*"."""

    def __init__(self, name, function, arguments):
        super().__init__(arguments)
        self.name, self.function = name, function

    def __call__(self):
        return self.function(*self.get("*", ()), **{k: v for k, v in self.items() if k != "*"})


class Calls:
    """Valid calls by name; files are written where the process is."""

    def __init__(self):
        self.functions = public_functions()
        self._entries = entries.read()
        statements = {}
        for _, _, example in self._entries.values():
            statements |= {k: v for k, v in _statements(example).items() if k not in statements}
        self.names = Names(statements)
        self._write_files()

    def _write_files(self):
        """What examples read."""
        flock.save(self.names["run"], "kept.zarr")
        sweep = {"store": "sweep.zarr", "workers": 0, "progress": False}
        flock.sweep(self.names["model"], {"beta": [1.0]}, n_tokens=4, t_end=1.0, **sweep)
        for name, text in {"texts": "one text\n", "ids": "12 16 13\n", "vocab": "[UNK]\n[CLS]\n[SEP]\nC\nO\n"}.items():
            Path(f"{name}.txt").write_text(text)

    def valid(self, name):
        """A call of this name that works; anything in it may be changed by the caller."""
        text = CALLS.get(name) or _call_in(name, self._entries[name][2])
        node = ast.parse(text, mode="eval").body
        function = eval(ast.unparse(node.func), {}, self.names)
        example = self._entries.get(name, ("", [], []))[2]
        own = _statements(example)
        here = Names(own)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - here.keys()
        here.update({name: self.names[name] for name in used if name not in own and self._known(name)})
        captured = eval(
            f"(lambda *args, **kwargs: (args, kwargs)){text[len(ast.unparse(node.func)) :]}", {"flock": flock}, here
        )
        bound = inspect.signature(function).bind(*captured[0], **captured[1])
        kinds = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
        arguments = {}
        for key, value in bound.arguments.items():
            if kinds[key] is inspect.Parameter.VAR_KEYWORD:
                arguments |= value
            elif kinds[key] is inspect.Parameter.VAR_POSITIONAL:
                arguments["*"] = value
            else:
                arguments[key] = value
        return Call(name, function, {k: copied(v) for k, v in arguments.items()})

    @staticmethod
    def made(function, arguments):
        """A call of any function."""
        return Call(function.__name__, function, arguments)

    def _known(self, name):
        try:
            self.names[name]
        except KeyError:
            return False
        return True


def copied(value):
    """A deep copy of data; of anything else the thing itself."""
    if isinstance(value, xr.Dataset | xr.DataArray):
        return value.copy(deep=True)
    if isinstance(value, np.ndarray | list | dict | tuple | np.random.Generator):
        return copy.deepcopy(value)
    return value
