"""At what beta a network runs, and heads beside their theory: definitions written out, closed forms, twins."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from test_block import random_layer

import tokenflock as flock
from tokenflock import theory
from tokenflock.analysis import attention, energy, states
from tokenflock.errors import SpecError
from tokenflock.geometry import retract
from tokenflock.networks.layer import Norm
from tokenflock.networks.spectra import Head
from tokenflock.transformer import against, behaviour, block, working

RNG = np.random.default_rng(2)


def softmax(s):
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("beta", [-3.0, 0.0, 0.4, 12.0, 40.0])
def test_the_beta_of_a_softmax_of_overlaps_is_found_again(beta, causal):
    x = flock.uniform(9, 4, seed=1)
    o, sees = x @ x.T, block.sees(9, causal, None)
    P = softmax(np.where(sees, beta * o, -np.inf))[None]
    found, explained = working.fit_beta(P, o, sees)
    assert found[0] == pytest.approx(beta, rel=1e-6, abs=1e-6)
    if beta:
        assert explained[0] == pytest.approx(1, abs=1e-9)
    else:
        assert math.isnan(explained[0])  # equal weights have nothing to explain


def test_the_fit_is_the_least_divergence_written_out():
    P = softmax(2 * RNG.standard_normal((3, 8, 8)))
    x = flock.uniform(8, 3, seed=4)
    o = x @ x.T
    found, explained = working.fit_beta(P, o)
    for h in range(3):

        def divergence(beta, h=h):
            q = softmax(beta * o)
            return float(np.sum(P[h] * (np.log(P[h]) - np.log(q))))

        best = minimize_scalar(divergence, bracket=(-1, 1), tol=1e-12)
        assert found[h] == pytest.approx(best.x, abs=1e-5)
        assert explained[h] == pytest.approx(1 - best.fun / divergence(0.0), abs=1e-8)
        assert 0 <= explained[h] < 0.5  # random attention is not of overlaps
    alone, _ = working.fit_beta(np.eye(8)[None], o)  # attention to oneself alone: no finite beta
    assert alone[0] > 1e3


def measured(layer, h):
    return working.layer_at_work(layer, h)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_measures_of_a_layer_are_their_definitions(order):
    layer = replace(random_layer(seed=3), order=order)
    h = RNG.standard_normal((7, 12))
    found, out, written = measured(layer, h)
    expected, P = block.block(layer, h)
    np.testing.assert_array_equal(out, expected)
    y = layer.attention_norm(h) if order == "pre" else h
    for head in range(3):
        q = y @ layer.query[head].T + layer.query_bias[head]
        k = y @ layer.key[head].T + layer.key_bias[head]
        pairs = [np.linalg.norm(a) * np.linalg.norm(b) for a in q for b in k]
        assert found["beta_norms"][head] == pytest.approx(layer.scale * np.mean(pairs))
        v = y @ layer.value[head].T + layer.value_bias[head]
        o = P[head] @ v @ layer.output[head].T
        np.testing.assert_allclose(written[head], o, rtol=1e-12, atol=1e-12)
        assert found["step"][head] == pytest.approx(np.mean(np.linalg.norm(o, axis=1) / np.linalg.norm(h, axis=1)))
    total, _ = block.attention(layer, y)
    steps = np.linalg.norm(total, axis=1) / np.linalg.norm(h, axis=1)
    assert found["step_attention"] == pytest.approx(steps.mean())
    turned = [math.acos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in zip(h, out, strict=True)]
    assert found["turned"] == pytest.approx(np.mean(turned))
    if order == "pre":  # nothing else moves a token: the shares add up
        assert found["share_attention"] + found["share_feedforward"] == pytest.approx(1)


def test_a_head_of_the_theory_has_its_beta_and_its_step():
    # Q = K = I on tokens of the sphere, V = I: beta is the scale, and a step is the length of the mean that is added.
    d, beta = 6, 5.0
    eye = np.eye(d)[None]
    layer = replace(
        random_layer(n=1, k=d, d=d, m=3),
        query=eye, key=eye, value=eye, output=eye, query_bias=None, key_bias=None, value_bias=None, output_bias=None,
        scale=beta, order="pre", attention_norm=Norm("rms", np.full(d, d**-0.5), None, 0.0),
    )  # fmt: skip
    x = flock.uniform(9, d, seed=0)
    found, _, _ = measured(layer, 7.0 * x)
    assert found["beta"][0] == pytest.approx(beta, rel=1e-6)
    assert found["beta_norms"][0] == pytest.approx(beta)
    assert found["explained"][0] == pytest.approx(1)
    assert found["beta_rest"][0] == pytest.approx(beta, rel=1e-6)
    means = attention.matrix(flock.Model(dim=d, beta=beta, mask="full"), x) @ x
    assert found["step"][0] == pytest.approx(np.linalg.norm(means, axis=1).mean() / 7.0)


def test_the_curve_of_metastable_tokens_is_the_closed_form():
    betas = np.array([0.0, 2.0, 9.0])
    times = working.metastable(betas, 12, near=0.5)
    for beta, t in zip(betas, times, strict=True):
        assert theory.equiangular(t, 12, float(beta)) == pytest.approx(0.5, abs=1e-6)
    assert (np.diff(times) > 0).all()
    assert times[2] / times[1] > 50  # e^beta


def test_the_flow_of_a_head_is_that_of_its_model_and_stays_in_a_small_space():
    layer = replace(random_layer(n=2, k=3, d=10, m=4, seed=5), order="pre", causal=True)
    head, x = Head.of(layer, 1), flock.uniform(5, 10, seed=1)
    model = flock.Model(
        dim=10, beta=head.scale * 10, query=head.query, key=head.key, value=head.output @ head.value, mask="causal"
    )
    run = flock.simulate(model, x, 0.3, scheme="rk4", dt=0.3 / against.FLOW_STEPS, times=[0.3], engine="reference")
    np.testing.assert_allclose(against.flow(head, x, math.sqrt(10), 0.3, True), run["x"].values[-1], atol=1e-12)


def test_null_models_keep_what_they_should():
    head = Head.of(random_layer(n=2, k=3, d=10, m=4, seed=5), 0)
    generator = np.random.default_rng(0)
    for one in (against.shuffled(head, generator), against.same_spectrum(head, generator)):
        assert [m.shape for m in one[:4]] == [m.shape for m in head[:4]]
        assert not np.allclose(one.value, head.value)
    mixed = against.shuffled(head, generator)
    np.testing.assert_array_equal(np.sort(mixed.query, axis=None), np.sort(head.query, axis=None))
    same = against.same_spectrum(head, generator)
    for a, b in (
        (same.output @ same.value, head.output @ head.value),
        (same.query.T @ same.key, head.query.T @ head.key),
    ):
        np.testing.assert_allclose(np.linalg.svd(a)[1], np.linalg.svd(b)[1], atol=1e-12)


def gathering(sign):
    """Heads whose V is sign times a projection on a plane, in a layer that does nothing else."""
    layer = random_layer(n=2, k=2, d=8, m=3, seed=1)
    plane = np.linalg.qr(RNG.standard_normal((8, 2)))[0]
    value = np.stack([plane.T] * 2)
    output = np.stack([sign * plane] * 2)
    none = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"))
    quiet = replace(layer.feedforward, down=0 * layer.feedforward.down, down_bias=None)
    plain = Norm("rms", np.ones(8), None, 0.0)
    return replace(
        layer, value=value, output=output, **none, order="pre", attention_norm=plain, feedforward_norm=plain,
        feedforward=quiet,
    )  # fmt: skip


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_heads_that_do_what_the_atlas_says_are_told_from_those_that_do_not(sign):
    layer = gathering(sign)
    h = 3 * (layer.output[0][:, 0] * sign + 0.3 * RNG.standard_normal((8, 8)))
    _, out, written = working.layer_at_work(layer, h)
    rows = against._kinds(layer, 0, [h], [({}, out, written)], np.random.default_rng(0))
    trained = rows[0]
    # With V = P tokens go to the plane, with V = -P they leave it.
    assert (trained.growth > 0) == (sign > 0)
    assert (trained.gain_flow > 0) == (sign > 0)
    assert (trained.gain_write > 0) == (sign > 0)
    assert (trained.gain_layer > 0) == (sign > 0)
    assert trained.cosine > 0.95
    assert len(rows) == len(against.KINDS)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    pytest.importorskip("transformers", reason="torch and transformers are not installed")
    from tiny_networks import tiny
    from tokenflock import networks

    folder = tmp_path_factory.mktemp("working") / "llama"
    tiny("llama").save_pretrained(folder)
    return networks.read(folder)


def test_of_a_network_on_texts(small):
    texts = [[3, 4, 5, 6, 7], [9, 8, 7, 6, 5, 4], [11, 12, 13]]
    found = working.measure(small, texts)
    assert found["beta"].dims == ("text", "layer", "head")
    run = flock.transformer.stack.run(small, texts[0])
    direct, _, _ = working.layer_at_work(small.layer(1), flock.transformer.record.hidden(run)[1])
    np.testing.assert_allclose(found["step"].values[0, 1], direct["step"], rtol=1e-10)
    told = working.effective_time(found)
    assert told.value == pytest.approx(found["step_attention"].values.sum(axis=1).mean())
    assert told.low < told.value < told.high
    one = working.over_texts(found, "beta", layer=1, head=2)
    assert one.value == pytest.approx(found["beta"].values[:, 1, 2].mean())
    compared = against.heads(small, texts[:2])
    assert compared["gain_layer"].dims == ("kind", "text", "layer", "head")
    assert 0 <= against.share(compared, "gain_layer").value <= 1
    parts = against.layers(small, texts[:2])["overlap"]
    x = run["x"].values
    assert float(parts.sel(part="before", layer=1)[0]) == pytest.approx(behaviour.overlaps(x[1]).mean())
    assert float(parts.sel(part="all of it", layer=1)[0]) == pytest.approx(behaviour.overlaps(x[2]).mean())


def test_the_survey_of_a_run_is_its_measures(small):
    run = flock.transformer.stack.run(small, list(range(3, 18)))
    found = behaviour.survey(run, beta=2.0)
    h = flock.transformer.record.hidden(run)
    assert set(found.data_vars) == set(behaviour.FIELD)
    for t in (0, 2):
        assert found["rank_raw"][t] == pytest.approx(math.exp(states.matrix_entropy(h[t])))
        assert found["stable_normed"][t] == pytest.approx(states.stable_rank(retract(h[t])))
        assert found["overlap_centred"][t] == pytest.approx(states.anisotropy(h[t], centred=True))
        assert found["energy"][t] == pytest.approx(energy.scaled_energy(retract(h[t]), 2.0))
        assert found["dimension"][t] == pytest.approx(states.intrinsic_dimension(retract(h[t])).value)
    assert found["neighbours"][1] == pytest.approx(states.neighbourhood_overlap(h[1] / 1.0, h[2], 3), abs=0.2)
    P = run["attention"].values.astype(float)
    np.testing.assert_allclose(found["sink_mass"][:2], attention.received(P).mean(axis=1), rtol=1e-6)
    plain = behaviour.survey(flock.trajectory(h))  # states from elsewhere have no attention
    assert "sink_rate" not in plain
    np.testing.assert_allclose(plain["rank_raw"], found["rank_raw"], rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: working.fit_beta(np.ones((2, 3, 4)), np.eye(3)), "weights.shape"),
        (lambda: working.layer_at_work(random_layer(), np.ones((2, 12))), "n >= 3"),
        (lambda: working.layer_at_work("layer", np.ones((4, 12))), "networks.Layer"),
        (lambda: working.measure("net", [[1, 2, 3]]), "networks.Network"),
        (lambda: working.over_texts(3, "beta"), "working.measure"),
        (lambda: against.share(3, "growth"), "against.heads"),
        (lambda: behaviour.survey(flock.trajectory(np.ones((2, 2, 3)))), "n >= 3"),
    ],
)
def test_what_cannot_be_measured(call, words):
    with pytest.raises(SpecError, match=words):
        call()
