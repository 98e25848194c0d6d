"""The widget in real notebooks: JupyterLab and marimo, recorded and live. Skipped where they are not installed.

    pip install jupyterlab marimo && pytest tests/web/test_notebooks.py

TOKENFLOCK_NOTEBOOK_PYTHON names the Python that has them, if it is another one. VS Code cannot be driven from here.
"""

import notebooks
import pytest

from conftest import Explorer


class Output(Explorer):
    """One view of a notebook."""

    def __init__(self, page, which):
        super().__init__(page)
        self.place = page.locator(".tokenflock-widget").nth(which)

    def ask(self, expression):
        return self.place.evaluate(f"place => {{ const e = place.explorer; return e && ({expression}); }}")


@pytest.fixture(params=["jupyterlab", "marimo"])
def page(request, browser, tmp_path):
    """A notebook whose cells have run."""
    if not notebooks.has(request.param):
        pytest.skip(f"{request.param} is not installed: pip install {request.param} anywidget")
    with getattr(notebooks, request.param)(tmp_path) as address:
        context = browser.new_context(viewport={"width": 1240, "height": 1400})
        shown = context.new_page()
        shown.set_default_timeout(1000 * notebooks.START_S)
        shown.goto(address)
        if request.param == "jupyterlab":
            start = Explorer(shown)
            start.see(lambda: shown.evaluate(notebooks.READY), "a kernel that is ready")
            shown.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        yield shown
        context.close()


def test_views_recorded_and_live(page):
    recorded, live = Output(page, 0), Output(page, 1)
    for view, frames in ((recorded, 101), (live, 120)):
        view.place.scroll_into_view_if_needed()
        view.until(f"e.store.there.at(-1) === {frames - 1}")
        view.until("e.scene.drawn > 3")
        box = view.place.bounding_box()
        assert box["width"] > 700
        assert 550 < box["height"] < 570
    recorded.ask("e.player.scrub(0.5)")
    recorded.place.locator(".stage canvas[role=img]").focus()
    cells = page.locator(".jp-Cell").count()
    for key in ("]", "d", "d"):  # in Jupyter the last two would delete the cell
        page.keyboard.press(key)
    recorded.until("e.attending.row !== null")
    assert page.locator(".jp-Cell").count() == cells
    beta = live.place.locator("[name=beta]")
    beta.fill("2")
    beta.press("Enter")
    live.until("!e.busy && e.store.began.spec.then?.length === 1")
    live.ended()
    assert page.locator(".tokenflock-widget").count() == 2
    assert not recorded.problems, recorded.problems
