"""The strict run.toml: what it accepts is what the library accepts, and every refusal says what to do."""

import inspect
import re
import tomllib

import numpy as np
import pytest

from tokenflock import spec, weights
from tokenflock import start as starts
from tokenflock.errors import FileError, SpecError, TokenflockError
from tokenflock.model import Model
from tokenflock.options import Alibi, Window
from tokenflock.simulation import simulate

PLAIN = {"model": {"dim": 2}, "start": {"n_tokens": 5}, "simulate": {"t_end": 1.0}}


def built(**sections):
    """PLAIN with some keys of some sections changed, built."""
    return spec.build({name: {**PLAIN[name], **sections.get(name, {})} for name in PLAIN})


def toml(folder, text):
    path = folder / "run.toml"
    path.write_text(text)
    return path


def test_the_example_of_the_module_is_a_run(tmp_path):
    example = inspect.getdoc(spec).split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    model, start, keywords = spec.read(toml(tmp_path, inspect.cleandoc(example)))
    assert model.n_heads == 2
    assert model.mask == Window(16)
    assert model.norm.kind == "mix"
    assert start.shape == (10, 200, 2)
    assert keywords["times"][0] == 0.0
    assert keywords["times"][-1] == keywords["t_end"] == 150.0


def test_a_file_and_a_call_give_the_same_bits(tmp_path):
    path = toml(
        tmp_path,
        """
        [model]
        dim = 3
        beta = 4.0
        value = {family = "diagonal", values = [1.0, 0.5, 0.25]}
        mask = "full"
        [start]
        kind = "cap"
        angle = 0.7
        n_tokens = 6
        seed = 3
        runs = 2
        [simulate]
        t_end = 1.0
        times = [0.0, 0.5, 1.0]
        scheme = "rk4"
        dt = 0.25
        engine = "reference"
        """,
    )
    model, start, keywords = spec.read(path)
    run = simulate(model, start, **keywords)
    direct = simulate(
        Model(dim=3, beta=4.0, value=np.diag([1.0, 0.5, 0.25]), mask="full"),
        starts.cap(6, 3, 0.7, seed=3, runs=2),
        1.0,
        times=[0.0, 0.5, 1.0],
        scheme="rk4",
        dt=0.25,
        engine="reference",
    )
    assert run["x"].values.tobytes() == direct["x"].values.tobytes()


@pytest.mark.parametrize(
    ("said", "matrix"),
    [
        ("identity", np.eye(2)),
        ("diag:1,0.5", np.diag([1.0, 0.5])),
        ("diagonal:values=1,0.5", np.diag([1.0, 0.5])),
        ("ginibre:7", weights.ginibre(2, 7)),
        ("ginibre:seed=7,scale=2", weights.ginibre(2, 7, scale=2.0)),
        ("plane_rotation:0.3", weights.plane_rotation(0.3)),
        ("jordan:eigenvalue=1,size=2", weights.jordan(1.0, 2)),
        ("spectrum:0.5+1j,0.5-1j", weights.spectrum([0.5 + 1j, 0.5 - 1j])),
        ("hyperplanes-2d", weights.PAPER_B["hyperplanes-2d"]),
        ({"family": "goe", "seed": 3}, weights.goe(2, 3)),
        ({"family": "diag", "values": [2.0, 1.0]}, np.diag([2.0, 1.0])),
        ([[1.0, 2.0], [3.0, 4.0]], np.array([[1.0, 2.0], [3.0, 4.0]])),
        (["identity", {"family": "goe", "seed": 1}], np.stack([np.eye(2), weights.goe(2, 1)])),
    ],
    ids=str,
)
def test_matrices_may_be_rows_families_and_heads(said, matrix):
    model, _, _ = built(model={"value": said})
    np.testing.assert_array_equal(model.value, matrix)


@pytest.mark.parametrize("family", weights.FAMILIES)
def test_every_family_can_be_named(family):
    needs = {"values": [1.0, 2.0], "eigenvalues": [1.0, 0.5], "eigenvalue": 1.0, "size": 2, "angle": 0.1}
    needs |= {"multiplicity": 1, "rank": 1}
    parameters = inspect.signature(weights.FAMILIES[family]).parameters
    required = {n: needs[n] for n, p in parameters.items() if p.default is p.empty and n != "dim"}
    model, _, _ = built(model={"key": {"family": family, **required}})
    filled = {"dim": 2} if "dim" in parameters else {}
    np.testing.assert_array_equal(model.key, weights.FAMILIES[family](**required, **filled))


@pytest.mark.parametrize("kind", starts.STARTS)
def test_every_start_can_be_named(kind):
    own = {"cap": {"angle": 0.3}, "equiangular": {"overlap": 0.2}, "von_mises_fisher": {"kappa": 2.0}}
    own["planted"] = {"n_clusters": 2, "spread": 0.1}
    given = own.get(kind, {})
    _, start, _ = built(start={"kind": kind, "n_tokens": 2, "seed": 4, **given})
    np.testing.assert_array_equal(start, starts.STARTS[kind](2, 2, seed=4, **given))
    if given:
        words = f"{kind}:" + ",".join(f"{key}={value}" for key, value in given.items())
        np.testing.assert_array_equal(built(start={"kind": words, "n_tokens": 2, "seed": 4})[1], start)


def test_the_parts_of_a_model():
    model, _, _ = built(
        model={
            "beta": float("inf"),
            "mask": {"window": 3, "causal": False},
            "feedforward": {"w": "diag:1,2", "b": [0.5, 0.0], "activation": "tanh"},
            "frozen": {"tokens": [[1.0, 0.0]], "weights": [2.0]},
        }
    )
    assert model.beta == np.inf
    assert model.mask == Window(3, causal=False)
    np.testing.assert_array_equal(model.feedforward.w, np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(model.frozen.weights, [2.0])
    model, _, _ = built(model={"bias": {"slope": 0.1}, "mask": "window:4", "layer_norm": "mix:3"})
    assert model.bias == Alibi(0.1)
    assert model.mask == Window(4)
    assert model.norm.switch == 3.0


def test_times_may_be_a_number_a_geometric_grid_or_a_list():
    np.testing.assert_array_equal(built(simulate={"times": 5})[2]["times"], np.linspace(0, 1, 5))
    grid = built(simulate={"times": "log:0.01:3"})[2]["times"]
    np.testing.assert_allclose(grid, [0.0, 0.01, 0.1, 1.0], rtol=1e-14)
    assert grid[-1] == 1.0
    np.testing.assert_array_equal(built(simulate={"times": [0.0, 0.3]})[2]["times"], [0.0, 0.3])
    assert "times" not in built()[2]


def test_files_are_looked_for_beside_the_toml(tmp_path):
    np.save(tmp_path / "x.npy", starts.uniform(4, 2, seed=1))
    np.save(tmp_path / "v.npy", np.diag([1.0, 0.5]))
    text = '[model]\ndim = 2\nvalue = "v.npy"\n[start]\nfile = "x.npy"\n[simulate]\nt_end = 1.0\n'
    model, start, _ = spec.read(toml(tmp_path, text))
    np.testing.assert_array_equal(model.value, np.diag([1.0, 0.5]))
    np.testing.assert_array_equal(start, starts.uniform(4, 2, seed=1))
    np.testing.assert_array_equal(
        spec.read(toml(tmp_path, text.replace('"v.npy"', '{file = "v.npy"}')))[0].value, model.value
    )


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"model": {"bet": 3.0}}, "unknown key of [model] 'bet'. Did you mean 'beta'? Known: dim, beta, query"),
        ({"start": {"n_token": 8}}, "unknown key of start 'uniform' 'n_token'. Did you mean 'n_tokens'?"),
        ({"start": {"dim": 3}}, "unknown key of start 'uniform' 'dim'."),
        ({"simulate": {"tend": 1.0}}, "unknown key of [simulate] 'tend'. Did you mean 't_end'?"),
        ({"simulate": {"throw": True}}, "unknown key of [simulate] 'throw'."),
        ({"model": {"beta": "64"}}, "[model] beta = '64' cannot be used. Allowed: a number."),
        ({"model": {"beta": True}}, "[model] beta = True cannot be used. Allowed: a number."),
        ({"simulate": {"engine": ["cpu"]}}, "[simulate] engine = ['cpu'] cannot be used. Allowed: a name in quotes."),
        ({"model": {"dim": 0}}, "[model] dim = 0 cannot be used. Allowed: an integer >= 1."),
        ({"model": {"dim": 2.0}}, "[model] dim = 2.0 cannot be used."),
        (
            {"model": {"mask": "casual"}},
            "unknown mask 'casual'. Did you mean 'causal'? Known: causal, full, window:W, dilated:W",
        ),
        ({"model": {"mask": {"windw": 3}}}, "unknown key of mask 'windw'. Did you mean 'window'?"),
        (
            {"model": {"mask": {"window": 3, "causal": "no"}}},
            "mask causal = 'no' cannot be used. Allowed: true or false",
        ),
        ({"model": {"mask": "window:0"}}, "Window.width = 0 cannot be used."),
        ({"model": {"layer_norm": "pr"}}, "unknown layer_norm 'pr'. Did you mean 'pre'?"),
        (
            {"model": {"layer_norm": {"kind": "mix", "switch": "2"}}},
            "LayerNorm.switch = '2' cannot be used. Allowed: a finite number > 0",
        ),
        (
            {"model": {"layer_norm": {"kind": "mix", "swich": 2.0}}},
            "unknown key of layer_norm 'swich'. Did you mean 'switch'?",
        ),
        ({"model": {"value": "ginibr:1"}}, "unknown value family 'ginibr'. Did you mean 'ginibre'?"),
        (
            {"model": {"value": {"familly": "goe"}}},
            "value family = None cannot be used. Allowed: a name in quotes, one of diag",
        ),
        (
            {"model": {"value": {"family": "goe", "sed": 1}}},
            "unknown key of value family 'goe' 'sed'. Did you mean 'seed'?",
        ),
        ({"model": {"value": {"family": "goe:1", "seed": 2}}}, "value family 'goe:1' and seed = 2 cannot be combined."),
        ({"model": {"value": "jordan:1"}}, "value family 'jordan' lacks size. It takes: eigenvalue, size"),
        ({"model": {"value": "mix:1"}}, "'mix' without a colon"),
        ({"model": {"value": [[1.0, 0.0], [1.0]]}}, "rows of numbers of equal length"),
        ({"model": {"value": [[1.0, 0.0, 0.0]]}}, "value.shape = (1, 3) cannot be used. Allowed: (2, 2)."),
        (
            {"model": {"value": ["identity", "diag:1,2,3"]}},
            "value = [(2, 2), (3, 3)] cannot be used. Allowed: heads of one shape",
        ),
        ({"model": {"bias": 0.1}}, "bias = 0.1 cannot be used. Allowed: None, flock.Alibi"),
        ({"model": {"bias": {"slope": "a"}}}, "Alibi.slope = 'a' cannot be used."),
        ({"model": {"feedforward": {"activation": "relu"}}}, "feedforward lacks w. It takes: w, a, b, activation."),
        ({"model": {"frozen": {"token": [[1.0, 0.0]]}}}, "unknown key of frozen 'token'. Did you mean 'tokens'?"),
        ({"start": {"kind": "unifrom"}}, "unknown start 'unifrom'. Did you mean 'uniform'?"),
        ({"start": {"kind": "cap"}}, "start 'cap' lacks angle. It takes: n_tokens, angle, center, seed, runs."),
        ({"start": {"kind": 3}}, "start = 3 cannot be used. Allowed: a name in quotes, one of uniform"),
        ({"start": {"array": [[1.0, 0.0]]}}, "[start] array and n_tokens cannot be combined."),
        ({"start": {"runs": 0}}, "runs = 0 cannot be used. Allowed: an integer >= 1."),
        ({"simulate": {"t_end": -1.0}}, "t_end = -1.0 cannot be used. Allowed: a finite number > 0."),
        (
            {"simulate": {"times": 1}},
            "times = 1 cannot be used. Allowed: a number of times >= 2, a list, or log:FIRST:N",
        ),
        ({"simulate": {"times": "log:2:9"}}, "times = 'log:2:9' cannot be used."),
        ({"simulate": {"times": True}}, "times = True cannot be used."),
        ({"simulate": {"times": ["a"]}}, "times = ['a'] cannot be used."),
    ],
    ids=str,
)
def test_every_refusal_names_the_key_and_what_is_allowed(sections, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        built(**sections)


def test_sections_are_known_and_all_there():
    with pytest.raises(SpecError, match=re.escape("unknown section 'modle'. Did you mean 'model'?")):
        spec.build({**PLAIN, "modle": {}})
    for name in PLAIN:
        with pytest.raises(
            SpecError, match=re.escape(f"the section [{name}] is missing. A run needs [model], [start],")
        ):
            spec.build({other: table for other, table in PLAIN.items() if other != name})
    with pytest.raises(SpecError, match=re.escape("[simulate] lacks t_end, the end of time.")):
        spec.build({**PLAIN, "simulate": {}})


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(FileError, match=r"nothing\.toml' cannot be read: No such file"):
        spec.read(tmp_path / "nothing.toml")
    with pytest.raises(FileError, match=r"is a saved run, not a run\.toml\. Repeat it with --again"):
        spec.read(tmp_path / "run.zarr")
    with pytest.raises(SpecError, match=r"is not valid TOML: .*line 1"):
        spec.read(toml(tmp_path, "dim = = 2"))
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="is not valid TOML"):
        spec.read(tmp_path / "run.toml")


@pytest.mark.parametrize("content", [b"", b"not numpy", b"\x93NUMPY\x01\x00"], ids=["empty", "foreign", "truncated"])
def test_a_start_file_must_be_whole(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    raw = {**PLAIN, "start": {"file": "x.npy"}}
    with pytest.raises(FileError, match=r"start: '.*x\.npy' cannot be read as \.npy: .*Make it with numpy\.save\."):
        spec.build(raw, tmp_path)


def test_a_start_file_must_hold_one_real_array(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)) * 1j)
    with pytest.raises(FileError, match=r"does not hold one array of real numbers"):
        spec.build({**PLAIN, "start": {"file": "x.npy"}}, tmp_path)
    with pytest.raises(FileError, match=r"No such file"):
        spec.build({**PLAIN, "start": {"file": "y.npy"}}, tmp_path)


def test_nothing_in_a_toml_ends_in_a_foreign_exception():
    """Any TOML value under any key is either used or refused in our words."""
    values = tomllib.loads(
        'a=[1,-1,0.5,inf,nan,true,"","x",[],[[]],[[1]],{},{a=1},2024-01-01,"goe:","cap:a=b","log::"]'
    )["a"]
    keys = {
        "model": [*inspect.signature(Model).parameters],
        "start": ["kind", "n_tokens", "seed", "runs", "file", "array"],
    }
    keys["simulate"] = list(spec.SIMULATE)
    for section, names in keys.items():
        for name in names:
            for value in values:
                try:
                    model, start, keywords = built(**{section: {name: value}})
                    if section != "model":
                        simulate(model, start, **{"engine": "reference", **keywords}, progress=False, throw=False)
                except TokenflockError:
                    continue


def test_groups_and_common_noise_are_tables():
    model = spec.model_of(
        {
            "dim": 2,
            "mask": "full",
            "groups": {"labels": ["a", "a", "b"], "sees": {"a": ["b"], "b": []}, "beta": {"a": 1.0, "b": 2.0}},
            "common_noise": {"strength": 0.3, "kind": "rotation"},
        }
    )
    assert model.groups.counts == {"a": 2, "b": 1}
    assert model.groups.beta.tolist() == [1.0, 2.0]
    assert model.common_noise.kind == "rotation"
    with pytest.raises(SpecError, match="labels"):
        spec.model_of({"dim": 2, "groups": 3})
