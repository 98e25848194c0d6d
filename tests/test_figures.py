"""The figures and the report: complete, legible, made again only when something changed, and self-contained."""

import json
import re

import numpy as np
import pytest

import tokenflock as flock
from tokenflock import figures, plot, report
from tokenflock.errors import FileError, SpecError
from tokenflock.geometry import circle


@pytest.fixture(scope="module")
def drawn():
    return {name: figures.figure(name, quick=True) for name in figures.NAMES}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return report.reproduce(tmp_path_factory.mktemp("out"), quick=True)


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_figure_says_what_it_shows_and_how_to_make_it_again(drawn, name):
    figure = drawn[name]
    assert "arXiv:" in figure.caption
    assert "Ours, not the paper's" in figure.caption
    assert "quick version" in figure.caption
    assert figure.parameters == figures.parameters(name, quick=True)
    assert isinstance(figure.parameters["seed"], int)


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


def test_the_report_is_one_file_that_needs_nothing_else(made):
    text = made.read_text(encoding="utf-8")
    targets = re.findall(r"""(?:src|href|srcset|action|poster|data)\s*=\s*["']?([^"'\s>]+)""", text)
    assert len(targets) >= len(figures.NAMES)
    assert all(target.startswith("data:") for target in targets)
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
    stale = made.parent / "tables" / "center-counts.json"
    stale.write_text(stale.read_text(encoding="utf-8").replace('"seed": 0', '"seed": 1'), encoding="utf-8")
    (made.parent / "figures" / "causal-2.svg").unlink()
    report.reproduce(made.parent, quick=True)
    said = capsys.readouterr().err
    assert said.count("up to date") == 1
    assert "center-counts ... up to date" not in said


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        report.reproduce(tmp_path / "out")
