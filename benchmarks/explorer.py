"""How fast the explorer is: first frame, frames a second while computing and of a recording, size of the page.

    python benchmarks/explorer.py            # in a headless Chromium; WebGL is done in software there: a lower bound
    python benchmarks/explorer.py --window   # in a window, with the graphics card of this machine

A frame drawn is a call of requestAnimationFrame that drew a new picture; the view is 640 x 480 pixels or so.
"""

import argparse
import json
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


def until(page, expression, seconds=60.0):
    """Wait until something is true in the page; how long it took."""
    began = time.perf_counter()
    while not page.evaluate(
        f"(() => {{ const e = document.querySelector('#tokenflock')?.explorer; return e && ({expression}); }})()"
    ):
        assert time.perf_counter() - began < seconds, expression
        time.sleep(0.005)
    return time.perf_counter() - began


def rates(page):
    """Pictures and frames a second, over some seconds."""
    read = f"[{FIND}.scene.drawn, {FIND}.received, performance.now()]"
    before = page.evaluate(read)
    time.sleep(SECONDS)
    after = page.evaluate(read)
    passed = (after[2] - before[2]) / 1000
    return (after[0] - before[0]) / passed, (after[1] - before[1]) / passed


def live(browser, address, found):
    """A page of the server."""
    page = browser.new_page(viewport={"width": 1240, "height": 720})
    began = time.perf_counter()
    page.goto(address)
    until(page, "e.scene.drawn > 0 && e.store.there.length > 0")
    found["page to first frame, s"] = time.perf_counter() - began
    began = time.perf_counter()
    page.reload()
    until(page, "e.scene.drawn > 0 && e.store.there.length > 0")
    found["reload to first frame, s"] = time.perf_counter() - began
    page.evaluate(f"void {FIND}.source.send({json.dumps({'type': 'start', 'spec': LIVE})})")
    until(page, "e.store.began.n_tokens === 2000 && e.store.there.length > 0")
    page.evaluate(f"void ({FIND}.player.time = 0, {FIND}.player.toggle(true))")
    drawn, received = rates(page)
    found["2,000 tokens while computing: pictures/s"] = drawn
    found["2,000 tokens while computing: frames received/s"] = received
    page.close()


def measure(browser, folder):
    """All numbers, as a dictionary."""
    found = {}
    began = time.perf_counter()
    with subprocess.Popen(EXPLORE, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://\S+", server.stdout.readline()).group()
            found["command to address, s"] = time.perf_counter() - began
            live(browser, address, found)
        finally:
            server.terminate()
    run = flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(10_000, 3), t_end=10.0, times=range(11), rtol=1e-3)
    path = export(run, Path(folder) / "run.html")
    page = browser.new_page(viewport={"width": 1240, "height": 720})
    page.goto(path.as_uri())
    until(page, "e.store.there.length === 11")
    page.evaluate(f"void ({FIND}.player.time = 0, {FIND}.view.pace = 0.25, {FIND}.player.toggle(true))")
    found["10,000 recorded tokens: pictures/s"] = rates(page)[0]
    found["10,000 recorded tokens: ms of a picture in scripts"] = page.evaluate(
        f"(() => {{ const e = {FIND}; const t = performance.now(); for (let k = 0; k < 20; k++)"
        " { e.player.go(k / 2); e.scene.render(); } return (performance.now() - t) / 20; })()"
    )
    page.close()
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
        for name, value in measure(launched, folder).items():
            print(f"{name:52s} {value:8.2f}")
        launched.close()
