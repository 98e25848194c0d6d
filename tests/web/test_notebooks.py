"""The widget in real notebooks: JupyterLab and marimo, recorded and live. Skipped where they are not installed.

    pip install jupyterlab marimo && pytest tests/web/test_notebooks.py

TOKENFLOCK_NOTEBOOK_PYTHON names the Python that has them, if it is another one. VS Code itself cannot be driven from
here: its widget manager is, in a page of its own (vscode.py).
"""

import notebooks
import pytest
import vscode

from conftest import Explorer


class Output(Explorer):
    """One view of a notebook."""

    def __init__(self, page, which):
        super().__init__(page)
        self.place = page.locator(".tokenflock-widget").nth(which)

    def ask(self, expression):
        return self.place.evaluate(f"place => {{ const e = place.explorer; return e && ({expression}); }}")


HOSTS = {"jupyterlab": notebooks.jupyterlab, "marimo": notebooks.marimo, "vscode": vscode.vscode}


@pytest.fixture(params=HOSTS)
def host(request):
    """The name of what shows the notebook; skipped, with the reason, where it is not installed."""
    name = request.param
    if name == "vscode":
        lacking = vscode.lacks()
    else:
        lacking = "" if notebooks.has(name) else f"{name} is not installed: pip install {name} anywidget"
    if lacking:
        pytest.skip(lacking)
    return name


@pytest.fixture
def page(host, browser, tmp_path):
    """A notebook whose cells have run."""
    with HOSTS[host](tmp_path) as address:
        context = browser.new_context(viewport={"width": 1240, "height": 1400})
        shown = context.new_page()
        shown.set_default_timeout(1000 * notebooks.START_S)
        shown.goto(address)
        if host == "jupyterlab":
            start = Explorer(shown)
            start.see(lambda: shown.evaluate(notebooks.READY), "a kernel that is ready")
            shown.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        yield shown
        context.close()


def test_views_recorded_and_live(page, host):
    recorded, live = Output(page, 0), Output(page, 1)
    for view, frames in ((recorded, 101), (live, 120)):
        view.place.scroll_into_view_if_needed()
        view.until(f"e.store.there.at(-1) === {frames - 1}")
        view.until("e.scene.drawn > 3")
        box = view.place.bounding_box()
        assert box["width"] > 700
        assert 550 < box["height"] < 570
        assert view.place.get_attribute("data-theme") == ("dark" if host == "vscode" else "light")
    recorded.ask("e.player.scrub(0.5)")
    recorded.place.locator(".stage canvas[role=img]").focus()
    cells = page.locator(".jp-Cell").count()
    for key in ("]", "d", "d"):  # in Jupyter the last two would delete the cell
        page.keyboard.press(key)
    recorded.until("e.attending.row !== null")
    assert page.locator(".jp-Cell").count() == cells
    if host == "vscode":
        assert page.evaluate("window.heard") == []  # they would be the editor's
        page.keyboard.press("Control+s")
        assert page.evaluate("window.heard") == ["Control", "s"]  # the editor saves
        page.evaluate("void (document.body.dataset.vscodeThemeKind = 'vscode-light')")
        recorded.until("e.scene.paper.getHexString() === 'fcfcfb'")
    beta = live.place.locator("[name=beta]")
    beta.fill("2")
    beta.press("Enter")
    live.until("!e.busy && e.store.began.spec.then?.length === 1")
    live.ended()
    assert page.locator(".tokenflock-widget").count() == 2
    assert not recorded.problems, recorded.problems
