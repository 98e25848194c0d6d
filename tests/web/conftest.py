"""A browser and a server for the tests of the page: Debian's Chromium, headless, with WebGL in software."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

START_S = 60.0


def chromium():
    """The browser's file, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("TOKENFLOCK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests; skipped, with the reason, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    found = chromium()
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in TOKENFLOCK_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
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
        end = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < end, f"never: {expression}; {self.problems}"
            time.sleep(0.03)

    def ended(self):
        """Wait for the last frame of the run; a slow browser is spared some of the others."""
        self.until("!e.asked.run && e.store.there.at(-1) === e.store.began.times.length - 1")

    def preset(self, name):
        """Choose one from the gallery."""
        self.page.keyboard.press("p")
        self.page.locator(f"[data-preset={name}]").click()
        self.until(f"e.preset === '{name}' && e.store.began.run > 0 && !e.asked.run")
        self.ended()

    def seek(self, part):
        """To a part of the run."""
        self.ask(f"e.player.scrub({part})")

    def box(self, selector):
        """Where something is on the page, once it is there."""
        end = time.monotonic() + START_S
        while (found := self.page.locator(selector).bounding_box()) is None:
            assert time.monotonic() < end, f"never on the page: {selector}"
            time.sleep(0.03)
        return found

    def clusters(self):
        return int(self.page.locator("[data-chart=clusters]").inner_text())

    def picture(self):
        """The pixels of the view."""
        return self.page.locator(".stage canvas").screenshot()


@pytest.fixture(scope="session")
def opened(browser, address):
    """One page with the explorer; loading it for every test would take most of the time."""
    context = browser.new_context(viewport={"width": 1000, "height": 640})
    found = Explorer(context.new_page()).open(address)
    yield found
    context.close()


@pytest.fixture
def explorer(opened):
    """The page as it opens: the first preset, whole, and nothing picked."""
    opened.page.locator(".stage canvas").focus()
    opened.ask("(e.view.after = 'continue', e.gallery.onchoose(e.options.presets[0]), true)")
    opened.until("e.store.began.spec.model.beta === 64 && !e.store.began.spec.then")
    opened.ended()
    yield opened
    for dialog in opened.page.locator("dialog[open]").all():
        dialog.evaluate("d => d.close()")
    assert not opened.problems
