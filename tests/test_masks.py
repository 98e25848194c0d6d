"""Masks and biases of one's own (E19): laws that every engine obeys, what files keep, and what cannot be."""

import importlib.util
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import tokenflock as flock
from tokenflock import Blocks, Dilated, Model, Prefix, RandomGraph, Sink, Window, masks, spec
from tokenflock.analysis import attention
from tokenflock.engine.choose import engine_named
from tokenflock.engine.traits import traits
from tokenflock.errors import SpecError
from tokenflock.trajectories import describe, model_of

N, T_END = 12, 2.0
I, J = np.arange(N)[:, None], np.arange(N)
FAMILIES = {
    "causal": J <= I,
    "full": (I >= 0) & (J >= 0),
    Window(3): (I - J >= 0) & (I - J < 3),
    Window(3, causal=False): np.abs(I - J) < 3,
    Dilated(3, gap=2): np.isin(I - J, (0, 2, 4)),
    Dilated(2, gap=3, causal=False): np.isin(np.abs(I - J), (0, 3)),
    Blocks(5): (I // 5 == J // 5) & (J <= I),
    Blocks(4, causal=False): I // 4 == J // 4,
    Blocks(3, width=2): np.isin(I // 3 - J // 3, (0, 1)) & (J <= I),
    Blocks(3, width=2, causal=False): np.abs(I // 3 - J // 3) < 2,
    Prefix(4): (J <= I) | (np.maximum(I, J) < 4),
    Sink(3, sinks=2): (J <= I) & ((I - J < 3) | (J < 2)),
}
ENGINES = ["cpu", "reference", *(["gpu"] if importlib.util.find_spec("torch") else [])]


def label(given):
    """The same in every process: a function's own words hold its address, an array's are long."""
    if isinstance(given, np.ndarray) or callable(given):
        return "array" if isinstance(given, np.ndarray) else "function"
    return str(given)


each_engine = pytest.mark.parametrize("engine", ENGINES)


def some_graph(n=N, share=0.3, seed=0):
    return (np.random.default_rng(seed).random((n, n)) < share) | np.eye(n, dtype=bool)


def tokens(n=N, d=3):
    return flock.uniform(n, d, seed=1)


def positions(model, engine, x=None, **options):
    if why := engine_named(engine).supports(model, "float64"):
        pytest.skip(why)
    x = tokens(d=model.dim) if x is None else x
    return flock.simulate(model, x, T_END, times=[0.0, 1.0, T_END], engine=engine, **options)["x"].values


@pytest.mark.parametrize("mask", FAMILIES, ids=label)
def test_a_family_is_what_it_says_and_knows_whether_it_is_causal(mask):
    seen = FAMILIES[mask]
    assert_array_equal(masks.sees(mask, N), seen)
    assert_array_equal(masks.graph(mask, N).dense()[0], seen)
    assert_array_equal(masks.sees(mask, N, 3, 7), seen[3:7])
    assert masks.is_causal(mask) == traits(Model(dim=2, mask=mask)).causal == bool((np.tril(seen) == seen).all())
    assert traits(Model(dim=2, mask=seen)).causal == masks.is_causal(mask)
    assert seen.sum() <= masks.n_entries(mask, N) <= 2 * seen.sum()
    for n in (1, 2):  # families wider than there are tokens
        assert masks.sees(mask, n).diagonal().all()


@each_engine
@pytest.mark.parametrize("mask", [m for m in FAMILIES if not isinstance(m, str)], ids=label)
def test_an_array_a_sparse_array_and_a_function_are_the_mask_of_their_name(mask, engine):
    seen = FAMILIES[mask]
    named = positions(Model(dim=3, beta=4.0, mask=mask), engine)
    for given in (seen, seen.astype(int).tolist(), sparse.csr_array(seen), sparse.coo_matrix(seen)):
        assert_allclose(positions(Model(dim=3, beta=4.0, mask=given), engine), named, rtol=0, atol=1e-11)


def test_a_function_and_a_text_are_the_array_of_their_values():
    far = 3
    seen = (J <= I) & (I - J < far)
    for given in (lambda i, j: 0 <= i - j < far, lambda i, j: (j <= i) & (i - j < far), "(j <= i) and i - j < 3"):
        model = Model(dim=2, mask=given)
        assert not traits(model).causal, "of a function it is not known before it is written out"
        assert traits(model.written(N)).causal
        assert_array_equal(masks.sees(model.mask, N), seen)
        assert model.written(N) is model.written(N), "what is prepared for a model is found again"


@each_engine
def test_one_mask_for_each_head(engine):
    graph, weights = some_graph(), {"value": np.stack([np.eye(3), -0.5 * np.eye(3)])}
    whole = positions(Model(dim=3, mask=np.stack([graph, np.tril(graph)]), **weights), engine)
    for given in ((graph, np.tril(graph)), [graph.tolist(), sparse.csr_array(np.tril(graph))]):
        assert_array_equal(positions(Model(dim=3, mask=given, **weights), engine), whole)
    x = tokens()
    both = flock.velocity(Model(dim=3, mask=(graph, "causal"), **weights), x)
    first = flock.velocity(Model(dim=3, mask=graph), x)
    second = flock.velocity(Model(dim=3, mask="causal", value=-0.5 * np.eye(3)), x)
    assert_allclose(both, first + second, atol=1e-14)
    assert Model(dim=3, mask=("causal", "full")).n_heads == 2


@each_engine
def test_tokens_and_mask_permuted_together_permute_the_run(engine):
    graph, bias = some_graph(), np.random.default_rng(3).standard_normal((N, N))
    order = np.random.default_rng(2).permutation(N)
    inside = np.ix_(order, order)
    run = positions(Model(dim=3, beta=4.0, mask=graph, bias=bias), engine)
    moved = positions(Model(dim=3, beta=4.0, mask=graph[inside], bias=bias[inside]), engine, tokens()[order])
    assert_allclose(moved, run[:, order], atol=1e-11)
    wrong = positions(Model(dim=3, beta=4.0, mask=graph, bias=bias), engine, tokens()[order])
    assert np.abs(wrong - run[:, order]).max() > 1e-3, "the mask does nothing"


@each_engine
def test_a_mask_of_blocks_is_independent_runs(engine):
    whole = positions(Model(dim=3, beta=4.0, mask=np.kron(np.eye(3), np.ones((4, 4)))), engine)
    apart = [positions(Model(dim=3, beta=4.0, mask="full"), "reference", tokens()[k : k + 4]) for k in (0, 4, 8)]
    assert_allclose(whole, np.concatenate(apart, axis=1), atol=1e-6)


@each_engine
@pytest.mark.parametrize("mask", ["causal", some_graph()], ids=["causal", "graph"])
def test_a_bias_of_slopes_is_alibi(mask, engine):
    alibi = positions(Model(dim=3, beta=4.0, mask=mask, bias=flock.Alibi(0.3)), engine)
    for bias in (-0.3 * np.abs(I - J), lambda i, j: -0.3 * abs(i - j), "-0.3 * abs(i - j)"):
        assert_allclose(positions(Model(dim=3, beta=4.0, mask=mask, bias=bias), engine), alibi, atol=1e-11)
    heads = Model(dim=3, mask=mask, bias=np.stack([0 * I * J, -0.3 * np.abs(I - J)]))
    of_slopes = Model(dim=3, mask=mask, bias=flock.Alibi((0.0, 0.3)), value=np.stack([np.eye(3)] * 2))
    assert_allclose(positions(heads, engine), positions(of_slopes, engine), atol=1e-11)


@each_engine
def test_a_bias_that_is_the_same_for_a_row_changes_nothing_and_masses_are_a_bias(engine):
    row = np.random.default_rng(4).standard_normal((N, 1)) + 0 * J
    graph = some_graph()
    assert_allclose(
        positions(Model(dim=3, mask=graph, bias=row), engine), positions(Model(dim=3, mask=graph), engine), atol=1e-11
    )
    mass = np.random.default_rng(5).random(N) + 0.5
    weighed = positions(Model(dim=3, mask=graph, masses=mass), engine)
    assert_allclose(positions(Model(dim=3, mask=graph, bias=np.log(mass) + 0 * I), engine), weighed, atol=1e-11)


@each_engine
def test_a_sparse_bias_is_zero_where_it_has_no_entry(engine):
    bias, graph = np.random.default_rng(3).standard_normal((N, N)), some_graph()
    few = bias * (bias > 0.5)
    dense = positions(Model(dim=2, mask=graph, bias=few), engine)
    assert_allclose(positions(Model(dim=2, mask=graph, bias=sparse.csr_array(few)), engine), dense, atol=1e-11)


@each_engine
def test_a_random_graph_of_all_pairs_is_full_and_of_none_everybody_alone(engine):
    every = positions(Model(dim=3, mask=RandomGraph(1.0, seed=3)), engine)
    assert_allclose(every, positions(Model(dim=3, mask="full"), engine), atol=1e-9)
    alone = positions(Model(dim=3, mask=RandomGraph(0.0)), engine)
    assert np.abs(alone - tokens()).max() < 1e-14


def test_a_random_graph_has_its_share_of_pairs_both_ways_and_its_seed():
    n, share = 400, 0.1
    seen = masks.sees(RandomGraph(share, seed=5), n)
    assert (seen == seen.T).all()
    assert seen.diagonal().all()
    pairs = n * (n - 1) / 2
    found = np.tril(seen, -1).sum()
    assert abs(found - share * pairs) < 5 * np.sqrt(pairs * share * (1 - share))
    degrees = seen.sum(axis=1) - 1
    assert 0.5 < degrees.var() / ((n - 1) * share * (1 - share)) < 1.5, "not that of independent pairs"
    assert (seen != masks.sees(RandomGraph(share, seed=6), n)).any()
    assert_array_equal(masks.sees(RandomGraph(share, 5, causal=True), n), np.tril(seen))
    assert_array_equal(masks.sees(RandomGraph(share, 5), 100), seen[:100, :100]), "more tokens are another graph"


@pytest.mark.parametrize(
    "mask", [np.tril(some_graph()), Sink(3, 2), Dilated(3), RandomGraph(0.4, causal=True)], ids=label
)
def test_the_first_tokens_of_a_causal_graph_do_not_notice_the_others(mask):
    x = tokens()
    whole = flock.velocity(Model(dim=3, beta=4.0, mask=mask), x)
    few = Model(dim=3, beta=4.0, mask=mask[:7, :7] if isinstance(mask, np.ndarray) else mask)
    assert_allclose(flock.velocity(few, x[:7]), whole[:7], atol=1e-15)


@pytest.mark.skipif("gpu" not in ENGINES, reason="gradients need torch")
def test_gradients_of_a_graph_are_those_of_the_mask_of_its_name():
    options = {"t_end": 1.0, "loss": lambda x: (x[..., 0] ** 2).sum(), "wrt": ["beta", "value"], "rtol": 1e-8}
    for mask, seen, bias in (("causal", np.tril(np.ones((N, N))), None), (Window(3), FAMILIES[Window(3)], 0.3)):
        named = None if bias is None else flock.Alibi(bias)
        table = None if bias is None else -bias * np.abs(I - J)
        weights = {"dim": 3, "beta": 2.0, "value": np.diag([1.0, 0.5, 0.2])}
        plain = flock.gradient(Model(mask=mask, bias=named, **weights), tokens(), **options)
        own = flock.gradient(Model(mask=seen, bias=table, **weights), tokens(), **options)
        assert own[0] == pytest.approx(plain[0], abs=1e-9)
        for name in ("beta", "value"):
            assert_allclose(own[1][name], plain[1][name], atol=1e-7)


# ---- files, repeating, more tokens


def kept_models():
    graph = some_graph()
    yield from ({"mask": mask} for mask in FAMILIES)
    yield {"mask": graph, "bias": np.random.default_rng(0).standard_normal((N, N))}
    yield {"mask": np.stack([graph, graph.T | np.eye(N, dtype=bool)]), "bias": sparse.csr_array(1.0 * graph)}
    yield {"mask": lambda i, j: (i - j) % 2 == 0, "bias": lambda i, j: -0.1 * abs(i - j)}
    yield {"mask": RandomGraph(0.3, seed=2), "bias": "i * 0.01 - j * 0.02"}


@pytest.mark.parametrize(
    "options",
    list(kept_models()),
    ids=lambda options: "-".join(f"{key}={label(given)}" for key, given in options.items())[:60],
)
def test_files_keep_masks_and_biases_and_again_repeats_them(options, tmp_path):
    model, x = Model(dim=2, beta=4.0, **options), tokens(d=2)
    run = flock.simulate(model, x, 1.0, times=[0.0, 1.0], engine="reference")
    for name in ("run.zarr", "run.nc"):
        flock.save(run, tmp_path / name)
        back = flock.load(tmp_path / name)
        kept = model_of(back)
        assert_array_equal(masks.sees(kept.mask, N), masks.sees(model.mask, N))
        assert describe(kept)[0] == describe(model.written(N))[0]
        assert_array_equal(flock.velocity(kept, x), flock.velocity(model, x))
        assert_array_equal(flock.again(back)["x"], run["x"])


def test_a_function_without_a_source_is_kept_as_what_it_says():
    made = eval("lambda i, j: (i - j < 3) & (j <= i)")  # as typed into Python: nobody keeps its source
    model = Model(dim=2, mask=made, bias=eval("lambda i, j: -0.1 * abs(i - j)"))
    run = flock.simulate(model, tokens(d=2), 1.0, times=[0.0, 1.0], engine="reference")
    assert_array_equal(flock.again(run)["x"], run["x"])
    assert "lambda" not in run.attrs["model"]
    kept = flock.simulate(Model(dim=2, mask=lambda i, j: i - j < 3 and j <= i), tokens(d=2), 1.0, engine="reference")
    assert "i - j < 3" in json.loads(kept.attrs["model"])["mask"]["source"]["source"]


@pytest.mark.parametrize(
    "mask",
    [Sink(3, 2), Dilated(3), RandomGraph(0.4, causal=True), lambda i, j: 0 <= i - j < 4, some_graph(14)],
    ids=label,
)
def test_a_run_with_a_causal_mask_is_extended(mask):
    mask = np.tril(mask) if isinstance(mask, np.ndarray) else mask
    x, times = tokens(14, 2), np.linspace(0.0, 2.0, 41)
    options = {"times": times, "engine": "reference", "rtol": 1e-8, "atol": 1e-10}
    whole = flock.simulate(Model(dim=2, beta=4.0, mask=mask), x, 2.0, **options)
    given = isinstance(mask, np.ndarray)
    first = flock.simulate(Model(dim=2, beta=4.0, mask=mask[:N, :N] if given else mask), x[:N], 2.0, **options)
    if given:
        with pytest.raises(SpecError, match="Give mask= for all 14 tokens, whose first 12 see what they saw"):
            flock.extend(first, x[N:])
        other = mask.copy()
        other[3, 1] = ~other[3, 1]
        with pytest.raises(SpecError, match="others for the first 12 tokens than those of the run"):
            flock.extend(first, x[N:], mask=other)
        with pytest.raises(SpecError, match="Allowed: a causal mask"):
            flock.extend(first, x[N:], mask=mask.T)
    more = flock.extend(first, x[N:], mask=mask if given else None)
    assert_array_equal(more["x"].values[:, :N], first["x"].values)
    assert np.abs(more["x"].values - whole["x"].values).max() < 1e-5
    assert_array_equal(masks.sees(model_of(more).mask, 14), masks.sees(model_of(whole).mask, 14))


# ---- words and what cannot be


@pytest.mark.parametrize(
    ("written", "mask"),
    [
        ("sink:3,sinks=2", Sink(3, 2)),
        ("dilated:3,gap=2", Dilated(3, 2)),
        ("blocks:4,causal=false", Blocks(4, causal=False)),
        ("prefix:4", Prefix(4)),
        ("random:0.3,seed=2", RandomGraph(0.3, 2)),
        ({"random": 0.3, "seed": 2, "causal": True}, RandomGraph(0.3, 2, causal=True)),
        ({"sink": 3}, Sink(3)),
    ],
)
def test_a_run_toml_names_families(written, mask):
    assert spec.model_of({"dim": 2, "mask": written}).mask == mask


def test_a_run_toml_has_rows_files_and_expressions(tmp_path):
    np.save(tmp_path / "mask.npy", some_graph().astype(float))
    np.save(tmp_path / "bias.npy", -0.1 * np.abs(I - J))
    rows = spec.model_of({"dim": 2, "mask": some_graph().astype(int).tolist(), "bias": (-0.1 * np.abs(I - J)).tolist()})
    files = spec.model_of({"dim": 2, "mask": "mask.npy", "bias": {"file": "bias.npy"}}, tmp_path)
    assert_array_equal(flock.velocity(rows, tokens(d=2)), flock.velocity(files, tokens(d=2)))
    words = spec.model_of({"dim": 2, "mask": "(i - j) % 2 == 0", "bias": "-0.1 * abs(i - j)"})
    assert_array_equal(masks.sees(words.mask, N), (I - J) % 2 == 0)
    for wrong in ("dilate:3", {"dilate": 3}, {"sink": 3, "sink_s": 1}, {"sink": 3, "window": 2}):
        with pytest.raises(SpecError, match="mask"):
            spec.model_of({"dim": 2, "mask": wrong})


EMPTY = some_graph()
EMPTY[3] = False
HALF, NANS = np.where(EMPTY, 0.5, 0.0), np.where(EMPTY, np.nan, 0.0)
WRONG = {
    "empty row": ({"mask": EMPTY}, r"token 3 sees nobody' .* Let it see itself \(mask \| numpy.eye\(n, dtype=bool\)\)"),
    "empty row of a head": ({"mask": [some_graph(), EMPTY]}, "token 3 sees nobody in head 1"),
    "empty row of a function": ({"mask": lambda i, j: j < i}, "token 0 sees nobody"),
    "nan": ({"mask": NANS}, "mask = 'an array with nan'"),
    "weights": ({"mask": HALF}, "an array with 0.5 in it.* Weights are masses= or bias="),
    "additive": ({"mask": np.where(some_graph(), 0.0, -np.inf)}, "take mask == 0"),
    "not square": ({"mask": np.ones((N, 3))}, r"mask.shape = \(12, 3\) .*\(n, n\)"),
    "other tokens": ({"mask": np.eye(3)}, r"mask.shape = \(3, 3\) .* \(12, 12\) for 12 tokens"),
    "other tokens of a function's bias": ({"bias": np.eye(3)}, r"bias.shape = \(3, 3\) .* \(12, 12\) for 12 tokens"),
    "heads": ({"mask": np.stack([some_graph()] * 2), "value": np.stack([np.eye(3)] * 3)}, "'value': 3, 'mask': 2"),
    "heads of heads": ({"mask": [["causal", "full"], "full"]}, "for each head one mask"),
    "sizes of heads": ({"mask": [np.eye(3), sparse.eye_array(4)]}, "mask"),
    "bias inf": ({"bias": np.where(some_graph(), 0.0, -np.inf)}, "What no token may see belongs to mask="),
    "bias nan": ({"bias": NANS}, "bias = 'an array with nan'"),
    "bias nan of a function": ({"bias": lambda i, j: np.log(i - j - 1)}, "bias = 'a function that gives nan"),
    "bias inf of a function": ({"bias": lambda i, j: np.log(i - j)}, "bias = 'a function that gives inf'"),
    "bias inf of a whole function": ({"bias": lambda i, j: np.log(abs(i - j)), "mask": "full"}, "gives inf'"),
    "bias word": ({"bias": "steep"}, "bias = 'steep' .* an array"),
    "a function of weights": ({"mask": lambda i, j: 1 / (1 + abs(i - j))}, "other values than True and False"),
    "a function of one": ({"mask": lambda i: i > 0}, r"a function of \(i\)' .* the arguments \(i, j\)"),
    "a word": ({"mask": "casual"}, "Did you mean 'causal'"),
    "a number": ({"mask": 5}, "unknown mask 5"),
    "rows of masses": ({"mask": some_graph(), "masses": np.ones((N, N))}, "masses of each row and a mask of one's own"),
    "hardmax": ({"bias": np.ones((N, N)), "beta": np.inf}, "beta = inf and bias cannot be combined"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_said_in_a_sentence(name):
    options, sentence = WRONG[name]
    with pytest.raises(SpecError, match=sentence):
        flock.simulate(Model(dim=3, **options), tokens(), 1.0)


def test_rows_may_be_empty_where_frozen_tokens_are_seen():
    frozen = flock.Frozen([[0.0, 0.0, 1.0]])
    alone = flock.velocity(Model(dim=3, mask=np.zeros((N, N)), frozen=frozen), tokens())
    by_hand = [0.0, 0.0, 1.0] - tokens()[:, 2:] * tokens()
    assert_allclose(alone, by_hand, atol=1e-14)


def test_sinkhorn_wants_tokens_that_see_each_other():
    graph = some_graph()
    both = Model(dim=3, mask=graph | graph.T, normaliser="sinkhorn")
    p = attention.matrix(both, tokens())
    assert_allclose(p.sum(axis=0), 1.0)
    assert_allclose(p, p.T, atol=1e-12)
    i, j = np.argwhere(graph & ~graph.T)[0]
    with pytest.raises(SpecError, match=f"where token {i} sees token {j}, which does not see it: .* mask.T"):
        Model(dim=3, mask=graph, normaliser="sinkhorn")
    with pytest.raises(SpecError, match="where token 0 does not see itself"):
        Model(dim=3, mask=~np.eye(N, dtype=bool), normaliser="sinkhorn")
    late = Model(dim=3, mask=lambda i, j: abs(i - 2 * j) < 9, normaliser="sinkhorn")
    with pytest.raises(SpecError, match="which does not see it"):
        flock.velocity(late, tokens())
    for mask in (Blocks(4, causal=False), Dilated(2, causal=False), RandomGraph(0.4), Window(3, causal=False)):
        assert not masks.one_way(mask)
        assert masks.graph(mask, N).one_way() == ""
    for mask in (Blocks(4), Sink(2), Prefix(4), "causal"):
        assert masks.one_way(mask)


@pytest.mark.parametrize("scheme", ["rosenbrock", "skeleton"])
def test_implicit_steps_say_what_they_cannot_do(scheme):
    with pytest.raises(SpecError, match=r"scheme='.*' cannot be used with .*mask"):
        flock.simulate(Model(dim=3, mask=("causal", "full")), tokens(), 1e4, scheme=scheme)


def test_attention_of_a_graph_is_zero_out_of_sight():
    graph = some_graph()
    p = attention.matrix(Model(dim=3, mask=graph), tokens())
    assert_array_equal(p > 0, graph)
    assert_allclose(p.sum(axis=1), 1.0)
