"""The page in a real browser: it plays, it is steered, it is shared, and it can be used without a mouse."""

import base64
import json
import tomllib

import numpy as np
import pytest

import tokenflock as flock
from conftest import Explorer
from tokenflock import spec
from tokenflock.explorer import weights
from tokenflock.explorer.export import export


def test_a_run_plays_and_pixels_move(explorer):
    explorer.seek(0.3)
    before = explorer.still()
    drawn, time = explorer.ask("[e.scene.drawn, e.player.time]")
    explorer.page.keyboard.press(" ")
    explorer.until(f"e.player.time > 1.5 * {time}")
    explorer.page.keyboard.press(" ")
    explorer.see(lambda: explorer.picture() != before, "another picture")
    assert explorer.ask("e.scene.drawn") > drawn + 10


def test_the_first_frame_waits_for_no_engine(browser, address):
    context = browser.new_context()
    page = Explorer(context.new_page())
    page.page.add_init_script("window.WebSocket = class { close() {} send() {} }")  # a server that does not answer yet
    page.open(address)
    page.until("e.scene.drawn > 0")
    assert page.ask("e.store.there.length === 1 && e.store.began.n_tokens === 200 && e.busy")
    assert "The first token" in page.page.locator(".row-title").inner_text()
    context.close()
    assert not page.problems


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
    explorer.ask("(e.kept = [...e.controls.spectrum.handles.children], true)")
    for k, goal in enumerate((-1.0, -2.0, -2.2)):
        handle = explorer.box(f"[data-eigenvalue='{k}']")
        middle = box["x"] + box["width"] / 2
        x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
        explorer.page.mouse.move(x, y)
        explorer.page.mouse.down()
        explorer.page.mouse.move(middle + goal * box["width"] / 2 / 2.8, y, steps=4)
        explorer.page.mouse.up()
        explorer.until(f"!e.busy && e.store.began.atlas.eigenvalues.filter(v => v[0] < 0).length === {k + 1}")
        assert explorer.ask("e.kept.every(h => h.isConnected)"), "a handle is moved, never replaced"
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
    explorer.until("!e.busy && e.store.began.atlas.row === 'rotating'")
    assert explorer.page.locator(".twin").count() == 1
    assert explorer.page.locator(".handle").count() == 2
    (_, up), (_, down) = [v for v in explorer.ask("e.store.began.atlas.eigenvalues") if v[1]]
    assert up == -down
    assert explorer.ask(f"Math.abs({up} - e.controls.spectrum.groups[0].im) < 1e-6")


def test_a_handle_keeps_the_focus_while_runs_begin(explorer):
    explorer.preset("two-points")
    handle = explorer.page.locator("[data-eigenvalue='0']")
    handle.scroll_into_view_if_needed()
    handle.focus()
    for k in range(16):  # from 1 to beyond the next one at 0.5: the order changes, the handle does not
        explorer.page.keyboard.press("ArrowLeft")
        if k % 4 == 3:
            explorer.until("!e.busy")
    focused = "document.querySelector('#tokenflock').shadowRoot.activeElement"
    assert explorer.ask(f"{focused}.dataset.eigenvalue") == "0"
    values = sorted(re for re, _ in explorer.ask("e.store.began.atlas.eigenvalues"))
    assert values == pytest.approx([0.2, 0.2, 0.5])
    explorer.page.locator("[name=after-restart]").click()
    assert explorer.ask(f"{focused}.name") == "after-restart"


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
    explorer.page.locator(".stage canvas[role=img]").focus()  # in an input c would be a letter
    explorer.page.keyboard.press("c")
    explorer.page.keyboard.press("]")
    told = "[e.player.time, e.view.colour, e.attending.token, e.store.began.spec, Array.from(e.store.frames.at(-1).positions)]"  # fmt: skip  # noqa: E501
    shown = explorer.ask(told)[:4]
    assert shown[1:3] == ["index", 0]

    def followed():  # with a delay
        text = explorer.ask("location.hash").removeprefix("#s=")
        held = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return [*(held["view"].get(name) for name in ("time", "colour", "token")), held["spec"]] == shown

    explorer.see(followed, "the state in the address")
    context = browser.new_context()
    other = Explorer(context.new_page()).open(explorer.ask("location.href"))
    other.ended()
    other.until("!e.player.playing")
    assert other.ask(told) == explorer.ask(told)
    context.close()
    assert not other.problems


def test_picking_a_token_tells_its_leader(explorer):
    explorer.seek(0.8)
    explorer.until("!e.scene.dirty")  # the camera is where this run is looked at from
    box = explorer.page.locator(".stage canvas[role=img]").bounding_box()
    place = explorer.ask(
        "(() => { const v = e.scene.camera.position.clone(); const p = e.store.frames[e.store.at(e.player.time).before]"
        ".positions; v.set(p[20], p[21], 0).project(e.scene.camera); return [(v.x + 1) / 2, (1 - v.y) / 2]; })()"
    )
    explorer.page.mouse.click(box["x"] + place[0] * box["width"], box["y"] + place[1] * box["height"])
    explorer.until("e.attending.row !== null")
    text = explorer.page.locator(".attention").inner_text()
    assert f"Token {explorer.ask('e.attending.token') + 1}" in text
    assert "follows" in text
    explorer.page.locator("summary", has_text="Attention matrix").click()
    explorer.page.locator("canvas[data-size='200']").wait_for()


def test_every_head_has_its_attention(explorer):
    assert explorer.page.locator("[name=head]").is_hidden(), "one head is no choice"
    explorer.preset("multihead")
    explorer.seek(0.5)
    choice = explorer.page.locator("[name=head]")
    explorer.page.locator(".stage canvas[role=img]").focus()
    explorer.page.keyboard.press("]")
    explorer.page.locator("summary", has_text="Attention matrix").click()
    rows, pictures = {}, {}
    for head in ("0", "1", "mean"):
        choice.select_option(head)
        explorer.until(f"String(e.attending.row?.head) === '{head}' && e.attention.canvas.dataset.head === '{head}'")
        rows[head] = explorer.ask("e.attending.row.parts")
        pictures[head] = explorer.ask("e.attention.canvas.toDataURL()")
    assert len(set(pictures.values())) == 3
    assert rows["0"] != pytest.approx(rows["1"], abs=1e-3)
    assert rows["mean"] == pytest.approx([(a + b) / 2 for a, b in zip(rows["0"], rows["1"], strict=True)])
    explorer.page.locator(".stage canvas[role=img]").focus()
    explorer.page.keyboard.press("h")  # after the mean the first again
    explorer.until("e.attending.row?.head === 0")
    assert choice.input_value() == "0"


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
    page.until("e.attending.row !== null")
    assert "Token 1" in page.page.locator(".attention").inner_text()
    page.page.get_by_text("Statement: causal/theorem-4.1").click()
    assert "every k" in page.page.locator("dialog[open]").inner_text()
    assert all(url.startswith(("file:", "blob:")) for url in asked)
    context.close()
    assert not page.problems


def test_an_exported_run_knows_every_head(browser, tmp_path):
    model = flock.Model(dim=3, beta=4.0, query=np.stack([flock.weights.ginibre(3, k) for k in (1, 2)]))
    run = flock.simulate(model, flock.uniform(30, 3, seed=5), t_end=5.0, times=range(6))
    context = browser.new_context(offline=True)
    page = Explorer(context.new_page()).open(export(run, tmp_path / "run.html").as_uri())
    page.ended()
    page.seek(0.5)
    page.ask("(e.pick(20), true)")
    frame = page.ask("e.store.at(e.player.time).before")
    for head in (0, 1, "mean"):
        page.page.locator("[name=head]").select_option(str(head))
        page.until(f"String(e.attending.row?.head) === '{head}'")
        truth = weights.row(model, run["x"].values[frame], 0.0, 20, head)
        assert page.ask("e.attending.row.parts") == pytest.approx(truth["parts"], abs=2e-3)
        assert page.ask("e.attending.row.leader") == truth["leader"]
    context.close()
    assert not page.problems


QUALITY = """(() => {
  const quality = new e.scene.quality.constructor(false), seen = [];
  let now = 1000;
  for (const [count, cost] of %s) {
    for (let k = 0; k < count; k++) quality.turn(now += cost[Math.min(quality.level, cost.length - 1)], true);
    seen.push(quality.level);
  }
  quality.turn(now += 1000, false);
  return [seen, quality.now.ratio];
})()"""


def test_slow_pictures_are_drawn_coarser_and_finer_again(explorer):
    levels, ratio = explorer.ask(QUALITY % "[[200, [60, 40, 25, 16.7]], [2000, [16.7]]]")
    assert levels == [3, 0]
    assert ratio == 1, "at rest the picture is the finest"
    levels, _ = explorer.ask(QUALITY % "[[24, [40]], [2000, [40]]]")
    assert levels == [0, 0], "where a coarser picture takes as long, it stays fine"


def test_everything_by_keyboard(explorer):
    page = explorer.page
    page.keyboard.press("?")
    assert "play or pause" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.locator("[data-preset=polytope-2d]").focus()
    page.keyboard.press("Enter")
    explorer.until("e.preset === 'polytope-2d'")
    explorer.ended()
    page.locator(".stage canvas[role=img]").focus()
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
    seen = "e.scene.paper.getHexString()"
    assert page.ask(paper) == "rgb(18, 21, 28)"
    assert page.ask(seen) == "12151c"
    page.page.emulate_media(color_scheme="light")  # the system changes while the page is open
    page.until(f"{seen} === 'fcfcfb'")
    page.page.emulate_media(color_scheme="dark")
    page.until(f"{seen} === '12151c'")
    page.page.locator("[name=theme]").click()
    assert page.ask(paper) == "rgb(252, 252, 251)"
    assert page.ask(seen) == "fcfcfb"
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
    explorer.until("e.alert.element.hidden === false")
    assert "from 1 to 20000" in explorer.page.locator(".alert").inner_text()
    assert explorer.ask("e.store.there.length") >= frames
