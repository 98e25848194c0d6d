"""The pictures of "Your own model": each is drawn from the code of its section, as it stands on the page.

A section asks with <!-- own NAME -->. What its lines leave in `figure` is its picture, else that of the `run` that they
made. Nothing here needs Sphinx.
"""

import re
from functools import cache

from pieces import DOCS, picture

PAGE = DOCS / "own_model.md"
PICTURES = DOCS / "made"
PARTS = re.compile(r"^```python\n(?P<code>.*?)^```$|^<!-- own (?P<name>[\w-]+) -->$", re.MULTILINE | re.DOTALL)


def drawn(text):
    """{name: figure} of every section of a page that asks for one, its code run from the top."""
    import matplotlib.figure

    from tokenflock import plot

    names, figures = {"__name__": "__main__"}, {}
    for part in PARTS.finditer(text):
        if part["code"] is not None:
            line = text[: part.start("code")].count("\n")
            exec(compile("\n" * line + part["code"], str(PAGE), "exec"), names)
            continue
        figure = names.pop("figure", None)
        figures[part["name"]] = figure if isinstance(figure, matplotlib.figure.Figure) else plot.draw(names["run"])
    return figures


@cache
def pictures():
    """The pictures of the page, made anew: {name: path}."""
    from tokenflock import plot

    PICTURES.mkdir(exist_ok=True)
    found = {}
    for name, figure in drawn(PAGE.read_text(encoding="utf-8")).items():
        found[name] = PICTURES / f"own-{name}.png"
        with plot.style():
            figure.savefig(found[name], dpi=plot.DPI)
    return found


def own(name):
    """The picture of a section."""
    return picture(pictures()[name], f"What the lines above compute: {name}")
