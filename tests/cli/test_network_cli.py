"""tokenflock network: one report of a trained model, and a sentence for everything that can be wrong."""

import functools
import html
import json
import re
import shutil
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import tokenflock as flock
from tiny_networks import tiny
from tokenflock import plot
from tokenflock.cli import app
from tokenflock.errors import install_command
from tokenflock.papers.report import network_study
from trained import needs, trained

SMALL = network_study.Sizes(n_tokens=12, n_texts=2, samples=60, simulated=8, rare=())
SECTIONS = (
    "What came out", "The network", "Spectra of the value matrices", "Heads by row of the atlas", "Good triples",
    "Every head", "By chance?", "Predicted and simulated, head by head", "Overlaps, layer by layer",
    "At what beta it runs, and for how long", "Prediction against what happens", "What interpretability measures",
    "Hidden states of the model", "Which part gathers the tokens", "What the theory leaves out",
)  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Tiny networks on disk: weights shared or not, texts or images. Their sizes are those of the tests, not ours."""
    pytest.importorskip("transformers", reason="torch and transformers are not installed")
    place = tmp_path_factory.mktemp("networks")
    for name in ("albert", "gpt2", "vit"):
        tiny(name, spread=0.3).save_pretrained(place / name)
    return place


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small sizes, and one format of every figure: writing all of them is most of the time, and tested elsewhere."""
    monkeypatch.setattr("tokenflock.papers.report.network.QUICK", SMALL)
    monkeypatch.setattr("tokenflock.plot.save", functools.partial(plot.save, formats=("svg",)))


def call(*words):
    return CliRunner().invoke(app, ["network", *map(str, words)])


def sentence(found):
    return re.sub(r"\s+", " ", found.stderr)


@pytest.mark.filterwarnings("ignore")
def test_nothing_that_a_model_says_becomes_a_tag_of_its_report(folders, tmp_path):
    """Its configuration and the name of its folder are words of others."""
    hostile = "<img src=x onerror=alert(1)>"
    place = tmp_path / "<script>alert(2)<script>"
    shutil.copytree(folders / "albert", place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | {"position_embedding_type": hostile}))
    found = call(place, "--out", tmp_path / "out", "--quick")
    assert found.exit_code == 0, found.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert hostile not in page
    assert html.escape(hostile) in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(2)" in page


@pytest.mark.filterwarnings("ignore")
def test_a_report_on_a_disk_that_takes_no_more_is_a_sentence(folders, tmp_path, monkeypatch):
    """The limit of a file's size stands for that of the disk. PDF was written in its place, and a cut one stayed."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("tokenflock.plot.save", functools.partial(plot.save, formats=("pdf",)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, before[1]))
    try:
        found = call(folders / "albert", "--out", tmp_path / "out", "--quick")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert found.exit_code == 1, found.output
    assert re.search(r"^error: .*File too large\. .*\.$", found.stderr, re.MULTILINE)
    assert "Traceback" not in found.output
    assert [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.filterwarnings("ignore")
def test_a_report_of_a_network_that_shares_its_weights(folders, tmp_path):
    found = call(folders / "albert", "--out", tmp_path / "out", "--quick", "--json", tmp_path / "numbers.json")
    assert found.exit_code == 0, found.output
    assert f"wrote {tmp_path / 'out' / 'report.html'}" in found.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f"<h2>{title}</h2>" in page for title in SECTIONS)
    assert page.count("<img") == 9
    assert "http" not in re.sub(r"data:image/[^\"]*", "", page), "the page must need nothing from elsewhere"
    facts = json.loads((tmp_path / "numbers.json").read_text())
    assert facts == json.loads((tmp_path / "out" / "network.json").read_text())
    assert facts["hidden_states"]["by"] == "transformers"
    assert facts["hidden_states"]["blocks_differ_by"] < 1e-12
    assert len(facts["hidden_states"]["overlap"]) == 4
    assert len(facts["ablations"]["all of it"]["overlap"]) == 31, "ten times the depth"
    assert sum(facts["rows"].values()) == len(facts["heads"]) == len(facts["predicted_and_simulated"]) == 4
    assert facts["chance_of_these"]["samples"] >= 60
    assert "random tokens of the model's own vocabulary, seed 0" in facts["read"]
    run = flock.load(tmp_path / "out" / "states.zarr")
    assert run["x"].shape == (4, 12, 16)
    again = call(folders / "albert", "--out", tmp_path / "out", "--quick")
    assert again.exit_code == 2
    assert "exists. Choose another --out, or allow it with --overwrite" in sentence(again)


@pytest.mark.filterwarnings("ignore")
def test_a_report_without_torch_says_what_to_install(folders, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    (tmp_path / "ids.txt").write_text("5 6 7 8\n9 10 11\n")
    words = ("--ids", tmp_path / "ids.txt", "--layers", "1", "--quick", "--json", "-")
    found = call(folders / "gpt2", "--out", tmp_path / "out", *words)
    assert found.exit_code == 0, found.output
    facts = json.loads(found.stdout)
    assert facts["hidden_states"]["by"] == "numpy"
    assert facts["hidden_states"]["blocks_differ_by"] is None
    page = (tmp_path / "out" / "report.html").read_text()
    assert html.escape(install_command("hidden")) in page
    assert page.count("<img") == 10, "layers differ: a figure of them all"
    assert {item["layer"] for item in facts["predicted_and_simulated"]} == {1}
    assert {row["layer"] for row in facts["heads"]} == {0, 1}
    assert "2 lines of token ids" in facts["read"]


@pytest.mark.filterwarnings("ignore")
def test_networks_of_images_read_noise(folders):
    made = network_study.study(folders / "vit", sizes=SMALL)
    assert made.apart < 1e-6
    assert made.runs[0].sizes["token"] == 17
    assert "images of Gaussian noise" in made.read


def test_bad_input_is_one_sentence(folders, tmp_path):
    (tmp_path / "long.txt").write_text("5 " * 33)
    (tmp_path / "one.txt").write_text("5\n")
    (tmp_path / "text.txt").write_text("a text\n")
    (tmp_path / "empty").mkdir()
    out = ("--out", tmp_path / "out", "--quick")
    cases = {
        "--out is missing": (folders / "albert",),
        "--text and --ids cannot be combined": (folders / "albert", "--text", "a", "--ids", "b", *out),
        "--layers = '0;1' cannot be used. Allowed: numbers of layers": (folders / "albert", "--layers", "0;1", *out),
        "layers = [7] cannot be used. Allowed: some of 0 to 1": (folders / "gpt2", "--layers", "7", *out),
        "--seed = 'x' cannot be used": (folders / "albert", "--seed", "x", *out),
        "the length of line 1 = 33 cannot be used. Allowed: at most 32 tokens": (
            folders / "albert", "--ids", tmp_path / "long.txt", *out),
        "line 1 has 1 token": (folders / "albert", "--ids", tmp_path / "one.txt", *out),
        "has no tokenizer": (folders / "albert", "--text", tmp_path / "text.txt", *out),
        "reads images, not texts": (folders / "vit", "--text", tmp_path / "text.txt", *out),
        "should hold one model and holds: nothing of the kind": (tmp_path / "empty", *out),
        "no weights at": (tmp_path / "none", *out),
    }  # fmt: skip
    for words, given in cases.items():
        found = call(*given)
        assert found.exit_code == 2, (words, found.output)
        assert words in sentence(found), sentence(found)
        assert "Traceback" not in found.output
        assert not (tmp_path / "out" / "report.html").exists()


def test_help_teaches():
    found = CliRunner().invoke(app, ["network", "--help"], env={"COLUMNS": "120"})
    assert found.exit_code == 0
    for words in ("tokenflock network", "--text", "--layers", "ten times as deep", "No code of a model"):
        assert words in re.sub(r"\s+", " ", found.stdout)


@needs("rxnmapper")
@pytest.mark.filterwarnings("ignore")
def test_attention_alone_takes_the_tokens_of_the_trained_albert_to_its_subspace(tmp_path):
    """The theory on real weights: attention alone gathers all tokens in the L of the value matrices; the model not."""
    made = network_study.study(trained("rxnmapper"), sizes=SMALL)
    alone, whole = made.ablations["attention alone, on the sphere"], made.ablations["all of it"]
    assert alone["inside"][-1] > 0.99
    assert alone["clusters"][-1] <= 2
    assert whole["inside"][-1] < 0.5
    assert whole["clusters"][12] > 10
    judged = {item["head"]: item["flow"].agrees for item in made.simulated}
    positive = made.heads["lambda_max"].values.real[0] > 0
    assert [judged[h] for h in np.flatnonzero(positive)] == [True] * 6
    assert made.chances[32].seen == 0
