"""Blocks in numpy: they are what transformers computes, for every family, and every part of them can be left out."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tiny_networks import KINDS, inputs, tiny
from tokenflock import networks
from tokenflock.errors import EngineError, SpecError
from tokenflock.geometry import retract
from tokenflock.networks.layer import Feedforward, Layer, Norm
from tokenflock.networks.rotary import Rotary
from tokenflock.transformer import prediction, record, stack, states
from tokenflock.transformer.block import ACTIVATIONS, Parts, activation, attention, block, feedforward, length
from tolerances import close
from trained import needs, trained

WITHOUT_TORCH = "torch and transformers are not installed"
# Families whose rotary angles or softmax transformers computes in float32, whatever the dtype of the model.
SINGLE = (
    *("neox", "llama", "mistral", "qwen", "smollm", "opt", "vit", "deit"),
    *("gemma", "gptoss", "mixtral", "phi3"),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Tiny networks by name: the module and its folder, each made once."""
    pytest.importorskip("transformers", reason=WITHOUT_TORCH)
    kept = {}

    def make(name):
        if name not in kept:
            model, folder = tiny(name), tmp_path_factory.mktemp("block") / name
            model.save_pretrained(folder)
            kept[name] = model, folder
        return kept[name]

    return make


def random_layer(n=3, k=4, d=12, m=10, seed=0, **how):
    """A layer with everything: biases, norms with gain and bias, feed-forward."""
    rng = np.random.default_rng(seed)
    q, key, v = rng.standard_normal((3, n, k, d)) / math.sqrt(d)
    bias = rng.standard_normal((3, n, k))
    norms = [Norm("layer", 1 + 0.1 * rng.standard_normal(d), 0.1 * rng.standard_normal(d), 1e-12) for _ in range(2)]
    up, down = rng.standard_normal((m, d)) / math.sqrt(d), rng.standard_normal((d, m)) / math.sqrt(m)
    inner = Feedforward("mlp", up, down, None, rng.standard_normal(m), rng.standard_normal(d), None, "gelu")
    plain = {
        "n_groups": n,
        "scale": k**-0.5,
        "causal": False,
        "window": None,
        "order": "post",
        "parallel": False,
        "rotary": None,
    }
    return Layer(
        query=q, key=key, value=v, output=rng.standard_normal((n, d, k)) / math.sqrt(d), query_bias=bias[0],
        key_bias=bias[1], value_bias=bias[2], output_bias=rng.standard_normal(d), attention_norm=norms[0],
        feedforward_norm=norms[1], feedforward=inner, **(plain | how),
    )  # fmt: skip


def slow_attention(layer, y):
    """Attention of all heads, number by number."""
    n, written = len(y), np.zeros_like(y)
    weights = np.zeros((layer.n_heads, n, n))
    for h in range(layer.n_heads):
        q = [layer.query[h] @ y[i] + layer.query_bias[h] for i in range(n)]
        k = [layer.key[h] @ y[i] + layer.key_bias[h] for i in range(n)]
        v = [layer.value[h] @ y[i] + layer.value_bias[h] for i in range(n)]
        for i in range(n):
            seen = range(i + 1 if layer.causal else n)
            seen = [j for j in seen if layer.window is None or j > i - layer.window]
            e = {j: math.exp(layer.scale * float(q[i] @ k[j])) for j in seen}
            for j in seen:
                weights[h, i, j] = e[j] / sum(e.values())
                written[i] += layer.output[h] @ (weights[h, i, j] * v[j])
    return written + layer.output_bias, weights


@pytest.mark.parametrize("how", [{}, {"causal": True}, {"causal": True, "window": 2}], ids=str)
def test_attention_is_its_definition(how):
    layer, y = random_layer(**how), np.random.default_rng(1).standard_normal((5, 12))
    for found, wanted in zip(attention(layer, y), slow_attention(layer, y), strict=True):
        assert_allclose(found, wanted, **close("float64", 60))


def test_the_order_of_parts_is_that_of_the_layer():
    layer, h = random_layer(), np.random.default_rng(2).standard_normal((5, 12))
    one, two, inner = layer.attention_norm, layer.feedforward_norm, layer.feedforward
    middle = one(h + attention(layer, h)[0])
    assert_allclose(block(layer, h)[0], two(middle + feedforward(inner, middle)), **close("float64", 60))
    pre = replace(layer, order="pre")
    middle = h + attention(layer, one(h))[0]
    assert_allclose(block(pre, h)[0], middle + feedforward(inner, two(middle)), **close("float64", 60))
    both = replace(pre, parallel=True)
    wanted = h + attention(layer, one(h))[0] + feedforward(inner, two(h))
    assert_allclose(block(both, h)[0], wanted, **close("float64", 60))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore")  # those of torch and transformers are not ours
def test_hidden_states_are_those_of_transformers(name, saved):
    model, folder = saved(name)
    net = networks.read(folder)
    fed = inputs(model, 9)
    given = next(iter(fed.values()))[0].numpy()
    ours, theirs = stack.run(net, given), states.Original(net).run(given)
    # float64 on both sides, but for SINGLE; blocks of large random weights stretch what rounding does.
    dtype, amplified = ("float32", 10.0) if name.startswith(SINGLE) else ("float64", 1000.0)
    size = float(theirs["radius"].max())
    assert_allclose(record.hidden(ours) / size, record.hidden(theirs) / size, **close(dtype, net.dim, amplified))
    assert_allclose(ours["attention"], theirs["attention"], **close("float32", net.dim, 100.0))
    assert ours.sizes["time"] == net.n_layers + 1


@pytest.mark.filterwarnings("ignore")
def test_the_comparison_would_see_a_mistake(saved, monkeypatch):
    """The twin: a gain of one norm off by one part in a thousand, or rotary positions off by one."""
    for name in ("bert", "llama"):
        model, folder = saved(name)
        net = networks.read(folder)
        given = inputs(model, 9)["input_ids"][0].numpy()
        theirs = record.hidden(states.Original(net).run(given))
        whole = net.layer

        def changed(l, feedforward=True, whole=whole):
            layer = whole(l, feedforward)
            norm = layer.feedforward_norm
            return replace(layer, feedforward_norm=replace(norm, weight=1.001 * norm.weight))

        monkeypatch.setattr(net, "layer", changed)
        assert np.abs(record.hidden(stack.run(net, given)) - theirs).max() > 1e-4
    net = networks.read(folder)
    monkeypatch.setattr(Rotary, "turn", lambda self, x, positions: x)
    assert np.abs(record.hidden(stack.run(net, given)) - theirs).max() > 1e-2


@needs("rxnmapper")
@pytest.mark.filterwarnings("ignore")
def test_the_trained_albert_is_reproduced():
    pytest.importorskip("transformers", reason=WITHOUT_TORCH)
    net = networks.read(trained("rxnmapper"))
    given = np.random.default_rng(0).integers(1, 591, 50)
    ours, theirs = stack.run(net, given), states.Original(net, dtype="float32").run(given)
    assert np.abs(record.hidden(ours) - record.hidden(theirs)).max() < 1e-4
    assert np.abs(ours["attention"] - theirs["attention"]).max() < 1e-4


@pytest.mark.parametrize(
    "parts",
    [Parts(attention=False), Parts(feedforward=False), Parts(bias=False), Parts(norm="sphere"), Parts(norm="none"),
     Parts(heads=(0, 2))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("order", ["post", "pre"])
def test_every_part_does_something(parts, order):
    layer, h = random_layer(order=order), np.random.default_rng(3).standard_normal((6, 12))
    found, weights = block(layer, h, parts)
    assert np.abs(found - block(layer, h)[0]).max() > 1e-3
    assert (weights is None) == (not parts.attention)


def test_rotary_positions_can_be_left_out():
    layer, h = random_layer(rotary=Rotary(4, 100.0)), np.random.default_rng(3).standard_normal((6, 12))
    assert np.abs(block(layer, h)[0] - block(layer, h, Parts(rotary=False))[0]).max() > 1e-3
    assert_array_equal(block(layer, h, Parts(rotary=False))[0], block(replace(layer, rotary=None), h)[0])


def test_heads_add_up():
    layer, y = random_layer(), np.random.default_rng(4).standard_normal((5, 12))
    plain = replace(layer, output_bias=None)
    each = [attention(plain, y, Parts(heads=(h,)))[0] for h in range(3)]
    assert_allclose(sum(each), attention(plain, y)[0], **close("float64", 60))


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"gelu_python", "gelu_fast"}))
def test_activations_are_those_of_transformers(name):
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    from transformers.activations import ACT2FN

    u = np.linspace(-6, 6, 101)
    wanted = ACT2FN[name](torch.tensor(u)).numpy()
    assert_allclose(activation(name)(u), wanted, **close("float64", 1, 4.0))


def test_without_gain_tokens_stay_on_one_sphere():
    layer, h = random_layer(), np.random.default_rng(5).standard_normal((6, 12))
    out = block(layer, h, Parts(norm="sphere"))[0]
    assert_allclose(np.linalg.norm(out, axis=-1), length(layer.feedforward_norm), **close("float64", 12))


@pytest.mark.parametrize("causal", [False, True])
def test_one_head_on_the_sphere_is_our_own_model_in_layers(causal):
    """Attention alone on the sphere is (E12) with dt = 1: two codes, one dynamics."""
    layer = random_layer(causal=causal)
    r = length(layer.attention_norm)
    start = r * flock.uniform(7, 12, seed=6)
    h, parts = start, Parts(feedforward=False, bias=False, norm="sphere", heads=(1,))
    for _ in range(5):
        h = block(layer, h, parts)[0]
    head = prediction.theory(layer, 1, start, place="space")
    run = flock.simulate(head.model, head.start, 5.0, scheme="layers", dt=1.0, engine="reference")
    assert_allclose(retract(h), run["x"].values[-1], **close("float64", 12, 100.0))


@pytest.fixture(scope="module")
def albert(saved):
    return networks.read(saved("albert")[1])


def test_depth_goes_round_the_layers(albert):
    ids = [3, 4, 5, 6]
    deep = stack.run(albert, ids, depth=7, attention=False)
    assert_allclose(deep["x"][:4], stack.run(albert, ids)["x"], rtol=0, atol=0)
    last = record.hidden(deep)[3]
    assert_allclose(record.hidden(deep)[4], block(albert.layer(0), last)[0], **close("float64", 16, 10.0))
    assert stack.layers_of(albert, [2, 0], 5) == [2, 0, 2, 0, 2]
    assert "attention" not in deep


def test_a_run_may_begin_anywhere(albert):
    ids = [3, 4, 5, 6]
    whole = stack.run(albert, ids)
    rest = stack.run(albert, record.hidden(whole)[1], layers=[1, 2])
    assert_allclose(record.hidden(rest), record.hidden(whole)[1:], **close("float64", 16, 10.0))
    assert "token_id" not in rest
    assert whole["token_id"].values.tolist() == ids


def test_bad_input_is_named(albert, saved):
    cases = {
        "ids = 40 cannot be used. Allowed: 0 to 39": lambda: stack.run(albert, [3, 40]),
        "the length of ids = 33 cannot be used. Allowed: at most 32 tokens": lambda: stack.run(albert, [3] * 33),
        "whole numbers": lambda: stack.run(albert, [0.5, 1.0]),
        r"layers = \[3\] cannot be used. Allowed: some of 0 to 2": lambda: stack.run(albert, [3], layers=[3]),
        "depth = 0": lambda: stack.run(albert, [3], depth=0),
        "unknown norm 'spere'. Did you mean 'sphere'": lambda: Parts(norm="spere"),
        "Nothing would move": lambda: Parts(attention=False, feedforward=False),
        r"heads = \(4,\) cannot be used": lambda: stack.run(albert, [3, 4], parts=Parts(heads=(4,))),
        r"given.shape = \(2, 5\)": lambda: stack.run(albert, np.ones((2, 5))),
        "unknown activation 'gelo'. Did you mean 'gelu'": lambda: activation("gelo"),
        "Read it with feedforward=True": lambda: block(albert.layer(0, feedforward=False), np.ones((2, 16))),
        "networks.read": lambda: stack.run("albert", [3]),
    }
    for words, run in cases.items():
        with pytest.raises(SpecError, match=words):
            run()
    vit = networks.read(saved("vit")[1])
    with pytest.raises(SpecError, match=r"image.shape = \(3, 9, 8\)"):
        stack.run(vit, np.zeros((3, 9, 8)))


def test_a_run_that_leaves_the_numbers_says_where(albert):
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(EngineError, match="hidden states of layer"):
        stack.run(albert, 1e200 * np.ones((2, 16)), parts=Parts(norm="none"), depth=400)
