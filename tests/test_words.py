"""Numbers that are none, and sizes that cannot be: a sentence in every place."""

import json

import numpy as np
import pytest

import tokenflock as flock
from commands import refused, tokenflock
from tokenflock.arguments import digits
from tokenflock.errors import SpecError
from tokenflock.explorer.recording import record
from tokenflock.transformer import behaviour

MODEL, START = flock.Model(dim=2), flock.uniform(4, 2)


@pytest.fixture(scope="module")
def run():
    return flock.simulate(MODEL, START, 1.0, engine="reference")


def test_digits_are_plain():
    assert digits("012") == 12
    assert [digits(said) for said in ("²", "٣", "", "-1", "1.0", " 1", "9" * 5000)] == [None] * 7


@pytest.mark.parametrize("said", ["²", "9" * 5000])
def test_a_number_that_is_none_is_refused_by_every_flag(run, tmp_path, said):
    path = flock.save(run, tmp_path / "run.zarr")
    assert "--run = " in refused("diagnose", path, "--run", said)
    assert "--seed = " in refused("network", "gpt2", "--seed", said, "--out", tmp_path)
    assert "--layers = " in refused("network", "gpt2", "--layers", f"0,{said}", "--out", tmp_path)
    assert "--trial = " in refused("check", "causal/theorem-4.1", "--trial", f"a#{said}")
    (tmp_path / "sweep.toml").write_text(
        "[model]\ndim = 2\n[start]\nn_tokens = 3\n[simulate]\nt_end = 1.0\n[sweep]\nreplicates = 2\n"
    )
    told = refused("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "s.zarr", "--shard", f"0/{said}")
    assert "--shard = " in told
    assert tokenflock("diagnose", path, "--json", "--no-again").exit_code == 0


def test_more_layers_than_can_be_kept_are_refused():
    with pytest.raises(SpecError, match=r"dt = 1\.0 cannot be used\. Allowed: at least 1e\+08.*every layer is kept"):
        flock.simulate(MODEL, START, 1e15, scheme="layers", dt=1.0)
    run = flock.simulate(MODEL, START, 3.0, scheme="layers", dt=1.0, engine="reference")
    assert run["time"].values.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("frames", [0, -1, 2.5, "a"])
def test_a_view_has_a_frame_at_least(run, frames):
    with pytest.raises(SpecError, match=r"frames = .* an integer >= 1"):
        record(run, None, frames)
    assert record(run, None, 1)["data"]


def test_a_velocity_is_that_of_tokens_on_the_sphere():
    with pytest.raises(SpecError, match=r"tokens up to 2\.0e\+00 off the sphere.*flock\.geometry\.retract"):
        flock.velocity(MODEL, 3 * START)
    assert flock.velocity(flock.Model(dim=2, space="euclidean"), 3 * START).shape == (4, 2)
    assert flock.velocity(MODEL, START.astype(np.float32)).shape == (4, 2)


@pytest.mark.parametrize("radius", [np.ones(3), 1.0, np.ones((4, 1)), [1.0, 1.0, 1.0, np.nan], "a"])
def test_a_velocity_takes_a_radius_for_every_token(radius):
    with pytest.raises(SpecError, match="radius"):
        flock.velocity(flock.Model(dim=2, layer_norm="pre"), START, radius=radius)
    right = flock.velocity(flock.Model(dim=2, layer_norm="pre"), START, radius=np.full(4, 2.0))
    assert np.allclose(2 * right, flock.velocity(MODEL, START))


@pytest.mark.parametrize("subspace", [None, np.eye(2)[:, :1]])
def test_an_ensemble_is_measured_run_by_run(subspace):
    ensemble = flock.simulate(MODEL, flock.uniform(5, 2, runs=3), 1.0, engine="reference")
    measured = behaviour.measure(ensemble, subspace=subspace)
    assert measured["overlap"].dims == ("run", "time")
    assert measured["histogram"].dims == ("run", "time", "bin")
    for k in range(3):
        one = flock.simulate(MODEL, ensemble["start"].values[k], 1.0, engine="reference")
        alone = behaviour.measure(one, subspace=subspace)
        for name in alone.data_vars:
            assert np.allclose(measured[name].values[k], alone[name].values), name


def test_a_run_that_says_nonsense_of_itself_is_refused(run):
    with pytest.raises(SpecError, match="schema"):
        flock.validate(run.assign_attrs(schema="one"))
    with pytest.raises(SpecError, match="model"):
        flock.trajectories.model_of(run.assign_attrs(model="{"))
    with pytest.raises(SpecError, match="model"):
        flock.trajectories.model_of(run.assign_attrs(model=json.dumps([1])))
