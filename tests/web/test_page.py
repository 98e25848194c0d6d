"""The page in a real browser: it plays, it is steered, it is shared, and it can be used without a mouse."""

import tomllib

import pytest

import tokenflock as flock
from conftest import Explorer
from tokenflock import spec
from tokenflock.explorer.export import export


def test_a_run_plays_and_pixels_move(explorer):
    explorer.seek(0.3)
    before = explorer.picture()
    assert explorer.picture() == before, "a paused view stands still"
    explorer.page.keyboard.press(" ")
    time = explorer.ask("e.player.time")
    explorer.until(f"e.player.time > 1.5 * {time}")
    explorer.page.keyboard.press(" ")
    assert explorer.picture() != before
    assert explorer.ask("e.scene.drawn") > 10


def test_beta_turned_down_changes_the_number_of_clusters(explorer):
    explorer.seek(1)
    many = explorer.clusters()
    assert many > 4
    beta = explorer.page.locator("[name=beta]")
    beta.fill("2")
    beta.press("Enter")
    explorer.until("e.store.began.spec.then?.length === 1")
    explorer.ended()
    explorer.seek(1)
    few = explorer.clusters()
    assert few < many
    beta.fill("400")
    beta.press("Enter")
    explorer.page.locator("button", has_text="Changes restart").click()
    explorer.page.keyboard.press("r")
    explorer.until("e.store.began.spec.model.beta === 400 && !e.store.began.spec.then")
    explorer.ended()
    explorer.seek(1)
    assert explorer.clusters() > many


def test_an_eigenvalue_dragged_below_zero_turns_clusters_into_clouds(explorer):
    explorer.preset("two-points")
    explorer.page.locator("button", has_text="Changes restart").click()
    explorer.seek(1)
    assert explorer.clusters() == 2
    assert "Two points" in explorer.page.locator(".row-title").inner_text()
    plane = explorer.page.locator(".plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    for k, goal in enumerate((-1.0, -2.0, -2.2)):  # of the three eigenvalues 1, 0.5 and 0.2, the largest each time
        handle = explorer.box("[data-eigenvalue='0']")
        middle = box["x"] + box["width"] / 2
        x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
        explorer.page.mouse.move(x, y)
        explorer.page.mouse.down()
        explorer.page.mouse.move(middle + goal * box["width"] / 2 / 2.8, y, steps=4)
        explorer.page.mouse.up()
        explorer.until(f"e.store.began.atlas.eigenvalues.filter(v => v[0] < 0).length === {k + 1} && !e.asked.run")
    explorer.until("e.store.began.atlas.row.includes('cloud')")
    explorer.ended()
    explorer.seek(1)
    assert "cloud" in explorer.page.locator(".row-title").inner_text().lower()
    assert explorer.clusters() > 20


def test_conjugate_pairs_move_together(explorer):
    explorer.preset("two-points")
    handle = explorer.page.locator("[data-eigenvalue='0']")
    handle.scroll_into_view_if_needed()
    handle.focus()
    for _ in range(4):
        explorer.page.keyboard.press("ArrowUp")
    explorer.until("e.store.began.atlas.row === 'rotating'")
    assert explorer.page.locator(".twin").count() == 1
    assert explorer.page.locator(".handle").count() == 2
    (_, up), (_, down) = [v for v in explorer.ask("e.store.began.atlas.eigenvalues") if v[1]]
    assert up == -down


def test_scrubbing_by_line_and_by_chart(explorer):
    line = explorer.page.locator("input[aria-label='Time line']")
    line.focus()
    explorer.page.keyboard.press("Home")
    explorer.until("e.player.time === 0")
    many = explorer.clusters()
    explorer.page.keyboard.press("End")
    explorer.until("e.player.time === e.store.endTime")
    assert explorer.clusters() < many
    chart = explorer.page.locator(".chart svg").first.bounding_box()
    explorer.page.mouse.click(chart["x"] + chart["width"] / 2, chart["y"] + 30)
    assert 0.1 < explorer.ask("e.player.place") < 0.9


def test_the_address_restores_the_state(explorer, browser):
    explorer.preset("two-clouds")
    explorer.page.locator("[name=beta]").fill("4")
    explorer.page.locator("[name=beta]").press("Enter")
    explorer.until("e.store.began.spec.then?.length === 1")
    explorer.ended()
    explorer.seek(0.6)
    explorer.page.locator(".stage canvas").focus()  # in an input c would be a letter
    explorer.page.keyboard.press("c")
    explorer.page.keyboard.press("]")
    explorer.until("location.hash.length > 100 && e.view.token === 0")
    explorer.page.wait_for_timeout(700)  # the address follows with a delay
    told = "[e.player.time, e.view.colour, e.token, e.store.began.spec, Array.from(e.store.frames.at(-1).positions)]"
    context = browser.new_context()
    other = Explorer(context.new_page()).open(explorer.page.url)
    other.ended()
    other.until("!e.player.playing")
    assert other.ask(told) == explorer.ask(told)
    context.close()
    assert not other.problems


def test_picking_a_token_tells_its_leader(explorer):
    explorer.seek(0.8)
    box = explorer.page.locator(".stage canvas").bounding_box()
    place = explorer.ask(
        "(() => { const v = e.scene.camera.position.clone(); const p = e.store.frames[e.store.at(e.player.time).before]"
        ".positions; v.set(p[20], p[21], 0).project(e.scene.camera); return [(v.x + 1) / 2, (1 - v.y) / 2]; })()"
    )
    explorer.page.mouse.click(box["x"] + place[0] * box["width"], box["y"] + place[1] * box["height"])
    explorer.until("e.row !== null")
    text = explorer.page.locator(".attention").inner_text()
    assert f"Token {explorer.ask('e.token') + 1}" in text
    assert "follows" in text
    explorer.page.locator("summary", has_text="Attention matrix").click()
    explorer.page.locator("canvas[data-size='200']").wait_for()


def test_downloads_repeat_the_run(explorer, tmp_path):
    explorer.seek(0.5)
    explorer.page.keyboard.press("s")

    def fetch(key):
        with explorer.page.expect_download() as waiting:
            explorer.page.locator(f"[data-share={key}]").click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    model, start, options = spec.build(tomllib.loads(fetch("toml").read_text()))
    assert (model.beta, len(start), options["t_end"]) == (64.0, 200, 150.0)
    compile(fetch("python").read_text(), "run.py", "exec")
    assert fetch("png").read_bytes().startswith(b"\x89PNG")
    assert "<path" in fetch("svg").read_text()
    rows = fetch("measures").read_text().splitlines()
    assert rows[0].startswith("frame,time,clusters")
    assert len(rows) == 1 + explorer.ask("e.store.there.length")
    assert len(fetch("tokens").read_text().splitlines()) == 201


def test_an_exported_run_opens_from_disk(browser, tmp_path):
    run = flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(60, 3, seed=4), t_end=20.0)
    path = export(run, tmp_path / "run.html", title="Sixty & more")
    context = browser.new_context(offline=True)
    page = Explorer(context.new_page())
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.open(path.as_uri())
    page.ended()
    assert "Sixty & more" in page.page.locator(".sentence").inner_text()
    seen = page.ask("Array.from(e.store.frames[50].positions)")
    assert max(abs(a - b) for a, b in zip(seen, run["x"].values[50].ravel(), strict=True)) < 2e-5
    assert page.ask("e.store.frames[100].measures[0]") == page.ask("Math.max(...e.store.frames[100].labels) + 1")
    page.page.keyboard.press("]")
    page.until("e.row !== null")
    assert "Token 1" in page.page.locator(".attention").inner_text()
    page.page.get_by_text("Statement: causal/theorem-4.1").click()
    assert "every k" in page.page.locator("dialog[open]").inner_text()
    assert all(url.startswith(("file:", "blob:")) for url in asked)
    context.close()
    assert not page.problems


def test_everything_by_keyboard(explorer):
    page = explorer.page
    page.keyboard.press("?")
    assert "play or pause" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.locator("[data-preset=polytope-2d]").focus()
    page.keyboard.press("Enter")
    explorer.until("e.preset === 'polytope-2d' && !e.asked.run")
    explorer.ended()
    page.locator(".stage canvas").focus()
    eye = explorer.ask("e.scene.eye")
    page.keyboard.press("+")
    assert explorer.ask("e.scene.eye") != eye
    page.keyboard.press("l")
    assert explorer.ask("e.view.clock") == "log"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.querySelector('#tokenflock').shadowRoot.activeElement?.name ?? ''"))
    assert {"presets", "share", "n_tokens", "beta", "mask", "value"} <= reached


@pytest.mark.parametrize("width", [375, 640])
def test_a_phone_shows_all_without_scrolling_sideways(browser, address, width):
    context = browser.new_context(viewport={"width": width, "height": 740}, has_touch=True)
    page = Explorer(context.new_page()).open(address)
    wide = page.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    small = page.ask(
        "[...document.querySelector('#tokenflock').shadowRoot.querySelectorAll('.head button, .player button')]"
        ".map(b => b.getBoundingClientRect()).filter(r => r.height < 34).length"
    )
    assert small == 0, "buttons are large enough for fingers"
    context.close()
    assert not page.problems


def test_two_tabs_are_independent(explorer, browser, address):
    context = browser.new_context()
    other = Explorer(context.new_page()).open(address)
    other.preset("polytope-3d")
    assert explorer.ask("e.store.began.dim") == 2
    assert other.ask("e.store.began.dim") == 3
    context.close()
    assert not other.problems
    explorer.page.locator("[name=seed]").fill("7")
    explorer.page.locator("[name=seed]").press("Enter")
    explorer.until("e.store.began.spec.start.seed === 7")


def test_reduced_motion_does_not_play(browser, address):
    context = browser.new_context(reduced_motion="reduce")
    page = Explorer(context.new_page()).open(address)
    page.ended()
    assert page.ask("e.player.playing") is False
    assert page.ask("e.player.time") > 0, "the end is shown instead"
    context.close()


def test_dark_is_dark(browser, address):
    context = browser.new_context(color_scheme="dark")
    page = Explorer(context.new_page()).open(address)
    paper = "getComputedStyle(document.querySelector('#tokenflock')).backgroundColor"
    assert page.ask(paper) == "rgb(18, 21, 28)"
    page.page.locator("[name=theme]").click()
    assert page.ask(paper) == "rgb(252, 252, 251)"
    context.close()


def test_a_refusal_is_shown_and_nothing_is_lost(explorer):
    frames = explorer.ask("e.store.there.length")
    explorer.page.locator("summary", has_text="Time").click()
    explorer.page.locator("[name=t_end]").fill("1e12")
    explorer.page.locator("[name=t_end]").press("Enter")
    explorer.ended()
    explorer.ask(
        "e.source.send({type: 'start', spec: {model: {dim: 2}, start: {n_tokens: 99999}, simulate: {t_end: 1}}})"
    )
    explorer.until("!e.alert.hidden")
    assert "from 1 to 20000" in explorer.page.locator(".alert").inner_text()
    assert explorer.ask("e.store.there.length") >= frames
