"""Where the project and this site live. The repository is named in pyproject.toml, and has no public host yet.

TOKENFLOCK_SITE is the address at which a build will be served, with the slash at its end. With it pages have what only
works from outside: a card for social media, and links that open the notebooks on Binder and Colab.
"""

import os
import tomllib
from pathlib import Path
from urllib.parse import quote, urlparse

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
SITE = os.environ.get("TOKENFLOCK_SITE", "")
BRANCH = "main"


def launch(book):
    """Links that open a notebook, examples/first_steps.ipynb, on a machine of others; none before there is a host."""
    where = urlparse(REPOSITORY)
    if not SITE or where.hostname != "github.com":
        return []
    name = where.path.strip("/")
    binder = f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={quote(book, safe='')}"
    colab = f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{book}"
    first = f"%pip install git+{REPOSITORY}"
    return [f"Open it on [Binder]({binder}), or on [Colab]({colab}) with a first cell `{first}`."]


def tags(title, about, page):
    """What social media and search engines read of a page, as HTML."""
    from tokenflock.markup import joined, markup

    told = {"og:type": "website", "og:site_name": "tokenflock", "og:title": title, "og:description": about}
    if SITE:
        told |= {"og:url": f"{SITE}{page}.html", "og:image": f"{SITE}card.png", "twitter:card": "summary_large_image"}
    lines = [markup('<meta property="{}" content="{}">\n', name, words) for name, words in told.items()]
    return str(joined([markup('<meta name="description" content="{}">\n', about), *lines]))
