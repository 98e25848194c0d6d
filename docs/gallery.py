"""The gallery: a card for every figure, and a page of its own with the picture, what it shows and code to copy.

Pictures are those of `make reproduce`; thumbnails are made of them when the site is built, and none is kept in the
repository. Nothing here needs Sphinx.
"""

import html
import re
from pathlib import Path

from pieces import DOCS, drawn, made, papers, picture, text

FOLDER = DOCS / "gallery"
#: copied as it is to the top of the site
SITE = DOCS / "made" / "site"
THUMBNAIL = 480  # pixels, for cards of 240
MISSING = ["*Not drawn: run `make reproduce` first.*", ""]


def stem(name):
    """causal/2 -> causal-2: a page, a picture."""
    return name.replace("/", "-")


def function(name):
    """The function that draws a figure."""
    from importlib import import_module

    from tokenflock.papers import figures

    module, _, function = figures.NAMES[name].partition(":")
    return getattr(import_module(module), function)


def shows(name):
    """What a figure shows, in a line."""
    return function(name).__doc__.partition("\n")[0]


def thumbnail(name):
    """The small picture of a card, made if the large one is newer; None without one."""
    large, small = drawn("figures", name), SITE / "thumbnails" / f"{stem(name)}.png"
    if not large.is_file():
        return None
    if not small.is_file() or small.stat().st_mtime < large.stat().st_mtime:
        from PIL import Image

        small.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(large) as image:
            white = Image.new("RGB", image.size, "white")
            white.paste(image, mask=image.convert("RGBA").getchannel("A"))
            white.thumbnail((THUMBNAIL, THUMBNAIL), Image.Resampling.LANCZOS)
            white.quantize(64).save(small, optimize=True)
    return Path("thumbnails") / small.name


def card(name):
    """A card: a thumbnail, the name, a line."""
    small = thumbnail(name)
    shown = f'<img src="{small.as_posix()}" alt="" loading="lazy">' if small else "<i>not drawn</i>"
    words = html.escape(shows(name))
    return f'<a class="card" href="gallery/{stem(name)}.html">{shown}<b>{name}</b><span>{words}</span></a>'


def cards():
    """All cards, paper by paper, and the pages behind them for the table of contents."""
    from tokenflock.papers import figures

    lines = []
    for head, names in papers(figures.NAMES):
        lines += [*head, '<div class="cards">', *map(card, names), "</div>", ""]
    return [*lines, "```{toctree}", ":hidden:", "", *(f"gallery/{stem(name)}" for name in figures.NAMES), "```", ""]


def caption(words):
    """A caption with a paragraph for every panel, for what is the authors' and what is ours, and for the sizes."""
    starts = r"\([a-f]\) |The authors': |Ours, not the paper's: |This is the quick version: "
    lines = []
    for part in re.split(rf"(?<=[.?]) (?={starts})", words):
        lead = re.match(starts, part)
        said = f"**{text(lead[0].strip())}** {text(part[lead.end() :])}" if lead else text(part)
        lines += [said, ""]
    return lines


def sized(name):
    """What decides how a figure looks, in a table: the paper's own numbers, and those of a quick look."""
    from tokenflock.papers import figures

    full, quick = figures.parameters(name), figures.parameters(name, quick=True)
    rows = [f"| `{key}` | {text(str(full[key]))} | {text(str(quick[key]))} |" for key in full]
    return ["| keyword | at its own size | quick |", "|---|---|---|", *rows, ""]


def film(name):
    """A figure in motion, made once."""
    from tokenflock.papers import figures

    path = DOCS / "made" / f"{stem(name)}.gif"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        figures.animate(name, path, quick=True)
    return ["## In motion", "", f"![{text(name)} in motion](../made/{path.name})", ""]


def changed(name):
    """A keyword with another value, for an example: a seed if there is one."""
    from tokenflock.papers import figures

    found = figures.parameters(name)
    for key, value in (("seed", 1), ("beta", 16.0), ("merge", 0.01)):
        if key in found:
            return key, value
    return None


def page(name):
    """The page of one figure."""
    from tokenflock.papers import figures

    other = changed(name)
    python = ["import tokenflock as flock", "", f'figure = flock.figure("{name}", quick=True)  # seconds']
    shell = [f"tokenflock figure {name} --quick --out figures  # seconds", f"tokenflock figure {name} --out figures"]
    if other:
        python += [f'figure = flock.figure("{name}", quick=True, {other[0]}={other[1]!r})  # another {other[0]}']
        shell += [f"tokenflock figure {name} --quick --set {other[0]}={other[1]} --out figures"]
    python += [f'figure.savefig("{stem(name)}.png")']
    if name in figures.MOVIES:
        python += [f'flock.figures.animate("{name}", "{stem(name)}.gif", quick=True)']
        shell += [f"tokenflock figure {name} --quick --animate gif --out figures"]
    lines = [f"# {text(name)}", "", text(shows(name)), ""]
    lines += picture(drawn("figures", name), f"Figure {name}", FOLDER) or MISSING
    lines += caption(made("figures", name).get("caption", ""))
    lines += ["<!-- film causal/2 -->", ""] if name == "causal/2" else []
    lines += ["## To copy", ""]
    lines += ["```python", *python, "```", "", "```bash", *shell, "```", ""]
    return [*lines, "## What may be changed", "", *sized(name), "{doc}`All figures </figures>`."]


def pages():
    """{stem: the page of a figure}."""
    from tokenflock.papers import figures

    return {stem(name): page(name) for name in figures.NAMES}


def listed():
    """All figures in a table, for readers of the repository."""
    from tokenflock.papers import figures

    lines = []
    for head, names in papers(figures.NAMES):
        rows = [f"| `{name}` | {text(shows(name))} |" for name in names]
        lines += [*head, "| figure | what it shows |", "|---|---|", *rows, ""]
    return lines
