"""Pictures inside of the page: as they are drawn where that is small, else as dots that a screen and a printer need."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import NamedTuple

#: Dots across: twice the page's 690 or so, for screens of two dots a pixel and for print at 200 dots an inch.
ACROSS = 1400
VIEW = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')  # of an SVG that matplotlib wrote
QUALITY = 82  # of WebP: lines and letters show no halo at it


class Embedded(NamedTuple):
    """The bytes of a picture, their kind, and its size in dots, which keeps the page from jumping."""

    content: bytes
    mime: str
    width: int
    height: int


def embedded(svg: Path, png: Path | None) -> Embedded:
    """The smaller of a drawing and of its dots; the drawing, where there are none."""
    if png is None:
        found = VIEW.search(svg.read_text(encoding="utf-8"))
        width, height = (float(found[1]), float(found[2])) if found else (4.0, 3.0)
        return Embedded(svg.read_bytes(), "image/svg+xml", ACROSS, round(ACROSS * height / width))
    from PIL import Image, features

    with Image.open(png) as image:
        width, height = image.size
        across = min(width, ACROSS)
        small = image.convert("RGB").resize((across, round(height * across / width)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    if features.check("webp"):
        small.save(file, "WEBP", quality=QUALITY, method=4)
        dots = Embedded(file.getvalue(), "image/webp", *small.size)
    else:
        small.quantize(64).save(file, "PNG", optimize=True)
        dots = Embedded(file.getvalue(), "image/png", *small.size)
    if svg.stat().st_size <= len(dots.content):
        return Embedded(svg.read_bytes(), "image/svg+xml", *small.size)
    return dots
