"""The bundle that the package carries is made from the sources in web/, and from nothing else."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from serving import unpack

from tokenflock.explorer.assets import asset, opening, presets
from tokenflock.explorer.presets import PRESETS
from tokenflock.explorer.session import Session

WEB = Path(__file__).parents[2] / "web"
in_the_tree = pytest.mark.skipif(not (WEB / "src").is_dir(), reason="web/ is not installed: run from the source tree")


@in_the_tree
def test_the_bundle_says_what_it_is_made_from():
    names = ["build.mjs", "package-lock.json", *(f"src/{path.name}" for path in (WEB / "src").iterdir())]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode())
        digest.update((WEB / name).read_bytes())
    stamp = re.search(rb"sources ([0-9a-f]{64})", asset("explorer.js")[:400])
    assert stamp, "the banner of the bundle is missing"
    assert stamp.group(1).decode() == digest.hexdigest(), "web/ has changed: run `make web`"


@in_the_tree
def test_a_new_build_is_the_same_bundle(tmp_path):
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules/esbuild").is_dir():
        pytest.skip("no Node or no web/node_modules: `make web` installs them")
    made = tmp_path / "explorer.js"
    subprocess.run([node, "build.mjs", str(made)], cwd=WEB, check=True, timeout=120)
    assert made.read_bytes() == asset("explorer.js")


@in_the_tree
def test_the_types_are_checked():
    checker = WEB / "node_modules/.bin/tsc"
    if not checker.is_file():
        pytest.skip("no web/node_modules: `make web` installs it")
    done = subprocess.run([checker, "--noEmit"], cwd=WEB, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout


@in_the_tree
def test_no_source_is_long():
    for path in (WEB / "src").glob("*.ts"):
        assert len(path.read_text().splitlines()) <= 400, path.name


def test_the_bundle_asks_no_network():
    text = asset("explorer.js").decode()
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    # Names of formats and documentation inside three.js; none is ever asked.
    assert hosts <= {"www.w3.org", "threejs.org", "github.com", "jcgt.org", "developer.mozilla.org", "localhost"}, hosts


def test_the_page_carries_the_first_frame_of_its_first_preset():
    held = json.loads(re.search(rb'id="tokenflock-first">(.*?)</script>', opening(), re.DOTALL).group(1))
    session = Session()
    told = json.loads(json.dumps(session.begin(held["preset"]["spec"])))
    while not session.measured:
        session.work()
    assert close_to(held["began"], told), "presets or measures have changed: run `make web`"
    ours, theirs = unpack(session.packet(0)), unpack(base64.b64decode(held["packet"]))
    for name in ("x", "labels", "measures"):
        np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-5, atol=1e-6)
    assert held["preset"]["name"] in {preset.name for preset in PRESETS}


def close_to(a, b):
    """Two messages, up to the last digits of their numbers."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close_to(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close_to, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a == pytest.approx(b, rel=1e-9, abs=1e-9)
    return a == b


def test_every_preset_has_its_picture():
    pictures = json.loads(asset("pictures.json"))
    assert set(pictures) == {preset.name for preset in PRESETS}
    for shown in presets()["presets"]:
        assert shown["sentence"].endswith(".")
        assert 3 <= len(shown["picture"]["points"]) <= 200
        assert all(0 <= x <= 1000 and 0 <= y <= 1000 for x, y, _ in shown["picture"]["points"])
