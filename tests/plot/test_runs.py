"""Figures and films of runs, the laws of sweeps, and barcodes."""

import matplotlib
import numpy as np
import pytest
from PIL import Image

import tokenflock as flock
from tokenflock.analysis import clusters
from tokenflock.errors import FileError, SpecError
from tokenflock.plot import films, tables

matplotlib.use("Agg")
SHORT = {"times": [0.0, 0.5, 1.0, 2.0], "engine": "reference"}  # nothing to compile
RUNS = {
    "circle": lambda: flock.simulate(flock.Model(dim=2, beta=9.0), flock.uniform(9, 2, seed=0), 2.0, **SHORT),
    "sphere": lambda: flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(9, 3, seed=0), 2.0, **SHORT),
    "many": lambda: flock.simulate(flock.Model(dim=7, beta=9.0), flock.uniform(9, 7, seed=0), 2.0, **SHORT),
    "space": lambda: flock.simulate(flock.Model(dim=3, space="euclidean"), flock.uniform(9, 3), 2.0, **SHORT),
    "line": lambda: flock.simulate(flock.Model(dim=1, space="euclidean"), [[0.2], [0.4]], 2.0, **SHORT),
    "alone": lambda: flock.simulate(flock.Model(dim=3), flock.uniform(1, 3), 2.0, **SHORT),
    "long": lambda: RUNS["circle"]().assign_coords(time=[0.0, 1.0, 1e3, 1e6]),
}


@pytest.mark.parametrize("kind", RUNS)
def test_every_run_draws_itself(kind):
    run = RUNS[kind]()
    figure = run.flock.plot()
    figure.canvas.draw()
    assert len(figure.axes) == 3
    assert f"{run.sizes['token']} tokens in dimension {run.sizes['axis']}" in figure.caption
    assert figure.axes[1].get_xscale() == ("log" if kind == "long" else "linear")


def test_the_last_panel_shows_the_number_of_clusters():
    run = RUNS["circle"]()
    ax = run.flock.plot().axes[2]
    shown = ax.lines[0].get_ydata()
    radius = float(ax.get_title().rpartition(" ")[2])
    assert shown[-1] == clusters.count(run.isel(time=-1), radius)
    assert len(shown) == run.sizes["time"]


@pytest.mark.parametrize("kind", ["circle", "sphere", "many"])
def test_a_film_is_whole_and_moves(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(films, "HOLD", 2)
    path = RUNS[kind]().flock.animate(tmp_path / "run.gif")
    with Image.open(path) as film:
        assert film.n_frames == 4
        film.seek(0)
        first = np.asarray(film.convert("RGB"))
        film.seek(3)
        assert not np.array_equal(first, np.asarray(film.convert("RGB")))
    assert [p.name for p in tmp_path.iterdir()] == ["run.gif"]


def test_one_run_of_an_ensemble_is_drawn():
    start = np.stack([flock.uniform(6, 2, seed=s) for s in range(3)])
    ensemble = flock.simulate(flock.Model(dim=2), start, 1.0, times=[0.0, 1.0], engine="reference")
    assert "Run 2 of the ensemble" in ensemble.flock.plot(2).caption
    for which in (3, -1, True, "1"):
        with pytest.raises(SpecError, match=r"which = .* whole number from 0 to 2"):
            ensemble.flock.plot(which)


def test_frames_that_are_not_finite_are_left_out():
    run = RUNS["circle"]()
    run["x"].values[2:] = np.nan
    assert "to t = 0.5" in run.flock.plot().caption


def sweep(**more):
    model = flock.Model(dim=2, mask="full")
    return flock.sweep(
        model, {"beta": [1.0, 4.0, 16.0, 64.0]}, t_end=1.0, workers=0, progress=False, engine="reference", **more
    )


def test_a_table_draws_its_law_with_intervals_and_slope():
    table = sweep(n_tokens=8, replicates=3)
    table["clusters"] = (table["clusters"].dims, 2.0 * table["beta"].values[:, None] ** 0.5 * np.ones((4, 3)))
    figure = table.flock.plot()
    ax = figure.axes[0]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert "slope 0.5 [0.5, 0.5]" in figure.caption
    assert "means of 3 replicates with 95 % intervals" in figure.caption
    table["clusters"][0] = 0.0  # no logarithm: no fit, linear scales
    figure = flock.plot.law(table, of="clusters", along="beta")
    assert "slope" not in figure.caption
    assert figure.axes[0].get_yscale() == "linear"


def test_runs_that_failed_do_not_count():
    table = sweep(n_tokens=8, replicates=3)
    table["clusters"] = (table["clusters"].dims, np.ones((4, 3)) * np.array([[1.0], [2.0], [4.0], [8.0]]))
    table["clusters"][:, 0] = 1e9
    table["outcome"][:, 0] = -2
    figure = flock.plot.law(table)
    assert "slope 0.5 [0.5, 0.5]" in figure.caption


def test_a_second_axis_becomes_lines():
    model = flock.Model(dim=2, mask="full")
    table = flock.sweep(
        model, {"beta": [1.0, 4.0], "n_tokens": [4, 8]}, t_end=1.0, workers=0, progress=False, engine="reference"
    )
    assert "n_tokens = 4" in flock.plot.law(table, along="beta").axes[0].get_legend().texts[0].get_text()


def test_what_cannot_be_drawn_is_refused(tmp_path):
    run, table = RUNS["circle"](), sweep(n_tokens=4)
    for call, words in (
        (lambda: flock.plot.draw(run["x"].values), "run = 'ndarray'.*a trajectory"),
        (run.drop_vars("x").flock.plot, "without positions in time"),
        (lambda: run.flock.plot(1), "which = 1.*a single run"),
        (lambda: run.flock.plot(of="clusters"), "of = 'clusters'.*table of a sweep"),
        (lambda: table.flock.plot(1), "which = 1.*draws all runs"),
        (lambda: table.flock.plot(of="cluster"), "unknown quantity of the table 'cluster'. Did you mean 'clusters'"),
        (lambda: table.flock.plot(along="betta"), "unknown axis of numbers 'betta'. Did you mean 'beta'"),
        (lambda: flock.plot.law(run), "table = .*flock.sweep"),
    ):
        with pytest.raises(SpecError, match=words):
            call()
    with pytest.raises(FileError, match=r"Allowed: names ending in .gif or .mp4"):
        run.flock.animate(tmp_path / "run.avi")
    with pytest.raises(AttributeError, match="has no attribute 'drawn'"):
        flock.plot.drawn  # noqa: B018
    assert tables.KIND == table.attrs["kind"]


def test_a_barcode_shades_what_lasts():
    x = flock.geometry.circle(np.array([0.0, 0.01, 0.02, 2.0, 2.01, 2.02]))
    figure = flock.plot.persistence(x)
    figure.canvas.draw()
    assert figure.caption.startswith("2 clusters for radii from 0.01 to ")
    assert flock.plot.persistence(x[:1]).caption.startswith("1 cluster")
