"""Tokens drawn by a graphics card and by the processor are one picture."""

import io

import numpy as np
import pytest
from PIL import Image

import tokenflock as flock
from conftest import Explorer
from tokenflock.explorer.export import export

# A page that is told of a graphics card draws as if there was one, in software all the same.
CARD = """(() => {
  const ask = WebGL2RenderingContext.prototype.getParameter;
  WebGL2RenderingContext.prototype.getParameter = function (what) {
    const told = ask.call(this, what);
    return /SwiftShader|llvmpipe/i.test(String(told)) ? "A graphics card" : told;
  };
})()"""
RUNS = {
    "circle": lambda: (flock.Model(dim=2, beta=16.0), flock.uniform(60, 2), 4.0),
    "sphere": lambda: (flock.Model(dim=3, beta=9.0), flock.uniform(300, 3), 2.0),
    "many on the sphere": lambda: (flock.Model(dim=3, beta=9.0), flock.uniform(3000, 3), 1.0),
    "R^3": lambda: (flock.Model(dim=3, space="euclidean", mask="full"), flock.cube(80, 3), 0.4),
}


def drawn(browser, page_file, *, card):
    """The pixels of the tokens, without lines: 4 pixels of the canvas for one of the page, either way."""
    context = browser.new_context(viewport={"width": 700, "height": 600}, device_scale_factor=2)
    page = Explorer(context.new_page())
    if card:
        page.page.add_init_script(CARD)
    page.open(page_file.as_uri())
    hide = "e.scene.stageGroup.visible = e.view.hull = false"
    page.ask(f"(e.player.toggle(false), {hide}, e.view.trails = 0, e.player.go(0.45 * e.store.lastTime), true)")
    picture = np.asarray(Image.open(io.BytesIO(page.still())).convert("RGB"), float)
    how = page.ask("e.scene.drawing.object === null ? 'processor' : 'card'")
    png = page.ask("e.scene.png().then((blob) => blob.size)")
    context.close()
    assert not page.problems
    assert png > 1000
    return picture, how


@pytest.mark.parametrize("name", RUNS)
def test_the_processor_draws_what_a_card_draws(browser, tmp_path, name):
    model, start, t_end = RUNS[name]()
    run = flock.simulate(model, start, t_end=t_end, times=np.linspace(0, t_end, 5), progress=False)
    page_file = export(run, tmp_path / "run.html")
    (card, first), (processor, second) = (drawn(browser, page_file, card=c) for c in (True, False))
    assert (first, second) == ("card", "processor")
    paper = np.median(card, axis=(0, 1))
    ink = np.abs(card - paper).max(axis=2) > 24
    assert ink.sum() > 400  # tokens are there
    away = np.abs(card - processor).max(axis=2)
    # The edges of a shape may differ (a card smooths them); its inside and its place may not.
    assert np.mean(away[ink] > 64) < 0.005
    assert np.mean(away[ink]) < 6
    assert np.mean(away[~ink]) < 0.5
    moved = np.abs(card - np.roll(processor, 2, axis=1)).max(axis=2)  # one pixel of the page beside
    assert np.mean(moved[ink]) > 3 * np.mean(away[ink])
