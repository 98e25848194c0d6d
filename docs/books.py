"""Notebooks for the site, which runs them: those of examples/ and of examples/lectures/, with links that open them."""

import json

import host
from pieces import DOCS, ROOT

#: folder of the repository -> folder of the site
HOMES = {"examples": "notebooks", "examples/lectures": "lectures"}


def shown(text, book):
    """A notebook as the site has it: after its first cell the links that open it, if there is a host."""
    made = json.loads(text)
    if links := host.launch(book):
        made["cells"].insert(1, {"cell_type": "markdown", "id": "launch", "metadata": {}, "source": links})
    return json.dumps(made, indent=1) + "\n"


def put():
    """Notebooks where Sphinx finds them, anew only if they changed: it keeps what they showed."""
    for source, target in HOMES.items():
        folder = DOCS / target
        folder.mkdir(exist_ok=True)
        kept = {book.name: shown(book.read_text(), f"{source}/{book.name}") for book in (ROOT / source).glob("*.ipynb")}
        for old in folder.glob("*.ipynb"):
            if old.name not in kept:
                old.unlink()
        for name, text in kept.items():
            if not (folder / name).is_file() or (folder / name).read_text() != text:
                (folder / name).write_text(text)
