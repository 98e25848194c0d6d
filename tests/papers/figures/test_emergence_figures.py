"""The figures of paper B: every number of a caption that can be is found again here by a slower way."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from scipy.spatial import ConvexHull

import tokenflock as flock
from checkpoints import albert_folder, albert_tensors
from tokenflock import networks, plot
from tokenflock.analysis import attention, triple
from tokenflock.errors import FileError, SpecError
from tokenflock.options import FeedForward
from tokenflock.papers import figures
from tokenflock.papers.figures import emergence, emergence_attention, emergence_large, emergence_mix, emergence_planes
from tokenflock.papers.figures import emergence_draw as draw
from tokenflock.papers.figures import emergence_spectra as spectra
from tokenflock.papers.figures import emergence_variants as variants
from tokenflock.start import cube
from tokenflock.weights import PAPER_B, uniform_entries

NAMES = [name for name in figures.NAMES if name.startswith("emergence/")]
MOVIES = [name for name in figures.MOVIES if name.startswith("emergence/")]


@pytest.fixture(scope="module", autouse=True)
def weights(tmp_path_factory):
    """A small network: no weights of this machine are looked at."""
    folder = albert_folder(tmp_path_factory.mktemp("net") / "tiny-albert", albert_tensors(24, seed=5), n_heads=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(networks.VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="module")
def drawn(weights):
    return {name: figures.figure(name, quick=True) for name in NAMES}


def softmax(s):
    a = np.exp(s - s.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True)


def slow_run(value, form, start, t_end, layer=lambda pull: pull, dt=0.01):
    """z' = layer(V sum_j P_ij (z_j - z_i)), P at e^(tV) z, by the classical Runge-Kutta scheme."""

    def rate(t, z):
        x = z @ expm(t * value).T
        return layer((softmax(x @ form @ x.T) @ z - z) @ value.T)

    z = start
    for k in range(round(t_end / dt)):
        t = k * dt
        a = rate(t, z)
        b = rate(t + dt / 2, z + dt / 2 * a)
        c = rate(t + dt / 2, z + dt / 2 * b)
        z = z + dt / 6 * (a + 2 * b + 2 * c + rate(t + dt, z + dt * c))
    return z


def numbers(text):
    return [float(v) for v in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)]


def between(caption, begin, end):
    return caption.split(begin, 1)[1].split(end, 1)[0]


# ---------------------------------------------------------------------------------------------------------------------
# all of them


def test_every_figure_of_the_paper_is_there():
    wanted = (
        "polytope-2d polytope-3d hyperplanes-2d hyperplanes-3d codimension mix boolean leaders high-dimension spectra"
    )
    assert {name.removeprefix("emergence/") for name in NAMES} == {*wanted.split(), "generic-qk", "feedforward"}
    assert MOVIES == ["emergence/polytope-2d", "emergence/polytope-3d", "emergence/hyperplanes-2d"]


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_says_what_is_the_authors_and_what_is_ours(drawn, name):
    caption = drawn[name].caption
    assert draw.PAPER in caption
    assert "Ours, not the paper's" in caption
    assert "The authors'" in caption or name == "emergence/spectra"
    assert "never falls: NO" not in caption
    assert " nan" not in caption


@pytest.mark.parametrize("name", NAMES)
def test_words_are_inside_and_apart(drawn, name):
    from matplotlib.text import Text

    figure = drawn[name]
    figure.draw_without_rendering()
    boxes = [(t.get_text(), t.get_window_extent()) for t in figure.findobj(Text) if t.get_visible() and t.get_text()]
    page = figure.bbox
    assert not [w for w, b in boxes if b.x0 < page.x0 or b.y0 < page.y0 or b.x1 > page.x1 or b.y1 > page.y1]
    assert not [(v, w) for i, (v, a) in enumerate(boxes) for w, b in boxes[:i] if a.overlaps(b)]
    assert figure.get_size_inches()[0] == plot.PAGE


@pytest.mark.parametrize("name", MOVIES)
def test_three_of_them_move(name, tmp_path):
    from PIL import Image

    path = figures.animate(name, tmp_path / "a.gif", quick=True, frames=5)
    with Image.open(path) as film:
        assert film.n_frames == 5
        first = np.asarray(film.convert("L"), dtype=int)
        film.seek(4)
        assert (np.abs(np.asarray(film.convert("L"), dtype=int) - first) > 40).sum() > 100


def test_others_do_not_move():
    with pytest.raises(SpecError, match="unknown animation 'emergence/mix'"):
        figures.animate("emergence/mix", "a.gif")


# ---------------------------------------------------------------------------------------------------------------------
# runs and drawing


def test_rescaled_is_the_system_of_the_paper():
    V, form = np.array([[0.9, 0.3], [0.1, 0.4]]), np.array([[0.5, -0.2], [0.7, 0.1]])
    start = cube(7, 2, 1.0, seed=3)
    z = draw.rescaled(V, start, np.array([0.0, 1.5]), query=form.T)
    assert_allclose(z[-1], slow_run(V, form, start, 1.5), atol=1e-6)
    assert np.abs(z[-1] - slow_run(V, form.T, start, 1.5)).max() > 1e-3  # the form is not symmetric, and it matters
    layer = FeedForward(np.array([[0.3, -0.4], [0.2, 0.5]]), activation="tanh")
    z = draw.rescaled(V, start, np.array([0.0, 1.5]), feedforward=layer)
    assert_allclose(z[-1], slow_run(V, np.eye(2), start, 1.5, lambda pull: np.tanh(pull) @ layer.w.T), atol=1e-6)


def test_places_are_counted_once():
    z = np.array([[0.0, 0.0], [5.0, 0.0], [1e-4, 0.0], [5.0, 2e-3], [5.0, 1.0]])
    assert draw.places(z).tolist() == [0, 1, 0, 1, 2]
    assert draw.places(z, 1e-5).tolist() == [0, 1, 2, 3, 4]
    assert draw.places(np.zeros((3, 2))).tolist() == [0, 0, 0]


def test_a_cube_shows_nine_edges_and_hides_three():
    from matplotlib.figure import Figure

    corners = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    ax = Figure().subplots()
    draw.solid(ax, corners, plot.view(20, 35), "black", fill=False)
    assert len(ax.lines) == 12  # and none of the diagonals that triangles have
    assert sum(line.get_linestyle() == "-" for line in ax.lines) == 9
    ax = Figure().subplots()
    draw.box(ax, 2.0, plot.view(20, 35))
    assert len(ax.lines) == 12
    hidden = [line for line in ax.lines if line.get_linestyle() != "-"]
    far = corners[np.argmin(corners @ plot.view(20, 35)[2])] @ plot.view(20, 35)[:2].T * 2
    assert len(hidden) == 3
    for line in hidden:  # all three meet at the corner that is farthest away
        assert np.linalg.norm(np.column_stack(line.get_data()) - far, axis=1).min() < 1e-9


def test_a_sheet_lies_in_its_plane_and_holds_the_tokens():
    rng = np.random.default_rng(0)
    normal, points = rng.standard_normal(3), rng.standard_normal((9, 3))
    corners = draw.rectangle(points, normal, 0.7, 0.25)
    assert_allclose(corners @ normal, 0.7)
    feet = points - np.outer(points @ normal - 0.7, normal) / (normal @ normal)
    first, second = corners[1] - corners[0], corners[3] - corners[0]
    assert abs(first @ second) < 1e-12
    for side in (first, second):
        share = (feet - corners[0]) @ side / (side @ side)
        assert share.min() > 0
        assert share.max() < 1
        assert_allclose(share.min() * np.linalg.norm(side), 0.25)
    eye = draw.beside(normal, 10.0, 0.3)
    assert_allclose(eye @ eye.T, np.eye(3), atol=1e-12)
    assert abs(eye[2] @ normal / np.linalg.norm(normal) - 0.3) < 0.02


def test_a_spectrum_in_words():
    assert draw.spectrum(PAPER_B["hyperplanes-2d"]) == "1.348, \N{MINUS SIGN}0.068"
    assert draw.plain(draw.spectrum(PAPER_B["hyperplanes-3d-a"])) == "0.991, -0.055 +- 0.254i"
    assert draw.plain(draw.value_name(PAPER_B["mix"])) == "diag(1, 1, -0.5)"


# ---------------------------------------------------------------------------------------------------------------------
# polytopes


@pytest.mark.parametrize("dim", [2, 3])
def test_numbers_of_a_polytope(drawn, dim):
    figure = drawn[f"emergence/polytope-{dim}d"]
    p = figure.parameters
    start = cube(p["n_tokens"], dim, p["half_width"], seed=p["seed"])
    end = slow_run(np.eye(dim), np.eye(dim), start, 3.0, dt=0.005)
    leader = (end @ end.T).argmax(axis=1)  # attention is Boolean by then: z goes to its leader like e^-t
    for _ in range(dim + 3):
        leader = leader[leader]
    limit = end[leader]
    corners = ConvexHull(np.unique(limit.round(2), axis=0))
    assert f"with {len(corners.vertices)} vertices" in figure.caption
    assert f"end at {len(np.unique(leader))} points, all at its vertices" in figure.caption
    first, last = numbers(between(figure.caption, "of the hull, from ", ": the hull"))
    assert_allclose(first, ConvexHull(start).volume, rtol=1e-3)
    assert_allclose(last, ConvexHull(limit).volume, rtol=1e-2)
    assert "each kept one lies inside the one before" in figure.caption
    residual = numbers(between(figure.caption, "is at most ", " at t ="))[0]
    assert 0 < residual < 20 * np.exp(-p["t_end"]) * p["half_width"] ** 2


def test_a_token_that_ends_at_no_vertex_is_told():
    run = emergence.Shrinking(emergence.PlaneFigure(n_tokens=12, t_limit=30.0, seed=0), np.linspace(0, 4, 9))
    assert run.elsewhere == 0
    run.limit = run.limit.copy()
    run.limit[3] = 0.0
    assert run.elsewhere == 1


# ---------------------------------------------------------------------------------------------------------------------
# hyperplanes, codimension, mix


def test_levels_of_the_plane(drawn):
    figure = drawn["emergence/hyperplanes-2d"]
    V, p = PAPER_B["hyperplanes-2d"], figure.parameters
    start = cube(p["n_tokens"], 2, p["half_width"], seed=p["seed"])
    z = slow_run(V, np.eye(2), start, p["t_end"], dt=0.005)
    lam, left = np.linalg.eig(V.T)
    star = left[:, lam.argmax()]
    right = np.linalg.eig(V)[1][:, lam.argmax()]
    phi = z @ star / (star @ right) * np.sign(right[np.abs(right).argmax()])
    low, high = phi[phi < 0], phi[phi > 0]
    told = numbers(between(figure.caption, "two levels, ", ", to within"))
    assert_allclose(told, [low.mean(), high.mean()], atol=2e-3)
    assert f"with {len(low)} and {len(high)} tokens" in figure.caption
    assert "never falls: yes" in figure.caption


def test_both_matrices_of_space_give_two_levels(drawn):
    caption = drawn["emergence/hyperplanes-3d"].caption
    assert caption.count("two levels") == 2
    assert caption.count("never falls: yes") == 2
    titles = [ax.get_title() for ax in drawn["emergence/hyperplanes-3d"].axes]
    assert any("matrix (b)" in title and "0.099 ± 0.082i" in title for title in titles)


def test_levels_that_rise_are_told():
    small = emergence_planes.PlaneLevels(n_tokens=8)
    run = emergence_planes.LevelsOfRun(PAPER_B["hyperplanes-2d"], small, np.linspace(0, 5, 21))
    assert run.monotone
    run.phi = run.phi.copy()
    run.phi[10] *= 1.1
    assert not run.monotone
    assert run.spread < 0.05


def test_left_eigenvectors_and_the_lines_of_the_conjecture(drawn):
    V = PAPER_B["codimension"]
    skew = np.array([[2.0, 1.0], [0.0, -1.0]])
    lam, star = emergence_mix.left_vectors(skew)
    assert_allclose(star @ skew, lam[:, None] * star, atol=1e-12)
    lam, star = emergence_mix.left_vectors(V)
    assert_allclose(star @ V, lam[:, None] * star, atol=1e-12)
    assert_allclose(lam, [1.96345, 0.25287, -0.22210], atol=1e-5)
    caption = drawn["emergence/codimension"].caption
    assert "k = 2" in caption
    assert "tokens come to 2 points, as the conjecture says" in caption
    p = drawn["emergence/codimension"].parameters
    late = numbers(between(caption, f"at t = {p['t_end']:g} at most ", ";"))[0]
    assert late < 10 * p["half_width"] * np.exp(-lam[1] * p["t_end"])


def test_the_mix_is_a_polygon_times_a_line(drawn):
    figure = drawn["emergence/mix"]
    p = figure.parameters
    V = PAPER_B["mix"]
    z = slow_run(V, np.eye(3), cube(p["n_tokens"], 3, p["half_width"], seed=p["seed"]), p["t_end"], dt=0.005)
    told = numbers(between(figure.caption, "|z_3| = ", ":"))[0]
    assert_allclose(told, np.abs(z[:, 2]).max(), rtol=1e-2)
    assert "a good triple with multiplicity:" in figure.caption
    x = z @ expm(p["t_end"] * V).T
    leader = (x @ x.T).argmax(axis=1)
    for _ in range(4):
        leader = leader[leader]
    corners = ConvexHull(z[np.unique(leader), :2]).vertices
    told = f"polygon has {len(corners)} vertices, and the tokens end at {len(np.unique(leader))} points"
    assert told in figure.caption


# ---------------------------------------------------------------------------------------------------------------------
# attention


def test_attention_on_the_line_is_that_of_the_theorem(drawn):
    times = (0.0, 1.0, 3.0)
    P = emergence_attention.on_the_line(9, times, 4)
    x = np.sort(cube(9, 1, 1.0, seed=4), axis=0)
    assert_allclose(P[0], softmax(x @ x.T), atol=1e-14)
    z = slow_run(np.eye(1), np.eye(1), x, 3.0)
    assert_allclose(P[2], softmax(np.exp(6.0) * z @ z.T), atol=1e-5)
    figure = drawn["emergence/boolean"]
    p = figure.parameters
    for k, matrix in enumerate(emergence_attention.on_the_line(p["n_tokens"], p["times"], p["seed"])):
        title = figure.axes[k].get_title()
        assert title.endswith(f"rank {np.linalg.matrix_rank(matrix)}")
    assert "rank 2" in figure.axes[len(p["times"]) - 1].get_title()
    assert "are e_1 and the other" in figure.caption
    assert f"are e_{p['n_tokens']}:" in figure.caption


def test_attention_of_the_published_code_follows_the_linear_flow():
    P, lam = emergence_attention.without_attention(6, 5, (0.0, 0.3), 2)
    V = emergence_attention.gram(5, np.random.default_rng([2, 1]))
    assert_allclose(lam, np.linalg.eigvalsh(V))
    x = cube(6, 5, 1.0, seed=2)
    x = x[np.argsort(x @ np.linalg.eigh(V)[1][:, -1])] @ expm(0.3 * V).T
    assert_allclose(P[1], softmax(x @ x.T), atol=1e-10)


def test_segments_are_drawn_where_attention_is(drawn):
    figure = drawn["emergence/leaders"]
    p = figure.parameters
    V, A = emergence_attention._pair(p["seed"])
    start = cube(p["n_tokens"], 2, 1.0, seed=p["seed"])
    P = softmax(start @ A @ start.T)
    segments = figure.axes[0].collections[0].get_segments()
    assert len(segments) == (P > p["threshold"]).sum()
    assert f"{len(segments)} segments, {(P > p['threshold']).any(axis=0).sum()} leaders" in figure.axes[0].get_title()
    ask, x = emergence_attention._seen(start, V, A, 0.0)
    assert_allclose(ask, start @ A / np.linalg.norm(start @ A, axis=1).max())
    assert_allclose(x, start / np.linalg.norm(start, axis=1).max())
    last = len(figure.axes[-1].collections[0].get_segments())
    assert last == p["n_tokens"]  # every token has one leader in the end


# ---------------------------------------------------------------------------------------------------------------------
# many dimensions


def test_the_value_matrix_of_many_dimensions():
    lam, vectors, replaced = emergence_large.sparse_symmetric(40, 0.1, 2.15, 0)
    assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-12)
    assert (np.diff(lam) <= 0).all()
    assert np.abs(lam).min() > 1
    assert np.abs(lam).max() <= 2.15 + 1e-12
    assert 0 < replaced < 40


def test_the_eigenbasis_is_the_same_system():
    lam, vectors, _ = emergence_large.sparse_symmetric(12, 0.3, 2.15, 1)
    start = cube(8, 12, 0.5, seed=1)
    y = emergence_large.in_eigenbasis(lam, start @ vectors, np.array([0.0, 2.0]), 0.02)
    V = (vectors * lam) @ vectors.T
    assert_allclose(y[-1] @ vectors.T, slow_run(V, np.eye(12), start, 2.0, dt=0.005), atol=1e-4)


def test_spread_is_the_median_distance_of_each_side():
    y = np.array([[0.0, 5.0], [1.0, 5.0], [5.0, 5.0], [9.0, 1.0], [9.0, 2.0]])
    low, high = emergence_large.deviations(y, np.array([False, False, False, True, True]))
    assert low.tolist() == [1.0, 0.0]
    assert high.tolist() == [0.0, 0.5]


def test_positive_eigenvalues_gather_and_negative_ones_do_not(drawn):
    caption = drawn["emergence/high-dimension"].caption
    bounded, free = numbers(between(caption, "one line an eigenvalue: at most ", " for negative ones"))[::2]
    assert bounded < 2
    assert free > 1e8


# ---------------------------------------------------------------------------------------------------------------------
# trained networks


def test_every_head_is_judged_as_the_whole_matrix_would_be(weights, drawn):
    model, heads = spectra.judge(spectra.Trained())
    layer = model.layer(0, feedforward=False)
    titles = [ax.get_title() for ax in drawn["emergence/spectra"].axes]
    assert len(titles) == len(heads) == model.n_heads
    for h, head in enumerate(heads):
        whole = triple.good(layer.query[h], layer.key[h], layer.output[h] @ layer.value[h])
        assert head.judged.holds == whole.holds
        assert_allclose(abs(head.judged.lambda_1), abs(whole.lambda_1))
        if whole.phi_1 is not None:
            assert_allclose(head.overlap, whole.overlap / np.sqrt(layer.head_dim), rtol=1e-8)
        assert titles[h].startswith(f"head {h}: ")
        assert (head.verdict == "good") == whole.holds
    caption = drawn["emergence/spectra"].caption
    assert f"{sum(head.judged.holds for head in heads)} of 8 heads are good triples" in caption
    for h, head in enumerate(heads):
        assert head.judged.holds or f"Head {h}: " in caption


@pytest.mark.parametrize(
    ("value", "key", "verdict"),
    [
        (np.diag([2.0, 1.0]), np.eye(2), "good"),
        (np.diag([2.0, 1.0]), -np.eye(2), "overlap"),
        (np.diag([-2.0, 1.0]), np.eye(2), "negative"),
        (np.diag([2.0, -2.0]), np.eye(2), "tied"),
        (np.diag([2.0, 2.0]), np.eye(2), "tied"),
        (np.array([[1.0, -3.0], [3.0, 1.0]]), np.eye(2), "complex"),
    ],
)
def test_the_verdict_names_what_fails(value, key, verdict):
    head = spectra.JudgedHead(np.linalg.eigvals(value), triple.good(np.eye(2), key, value), 0.5)
    assert head.verdict == verdict


def test_without_weights_the_figure_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv(networks.VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(FileError, match="no weights of an ALBERT model"):
        flock.figure("emergence/spectra")
    folder = albert_folder(tmp_path / "other", albert_tensors(24, seed=5), n_heads=8)
    assert figures.inputs("emergence/spectra", weights=str(folder)).keys() == {"other"}


# ---------------------------------------------------------------------------------------------------------------------
# beyond the theorems


def test_any_form_still_gathers_tokens(drawn):
    figure = drawn["emergence/generic-qk"]
    p = figure.parameters
    form = uniform_entries(2, seed=0)
    start = cube(p["n_tokens"], 2, p["half_width"], seed=p["seed"])
    z = slow_run(np.eye(2), form, start, p["t_end"], dt=0.01)
    assert_allclose(figure.axes[0].collections[-1].get_offsets(), z, atol=1e-3)  # the discs
    found = len(np.unique(z.round(1), axis=0))
    assert f"number 0: {found} point" in figure.caption
    least = np.linalg.eigvalsh((form + form.T) / 2)[0]
    assert f"{least:.2f} to".replace("-", "\N{MINUS SIGN}") in figure.axes[0].get_title()
    assert "8 of the 8 triples fail" in figure.caption


def test_relu_lets_coordinates_grow_only():
    """In the printed form, which the figure draws when it is asked for."""
    V, start = PAPER_B["hyperplanes-2d"], cube(20, 2, 5.0, seed=0)
    name, words, layer = variants.layers(1)[0]
    z = variants.layered(V, layer, start, np.linspace(0, 4, 9), "printed")
    assert np.diff(z, axis=0).min() > -80 * 1e-6 * np.abs(z).max()  # what simulate promises at a kink of ReLU
    assert "ReLU" in name
    assert words == "ReLU, W = I"
    with pytest.raises(SpecError, match="unknown form 'print'"):
        variants.layered(V, layer, start, np.linspace(0, 4, 9), "print")


def test_the_feed_forward_figure_shows_what_the_paper_reports(drawn):
    """Levels {0, b} with ReLU and W = I; with tanh, and with the random W, everything goes to 0."""
    caption = drawn["emergence/feedforward"].caption
    sizes = [float(v) for v in re.findall(r"\|z\| is at most ([\d.e+-]+) \(", caption)]
    assert sizes[0] > 4
    assert max(sizes[1:]) < 0.05 * sizes[0]
    assert "phi_1* takes 2 values" in between(caption, "ReLU, W = I:", "tanh, W = I:")
    assert "x_i' = W sigma(V sum_j P_ij x_j)" in caption


def test_no_panel_of_any_form_is_a_polygon(drawn):
    assert "All 8 panels end at one or two points, none at a polygon." in drawn["emergence/generic-qk"].caption


def test_parameters_can_be_changed():
    figure = flock.figure("emergence/leaders", quick=True, threshold=0.01)
    assert "P_ij > 0.01" in figure.caption
    with pytest.raises(SpecError, match=r"unknown parameter of figure emergence/leaders 'treshold'. Did you mean"):
        flock.figure("emergence/leaders", treshold=0.1)


def test_leaders_are_those_of_the_analysis():
    P = emergence_attention.on_the_line(10, (9.0,), 0)[0]
    assert attention.leaders(P).columns == (0, 9)
    assert_array_equal(np.sort(P, axis=1)[:, -1].round(12), np.ones(10))
