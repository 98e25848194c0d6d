"""How fast the explorer is: first frame, frames a second while computing and of a recording, size of the page.

    python benchmarks/explorer.py            # in a headless Chromium; WebGL is done in software there: a lower bound
    python benchmarks/explorer.py --window   # in a window, with the graphics card of this machine

The window has 1000 x 640 pixels. The browser is running before the command starts, with an empty page. A picture is a
call of requestAnimationFrame that drew the view; scripts are all that the page does in such a call. `quality` is the
level that the page has chosen: 0 is the finest, 4 the coarsest.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tokenflock as flock
from tokenflock.explorer.export import export

EXPLORE = [sys.executable, "-c", "from tokenflock.cli import main; main()", "explore", "--no-browser", "--port", "0"]
FIND = "document.querySelector('#tokenflock').explorer"
LIVE = {
    "model": {"dim": 3, "beta": 16.0},
    "start": {"n_tokens": 2000, "seed": 0},
    "simulate": {"t_end": 60.0, "times": 600},
}
SECONDS = 5.0
STARTS = 5  # of which the median is told
# The page notes by itself when it has drawn its first frame, and when the server's own frames have come.
WATCH = """(() => {
  const turn = () => {
    const e = document.querySelector("#tokenflock")?.explorer;
    const now = performance.timeOrigin + performance.now();
    if (!window.first && e?.scene.drawn && e.store.there.length) window.first = now;
    if (e?.store.began?.run && e.store.there.length > 1) window.live = now;
    else requestAnimationFrame(turn);
  };
  requestAnimationFrame(turn);
})()"""
TIMED = """(() => {
  const e = %s, tick = e.tick.bind(e);
  e.spent = 0;
  e.tick = (now) => { const t = performance.now(); tick(now); e.spent += performance.now() - t; };
})()"""


def until(page, expression, seconds=60.0):
    """Wait until something is true in the page."""
    began = time.perf_counter()
    while not page.evaluate(
        f"(() => {{ const e = document.querySelector('#tokenflock')?.explorer; return e && ({expression}); }})()"
    ):
        assert time.perf_counter() - began < seconds, expression
        time.sleep(0.01)


def rates(page, name, found):
    """Pictures and frames a second and the time of scripts, over some seconds."""
    page.evaluate(TIMED % FIND)
    time.sleep(1.0)  # the page has found its quality
    read = f"[{FIND}.scene.drawn, {FIND}.received, {FIND}.spent, performance.now(), {FIND}.scene.quality.level]"
    before = page.evaluate(read)
    time.sleep(SECONDS)
    after = page.evaluate(read)
    drawn, passed = after[0] - before[0], (after[3] - before[3]) / 1000
    found[f"{name}: pictures/s"] = drawn / passed
    found[f"{name}: ms of scripts a picture"] = (after[2] - before[2]) / max(1, drawn)
    found[f"{name}: quality, 0 to 4"] = after[4]
    return (after[1] - before[1]) / passed


def opened(browser):
    """An empty page."""
    page = browser.new_page(viewport={"width": 1000, "height": 640})
    page.add_init_script(WATCH)
    return page


def starts(browser, found):
    """From the command, and from the address, to the first picture."""
    times = {"command to address, s": [], "command to first frame, s": [], "address opened to first frame, s": []}
    times |= {"command to frames of the server, s": [], "reload to first frame, s": []}
    for _ in range(STARTS):
        page, began = opened(browser), time.time()
        with subprocess.Popen(EXPLORE, stdout=subprocess.PIPE, text=True) as server:
            try:
                address = re.search(r"http://\S+", server.stdout.readline()).group()
                told = time.time()
                page.goto(address, wait_until="commit")
                until(page, "window.live")
                first, live = page.evaluate("[window.first / 1000, window.live / 1000]")
                again = time.time()
                page.reload(wait_until="commit")
                until(page, "window.first")
                spent = (told - began, first - began, first - told, live - began)
                for name, value in zip(times, (*spent, page.evaluate("window.first / 1000") - again), strict=True):
                    times[name].append(value)
            finally:
                server.terminate()
                page.close()
    found |= {name: sorted(values)[STARTS // 2] for name, values in times.items()}


def live(browser, found):
    """A run of 2,000 tokens that is computed while it is watched."""
    with subprocess.Popen(EXPLORE, stdout=subprocess.PIPE, text=True) as server:
        try:
            page = opened(browser)
            page.goto(re.search(r"http://\S+", server.stdout.readline()).group())
            until(page, "window.live && !e.busy")
            page.evaluate(f"void {FIND}.source.send({json.dumps({'type': 'start', 'spec': LIVE})})")
            until(page, "e.store.began.n_tokens === 2000 && e.store.there.length > 0")
            page.evaluate(f"void ({FIND}.player.time = 0, {FIND}.player.toggle(true))")
            name = "2,000 tokens while computing"
            found[f"{name}: frames received/s"] = rates(page, name, found)
            page.close()
        finally:
            server.terminate()


def recorded(browser, folder, found):
    """A file with 10,000 tokens."""
    run = flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(10_000, 3), t_end=10.0, times=range(11), rtol=1e-3)
    page = opened(browser)
    page.goto(export(run, Path(folder) / "run.html").as_uri())
    until(page, "e.store.there.length === 11")
    page.evaluate(f"void ({FIND}.player.time = 0, {FIND}.view.pace = 0.25, {FIND}.player.toggle(true))")
    rates(page, "10,000 recorded tokens", found)
    page.close()


def measure(browser, folder):
    """All numbers, as a dictionary."""
    found = {}
    starts(browser, found)
    live(browser, found)
    recorded(browser, folder, found)
    return found


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", action="store_true", help="a visible window instead of a headless browser")
    headless = not parser.parse_args().window
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        launched = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), headless=headless, args=["--no-sandbox"]
        )
        launched.new_page().goto("about:blank")
        print(f"load of the machine at the start: {os.getloadavg()[0]:.1f}")
        for name, value in measure(launched, folder).items():
            print(f"{name:52s} {value:8.2f}")
        launched.close()
