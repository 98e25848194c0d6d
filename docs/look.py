"""Pictures of the built site as a reader meets it: 1280 and 390 pixels wide, light and dark, on contact sheets.

    python docs/look.py build/look            every page, docs/_build
    python docs/look.py build/look index topics/model

Needs the chromium that the tests of the explorer drive. Says which pages are wider than the screen.
"""

import os
import shutil
import sys
from pathlib import Path

from PIL import Image

SITE = Path(__file__).parent / "_build"
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
HEIGHT = 1600  # pixels of a page that a sheet shows
COLUMNS = 6
THUMB = 400


def chromium():
    """The browser of this machine."""
    asked = os.environ.get("TOKENFLOCK_CHROMIUM")
    found = asked or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise SystemExit("There is no chromium here. Install one, or name it in TOKENFLOCK_CHROMIUM.")
    return found


def pages(names):
    """The pages that are asked for, or all."""
    if names:
        return [SITE / f"{name}.html" for name in names]
    left = ("_modules", "_static", "live.html", "genindex.html", "py-modindex.html")
    return [p for p in sorted(SITE.rglob("*.html")) if not p.relative_to(SITE).as_posix().startswith(left)]


def stem(page):
    """topics/model.html -> topics-model."""
    return page.relative_to(SITE).with_suffix("").as_posix().replace("/", "-")


def sheet(shots, path):
    """Pictures side by side."""
    small = []
    for shot in shots:
        image = Image.open(shot).convert("RGB")
        image.thumbnail((THUMB, THUMB * 2))
        small.append(image)
    rows = [small[k : k + COLUMNS] for k in range(0, len(small), COLUMNS)]
    whole = Image.new("RGB", (COLUMNS * THUMB, sum(max(i.height for i in row) for row in rows)), "gray")
    top = 0
    for row in rows:
        for k, image in enumerate(row):
            whole.paste(image, (k * THUMB, top))
        top += max(image.height for image in row)
    whole.save(path)


def look(out, names):
    """Take the pictures; gives the pages that scroll sideways."""
    from playwright.sync_api import sync_playwright

    out.mkdir(parents=True, exist_ok=True)
    wide = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium())
        for width in WIDTHS:
            for scheme in SCHEMES:
                size = {"width": width, "height": HEIGHT}
                tab = browser.new_page(viewport=size, color_scheme=scheme)
                shots = []
                for page in pages(names):
                    tab.goto(page.as_uri())
                    tab.wait_for_timeout(150)
                    shots.append(out / f"{stem(page)}-{width}-{scheme}.png")
                    tab.screenshot(path=shots[-1])
                    if tab.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
                        wide.append(f"{stem(page)} at {width}")
                sheet(shots, out / f"sheet-{width}-{scheme}.png")
                tab.close()
        browser.close()
    return sorted(set(wide))


if __name__ == "__main__":
    found = look(Path(sys.argv[1]), sys.argv[2:])
    print("\n".join(f"wider than the screen: {name}" for name in found) or "no page is wider than the screen")
