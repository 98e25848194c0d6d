"""Functions of the user's: what is kept of them, who may bring them, and that numpy and torch agree."""

import importlib.util
import json
import math
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from math import exp

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tokenflock import expressions
from tokenflock.errors import SpecError
from tokenflock.functions import Function, own

WIDTH, TABLE = 2.0, np.array([[1.0, 2.0], [3.0, 4.0]])
S = np.linspace(-3.0, 3.0, 31)
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")


def helper(s):
    return s * s / WIDTH


def statements(s):
    """A docstring."""
    y = helper(s)
    y += 1
    return math.exp(-y) if s > 0 else max(s, -1.0) + math.pi


def chained(s):
    return (0 < s < 1) * 1.0 + (s < -1 or s > 2) * np.tanh(s) + (not s > 0) * abs(s)


SCALE = 0.5
EXAMPLES = {
    "lambda": lambda s: exp(SCALE * s),
    "one of two": (lambda s: s + 1, lambda s: s**2 + np.maximum(s, 0))[1],
    "def": statements,
    "conditions": chained,
    "text": "exp(-s**2) if s < 1 else log(1 + s*s)",
    "text lambda": "lambda s: np.where(s > 0, np.sqrt(np.abs(s)), 0.3)",
}


def by_hand(name, s):
    return {
        "lambda": lambda: math.exp(0.5 * s),
        "one of two": lambda: s**2 + max(s, 0.0),
        "def": lambda: math.exp(-s * s / 2 - 1) if s > 0 else max(s, -1.0) + math.pi,
        "conditions": lambda: float(chained(s)),
        "text": lambda: math.exp(-(s**2)) if s < 1 else math.log(1 + s * s),
        "text lambda": lambda: math.sqrt(s) if s > 0 else 0.3,
    }[name]()


@pytest.fixture(params=EXAMPLES)
def example(request):
    return request.param, own("kernel", EXAMPLES[request.param], ("s",), elementwise=True)


def test_a_function_of_numbers_is_called_with_arrays(example):
    name, made = example
    assert_allclose(made(S), [by_hand(name, s) for s in S], rtol=1e-15, atol=1e-15)


def test_what_a_file_keeps_is_the_function(example):
    _, made = example
    again = own("kernel", json.loads(json.dumps(made.told())), ("s",), elementwise=True)
    assert (again(S) == made(S)).all()
    assert again.told() == made.told()
    assert not again.not_plain
    assert (pickle.loads(pickle.dumps(made))(S) == made(S)).all()


@needs_torch
def test_torch_says_the_same_and_has_its_gradient(example):
    import torch

    _, made = example
    s = torch.tensor(S + 1e-3, dtype=torch.float64, requires_grad=True)
    value = made.with_torch(s)
    assert value.dtype == torch.float64
    assert_allclose(value.detach(), made(S + 1e-3), rtol=1e-14, atol=1e-15)
    value.sum().backward()
    step = 1e-6
    slope = (made(S + 1e-3 + step) - made(S + 1e-3 - step)) / (2 * step)
    assert_allclose(s.grad, slope, rtol=1e-6, atol=1e-6)


def test_constants_are_those_at_the_time_it_was_given():
    width = 2.0
    made = own("kernel", lambda s: s * width, ("s",))
    width = 3.0
    assert made(1.0) == 2.0
    assert made.names == {"width": 2.0}
    assert width == 3.0


def test_a_force_has_arrays_of_its_own_and_functions_of_whole_arrays():
    made = own("drift", lambda x, t: x @ TABLE + np.mean(x, axis=0) * t, ("x", "t"))
    x = np.arange(6.0).reshape(3, 2)
    assert_allclose(made(x, 2.0), x @ TABLE + 2.0 * x.mean(axis=0))
    again = own("drift", json.loads(json.dumps(made.told())), ("x", "t"))
    assert (again(x, 2.0) == made(x, 2.0)).all()
    if importlib.util.find_spec("torch"):
        import torch

        assert_allclose(made.with_torch(torch.tensor(x), 2.0), made(x, 2.0))


def test_arguments_by_name():
    made = own("kernel", "exp(-distance)", ("logit", "overlap", "distance"), elementwise=True, by_name=True)
    assert made.parameters == ("distance",)
    assert own("kernel", lambda z: z, ("logit", "overlap"), by_name=True).parameters == ("z",)
    with pytest.raises(SpecError, match=r"kernel = 'a function of \(a, b\)' .*any of the arguments logit, overlap"):
        own("kernel", lambda a, b: a + b, ("logit", "overlap"), by_name=True)
    with pytest.raises(SpecError, match=r"drift = 'a function of \(x\)' .*the arguments \(x, t\)"):
        own("drift", lambda x: x, ("x", "t"))


def looping(s):
    for _ in range(3):
        s = s + 1
    return s


REFUSED = r"may not bring|cannot be used"
HARM = [
    "__import__('os').system('true')",
    "s.__class__",
    "np.load('x')",
    "open('x')",
    "[k for k in s]",
    "9**9**9",
    "s + 'text'",
    "np.random.seed(1)",
    "eval('1')",
    "(lambda q: q.ctypes)(s)",
    "np.sum.__globals__",
    "1000000000000 * s",
    "f'{s}'",
    "s := 3",
    "getattr(s, 'dtype')",
]


@pytest.mark.parametrize("text", HARM)
def test_a_text_reaches_nothing(text):
    with pytest.raises(SpecError, match=r"kernel = .* cannot be used"):
        own("kernel", text, ("s",))
    with pytest.raises(SpecError, match=REFUSED):
        own("kernel", {"source": f"lambda s: {text}", "names": {"np": "numpy"}}, ("s",))
    with pytest.raises(SpecError, match=REFUSED):
        own(
            "kernel", {"source": "lambda s: f(s)", "names": {"f": {"source": f"lambda s: {text}", "names": {}}}}, ("s",)
        )


def test_a_file_brings_what_this_process_was_given():
    stranger = {"source": ast_source(looping).replace("range(3)", "range(4)"), "names": {}}
    with pytest.raises(SpecError, match="has a loop, and could do anything"):
        own("kernel", stranger, ("s",))
    made = own("kernel", looping, ("s",), elementwise=True)
    assert own("kernel", made.told(), ("s",), elementwise=True)(1.0) == 4.0


def ast_source(function):
    return own("f", function, ("s",)).source


class Odd:
    value = 2.0

    def weight(self, s):
        return s * self.value


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Odd().weight, "weight is no function of Python"),
        (lambda s: s * Odd.value, "it uses Odd, a type"),
        (lambda s, k=2: s * k, "arguments with defaults"),
        (eval("lambda s: 2 * s"), "its source cannot be had"),
    ],
)
def test_what_cannot_be_kept_runs_and_says_so(given, why):
    made = own("kernel", given, ("s",) if "defaults" not in why else ("s", "k"), elementwise=True)
    assert made(3.0, *([2] if "defaults" in why else [])) == 6.0
    assert why in made.lost
    with pytest.raises(SpecError, match="could not keep"):
        own("kernel", json.loads(json.dumps(made.told())), ("s",))
    with pytest.raises(SpecError, match="another process"):
        pickle.dumps(made)


def branching(s):
    if s > 0:
        return s
    return 0.0


def test_an_expression_has_no_branches():
    with pytest.raises(SpecError, match=r"a function with an if.*Write `a if condition else b`"):
        own("kernel", branching, ("s",), elementwise=True)


@pytest.mark.parametrize("given", [3.0, None, "", "1 +", "lambda s:", "x" * 5000, {}, {"source": 3}])
def test_what_is_no_function(given):
    with pytest.raises(SpecError, match="cannot be used"):
        own("kernel", given, ("s",))


@needs_torch
def test_what_torch_does_not_know_is_named():
    import torch

    made = own("drift", lambda x: np.linalg.norm(x) * x, ("x",))
    with pytest.raises(SpecError, match=r"cannot run in torch: it uses np.linalg"):
        made.with_torch(torch.ones(2))


def test_the_compilers_source_has_no_modules():
    made = own("kernel", statements, ("s",), elementwise=True)
    text = made.rewritten("weight")
    assert text.startswith("def weight(s):")
    assert "np_where(" in text
    assert "math" not in text
    assert isinstance(made.names["helper"], Function)


def test_a_function_of_arrays_is_compiled():
    from numba import float64, types

    from tokenflock.engine.compiled.own import of_arrays
    from tokenflock.errors import EngineError

    made = own("drift", lambda x, t: np.exp(-t) * helper(x) + math.pi * TABLE[0, 1] * np.sum(x), ("x", "t"))
    x = np.arange(6.0).reshape(3, 2)
    compiled = of_arrays(made, types.Array(float64, 2, "C"), float64)
    assert_allclose(compiled(x, 0.5), made(x, 0.5), rtol=1e-14)
    for given in (lambda x: x.nothing, lambda x: np.block([x]), Odd().weight):
        with pytest.raises(EngineError, match=r"cannot be compiled: .*\. Use engine='reference'"):
            of_arrays(own("drift", given, ("x",)), types.Array(float64, 2, "C"))


def test_threads_take_turns_at_the_parser(monkeypatch):
    """Python 3.11 raises a SystemError where two of them parse at once."""
    inside, most, usual = [], [], expressions.ast.parse

    def parse(*given, **how):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)
        inside.pop()
        return usual(*given, **how)

    monkeypatch.setattr(expressions.ast, "parse", parse)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda k: own("kernel", f"exp(logit) + {k}", ("logit",)), range(8)))
    assert max(most) == 1
    assert [f(np.zeros(1))[0] for f in made] == [k + 1.0 for k in range(8)]
