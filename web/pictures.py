"""Draws the pictures of the gallery: how the run of every preset ends, as a few points and paths. And the first frame
of the first preset, which the page carries so that it can draw before anything is computed.

python web/pictures.py           writes pictures.json and first.json of src/tokenflock/explorer/static (a minute)
python web/pictures.py first     writes first.json only
"""

import base64
import json
import math
import sys
from pathlib import Path

import numpy as np

from tokenflock.analysis import polytope
from tokenflock.explorer.presets import PRESETS
from tokenflock.explorer.session import Session

STATIC = Path(__file__).parents[1] / "src/tokenflock/explorer/static"
FIRST = "renyi-centers"
POINTS, PATHS, STEPS = 90, 28, 14
RADIUS = 420  # of the circle in a picture of 1000 x 1000
UP, ACROSS = 1.15, 0.65  # radians: where the page looks from


def flatten(x, scale):
    """Tokens (n, 2 or 3) on paper, as whole numbers."""
    if x.shape[1] == 3:
        c, s = math.cos(ACROSS), math.sin(ACROSS)
        right, towards = c * x[:, 0] - s * x[:, 2], s * x[:, 0] + c * x[:, 2]
        c, s = math.sin(UP), math.cos(UP)
        x = np.stack([right, c * x[:, 1] - s * towards], axis=1)
    return np.round(500 + RADIUS * scale * x * [1, -1]).clip(0, 1000).astype(int)


def picture(preset):
    """One preset: run it and draw its end."""
    session = Session()
    session.begin(preset.spec)
    while session.work():
        pass
    last, model = session.measured - 1, session._model
    step = max(1, session._frames.shape[1] // POINTS)
    shown = [session._projection(session._frames[k, :, : model.dim]) for k in np.linspace(0, last, STEPS).astype(int)]
    sphere = model.space == "sphere" and model.dim <= 3
    scale = preset.view.get("zoom", 1.0) if sphere else 0.95 / max(1e-9, np.abs(shown[-1]).max())
    if not sphere and np.abs(shown[-1]).max() < 0.2 * np.abs(shown[0]).max():
        scale = 0.95 / np.abs(shown[0]).max()
    labels = session._labels[last]
    firsts = {int(label): int(np.argmax(labels == label)) for label in np.unique(labels)}
    points = flatten(shown[-1][::step], scale)
    found = {
        "kind": "open" if not sphere else "circle" if model.dim == 2 else "sphere",
        "points": [[*map(int, p), firsts[int(c)]] for p, c in zip(points, labels[::step], strict=True)],
    }
    every = max(1, len(points) // PATHS)
    tracks = np.stack([flatten(x[::step][::every], scale) for x in shown], axis=1)
    found["paths"] = [track.ravel().tolist() for track in tracks] if not (sphere and model.dim == 2) else []
    if preset.view.get("hull") and model.dim == 2:
        corners = polytope.hull(shown[-1], tolerance=1e-4).vertices
        middle = corners.mean(axis=0)
        around = np.argsort(np.arctan2(*(corners - middle).T[::-1]))
        found["hull"] = flatten(corners[around], scale).ravel().tolist()
    return found


def first():
    """What the page opens with: the preset, what is told of its run, and the packet of its first frame."""
    preset = next(p for p in PRESETS if p.name == FIRST)
    session = Session()
    told = session.begin(preset.spec)
    while not session.measured:
        session.work()
    packet = base64.b64encode(session.packet(0)).decode()
    return {"preset": {**preset.described(), "picture": None}, "began": told, "packet": packet}


def write(name, found):
    """One file of the page."""
    path = STATIC / name
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print(f"wrote {path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    write("first.json", first())
    if sys.argv[1:] != ["first"]:
        write("pictures.json", {p.name: picture(p) for p in PRESETS})
