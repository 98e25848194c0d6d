"""Heads of trained networks under the theory: every figure from small matrices is that of the large ones."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from checkpoints import PREFIX, albert_folder, albert_tensors, safetensors
from tokenflock import networks
from tokenflock.analysis import spectrum
from tokenflock.analysis import triple as triples
from tokenflock.errors import FileError, SpecError
from tokenflock.networks import spectra
from tokenflock.networks.layer import Layer, Norm
from tolerances import close
from trained import needs, trained


def layer_of(query, key, value, output, order="post", gain=None):
    """A layer of given heads, without biases."""
    d = query.shape[2]
    norm = Norm("rms", np.ones(d) if gain is None else gain, None, 1e-6)
    return Layer(
        query=query, key=key, value=value, output=output, query_bias=None, key_bias=None, value_bias=None,
        output_bias=None, n_groups=len(query), scale=query.shape[1] ** -0.5, causal=True, window=None, order=order,
        parallel=False, attention_norm=norm, feedforward_norm=None, feedforward=None, rotary=None,
    )  # fmt: skip


def random_layer(n_heads=3, k=4, d=12, seed=0, **how):
    rng = np.random.default_rng(seed)
    query, key, value = rng.standard_normal((3, n_heads, k, d))
    return layer_of(query, key, value, rng.standard_normal((n_heads, d, k)), **how)


def large(layer, h):
    """Q, K and V of a head written out, d x d."""
    G = np.diag(layer.attention_norm.weight) if layer.order == "pre" else np.eye(layer.dim)
    return layer.query[h] @ G, layer.key[h] @ G, layer.output[h] @ layer.value[h] @ G


GAIN = np.linspace(0.5, 2.0, 12)
orders = pytest.mark.parametrize("how", [{"order": "post"}, {"order": "pre", "gain": GAIN}], ids=["post", "pre"])


@orders
@pytest.mark.parametrize("k", [4, 12])
def test_eigenvalues_are_those_of_the_large_matrix_without_its_zeros(how, k):
    layer = random_layer(n_heads=2, k=k, **how)
    for h in range(2):
        head = spectra.Head.of(layer, h)
        small, whole = networks.eigenvalues(head.output, head.value), np.linalg.eigvals(large(layer, h)[2])
        whole = whole[np.argsort(-np.abs(whole))]
        assert np.abs(whole[k:]).max(initial=0.0) < 1e-10 < np.abs(whole[:k]).min()
        for lam in small:
            assert np.abs(whole[:k] - lam).min() < 1e-10
        assert (np.diff(small.real) <= 0).all()
        assert np.all(small[:-1].imag[np.diff(small.real) == 0] > 0), "of a pair the upper one first"


def test_compressing_loses_nothing():
    rng = np.random.default_rng(1)
    for d, k in ((9, 2), (5, 3), (4, 4), (7, 1)):
        left, right = rng.standard_normal((d, k)), rng.standard_normal((k, d))
        P, C = spectra.compress(left, right)
        assert P.shape == (d, min(d, 2 * k))
        assert_allclose(P.T @ P, np.eye(P.shape[1]), **close("float64", d, amplification=8))
        assert_allclose(P @ C @ P.T, left @ right, **close("float64", d, amplification=16))


def with_spectrum(lam, d, seed=0):
    """Factors (d, k), (k, d) of a V of rank k with given real eigenvalues, on its range orthogonal to the rest."""
    k = len(lam)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0][:, :k]
    return basis * np.asarray(lam, dtype=float), basis.T


@pytest.mark.parametrize(
    ("lam", "row"),
    [
        ([2.0, 1.0, -1.0], "two-points"),
        ([2.0, 2.0, 1.0], "one-point"),
        ([2.0, 2.0, 2.0], "one-point"),  # on its range V is 2 I, but not on all of R^d
        ([-1.0, -2.0, -3.0], "two-clouds"),
        ([-1.0, -1.0, -3.0], "cloud"),
    ],
)
def test_the_row_is_that_of_the_large_matrix(lam, row):
    output, value = with_spectrum(lam, 8)
    query = key = np.eye(3, 8)
    layer = layer_of(query[None], key[None], value[None], output[None])
    found = networks.regime(layer, 0)
    assert found.row == row
    assert found.multiplicity == lam.count(max(lam))
    V = output @ value
    assert found.L.shape == (8, found.multiplicity)
    assert_allclose(V @ found.L, max(lam) * found.L, atol=1e-12)
    assert_allclose(found.L.T @ found.L, np.eye(found.multiplicity), atol=1e-12)
    whole = spectrum.classify(V)
    if max(lam) > 0:
        assert (whole.row, whole.claim) == (found.row, found.claim)
        assert set(found.fails) <= set(whole.fails)
        assert bool(found.fails) == bool(whole.fails)
        assert_allclose(found.L @ found.L.T, whole.L @ whole.L.T, atol=1e-12)
    else:
        assert whole.row == "zero", "with its zeros V has lambda_max 0: A.8 leaves them out"


@orders
def test_random_heads_fall_where_their_large_matrices_do(how):
    for seed in range(12):
        layer = random_layer(n_heads=1, k=3, d=9, seed=seed, **({**how, "gain": GAIN[:9]} if "gain" in how else how))
        found, whole = networks.regime(layer, 0), spectrum.classify(large(layer, 0)[2])
        if found.lambda_max.real > 0:
            assert (found.row, found.multiplicity) == (whole.row, whole.multiplicity)
            assert_allclose(found.lambda_max, whole.lambda_max)
            assert_allclose(found.L @ found.L.T, whole.L @ whole.L.T, atol=1e-8)


@orders
def test_a_good_triple_is_one_of_the_large_matrices(how):
    seen = set()
    for seed in range(40):
        layer = random_layer(n_heads=1, k=3, seed=seed, **how)
        found, whole = networks.triple(layer, 0), triples.good(*large(layer, 0))
        assert found.holds == whole.holds
        assert_allclose(abs(found.lambda_1), abs(whole.lambda_1))
        assert (found.phi_1 is None) == (whole.phi_1 is None)
        seen.add(found.holds)
        if whole.phi_1 is not None:
            assert_allclose(found.overlap, whole.overlap, rtol=1e-8)
            assert_allclose(found.phi_1, whole.phi_1, atol=1e-9)
            assert_allclose(found.phi_1_star, whole.phi_1_star, atol=1e-9)
            assert_allclose(found.phi_1_star @ found.phi_1, 1.0)
    assert seen == {True, False}


@orders
def test_figures_of_the_form_are_those_of_the_large_one(how):
    layer = random_layer(**how)
    Q, K, _ = large(layer, 1)
    gain = 1.0 if layer.order == "pre" else GAIN
    form = layer.dim * layer.scale * (Q * gain).T @ (K * gain)
    found = spectra.form_figures(spectra.Head.of(layer, 1), gain)
    symmetric = (form + form.T) / 2
    levels = np.linalg.eigvalsh(symmetric)
    assert_allclose(found["form_norm"], np.linalg.norm(form))
    assert_allclose([found["form_largest"], found["form_least"]], [levels[-1], levels[0]])
    assert_allclose(found["form_asymmetry"], np.linalg.norm(form - form.T) / 2 / np.linalg.norm(form))
    assert_allclose(found["beta_effective"], np.linalg.norm(symmetric) / np.sqrt(layer.dim))


def test_beta_effective_of_an_identity_is_beta():
    """Q = K with Q'K = (beta sqrt(k) / d) I: on tokens of length sqrt(d) the logits are beta <u, u'>."""
    d, beta = 6, 3.0
    query = np.sqrt(beta * np.sqrt(d) / d) * np.eye(d)[None]
    layer = layer_of(query, query, np.eye(d)[None], np.eye(d)[None])
    found = spectra.form_figures(spectra.Head.of(layer, 0))
    assert_allclose(found["beta_effective"], beta)
    assert_allclose([found["form_largest"], found["form_least"], found["form_asymmetry"]], [beta, beta, 0], atol=1e-12)


def test_the_gaussian_start_has_the_size_and_spread_of_the_config():
    model = networks.gaussian(dim=256, n_heads=8, scale=0.02, seed=3)
    assert (model.outputs.shape, model.values.shape) == ((8, 256, 32), (8, 32, 256))
    for weights in model:
        assert abs(weights.std() / 0.02 - 1) < 5 / np.sqrt(2 * weights.size)
    assert_array_equal(model.values, networks.gaussian(256, 8, 0.02, 3).values)
    with pytest.raises(SpecError, match="a divisor of dim = 10"):
        networks.gaussian(10, 3)


# ---------------------------------------------------------------------------------------------------------------------
# the table


def test_the_table_holds_what_the_functions_say(tmp_path):
    folder = albert_folder(tmp_path / "tiny", albert_tensors(24, seed=5), n_heads=8)
    network = networks.read(folder)
    seen = []
    table = networks.heads(network, progress=lambda done, of: seen.append((done, of)))
    assert dict(table.sizes) == {"layer": 1, "head": 8, "rank": 3}
    assert seen == [(1, 1)]
    assert set(table.data_vars) == set(spectra.WORDS)
    layer = network.layer(0, feedforward=False)
    for h in range(8):
        row = table.isel(layer=0, head=h)
        found, judged = networks.regime(layer, h), networks.triple(layer, h)
        assert (str(row.regime.values), int(row.multiplicity)) == (found.row, found.multiplicity)
        assert complex(row.lambda_max) == found.lambda_max
        assert str(row.prediction.values) == spectrum.ROWS[found.row]
        assert bool(row.good) == judged.holds
        assert (str(row.good_fails.values) == "") == judged.holds
        _, _, V = large(layer, h)
        assert_allclose(row.value_norm, np.linalg.norm(V, 2))
        assert_allclose(row.value_asymmetry, np.linalg.norm(V - V.T) / 2 / np.linalg.norm(V))
    facts = table.attrs
    assert (facts["network"], facts["family"], facts["digest"]) == ("tiny", "albert", network.digest)
    assert "the 21 eigenvalues 0 of every V_h" in facts["left_out"]
    assert "the centring of the layer norm" in facts["left_out"]
    assert "bias of" not in facts["left_out"]
    assert_array_equal(networks.heads(folder, layers=[1, 3]).layer, [1, 3])
    with pytest.raises(SpecError, match="layers = \\[\\] cannot be used"):
        networks.heads(network, layers=[])
    with pytest.raises(SpecError, match=r"layers = 9 cannot be used. Allowed: an integer from 0 to 3"):
        networks.heads(network, layers=[9])
    with pytest.raises(SpecError, match=r"head = 8 cannot be used. Allowed: an integer from 0 to 7"):
        networks.regime(layer, 8)


def test_biases_that_are_there_are_named_as_left_out(tmp_path):
    tensors = albert_tensors()
    tensors[f"{PREFIX}.key.bias"] = np.ones(12, "<f4")
    tensors[f"{PREFIX}.value.bias"] = np.zeros(12, "<f4")
    said = networks.heads(albert_folder(tmp_path / "biased", tensors)).attrs["left_out"]
    assert "the biases of key;" in said


def test_a_network_of_zeros_has_a_row_and_no_good_triple(tmp_path):
    tensors = {name: np.zeros_like(array) for name, array in albert_tensors().items()}
    table = networks.heads(albert_folder(tmp_path / "nothing", tensors))
    assert set(table.regime.values.ravel()) == {"zero"}
    assert not table.good.any()
    assert (table.beta_effective == 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# trained networks


@needs("rxnmapper")
def test_rxnmapper_has_every_case_of_the_atlas():
    """Two heads with lambda_max < 0, one with a complex lambda_max > 0: known before this reader was written."""
    table = networks.heads(trained("rxnmapper")).isel(layer=0)
    top = table.lambda_max.values
    assert list(np.flatnonzero(top.real < 0)) == [2, 6]
    assert_allclose(top[[2, 6]].real, [-0.36, -0.11], atol=5e-3)
    assert_allclose([top[0].real, top[0].imag], [0.92, 0.38], atol=5e-3)
    assert str(table.regime.values[0]) == "rotating"
    assert abs(complex(table.lambda_1.values[2]) - -3.34) < 5e-3
    assert table.attrs["shared"] == 1


@needs("rxnmapper")
def test_rxnmapper_is_what_torch_reads():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    network = networks.read(trained("rxnmapper"))
    state = torch.load(network.folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    layer = network.layer(5)
    for name in ("query", "key", "value"):
        want = state[f"{PREFIX}.{name}.weight"].numpy()
        assert_array_equal(getattr(layer, name).reshape(want.shape), want)
    assert_array_equal(np.concatenate(list(layer.output), axis=1), state[f"{PREFIX}.dense.weight"].numpy())


@needs("smollm2")
def test_smollm2_folds_its_gain_and_shares_keys():
    network = networks.read(trained("smollm2"))
    assert (network.n_layers, network.n_heads, network.n_groups, network.dim) == (30, 9, 3, 576)
    table = networks.heads(network, layers=[29])
    layer = network.layer(29, feedforward=False)
    raw = max(np.linalg.eigvals(v @ o).real.max() for v, o in zip(layer.value, layer.output, strict=True))
    assert table.lambda_max.real.max() < raw, "without the gain lambda_max is many times larger"
    assert table.attrs["norm"] == "pre"
    assert list(table.group.values) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@needs("minilm")
def test_minilm_is_what_safetensors_reads():
    load = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed").load_file
    network = networks.read(trained("minilm"))
    state = load(network.folder / "model.safetensors")
    layer = network.layer(3)
    want = state["encoder.layer.3.attention.self.query.weight"]
    assert_array_equal(layer.query.reshape(want.shape), want)
    assert_array_equal(layer.feedforward.down, state["encoder.layer.3.output.dense.weight"])


@needs("rxnfp")
def test_rxnfp_holds_a_pretrained_network_and_two_tuned_ones():
    before, after = (networks.read(trained("rxnfp") / name) for name in ("bert_pretrained", "bert_ft"))
    assert (before.family, before.n_layers, before.n_heads) == ("bert", 12, 4)
    assert before.digest != after.digest
    a, b = (net.layer(11, feedforward=False).value for net in (before, after))
    assert 0 < np.linalg.norm(a - b) < np.linalg.norm(a)


def test_who_stops_in_the_middle_goes_on_there(tmp_path):
    """Ctrl-C after a layer, a line cut in the middle, and another network: nothing is lost, done twice or mixed."""
    folder = several_layers(tmp_path)
    network, keep = networks.read(folder), tmp_path / "heads.jsonl"
    want = networks.heads(network)

    def stop(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        networks.heads(network, keep=keep, progress=stop)
    assert len(keep.read_text().splitlines()) == 3
    text = keep.read_text()
    keep.write_text(text[:-40])  # the last line is cut: that layer is done again
    seen = []
    network.layer = lambda l, feedforward=True, read=network.layer: seen.append(l) or read(l, feedforward)
    found = networks.heads(network, keep=keep)
    assert seen == [1, 2]
    assert found.identical(want)
    seen.clear()
    assert networks.heads(network, keep=keep).identical(want)
    assert not seen
    with pytest.raises(FileError, match="another network"):
        networks.heads(network, tolerance=1e-3, keep=keep)


def test_to_ask_whether_a_tensor_is_there_reads_nothing(tmp_path, monkeypatch):
    """A folder of shards has thousands: reading them to open it took minutes and all of the memory."""
    from tokenflock.networks import tensors

    found = tensors.read(several_layers(tmp_path) / "model.safetensors")
    monkeypatch.setattr(tensors, "as_numbers", None)  # what makes numbers of bytes
    assert "model.norm.weight" in found
    assert "model.other" not in found


def several_layers(tmp_path):
    """A Llama of three layers of random weights, without a framework."""
    rng, d = np.random.default_rng(0), 12
    made = {"model.embed_tokens.weight": rng.standard_normal((9, d)), "model.norm.weight": np.ones(d)}
    for l in range(3):
        at = f"model.layers.{l}"
        made |= {f"{at}.self_attn.{p}_proj.weight": rng.standard_normal((d, d)) for p in "qkvo"}
        made |= {f"{at}.{n}.weight": np.ones(d) for n in ("input_layernorm", "post_attention_layernorm")}
    folder = tmp_path / "llama"
    folder.mkdir()
    config = {"model_type": "llama", "hidden_size": d, "num_attention_heads": 3, "num_hidden_layers": 3}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(safetensors({n: a.astype("<f4") for n, a in made.items()}))
    return folder
