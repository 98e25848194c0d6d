"""One HTML file with a recorded run: the page, the run and nothing else. It opens from disk and asks no network."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenflock.arguments import flag, instance
from tokenflock.arguments import path as a_path
from tokenflock.errors import FileError
from tokenflock.explorer.assets import asset
from tokenflock.explorer.recording import FRAMES, record
from tokenflock.markup import data, markup, script
from tokenflock.store import write_text
from tokenflock.trajectories import has_model

if TYPE_CHECKING:
    import xarray as xr

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
 style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="tokenflock"></div>
<noscript>This page draws with JavaScript: allow it.</noscript>
<script type="application/json" id="tokenflock-run">{run}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def check_target(path: Path, overwrite: bool) -> Path:
    """Say before any work whether the page can be written there."""
    path = a_path("path", path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"cannot tell what {str(path)!r} should be. Allowed: names ending in .html.")
    if path.is_dir() or (path.exists() and not overwrite):
        raise FileError(f"{str(path)!r} exists. Choose another name, or allow it with --overwrite (overwrite=True).")
    if not path.parent.is_dir():
        raise FileError(f"the folder {str(path.parent)!r} does not exist. Make it first, or choose another place.")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"the folder {str(path.parent)!r} cannot be written to. Choose another place.")
    return path


def page(run: xr.Dataset, which: int | None = None, title: str = "", frames: int = FRAMES) -> str:
    """The text of the file."""
    from tokenflock.explorer.tab import statement

    held: dict[str, Any] = record(run, which, frames)
    held["data"] = base64.b64encode(held["data"]).decode()
    told = held["began"]
    usual = f"{told['n_tokens']} tokens in {told['dim']} dimensions"
    usual = f"{usual}, β = {told['spec']['model']['beta']}" if has_model(run) else f"{run.attrs.get('name') or usual}"
    claim = told["atlas"]["claim"]
    held |= {"title": title or usual, "statement": statement(claim) if claim else None}
    own = script(asset("explorer.js").decode())
    return markup(PAGE, title=held["title"], run=data(held), script=own)


def export(
    run: xr.Dataset,
    path: str | Path,
    run_number: int | None = None,
    *,
    title: str = "",
    frames: int = FRAMES,
    overwrite: bool = False,
) -> Path:
    """Write a run as one HTML file, whole or not at all.

    run_number: the run of an ensemble. title: of the page. frames: a longer run is thinned. overwrite: replace a file.
    """
    target = check_target(a_path("path", path), flag("overwrite", overwrite))
    instance("title", title, str, "a text")
    write_text(target, page(run, run_number, title, frames))
    return target
