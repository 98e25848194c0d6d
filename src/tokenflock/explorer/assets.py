"""What the page is made of: its files, and the presets that its gallery shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenflock.errors import FileError
from tokenflock.markup import data


def asset(name: str) -> bytes:
    """A file of the page."""
    try:
        return (Path(__file__).parent / "static" / name).read_bytes()
    except OSError as error:
        raise FileError(f"{name} of the explorer is missing: build it with `make web`, or install again.") from error


def opening() -> bytes:
    """The page, with the first frame of its first preset inside."""
    return asset("index.html").replace(b"{}", data(json.loads(asset("first.json"))).encode())


def presets() -> dict[str, Any]:
    """What the gallery shows: the presets with their pictures."""
    from tokenflock.explorer.presets import PRESETS

    pictures = json.loads(asset("pictures.json"))
    return {"presets": [{**p.described(), "picture": pictures.get(p.name)} for p in PRESETS]}
