"""What stands at the top of the site: the live page that the first page shows, the social card, llms.txt.

All three are made when the site is built. Nothing here needs Sphinx.
"""

import re

from host import PROJECT
from pieces import DOCS, ROOT

LIVE = "live.html"
ORDER = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def live(path):
    """The run of the first page, two hundred tokens under causal attention, as one HTML file that plays by itself."""
    import numpy as np

    import tokenflock as flock

    times = np.concatenate([[0.0], np.geomspace(0.05, 150.0, 160)])  # what happens first happens fast
    model, start = flock.Model(dim=2, beta=64.0), flock.uniform(n_tokens=200, dim=2, seed=0)
    run = flock.simulate(model, start, 150.0, times=times)
    flock.export(run, path, title="Two hundred tokens under causal attention", overwrite=True)


def window():
    """The live page in the first page; it is loaded when it is seen."""
    told = "A run that plays: two hundred tokens on a circle gather in clusters"
    return [f'<iframe class="live" src="{LIVE}" title="{told}" loading="lazy"></iframe>']


def card(path):
    """The picture that social media show with a link, 1200 x 630."""
    from matplotlib.figure import Figure

    import tokenflock as flock
    from tokenflock import plot

    start = flock.uniform(n_tokens=200, dim=2, seed=0)
    run = flock.simulate(flock.Model(dim=2, beta=64.0), start, 10.0)
    with plot.style():
        drawn = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
        tokens = drawn.add_axes((0.03, 0.08, 0.44, 0.84))
        plot.circle_snapshot(tokens, run["x"].values[-1], size=9.0)
        tokens.set_title("")
        drawn.text(0.5, 0.62, "tokenflock", fontsize=58, weight="bold")
        drawn.text(0.502, 0.5, "The laboratory for attention dynamics", fontsize=23)
        drawn.text(0.502, 0.36, "Tokens are interacting particles,\ndepth is time.", fontsize=19, color="0.35")
        drawn.savefig(path, dpi=100)


def told(page):
    """(title, first sentence) of a page."""
    text = re.sub(r"^<!--.*?-->$|^\(.*\)=$|^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
    after = text.split(f"# {title}\n", 1)[1]
    words = next((p for p in re.split(r"\n\s*\n", after.strip()) if re.match(r"[\w`*\[{(]", p)), "")
    words = re.sub(r"\{\w+\}`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", " ".join(words.split()))
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    return title, re.split(r"(?<=[.?])\s", words)[0].rstrip(":")


def contents():
    """[(heading, pages below it)] in the order of the first page."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    found = []
    for block in ORDER.findall(index):
        lines = [line for line in block.splitlines() if line]
        heading = next(line.partition(": ")[2] for line in lines if line.startswith(":caption:"))
        found.append((heading, [line for line in lines if not line.startswith(":")]))
    return found


def llms(written):
    """What a language model should read of this site: the pages with a sentence each, and the public names by topic.

    written: {folder: {stem: lines}} of pages that a build makes.
    """
    import json

    lines = [f"# {PROJECT['name']}", "", f"> {PROJECT['description']}", ""]
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    lines += [*re.findall(r"```python\n.*?```", index, re.DOTALL)[:1], ""]
    rows = re.findall(r"^\| (\{doc\}.*?) \| (.*?) \|$", index, re.MULTILINE)
    short = {page: words for pages, words in rows for page in re.findall(r"`(?:[^`<]*<)?(\w+)>?`", pages)}
    for heading, names in contents():
        lines += [f"## {heading}", ""]
        for name in names:
            path = DOCS / f"{name}.md"
            if path.is_file():
                title, words = told(path.read_text(encoding="utf-8"))
            else:  # a notebook, which the build copies from examples/
                book = (ROOT / "examples" / name.removeprefix("notebooks/")).with_suffix(".ipynb")
                cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
                title, words = told("".join(cells[0]["source"]))
            lines.append(f"- [{title}]({name}.html): {short.get(name, words)}")
        lines.append("")
    for folder, pages in written.items():
        lines += [f"## {folder.capitalize()}", ""]
        for stem, page in pages.items():
            title, words = told("\n".join(page))
            lines.append(f"- [{title}]({folder}/{stem}.html): {words}")
        lines.append("")
    return "\n".join(lines)


def made(folder, written):
    """Make what is missing; the text each time, for it takes no time."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in ((LIVE, live), ("card.png", card)):
        if not (folder / name).is_file():
            make(folder / name)
    (folder / "llms.txt").write_text(llms(written), encoding="utf-8")
