"""A browser and a server for the tests of the page: Debian's Chromium, headless, with WebGL in software."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

START_S = 120.0  # the most that anything may take: how long it does take depends on the machine


def chromium():
    """The browser's file, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("TOKENFLOCK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser():
    """One browser for the tests of a file; skipped, with the reason, where there is none.

    Not for all files: as long as Playwright runs, asyncio.run works nowhere else in this process.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    found = chromium()
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in TOKENFLOCK_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(browser):
    """The address that `tokenflock explore` prints."""
    command = [
        sys.executable,
        "-c",
        "from tokenflock.cli import main; main()",
        "explore",
        "--no-browser",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        line = server.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + server.stdout.read()
        yield found.group()
        server.terminate()
        rest = server.communicate(timeout=START_S)[0]
        assert "Traceback" not in rest, rest


class Explorer:
    """The page under test, and what went wrong in it."""

    def __init__(self, page):
        self.page, self.problems = page, []
        page.set_default_timeout(1000 * START_S)
        page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self, url):
        self.page.goto(url)
        self.until("e.store.there.length > 0")
        return self

    def ask(self, expression):
        """A value of the page's own objects; e is the explorer."""
        return self.page.evaluate(f"(() => {{ const e = document.querySelector('#tokenflock')?.explorer; return e && ({expression}); }})()")  # fmt: skip  # noqa: E501

    def until(self, expression, seconds=START_S):
        """Wait for something to be true: the policy of the page forbids what Playwright's own waiting does."""
        self.see(lambda: self.ask(expression), expression, seconds)

    def see(self, true, words, seconds=START_S):
        """Wait for something that is asked from here."""
        end = time.monotonic() + seconds
        while not (found := true()):
            assert time.monotonic() < end, f"never: {words}; {self.problems}"
            time.sleep(0.02)
        return found

    def ended(self):
        """Wait for the last frame of the run that was asked for last; a slow browser is spared some of the others."""
        self.until("!e.busy && e.store.there.at(-1) === e.store.began.times.length - 1")

    def preset(self, name):
        """Choose one from the gallery."""
        self.page.keyboard.press("p")
        self.page.locator(f"[data-preset={name}]").click()
        self.until(f"e.preset === '{name}'")
        self.ended()

    def seek(self, part):
        """To a part of the run."""
        self.ask(f"e.player.scrub({part})")

    def box(self, selector):
        """Where something is on the page, once it is there."""
        return self.see(self.page.locator(selector).bounding_box, f"on the page: {selector}")

    def clusters(self):
        return int(self.page.locator("[data-chart=clusters]").inner_text())

    def picture(self):
        """The pixels of the view, once it is drawn as finely as it will be."""
        self.until("e.scene.fine")
        return self.page.locator(".stage canvas[role=img]").screenshot()

    def still(self):
        """The pixels of a view that stands still: two pictures, one after the other, are the same."""
        seen = [self.picture()]

        def same():
            seen.append(self.picture())
            return seen[-1] == seen[-2]

        self.see(same, "two equal pictures")
        return seen[-1]


@pytest.fixture(scope="module")
def opened(browser, address):
    """One page with the explorer; loading it for every test would take most of the time."""
    context = browser.new_context(viewport={"width": 1000, "height": 640})
    found = Explorer(context.new_page()).open(address)
    yield found
    context.close()


@pytest.fixture
def explorer(opened):
    """The page as it opens: the first preset, whole, and nothing picked."""
    opened.page.locator(".stage canvas[role=img]").focus()
    first = "e.options.presets.find(p => p.name === 'renyi-centers')"
    opened.ask(f"(e.view.after = 'continue', e.gallery.onchoose({first}), true)")
    opened.until("e.store.began.spec.model.beta === 64 && !e.store.began.spec.then")
    opened.ended()
    yield opened
    for dialog in opened.page.locator("dialog[open]").all():
        dialog.evaluate("d => d.close()")
    assert not opened.problems
