"""What generated pages are made of: words as markdown, what a build has made, papers with what belongs to them.

Nothing here needs Sphinx.
"""

import inspect
import json
import os
import re
import struct
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
OUT = Path(os.environ.get("TOKENFLOCK_OUT", ROOT / "out"))
#: the first part of a claim's name -> the key of its paper in `tokenflock.papers.citations`
PAPERS = {
    "causal": "A",
    "emergence": "B",
    "perspective": "C",
    "metastability": "D",
    "meanfield": "E",
    "normalization": "F",
}


def text(words):
    """Words with formulas as markdown that shows exactly them; what has no meaning in markdown stays as it is typed."""
    words = re.sub(r"[\\`*|$~]|<(?=[A-Za-z/!?])|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", words)
    return re.sub(r"^(\d*)(?=[#+>.)-])", r"\1\\", words)


def spoken(words):
    """The same, but what stands in backquotes is code."""
    return "".join(f"`{part}`" if k % 2 else text(part) for k, part in enumerate(words.split("`")))


def made(kind, name):
    """What `make reproduce` wrote about a claim or figure, {} if it did not."""
    path = OUT / kind / f"{name.replace('/', '-')}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return {}


def drawn(kind, name):
    """Where `make reproduce` put a picture."""
    return OUT / kind / f"{name.replace('/', '-')}.png"


def picture(path, told, page=DOCS):
    """A picture in a page, no larger than on paper, that opens in full when it is touched; nothing if there is none."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        head = file.read(20)
    # 200 dots an inch, shown at 100: single panels stay small, and letters have one size
    width = [f":width: {struct.unpack('>I', head[16:])[0] // 2}px"] if head.startswith(b"\x89PNG") else []
    return [f"```{{image}} {os.path.relpath(path, page)}", f":alt: {told}", *width, "```", ""]


def papers(names):
    """(heading lines, the names below it) a paper; other pages call it by its letter."""
    from tokenflock.papers import citations

    groups = {}
    for name in names:
        groups.setdefault(name.partition("/")[0], []).append(name)
    for paper, inside in groups.items():
        found = citations.REFERENCES.get(PAPERS.get(paper, ""))
        title = found.fields["title"].translate({ord(c): None for c in "{}"}) if found else paper
        where = f", [arXiv:{found.fields['eprint']}]({found.fields['url']})" if found else ""
        letter = f"Paper {PAPERS[paper]}: " if paper in PAPERS else ""
        yield [f"## {letter}{text(paper)}", "", f"{text(title)}{where}.", ""], inside


def first(thing):
    """The first line of what a thing says about itself."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].rstrip(":.")


def pages(folder, made):
    """Pages that a build writes, {stem: markdown}: nothing is written anew that stands there, nothing old is left."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in made:
            old.unlink()
    for stem, lines in made.items():
        path, words = folder / f"{stem}.md", "\n".join(lines).rstrip() + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != words:
            path.write_text(words, encoding="utf-8")
