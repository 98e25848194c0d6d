"""flock.trajectory: arrays of one's own, caches and files become a run that everything takes."""

import json
import warnings

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.errors import FileError, SpecError

RNG = np.random.default_rng(5)
H = RNG.standard_normal((5, 7, 16)).cumsum(axis=0)
WORDS = ["the", "flock", "of", "tokens", "turns", "as", "one"]


def cache_of(h, kinds=("hook_resid_pre", "hook_resid_mid", "hook_resid_post"), batch=True):
    """What a hook library hands out: the residual stream before, inside and after every block."""
    last = len(h) - 1
    named = {}
    for l in range(last):
        states = dict(zip(kinds, (h[l], h[l] + 1.0, h[l + 1]), strict=False))
        named |= {f"blocks.{l}.{kind}": one[None] if batch else one for kind, one in states.items()}
    return named


def same(run, h=H):
    found = run["x"].values * run["radius"].values[..., None]
    assert found.shape == h.shape
    np.testing.assert_allclose(found, h, rtol=1e-12, atol=1e-12)
    return True


def test_raw_states_are_directions_and_lengths():
    run = flock.validate(flock.trajectory(H, words=WORDS, layers=[f"l{k}" for k in range(5)], name="ours"))
    assert same(run)
    np.testing.assert_allclose(np.linalg.norm(run["x"].values, axis=-1), 1.0, rtol=1e-14)
    assert run["word"].values.tolist() == WORDS
    assert run["layer_name"].values[4] == "l4"
    assert run["time"].values.tolist() == [0, 1, 2, 3, 4]


def test_normed_states_have_no_lengths_and_positions_in_space_stay():
    x = flock.geometry.retract(H)
    run = flock.trajectory(x)
    assert "radius" not in run
    np.testing.assert_allclose(run["x"].values, x, rtol=1e-15)
    free = flock.trajectory(H, np.linspace(0.0, 2.0, 5), space="euclidean")
    assert np.array_equal(free["x"].values, H)
    assert free["time"].values[-1] == 2.0
    assert flock.trajectories.model_of(free).space == "euclidean"


def test_a_batch_is_an_ensemble_and_one_text_of_a_list_is_a_run():
    both = flock.trajectory(np.stack([H, 2 * H]), words=[WORDS, WORDS])
    assert dict(both["x"].sizes) == {"run": 2, "time": 5, "token": 7, "axis": 16}
    layers = [np.stack([h, 2 * h]) for h in H]  # as output_hidden_states: texts inside of layers
    again = flock.trajectory(layers)
    assert np.array_equal(again["radius"].values, both["radius"].values)
    assert flock.trajectory([h[None] for h in H])["x"].dims == ("time", "token", "axis")


@pytest.mark.parametrize("batch", [True, False])
def test_a_cache_is_read_by_the_names_of_its_layers(batch):
    cache = cache_of(H, batch=batch) | {"hook_embed": H[0], "blocks.0.attn.hook_q": np.ones((1, 7, 4, 4))}
    run = flock.trajectory(cache)
    assert same(run)
    assert run["layer_name"].values[-1] == "blocks.3.hook_resid_post"
    assert same(flock.trajectory(cache, part="blocks.{}.hook_resid_mid"), H[:4] + 1)
    only = {name: one for name, one in cache.items() if name.endswith("resid_post")}
    assert same(flock.trajectory(only), H[1:])
    bridge = cache_of(H, ("hook_in", "hook_mid", "hook_out"), batch)
    assert same(flock.trajectory(bridge))
    ten = {f"h.{l}.out": np.full((7, 16), l + 1.0) for l in range(12)}  # 10 comes after 9
    assert flock.trajectory(ten)["radius"].values[:, 0].tolist() == [4.0 * (l + 1) for l in range(12)]


def test_attention_of_a_cache_comes_with_it():
    P = np.tril(np.ones((1, 2, 7, 7))) / np.arange(1, 8)[:, None]
    cache = cache_of(H) | {f"blocks.{l}.attn.hook_pattern": P for l in range(4)}
    run = flock.trajectory(cache)
    assert run["attention"].shape == (4, 2, 7, 7)
    from tokenflock.transformer import behaviour

    assert behaviour.measure(run)["attention_entropy"].shape == (4, 2)


def test_outputs_and_tensors_of_torch():
    torch = pytest.importorskip("torch")

    class Output:
        hidden_states = tuple(torch.tensor(h[None], requires_grad=True) for h in H)
        attentions = tuple(torch.full((1, 2, 7, 7), 1 / 7) for _ in range(4))

    run = flock.trajectory(Output())
    assert same(run)
    assert run["attention"].shape == (4, 2, 7, 7)
    assert same(flock.trajectory(torch.tensor(H)))
    rounded = flock.trajectory(torch.tensor(H, dtype=torch.bfloat16))
    np.testing.assert_allclose(rounded["radius"].values, np.linalg.norm(H, axis=-1), rtol=2**-8)
    assert same(
        flock.trajectory([(torch.tensor(h[None]), None) for h in H])
    )  # what a block hands on, as nnsight saves it


def test_files(tmp_path):
    from checkpoints import safetensors

    np.save(tmp_path / "a.npy", H)
    np.savez(tmp_path / "b.npz", hidden_states=H, words=np.array(WORDS))
    texts = np.frombuffer(json.dumps(WORDS).encode(), np.uint8)
    np.savez(tmp_path / "c.npz", x=H, words=texts, times=np.arange(5) * 0.5)
    layers = {f"blocks.{l}.hook_out": h.astype("<f4") for l, h in enumerate(H)}
    (tmp_path / "d.safetensors").write_bytes(safetensors(layers))
    assert same(flock.trajectory(tmp_path / "a.npy"))
    assert flock.trajectory(tmp_path / "b.npz")["word"].values.tolist() == WORDS
    timed = flock.trajectory(str(tmp_path / "c.npz"))
    assert timed["word"].values.tolist() == WORDS
    assert timed["time"].values[-1] == 2.0
    np.testing.assert_allclose(
        flock.trajectory(tmp_path / "d.safetensors")["radius"], np.linalg.norm(H, axis=-1), rtol=1e-6
    )


@pytest.mark.parametrize("ending", ["zarr", "nc"])
def test_kept_and_read_again(tmp_path, ending):
    run = flock.trajectory(H, words=WORDS, name="ours")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flock.save(run, tmp_path / f"run.{ending}")
    found = flock.load(tmp_path / f"run.{ending}")
    assert same(found)
    assert found["word"].values.tolist() == WORDS
    assert not flock.trajectories.has_model(found)


def test_everything_takes_it(tmp_path):
    from tokenflock.explorer.recording import record
    from tokenflock.transformer import behaviour

    for run in (
        flock.trajectory(H, words=WORDS),
        flock.trajectory(H[:, :2]),
        flock.trajectory(H, space="euclidean"),
        flock.trajectory(H[:1]),
        flock.trajectory(H[:, :1]),
    ):
        told = record(run)
        assert told["began"]["forms"] is None
        assert told["ended"].startswith("These tokens were given")
        assert "not-measured" in flock.diagnose(run).names
        assert flock.plot.draw(run).get_axes()
    whole = flock.trajectory(H, words=WORDS)
    assert behaviour.measure(whole)["overlap"].shape == (5,)
    assert flock.analysis.clusters.count(whole, 0.5).dims == ("time",)
    assert "through 4 layers" in flock.plot.draw(whole).caption
    assert flock.export(whole, tmp_path / "page.html").stat().st_size > 10_000
    second = flock.diagnose(flock.trajectory(np.stack([H, 2 * H])), 1)
    assert second.run == 1
    assert "Text 1 of 2" in str(second)


def test_a_long_token_is_told_by_its_word():
    h = H.copy()
    h[2, 0] *= 100
    told = str(flock.diagnose(flock.trajectory(h, words=WORDS)))
    assert "Token 0 (the) is" in told
    assert "at layer 2" in told
    assert "long-token" not in str(flock.diagnose(flock.trajectory(H, words=WORDS)))


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        (H[0], {}, "give x[None]"),
        (np.ones((0, 3, 2)), {}, "at least one of each"),
        (
            np.where(np.arange(35).reshape(5, 7, 1) == 17, np.nan, H),
            {},
            "token 3 of layer 2, counted from 0, holds nan",
        ),
        (
            np.stack([H, np.where(np.arange(7)[:, None] == 2, 0, H)]),
            {},
            "token 2 of layer 0 of text 1, counted from 0, has length 0",
        ),
        (H, {"words": ["a", "b"]}, "a text for each"),
        (H, {"words": "seven77"}, "a text for each"),
        (H, {"layers": ["a"]}, "layers.shape"),
        (H, {"times": [0, 1, 1, 2, 3]}, "do not increase"),
        (H, {"times": [0, 1]}, "one for each layer"),
        (H, {"space": "circle"}, "sphere"),
        (H, {"part": "h.{}"}, "no names"),
        (H, {"attention": np.ones((4, 2, 3, 3))}, "attention.shape"),
        ([H[0], H[1, :3]], {}, "The shape of layer 1".lower()),
        ({f"blocks.{l}.hook_resid_pre": H[l] for l in (0, 2)}, {}, "lacks blocks.1.hook_resid_pre"),
        ({f"{k}.{l}": H[l] for k in "ab" for l in (0, 1)}, {}, "several kinds of layers: a.{}, b.{}"),
        ({"some": H[0], "thing": H[1]}, {}, "no hidden states that can be told by their names: some, thing"),
        (cache_of(H), {"part": "layers.{}.out"}, "It holds blocks.0"),
        ("here.npz", {}, "is not there"),
        ("here.json", {}, "Allowed: names ending in .npy"),
    ],
)
def test_what_cannot_be_a_trajectory(given, more, words):
    with pytest.raises((SpecError, FileError)) as error:
        flock.trajectory(given, **more)
    assert words in str(error.value)


def test_a_run_is_no_array():
    run = flock.trajectory(H)
    with pytest.raises(SpecError, match="ready as it is"):
        flock.trajectory(run)
    for what in (flock.again, lambda r: flock.extend(r, H[0])):
        with pytest.raises(SpecError, match=r"needs a flock\.Model"):
            what(run)


@pytest.mark.parametrize("name", ["cut.npz", "cut.npy", "cut.safetensors", "object.npy"])
def test_damaged_files(tmp_path, name):
    from checkpoints import safetensors

    np.savez(tmp_path / "whole.npz", x=H)
    whole = {
        "cut.npz": (tmp_path / "whole.npz").read_bytes()[:700],
        "cut.npy": b"\x93NUMPY\x01\x00v\x00",
        "cut.safetensors": safetensors({"h.0": H[0], "h.1": H[1]})[:600],
    }
    if name in whole:
        (tmp_path / name).write_bytes(whole[name])
    else:
        np.save(tmp_path / name, np.array([{}, 1], object), allow_pickle=True)
    with pytest.raises(FileError, match=name):
        flock.trajectory(tmp_path / name)


def test_on_the_command_line(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from tokenflock.cli import app

    monkeypatch.chdir(tmp_path)
    np.savez("cache.npz", **{name.replace("/", "."): one for name, one in cache_of(H).items()})
    say = CliRunner().invoke
    assert "cache: 7 tokens in dimension 16 through 4 layers" in say(app, ["diagnose", "cache.npz"]).stdout
    middle = say(app, ["diagnose", "cache.npz", "--part", "blocks.{}.hook_resid_mid"]).stdout
    assert "through 3 layers" in middle
    assert "through 4 layers" in say(app, ["plot", "cache.npz"]).stdout
    assert (tmp_path / "cache.png").is_file()
    assert say(app, ["explore", "--export", "cache.npz", "page.html"]).exit_code == 0


def test_the_report_of_hidden_states(tmp_path, monkeypatch):
    import functools

    from typer.testing import CliRunner

    from tokenflock import plot
    from tokenflock.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tokenflock.plot.save", functools.partial(plot.save, formats=("svg",)))
    h = RNG.standard_normal((2, 4, 12, 8)).cumsum(axis=1)
    np.savez("cache.npz", x=h, layers=np.array(["embed", "a", "b", "c"]))
    found = CliRunner().invoke(app, ["network", "cache.npz", "--out", "report"])
    assert found.exit_code == 0, found.output
    page = (tmp_path / "report" / "report.html").read_text()
    assert "2 text(s) of 12 tokens through 3 layers" in page
    assert ">embed<" in page
    assert page.count("<img") == 3
    numbers = json.loads((tmp_path / "report" / "states.json").read_text())["measures"]
    want = [np.mean([flock.analysis.states.stable_rank(h[k, l]) for k in range(2)]) for l in range(4)]
    np.testing.assert_allclose(numbers["stable_raw"], want, rtol=1e-9)
    assert flock.load(tmp_path / "report" / "states.zarr").sizes["run"] == 2
    np.save("short.npy", h[0, :, :2])
    short = CliRunner().invoke(app, ["network", "short.npy", "--out", "other"])
    assert short.exit_code == 2
    assert "at least 3 tokens" in short.stderr
    assert not (tmp_path / "other" / "report.html").exists()
