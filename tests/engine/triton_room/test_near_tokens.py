"""The sums over near tokens of benchmarks/near_tokens.py: torch's against the model, Triton's against torch's."""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import tokenflock as flock
from interpreted import DEVICE, ON_DEVICE, torch
from tokenflock.analysis import clusters
from tokenflock.papers.studies.effective_dimension import tokens_a_ball

ROOT = Path(__file__).parents[3]
BETA, RADIUS = 60.0, 0.25 / math.sqrt(60.0)


@pytest.fixture(scope="module")
def benchmarks():
    """The modules of benchmarks/."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield {name: importlib.import_module(name) for name in ("near_tokens", "filled_balls")}
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def of(benchmarks, start, kernels=False, gap=1.0, **how):
    """The crowd of starts (runs, n, d) with d - 1 leading directions."""
    d = start.shape[-1]
    dtype = torch.float32 if kernels else torch.float64
    tokens = torch.tensor(np.array(start), dtype=dtype, device=DEVICE if kernels else "cpu")
    leading = d - 1 if gap else d
    value = [1.0] * (d - 1) + [1.0 - gap]
    return benchmarks["near_tokens"].crowd(tokens, BETA, value, leading, kernels=kernels, **how)


def in_order(these):
    """Tokens (runs, n, d) in causal order."""
    x = these.x.cpu().numpy().reshape(len(these.x), these.runs, -1)
    number = these.number.cpu().numpy().reshape(these.runs, -1)
    return np.stack([x[:, r, np.argsort(number[r])[: these.n]].T for r in range(these.runs)])


@pytest.mark.parametrize("gap", [1.0, 0.0])
def test_runs_follow_those_of_all_tokens(benchmarks, gap):
    start = flock.uniform(90, 4, seed=1, runs=2)
    these = of(benchmarks, start, gap=gap)
    assert these.left_out(90) < 2e-6
    found = benchmarks["near_tokens"].follow(these, (3.0, 6.0), 0.125, RADIUS)
    model = flock.Model(dim=4, beta=BETA, value=np.diag([1.0, 1.0, 1.0, 1.0 - gap]))
    full = flock.simulate(model, start, 6.0, times=[3.0, 6.0], progress=False)["x"].values
    off = np.linalg.norm(in_order(these) - full[:, 1], axis=-1) * math.sqrt(BETA)
    assert np.median(off) < 1e-5
    assert off.max() < 1e-2
    assert found["all"] == clusters.count(full, RADIUS).tolist()
    assert found["half"] == clusters.count(full[:, :, :45], RADIUS).tolist()
    assert min(map(min, found["all"])) < 80  # some have met


def test_too_short_a_reach_is_seen(benchmarks):
    start = flock.uniform(90, 4, seed=1, runs=1)
    assert of(benchmarks, start, reach=2.0).left_out(90) > 1e-2


def test_lists_hold_every_near_pair_and_keep_runs_apart(benchmarks):
    these = of(benchmarks, flock.uniform(200, 4, seed=2, runs=2))
    tile = benchmarks["near_tokens"].TILE
    x, tiles = these.x.numpy(), these.x.shape[1] // tile
    listed = np.zeros((tiles, tiles), dtype=bool)
    for a, b in zip(*(part.numpy() for part in these._pairs()), strict=True):
        listed[a, b] = True
    gap = np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(0)) * math.sqrt(BETA)
    near = (gap <= these.reach).reshape(tiles, tile, tiles, tile).any(axis=(1, 3))
    same = np.arange(tiles) // (these.room // tile)
    near &= same[:, None] == same[None]
    assert (listed | ~near).all()
    assert not listed[same[:, None] != same[None]].any()


def test_kernels_do_what_torch_does(benchmarks):
    start = flock.uniform(70, 4, seed=3, runs=2)
    plain, fast = of(benchmarks, start), of(benchmarks, start, kernels=True)
    assert fast.left_out(70) < 1e-5
    for _ in range(2):
        plain.step(0.25)
        fast.step(0.25)
    off = np.abs(in_order(plain) - in_order(fast)).max()
    assert off < 1e-5
    wide = 4 * RADIUS  # so that there are chains
    for part in (1.0, 0.5):
        assert plain.clusters(wide, part) == fast.clusters(wide, part)
    assert plain.clusters(wide) == clusters.count(in_order(plain), wide).tolist()
    assert max(plain.clusters(wide)) < 68


@pytest.mark.skipif(ON_DEVICE, reason="its sizes are those of a processor")
def test_the_recipe_fills_every_ball_and_goes_on_where_it_was(benchmarks, monkeypatch, tmp_path):
    recipe = benchmarks["filled_balls"]
    cells = dict(recipe.plan())
    assert max(cell.beta for cell in cells if cell.gap and cell.leading == 3) == 1e4
    assert max(cell.beta for cell in cells if cell.gap and cell.leading == 4) == 1e4
    for cell in cells:
        home = cell.leading if cell.gap else cell.dim
        assert tokens_a_ball(cell.tokens, cell.beta, home) >= 60
    monkeypatch.setattr(recipe, "FILL", 2.0)
    monkeypatch.setattr(recipe, "TIMES", (0.5, 1.0))
    monkeypatch.setattr(recipe, "RUNS", 3)
    monkeypatch.setattr(recipe, "AT_ONCE", 60)
    monkeypatch.setattr(sys, "argv", ["filled_balls.py", str(tmp_path), "--most", "41"])
    recipe.main()
    path = tmp_path / "filled-balls.jsonl"
    whole = recipe.kept(path)
    path.write_text(path.read_text()[:-20])  # cut off in the middle of a line
    assert len(recipe.kept(path)) == len(whole) - 1
    recipe.main()
    again = recipe.kept(path)
    assert [(line["cell"], line["all"]) for line in again] == [(line["cell"], line["all"]) for line in whole]
