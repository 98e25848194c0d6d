"""Recordings: in a file, in a notebook, and through the command line."""

import base64
import html.parser
import json
import re
import zlib

import numpy as np
import pytest
from serving import unpack, until
from typer.testing import CliRunner

import tokenflock as flock
from tokenflock import accessor
from tokenflock.cli import app
from tokenflock.errors import FileError, SpecError
from tokenflock.explorer import frames, widget
from tokenflock.explorer.export import export, page
from tokenflock.explorer.recording import record


@pytest.fixture(scope="module")
def run():
    return flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(50, 3, seed=2), t_end=10.0)


def replay(data, head):
    """The slow definition of what the page does: see web/src/packets.ts."""
    body = zlib.decompress(data)
    count, n, axes = head["frames"], head["n"], head["axes"]
    at = 8 * count * head["measures"]
    measures = np.frombuffer(body[:at], "<f8").reshape(count, -1)
    planes = []
    for _ in range(axes + 1):
        high = np.frombuffer(body, np.uint8, count * n, at).astype(np.int64)
        low = np.frombuffer(body, np.uint8, count * n, at + count * n)
        folded = ((high << 8) | low).reshape(count, n)
        planes.append(np.cumsum((folded >> 1) ^ -(folded & 1), axis=0) & 0xFFFF)
        at += 2 * count * n
    assert at == len(body)
    steps = np.stack(planes[:axes], axis=-1).astype(np.uint16).view(np.int16)
    return steps * np.array(head["scales"])[:, None, None] / frames.STEPS, planes[axes], measures


def test_a_recording_holds_positions_to_16_bits(run):
    held = record(run)
    x, labels, measures = replay(held["data"], held["head"])
    assert np.abs(x - run["x"].values).max() <= 0.5 / frames.STEPS * (1 + 1e-9)
    assert measures[-1, 0] == labels[-1].max() + 1
    assert held["began"]["times"] == run["time"].values.tolist()


def test_frames_of_any_size_are_recorded():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 20, 2)) * np.array([1e-9, 1, 3, 100, 1e8, 1e30, 0])[:, None, None]
    labels = rng.integers(0, 70_000, (7, 20))
    data, scales = frames.record(x, labels, np.zeros((7, 1)))
    found, groups, _ = replay(data, {"frames": 7, "n": 20, "axes": 2, "measures": 1, "scales": scales})
    for k in range(7):
        assert np.abs(found[k] - x[k]).max() <= 0.5 * scales[k] / frames.STEPS * (1 + 1e-9)
        assert scales[k] <= max(1.0, 2 * np.abs(x[k]).max()) or np.abs(x[k]).max() == 0
    np.testing.assert_array_equal(groups, np.minimum(labels, frames.MOST_LABELS))


def test_one_file_with_everything_and_nothing_else(run, tmp_path):
    path = export(run, tmp_path / "run.html", title="A <b>run</b> & more")
    text = path.read_text()
    assert "<title>A &lt;b&gt;run&lt;/b&gt; &amp; more</title>" in text
    assert "default-src 'none'" in text
    assert text.count("</script>") == 2, "nothing inside a script may look like its end"
    held = json.loads(re.search(r'id="tokenflock-run">(.*?)</script>', text, re.DOTALL).group(1))
    assert base64.b64decode(held["data"]) == record(run)["data"]
    assert held["statement"]["name"] == "causal/theorem-4.1"
    assert not re.search(r'(src|href)="(?!data:)', text.partition('<script type="module">')[0])


HOSTILE = (
    "<!--<script>",
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "\u2028",
    '"><svg onload=alert(1)>',
)


class Scripts(html.parser.HTMLParser):
    """The tags of a page, as a browser sees them, and what stands inside of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside += [""] if tag == "script" else []

    def handle_data(self, data):
        if self.lasttag == "script" and self.inside:
            self.inside[-1] += data


@pytest.mark.parametrize("words", HOSTILE)
def test_no_word_of_a_run_breaks_out_of_its_page(run, words):
    changed = run.assign_attrs(outcome=words, scheme=words)
    seen, usual = Scripts(page(changed, title=words)), Scripts(page(run))
    assert seen.tags == usual.tags
    assert not re.search("<!--|<script|</", seen.inside[0], re.IGNORECASE), "a browser looks for these inside of it"
    held = json.loads(seen.inside[0])
    assert (held["ended"], held["title"], held["began"]["spec"]["simulate"]["scheme"]) == (words, words, words)


@pytest.mark.parametrize(("name", "given"), [("schema", "x"), ("seed", "x"), ("rtol", "x"), ("dt", "x"), ("seed", 0.5)])
def test_numbers_of_a_changed_file_that_are_none_are_named(run, name, given, tmp_path):
    changed = run.assign_attrs({name: given})
    with pytest.raises(SpecError, match=f"{name} = .* the number that flock.save wrote"):
        page(changed)
    flock.save(run, tmp_path / "run.zarr")
    root = tmp_path / "run.zarr" / "zarr.json"
    told = json.loads(root.read_text())
    told["attributes"][name] = given
    root.write_text(json.dumps(told))
    done = CliRunner().invoke(app, ["explore", "--export", str(tmp_path / "run.zarr"), str(tmp_path / "page.html")])
    assert done.exit_code == 2
    assert "zarr.json' is damaged" in done.output


def test_five_hundred_frames_of_a_thousand_tokens_are_under_five_megabytes(tmp_path):
    start = flock.uniform(1000, 3, seed=1)
    run = flock.simulate(flock.Model(dim=3, beta=9.0), start, t_end=20.0, times=np.linspace(0, 20, 500), rtol=1e-4)
    assert export(run, tmp_path / "run.html").stat().st_size < 5e6


def test_a_long_run_is_thinned(run):
    held = record(run, most=10)
    assert held["head"]["frames"] == 10
    assert held["began"]["times"][0] == 0.0
    assert held["began"]["times"][-1] == 10.0


def test_what_cannot_be_exported_is_refused(run, tmp_path):
    with pytest.raises(FileError, match=r"names ending in \.html"):
        export(run, tmp_path / "run.pdf")
    with pytest.raises(FileError, match="does not exist"):
        export(run, tmp_path / "no" / "run.html")
    (tmp_path / "there.html").write_text("old")
    with pytest.raises(FileError, match="overwrite=True"):
        export(run, tmp_path / "there.html")
    assert (tmp_path / "there.html").read_text() == "old"
    assert export(run, tmp_path / "there.html", overwrite=True).stat().st_size > 1e5
    ensemble = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2, runs=3), t_end=1.0)
    with pytest.raises(SpecError, match="an integer from 0 to 2"):
        page(ensemble)
    assert record(ensemble, 2)["began"]["n_tokens"] == 5
    with pytest.raises(SpecError, match="one that kept them"):
        record(flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 1.0, reduce={"m": np.mean}, positions=False))


def test_the_command_exports(run, tmp_path):
    flock.save(run, tmp_path / "run.zarr")
    done = CliRunner().invoke(app, ["explore", "--export", str(tmp_path / "run.zarr"), str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert "wrote" in done.output
    assert (tmp_path / "page.html").stat().st_size < 2e6
    for arguments, words in (
        (["explore", "--export"], "needs a saved run and a file"),
        (["explore", "run.zarr", "page.html"], "PAGE.HTML and no --export"),
        (["explore", "--export", str(tmp_path / "run.zarr"), str(tmp_path / "page.html")], "exists"),
    ):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 2
        assert words in done.output


def test_a_widget_holds_the_recording(run):
    pytest.importorskip("anywidget")
    shown = widget.view(run, height=500)
    assert not shown.live
    assert shown.height == 500
    assert shown.data == record(run)["data"]
    accessor.register()
    accessor.register()  # twice does no harm
    assert run.flock.view().data == shown.data
    with pytest.raises(SpecError, match="a trajectory, a run as in"):
        widget.view(3)


def test_a_live_widget_computes_and_lets_go():
    pytest.importorskip("anywidget")
    spec = {"model": {"dim": 2}, "start": {"n_tokens": 9}, "simulate": {"t_end": 2.0, "times": 5}}
    shown = widget.view(spec)
    said = []
    shown.send = lambda content, buffers=None: said.append(unpack(buffers[0]) if buffers else content)
    shown._connection.heard(shown, {"type": "start", "spec": shown.meta["spec"]}, [])
    until(lambda: any(m.get("type") == "ended" for m in said), "the run ends")
    assert [m["frame"] for m in said if "x" in m] == [0, 1, 2, 3, 4]
    thread = shown._connection._thread
    shown.close()
    assert not thread.is_alive()


def test_hidden_states_are_measured_but_nothing_is_predicted_of_them():
    origin = flock.transformer.record.Origin({"name": "tiny"}, True, "post", "numpy")
    hidden = np.random.default_rng(0).normal(size=(4, 6, 9))
    told = record(flock.transformer.record.trajectory(hidden, origin))["began"]
    assert told["atlas"]["row"] == told["atlas"]["claim"] == ""
    assert "weights of their own" in told["atlas"]["notes"][0]
    assert "lasting" in told["measures"]
