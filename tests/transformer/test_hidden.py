"""Hidden states as trajectories, texts as tokens, what tokens do, and heads beside what the atlas predicts for them."""

import json
import math
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from tiny_networks import tiny
from tokenflock import networks
from tokenflock.analysis import attention, clusters
from tokenflock.errors import EngineError, FileError, MissingExtra, SpecError, install_command
from tokenflock.networks.layer import Layer, Norm
from tokenflock.transformer import behaviour, chance, prediction, record, stack, states, wording
from tolerances import close

TEXT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "walk", "##ing", "##s", "a", "dog", ",", "b", "##b", "[MASK]"]
SMILES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "C", "c", "(", ")", "Cl", "Br", "=", "O", "1", "[nH]", ">>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny ALBERT on disk."""
    pytest.importorskip("transformers", reason="torch and transformers are not installed")
    place = tmp_path_factory.mktemp("hidden") / "albert"
    tiny("albert").save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def run(folder):
    return stack.run(networks.read(folder), [3, 9, 4, 4, 17, 30])


# Trajectories.


def test_hidden_states_are_a_trajectory_for_all_analysis(run):
    assert flock.validate(run) is run
    assert_allclose(np.linalg.norm(run["x"], axis=-1), 1.0, **close("float64", 16))
    assert clusters.count(run, 0.1).shape == (4,)
    assert clusters.track(run["x"].values, 0.1).shape == (4, 6)
    assert attention.rank(run["attention"].values[0, 0].astype(float)).rank <= 6
    assert_allclose(run["attention"].sum("seen"), 1.0, **close("float32", 6))
    model = flock.trajectories.model_of(run)
    assert (model.dim, model.mask, model.norm.kind) == (16, "full", "post")


def test_no_model_is_made_up_for_their_attention(run):
    with pytest.raises(SpecError, match=r"moved by no flock.Model: take run\['attention'\]"):
        attention.matrix(None, run)


def test_hidden_states_come_back_from_a_file(run, tmp_path):
    flock.save(run, tmp_path / "run.zarr")
    back = flock.load(tmp_path / "run.zarr")
    assert_array_equal(record.hidden(back), record.hidden(run))
    assert json.loads(back.attrs["network"])["layers"] == [0, 1, 2]


def test_such_a_run_is_not_repeated_by_the_wrong_engine(run):
    with pytest.raises(SpecError, match=r"again needs a flock\.Model, and these tokens were moved by the layers"):
        flock.again(run)


def test_a_token_without_a_direction_is_refused():
    h = np.ones((2, 3, 4))
    h[1, 2] = 0
    with pytest.raises(EngineError, match="layer 1 hold a token that is 0, which has no direction"):
        record.trajectory(h, record.Origin({}, causal=False, norm="post", engine="numpy"))


@pytest.mark.filterwarnings("ignore")
def test_the_model_itself_in_single_precision(folder, run):
    theirs = states.Original(networks.read(folder), dtype="float32").run(run["token_id"].values)
    assert theirs.attrs["engine"] == "transformers"
    assert "torch" in json.loads(theirs.attrs["versions"])
    assert np.abs(record.hidden(theirs) - record.hidden(run)).max() < 1e-4
    with pytest.raises(SpecError, match=r"at most 32 tokens, what this model takes. Cut the text"):
        states.Original(networks.read(folder)).run([3] * 33)


def test_without_torch_one_sentence_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        MissingExtra, match=f"running the model itself needs torch.*{re.escape(install_command('hidden'))}"
    ):
        states.Original(networks.read(folder))


@pytest.mark.filterwarnings("ignore")
def test_what_transformers_cannot_load_is_one_sentence(folder, monkeypatch):
    net = networks.read(folder)
    with pytest.raises(SpecError, match="unknown dtype 'float16'"):
        states.Original(net, dtype="float16")
    monkeypatch.setattr(net, "folder", folder.parent)
    with pytest.raises(FileError, match=r"transformers reads folders with a config.json"):
        states.Original(net)
    (folder.parent / "config.json").write_text('{"model_type": "none-such"}')
    with pytest.raises(FileError, match="transformers cannot load"):
        states.Original(net)


# Texts.


def vocabulary(folder, words, **said):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words))
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return wording.Encoder(folder)


def test_a_plain_vocabulary_is_read_longest_piece_first(tmp_path):
    encode = vocabulary(tmp_path / "smiles", SMILES)
    assert encode.kind == "vocab.txt"
    found = [SMILES[k] for k in encode("CCl(Brc1)[nH]>>C=O")]
    assert found == ["[CLS]", "C", "Cl", "(", "Br", "c", "1", ")", "[nH]", ">>", "C", "=", "O", "[SEP]"]
    assert SMILES[encode("CN")[2]] == "[UNK]"  # and what follows goes on


def test_word_pieces_are_those_of_bert(tmp_path):
    encode = vocabulary(tmp_path / "words", TEXT)
    text = "The dogs, walking bb xyz a"
    found = [TEXT[k] for k in encode(text)]
    wanted = ["[CLS]", "the", "dog", "##s", ",", "walk", "##ing", "b", "##b", "[UNK]", "a", "[SEP]"]
    assert found == wanted
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    assert transformers.BertTokenizer(vocab={word: k for k, word in enumerate(TEXT)})(text)["input_ids"] == encode(text)


def test_a_vocabulary_with_capitals_keeps_the_case(tmp_path):
    assert vocabulary(tmp_path / "a", [*TEXT, "Dog"])("Dog")[1] == len(TEXT)
    assert vocabulary(tmp_path / "b", [*TEXT, "Dog"], do_lower_case=True)("Dog")[1] == TEXT.index("dog")


def test_a_tokenizer_of_its_own_is_used(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({"sea": 0, "calm": 1, "?": 2}, unk_token="?"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?").save_pretrained(tmp_path)
    encode = wording.Encoder(tmp_path)
    assert "of transformers" in encode.kind
    assert encode("calm sea, calm") == [1, 0, 2, 1]


def test_texts_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "empty.txt").write_text(" \n\n")
    (tmp_path / "latin.txt").write_bytes(b"\xe9\xff")
    (tmp_path / "words.txt").write_text("1 2\nthree")
    cases = {
        "holds no text. Wanted: one text a line": lambda: wording.lines(tmp_path / "empty.txt"),
        "is not a text in UTF-8": lambda: wording.lines(tmp_path / "latin.txt"),
        "cannot be read: No such file": lambda: wording.lines(tmp_path / "none.txt"),
        "'three' is no line of token ids": lambda: wording.numbers(tmp_path / "words.txt"),
        r"has no tokenizer .* --ids FILE": lambda: wording.Encoder(tmp_path),
    }
    for words, read in cases.items():
        with pytest.raises((FileError, SpecError), match=words):
            read()
    (tmp_path / "ids.txt").write_text("1, 2 3\n\n4 5")
    assert wording.numbers(tmp_path / "ids.txt") == [[1, 2, 3], [4, 5]]
    with pytest.raises(SpecError, match=r"what the pieces of vocab.txt spell"):
        vocabulary(tmp_path / "no-unk", ["a"])("ab")


def test_random_tokens_are_repeatable_and_never_padding():
    one, two = (wording.chosen(2, 300, 5, seed=3, padding=2) for _ in range(2))
    assert_array_equal(one, two)
    assert set(np.unique(one)) == {0, 1, 3, 4}
    assert not np.array_equal(one, wording.chosen(2, 300, 5, seed=4, padding=2))


# Behaviour.


def test_measures_are_their_definitions(run):
    found, x = behaviour.measure(run, overlap=0.9), run["x"].values
    n = x.shape[1]
    for t, frame in enumerate(x):
        pairs = [frame[i] @ frame[j] for i in range(n) for j in range(i + 1, n)]
        assert_allclose(found["overlap"][t], np.mean(pairs), **close("float64", n * n))
        assert_allclose(found["histogram"][t].sum() * (2 / behaviour.BINS), 1.0, **close("float64", n * n))
        s = np.linalg.svd(frame, compute_uv=False) ** 2
        p = s / s.sum()
        assert_allclose(found["effective_rank"][t], math.exp(-(p * np.log(p)).sum()), **close("float64", n, 100.0))
        assert found["clusters"][t] == clusters.count(frame, math.acos(0.9))
    P = run["attention"].values[1, 2].astype(float)
    leaders = {int(np.argmax(row)) for row in P}
    assert found["leaders"][1, 2] == len(leaders)
    s = np.linalg.svd(P, compute_uv=False)
    assert found["attention_rank"][1, 2] == (s > behaviour.SMALL * s[0]).sum()


def test_measures_tell_a_cluster_from_a_cloud():
    x = flock.uniform(20, 5, seed=0)
    met = np.repeat(x[:2], 10, axis=0)
    assert_allclose(behaviour.effective_rank(met), behaviour.effective_rank(x[:2]), **close("float64", 20, 10.0))
    assert behaviour.effective_rank(x) > 4
    assert behaviour.together(met, 0.999) == 2
    assert behaviour.together(x, 0.999) == 20
    density, edges = behaviour.histogram(np.stack([met, x]), bins=10)
    assert density[0, -1] > 2 > 1 > density[1, -1]  # 90 of 190 pairs are one direction
    assert edges[0] == -1


def test_the_part_in_a_subspace():
    x = flock.uniform(20_000, 7, seed=1)
    L = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 3)))[0]
    part = behaviour.inside(x, L)
    assert_allclose(part**2 + behaviour.inside(x, np.linalg.svd(L)[0][:, 3:]) ** 2, 1.0, **close("float64", 7))
    error = part.std() / math.sqrt(len(x))
    assert abs(part.mean() - behaviour.inside_by_chance(7, 3)) < 4 * error
    assert behaviour.inside_by_chance(7, 7) == 1.0
    with pytest.raises(SpecError, match="not orthonormal"):
        behaviour.inside(x, 2 * L)
    with pytest.raises(SpecError, match="at least two tokens"):
        behaviour.overlaps(x[:1])


def test_a_subspace_for_every_time(run):
    L = np.eye(16)[:, :2]
    every = behaviour.measure(run, subspace=[L, L, L, np.eye(16)[:, 2:4]])
    one = behaviour.measure(run, subspace=L)
    assert_array_equal(every["inside"][:3], one["inside"][:3])
    assert every["inside"][3] != one["inside"][3]
    with pytest.raises(SpecError, match="one, or 4"):
        behaviour.measure(run, subspace=[L, L])


# Chance.


def test_the_sign_of_a_single_number_is_a_coin():
    found = chance.counted(1, 8, samples=4_000, seed=1)
    assert found.low < math.log10(0.5) < found.high
    assert found.seen == round(10**found.log10 * 4_000)


def test_what_was_never_seen_has_an_upper_bound():
    found = chance.counted(12, 48, samples=100)
    assert (found.seen, found.log10, found.low) == (0, -math.inf, -math.inf)
    assert_allclose(10**found.high, 1 - 0.05 ** (1 / 100), **close("float64", 100, 100.0))


def test_subset_simulation_agrees_with_counting():
    counts, levels = chance.counted(4, 16, samples=20_000), chance.split(4, 16, walkers=200, repeats=6)
    assert max(counts.low, levels.low) < min(counts.high, levels.high)
    assert levels.high - levels.low < 0.5
    assert chance.split(6, 24).log10 < levels.log10 - 0.5  # and falls with the size


# Heads beside the atlas.


def head_with(value, n=12, seed=0, causal=False, **how):
    """A layer of one head that writes everywhere, with V given and Q'K the identity, and tokens to begin with."""
    d = len(value)
    eye = np.eye(d)[None]
    layer = Layer(
        query=eye, key=eye, value=value[None], output=eye, query_bias=None, key_bias=None, value_bias=None,
        output_bias=None, n_groups=1, scale=1.0, causal=causal, window=None, order="post", parallel=False,
        attention_norm=Norm("layer", np.full(d, 1 / math.sqrt(d)), None, 1e-12), feedforward_norm=None,
        feedforward=None, rotary=None, **how,
    )  # fmt: skip
    return layer, flock.uniform(n, d, seed=seed)


def test_a_head_is_a_model_of_ours():
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 1, 2, 6))
    layer, hidden = head_with(np.eye(6))
    layer = Layer(**{**vars(layer), "query": q, "key": k, "value": v, "output": rng.standard_normal((1, 6, 2))})
    whole, small = (prediction.theory(layer, 0, hidden, place) for place in ("space", "range"))
    assert_allclose(whole.model.values[0], layer.output[0] @ v[0], **close("float64", 6, 10.0))
    assert (whole.model.dim, small.model.dim, whole.model.beta) == (6, 2, pytest.approx(1.0))
    lam = np.linalg.eigvals(v[0] @ layer.output[0])
    assert_allclose(np.sort_complex(np.linalg.eigvals(small.model.values[0])), np.sort_complex(lam), atol=1e-12)
    # On the range both are the same dynamics: tokens there stay there.
    basis = np.linalg.qr(layer.output[0])[0]
    inside = prediction.theory(layer, 0, small.start @ basis.T, "space")
    assert_allclose(
        flock.velocity(inside.model, inside.start) @ basis, flock.velocity(small.model, small.start), atol=1e-12
    )
    with pytest.raises(SpecError, match=r"unknown place 'rang'. Did you mean 'range'"):
        prediction.theory(layer, 0, hidden, "rang")
    with pytest.raises(SpecError, match=r"unknown scheme 'layer'. Did you mean 'layers'"):
        prediction.observe(small, "layer")


def test_two_points_are_predicted_and_seen():
    head = prediction.theory(*_swap(head_with(np.diag([1.0, 0.4, 0.2]))))
    found, run = prediction.observe(head)
    assert (found.row, found.agrees, found.scheme) == ("two-points", True, "flow")
    assert found.clusters <= 2
    assert found.inside_least > 0.99
    early = prediction.judge(head, run.isel(time=[0]))
    assert early.agrees is None
    assert "not at its end" in early.words
    astray = run.isel(time=[-1]).copy(deep=True)
    astray["x"][0, :] = [0.0, 1.0, 0.0]  # a rest of the flow, but not the one that is predicted
    assert prediction.judge(head, astray).agrees is False


def test_a_run_that_is_not_at_its_end_goes_on():
    """A gap of 1 promises a quick end, but a token that begins on the other eigenvector leaves it late."""
    layer, hidden = head_with(np.diag([2.0, 1.0]), n=3)
    hidden[:] = [1e-7, 1.0]
    head = prediction.theory(layer, 0, hidden)
    found, _ = prediction.observe(head)
    assert (found.agrees, found.t_end) == (True, 4 * head.t_end())
    assert prediction.observe(head, t_end=head.t_end())[0].agrees is None


def test_a_cloud_is_told_from_a_cluster():
    head = prediction.theory(*_swap(head_with(np.diag([-0.2, -1.0, -1.5]), n=8)))
    found, run = prediction.observe(head, t_end=40.0)
    assert (found.row, found.clusters) == ("two-clouds", 8)
    met = run.isel(time=[-1]).copy(deep=True)
    met["x"][0, 1] = met["x"][0, 0]
    assert prediction.judge(head, met).agrees is False


def test_in_layers_another_eigenvalue_may_lead():
    head = prediction.theory(*_swap(head_with(np.diag([0.5, 0.1, -3.0]))))
    leads = head.leading(layers=True)
    assert leads.growth == pytest.approx(math.log(2.0))
    assert leads.gap == pytest.approx(math.log(2.0 / 1.5))
    assert abs(leads.L[2, 0]) == pytest.approx(1.0)
    assert abs(head.leading().L[0, 0]) == pytest.approx(1.0)
    flow, layers = (prediction.observe(head, scheme)[0] for scheme in ("flow", "layers"))
    assert (flow.agrees, flow.same) == (True, True)
    assert (layers.agrees, layers.same) == (True, False)


def test_where_the_atlas_has_no_row_nothing_is_judged():
    head = prediction.theory(*_swap(head_with(np.diag([0.0, -1.0, -1.0]))))
    assert prediction.observe(head, t_end=1.0)[0].agrees is None


def _swap(pair):
    layer, hidden = pair
    return layer, 0, hidden
