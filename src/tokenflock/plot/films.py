"""Figures in motion: frames of a matplotlib Figure, written as .gif (Pillow) or .mp4 (ffmpeg), whole or not at all."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokenflock import arguments, plot
from tokenflock.errors import FileError, MissingExtra, missing

Picture = NDArray[np.uint8]
FORMATS = (".gif", ".mp4")
EXACT = 16  # colours of a .gif that are kept as they are
MOST_FRAMES, MOST_QUICK = 200, 40  # a longer run is thinned: 10 seconds are enough to see it
PER_SECOND = 20
HOLD = 20  # copies of the last frame: a second to look at it before it begins again


def check_target(out: str | Path) -> Path:
    """Say before any work whether an animation can be written here."""
    path = arguments.path("out", out)
    if path.suffix not in FORMATS:
        raise FileError(f"cannot tell the format of {str(path)!r}. Allowed: names ending in {' or '.join(FORMATS)}.")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise FileError(f"the folder {str(path.parent)!r} does not exist. Make it first, or choose another place.")
    if not os.access(path.parent, os.W_OK):
        advice = "Choose another place, or change its rights."
        raise FileError(f"the folder {str(path.parent)!r} cannot be written to. {advice}")
    if path.suffix == ".mp4":
        ffmpeg()
    return path


def ffmpeg() -> str:
    """The program that writes .mp4: from the PATH, or from the package imageio-ffmpeg."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        said = missing("ffmpeg on the PATH, or imageio-ffmpeg", "animate", "writing .mp4")
        raise MissingExtra(f"{said}; or write a .gif, which needs nothing more.") from error


def write(path: Path, movie: plot.Movie, most: int = MOST_FRAMES) -> Path:
    """Draw at most so many of the frames, and put the file under its name when it is whole."""
    figure, draw, count = movie
    chosen = np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(int)).tolist()
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        if path.suffix == ".gif":
            samples = [chosen[0], chosen[len(chosen) // 3], chosen[-1]]
            _gif(part, _frames(figure, draw, chosen), _palette(list(_frames(figure, draw, samples))))
        else:
            _mp4(part, _frames(figure, draw, chosen + [chosen[-1]] * HOLD))
        os.replace(part, path)
    return path


def _frames(figure: plot.Figure, draw: Callable[[int], None], chosen: list[int]) -> Iterator[Picture]:
    """Pictures (height, width, 3), with even sides, which video needs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with plot.style():
        for k in chosen:
            draw(k)
            canvas.draw()
            picture = np.asarray(canvas.buffer_rgba())[..., :3]
            height, width = (side - side % 2 for side in picture.shape[:2])
            yield np.ascontiguousarray(picture[:height, :width])


def _palette(pictures: list[Picture]) -> Picture:
    """256 colours (256, 3) for all frames: the commonest as they are, the rest by a median cut where each counts once.

    Counted as often as they occur, the greys of the paper would leave nothing for a few thin lines.
    """
    from PIL import Image

    found, counts = np.unique(np.concatenate([_packed(p).ravel() for p in pictures]), return_counts=True)
    rest = Image.fromarray(_unpacked(found)[None]).quantize(256 - EXACT, Image.Quantize.MEDIANCUT)
    made = np.array(rest.getpalette(), dtype=np.uint8).reshape(-1, 3)[: 256 - EXACT]
    return np.concatenate([_unpacked(found[np.argsort(-counts, kind="stable")[:EXACT]]), made])


def _packed(picture: Picture) -> NDArray[np.int64]:
    return np.asarray(picture.astype(np.int64) @ np.array([65536, 256, 1]))


def _unpacked(colours: NDArray[np.int64]) -> Picture:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.uint8)


def _indexed(picture: Picture, palette: Picture) -> Picture:
    """The nearest colour of the palette for every dot (Pillow's own search would not keep white white)."""
    found, inverse = np.unique(_packed(picture), return_inverse=True)
    apart = _unpacked(found).astype(int)[:, None] - palette.astype(int)
    nearest = (apart**2).sum(axis=-1).argmin(axis=1).astype(np.uint8)
    return np.asarray(nearest[inverse].reshape(picture.shape[:2]))


def _gif(path: Path, frames: Iterator[Picture], palette: Picture) -> None:
    from PIL import Image

    pictures = [Image.fromarray(_indexed(frame, palette)) for frame in frames]
    for picture in pictures:
        picture.putpalette(palette.ravel().tolist())
    duration = [1000 // PER_SECOND] * len(pictures)
    duration[-1] *= HOLD
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=duration, loop=0, optimize=False)


def _mp4(path: Path, frames: Iterator[Picture]) -> None:
    first = next(frames)
    height, width = first.shape[:2]
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(PER_SECOND), "-i", "-"]
    # yuv420p and faststart: what every browser plays, from the first byte on; bitexact: no clock and no version inside
    coded = ["-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-fflags", "+bitexact"]
    with tempfile.TemporaryFile() as said:
        command = [ffmpeg(), "-loglevel", "error", "-y", *raw, *coded, "-flags:v", "+bitexact", str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for frame in chain([first], frames):
                    pipe.write(frame.tobytes())
        except BrokenPipeError:
            pass  # its own words, below, say why it ended
        except BaseException:
            process.kill()
            raise
        finally:
            code = process.wait()
        if code:
            said.seek(0)
            words = said.read().decode(errors="replace").strip()
            raise FileError(f"ffmpeg could not write {path.name!r}: {words or f'exit status {code}'}. Try a .gif.")
