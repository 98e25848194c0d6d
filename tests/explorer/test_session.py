"""A run of one tab: the engines' own frames, steered, repeated, measured; no network."""

import tomllib

import numpy as np
import pytest
from serving import unpack

import tokenflock as flock
from tokenflock import spec
from tokenflock.analysis import attention, clusters, energy, persistence, renyi
from tokenflock.errors import SpecError
from tokenflock.explorer import recipe, weights
from tokenflock.explorer.measures import NAMES, WITHIN, Ruler
from tokenflock.explorer.messages import Limits
from tokenflock.explorer.prediction import predict
from tokenflock.explorer.presets import PRESETS
from tokenflock.explorer.session import Session
from tokenflock.papers import claims, figures
from tolerances import close

RUN = {
    "model": {"dim": 3, "beta": 9.0},
    "start": {"n_tokens": 30, "seed": 2},
    "simulate": {"t_end": 30.0, "times": "log:0.05:50"},
}


def finished(given, steer=None):
    session = Session()
    told = session.begin(given)
    if steer:
        while session.measured <= steer[1]:
            session.work()
        told = session.steer(*steer)
    while session.work():
        pass
    return session, told


def test_frames_are_those_of_simulate():
    session, told = finished(RUN)
    model, start, options = spec.build(RUN)
    run = flock.simulate(model, start, **options)
    assert session.ended == run.attrs["outcome"]
    assert told["times"] == run["time"].values.tolist()
    for k in (0, 20, 50):
        frame = unpack(session.packet(k))
        np.testing.assert_array_equal(frame["x"], run["x"].values[k].astype(np.float32))
        assert frame["time"] == run["time"].values[k]


def test_a_frame_is_measured_by_the_definitions():
    session, told = finished(RUN)
    frame = unpack(session.packet(30))
    x = session._frames[30]
    found = dict(zip(NAMES, frame["measures"], strict=True))
    labels = clusters.label(x, told["radius"])
    np.testing.assert_array_equal(frame["labels"], labels)
    assert found["clusters"] == labels.max() + 1
    assert found["energy"] == energy.scaled_energy(x, 9.0)
    assert told["delta"] == 4 / 3
    assert told["centers"] == renyi.centers(session._frames[0], 4 / 3).tolist()
    assert found["consumed"] == renyi.consumed(x, told["centers"], 1 / 3).mean()
    first = session._frames[0, 0]
    assert found["gap"] == pytest.approx(flock.geometry.distance(x, first).max(), abs=1e-7)  # arccos near 1


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_clusters_without_a_radius_are_those_of_the_analysis(space):
    model = flock.Model(dim=3, beta=20.0, space=space)
    x = flock.start.planted(60, 3, 5, 0.05, seed=1) * (1.0 if space == "sphere" else 7.0)
    ruler = Ruler(model, x)
    found = dict(zip(NAMES, ruler.measure(x, ruler.labels(x)), strict=True))
    told = persistence.lasting(x, space)
    assert told.clear
    assert (found["lasting"], found["lasting_from"], found["lasting_to"]) == (told.count, told.low, told.high)
    radii = ruler.described()["radii"]
    assert [found[name] for name in WITHIN] == persistence.counts(x, radii, space).tolist()
    assert radii[0] < told.low < told.high < radii[-1]
    left_out = dict(zip(NAMES, ruler.measure(x, ruler.labels(x), with_pairs=False), strict=True))
    assert np.isnan([left_out[name] for name in ("energy", "lasting", *WITHIN)]).all()


@pytest.mark.parametrize("dim", [3, 5])
def test_compiled_groups_are_the_clusters(dim):
    model = flock.Model(dim=dim, beta=20.0)
    for seed in range(5):
        x = flock.start.planted(300, dim, 12, 0.4 if dim == 3 else 0.12, seed=seed)
        ruler = Ruler(model, x)
        np.testing.assert_array_equal(ruler.labels(x), clusters.label(x, ruler.radius))
        assert 1 < ruler.labels(x).max() < 299, "a test of all-alone or all-together would see nothing"


def test_a_steered_run_keeps_its_past_and_can_be_repeated():
    turned = {**RUN, "model": {"dim": 3, "beta": 1.0}}
    plain, _ = finished(RUN)
    session, told = finished(RUN, (turned, 20))
    assert told["kept"] == 21
    assert session.total == 21 + 50
    np.testing.assert_array_equal(session._frames[:21], plain._frames[:21])
    assert not np.allclose(session._frames[25], plain._frames[25])
    again, _ = finished(told["spec"])
    np.testing.assert_array_equal(again._frames, session._frames)
    names = {}
    exec(recipe.python(told["spec"]), names)  # what the page offers for download
    np.testing.assert_allclose(names["run"]["x"].values[50], session._frames[70], **close("float64", 30, 1e3))


def test_changes_that_cannot_go_on_restart_with_the_reason():
    for changed, why in (
        ({**RUN, "model": {"dim": 2}}, "the dimension changed"),
        ({**RUN, "start": {"n_tokens": 31, "seed": 2}}, "the start changed"),
        ({**RUN, "model": {"dim": 3, "layer_norm": "pre"}}, "magnitudes"),
    ):
        session, told = finished(RUN, (changed, 10))
        assert told["kept"] == 0
        assert why in told["note"]
        assert session.ended


def test_many_changes_start_anew_from_the_present_state():
    session = Session(Limits(changes=2))
    session.begin(RUN)
    for k, beta in enumerate((8.0, 7.0, 6.0)):
        while session.measured < 5 * (k + 1):
            session.work()
        told = session.steer({**RUN, "model": {"dim": 3, "beta": beta}}, 4 * (k + 1))
    assert told["kept"] == 0
    assert "started anew from its present state" in told["note"]
    assert len(told["spec"]["start"]["array"]) == 30


def test_noise_does_not_come_again_after_a_change():
    noisy = {**RUN, "model": {"dim": 2, "noise": 0.5}, "simulate": {"t_end": 1.0, "times": 11, "dt": 0.1}}
    session, told = finished(noisy, (noisy, 5))
    assert told["spec"]["then"][0]["simulate"]["seed"] == 5
    again, _ = finished(told["spec"])
    np.testing.assert_array_equal(again._frames, session._frames)


def test_the_recipe_is_the_run():
    text = recipe.toml({**RUN, "model": {"dim": 2, "beta": "inf", "mask": {"window": 4, "causal": True}}})
    model, start, options = spec.build(tomllib.loads(text))
    assert np.isinf(model.beta)
    assert model.mask == flock.Window(4)
    assert len(start) == 30
    assert options["times"][-1] == 30.0


def test_the_row_of_a_token_is_that_of_the_matrix():
    x = flock.uniform(12, 3, seed=5)
    frozen = flock.Frozen(flock.uniform(2, 3, seed=6), [1.0, 3.0])
    for model in (
        flock.Model(dim=3, beta=5.0),
        flock.Model(dim=3, beta=5.0, mask="full", frozen=frozen),
        flock.Model(dim=3, beta=5.0, mask=flock.Window(4)),
        flock.Model(dim=3, beta=np.inf, mask="full", query=flock.weights.ginibre(3, 1)),
        flock.Model(dim=3, bias=flock.Alibi(0.3)),
    ):
        P = attention.matrix(model, x)
        for token in (0, 7):
            row = weights._row(model, x, 0.0, token, 0)
            np.testing.assert_allclose(row, P[token], **close("float64", 12, 10))
            told = weights.row(model, x, 0.0, token, 0)
            assert told["leader"] == P[token].argmax()
            assert sum(told["parts"]) == pytest.approx(1.0)


def test_attention_of_every_head_and_their_mean():
    x = flock.uniform(12, 3, seed=5)
    query = np.stack([flock.weights.ginibre(3, k) for k in (1, 2, 3)])
    for model in (flock.Model(dim=3, beta=5.0, query=query), flock.Model(dim=3, query=query, bias=flock.Alibi(0.3))):
        P = flock.model.attention(model, x)
        assert P.shape[0] == 3
        for head, wanted in ((0, P[0]), (2, P[2]), ("mean", P.mean(axis=0))):
            np.testing.assert_allclose(weights._row(model, x, 0.0, 7, head), wanted[7], **close("float64", 12, 10))
            np.testing.assert_allclose(weights.picture(model, x, 0.0, head), wanted, **close("float64", 12, 10))
        with pytest.raises(SpecError, match=r"head = 3.*0 to 2, or 'mean'"):
            weights.row(model, x, 0.0, 7, 3)


def test_pictures_of_attention_are_small():
    model, x = flock.Model(dim=2, mask="full"), flock.uniform(700, 2)
    assert weights.picture(model, x, 0.0, 0).shape == (256, 256)
    with pytest.raises(SpecError, match="at most 2000 for an attention matrix"):
        weights.picture(model, flock.uniform(2001, 2), 0.0, 0)
    with pytest.raises(SpecError, match="head = 1"):
        weights.picture(model, x, 0.0, 1)


def test_centers_that_would_take_seconds_are_left_out():
    """In many dimensions they cost n^2 d; the other numbers are there."""
    for n_tokens, there in ((2_000, True), (4_000, False)):
        x, model = flock.uniform(n_tokens, 64), flock.Model(dim=64, beta=100.0)
        ruler = Ruler(model, x)
        assert (len(ruler.centers) > 0) is there
        assert (ruler.described()["delta"] is not None) is there
    assert len(Ruler(flock.Model(dim=3, beta=100.0), flock.uniform(20_000, 3)).centers) > 0, "by cells: any number"


def test_heads_and_frozen_tokens_count_in_the_size_of_a_picture():
    """1,999 tokens are allowed with one head; eight of them, or as many frozen tokens, are gigabytes."""
    x = flock.uniform(1_000, 2)
    many = flock.Model(dim=2, value=np.stack([np.eye(2)] * 8))
    frozen = flock.Model(dim=2, frozen=flock.Frozen(flock.uniform(12_000, 2)))
    for model, most in ((many, 707), (frozen, 324)):
        with pytest.raises(SpecError, match=f"at most {most} for an attention matrix"):
            weights.picture(model, x, 0.0, "mean")
        weights.picture(model, x[:300], 0.0, "mean")


def test_a_run_to_the_end_of_time_is_a_staircase():
    given = {
        "model": {"dim": 2, "beta": 40.0},
        "start": {"n_tokens": 40, "seed": 3},
        "simulate": {"t_end": 1e30, "times": "log:0.1:120"},
    }
    session, _ = finished(given)
    assert session.measured == 121
    counts = session._measures[:, NAMES.index("clusters")]
    assert counts[0] > 10
    assert counts[-1] < 4
    assert (np.diff(counts[60:]) <= 0).all(), "late clusters only merge"
    assert session.times[-1] == 1e30


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ([[1, 0], [0, 1]], "first-token"),
        ([[1, 0], [0, 0.5]], "two-points"),
        ([[-1, 0], [0, -1]], "cloud"),
        ([[-1, 0], [0, -2]], "two-clouds"),
        ([[1, 2], [-2, 1]], "rotating"),
    ],
)
def test_the_row_of_the_atlas_and_its_basis(value, row):
    told = predict(flock.Model(dim=2, value=value)).described()
    assert told["row"] == row
    D = np.zeros((2, 2))
    (a, b), (c, _) = told["eigenvalues"]
    D[0, 0], D[1, 1], D[0, 1], D[1, 0] = a, c, b, -b
    np.testing.assert_allclose(told["basis"] @ D @ told["inverse"], value, **close("float64", 2, 10))


def test_statements_of_paper_b_in_the_open():
    def claim(**options):
        return predict(flock.Model(mask="full", **{"space": "rescaled", **options})).described()["claim"]

    assert claim(dim=2) == "emergence/theorem-3.1"
    assert claim(dim=2, value=flock.weights.PAPER_B["hyperplanes-2d"]) == "emergence/theorem-4.2"
    assert claim(dim=3, value=flock.weights.PAPER_B["mix"]) == "emergence/theorem-5.2"
    assert claim(dim=2, value=-np.eye(2), space="euclidean") == "emergence/negative-identity"
    assert claim(dim=2, value=flock.weights.plane_rotation(1.0)) == ""


def test_an_engine_that_fails_ends_the_run_with_its_sentence(monkeypatch):
    def broken(*_):
        raise RuntimeError("the kernel broke")

    monkeypatch.setattr(Session, "_choose", broken)
    session, _ = finished(RUN)
    assert session.failed
    assert "The engine failed: RuntimeError: the kernel broke" in session.ended


def test_a_frame_that_cannot_be_measured_ends_the_run(monkeypatch):
    def broken(*_, **__):
        raise ValueError("no such measure")

    monkeypatch.setattr(Ruler, "measure", broken)
    session, _ = finished(RUN)
    assert "no such measure" in session.ended
    assert session.finished


def test_a_run_that_leaves_the_numbers_says_so():
    given = {
        "model": {"dim": 2, "space": "euclidean"},
        "start": {"kind": "cube", "n_tokens": 5},
        "simulate": {"t_end": 2000.0, "times": 50},
    }
    session, _ = finished(given)
    assert session.failed
    assert "no longer finite" in session.ended
    assert 0 < session.measured < 50


def test_a_run_is_stopped_after_its_time():
    session = Session(Limits(wall_s=0.05))
    session.begin({**RUN, "start": {"n_tokens": 600}, "simulate": {"t_end": 1e4, "times": 1000, "scheme": "tsit5"}})
    while session.work():
        pass
    assert "Stopped after 0.05 s of computing, at t = " in session.ended


def test_every_figure_and_claim_has_a_preset():
    shown = {name for preset in PRESETS for name in preset.shows}
    assert shown == set(claims.NAMES) | set(figures.NAMES)
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
    for preset in PRESETS:
        assert preset.described()["claim"] in {"", *claims.NAMES}


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.name)
def test_a_preset_begins(preset):
    session = Session()
    told = session.begin(preset.spec)
    while not session.measured:
        assert session.work()
    assert not session.failed
    assert unpack(session.packet(0))["x"].shape[0] == told["n_tokens"]
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.name)
def test_a_preset_comes_to_its_end(preset):
    session, _ = finished(preset.spec)
    assert not session.failed, session.ended
    assert session.measured == session.total
