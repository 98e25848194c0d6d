"""ALBERT: one block of weights used in every layer, so that each head has one value matrix V_h = W_O,h W_V,h (A.8).

A model is a folder in the layout of Hugging Face, config.json beside model.safetensors or pytorch_model.bin; or a
wheel or zip that holds such a folder; or a folder that holds one of these.

V_h is d x d of rank k = d / heads: d - k of its eigenvalues are 0, the others are those of the k x k matrix
W_V,h W_O,h. Only these are returned: they act where the head writes and reads, and their signs are what A.8 is about.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tokenflock.arguments import Reals
from tokenflock.errors import FileError, bad
from tokenflock.networks import tensors

VARIABLE, FOLDER = "TOKENFLOCK_WEIGHTS", "weights"
FILES = ("model.safetensors", "pytorch_model.bin")
ARCHIVES = (".whl", ".zip")
#: A trained ALBERT that package registries hold: 8 heads of 32, MIT licence.
EXAMPLE = "pip download --no-deps rxnmapper==0.4.3 --dest weights"
LAYOUT = f"a folder with config.json and {' or '.join(FILES)}, or a wheel or zip that holds one"


class Albert(NamedTuple):
    """The value matrices of a model: head h is V_h = outputs[h] @ values[h]."""

    name: str  #: of the folder or archive, without its path
    outputs: Reals  #: W_O,h (heads, d, k)
    values: Reals  #: W_V,h (heads, k, d)
    digest: str  #: SHA-256 of the file of weights

    @property
    def n_heads(self) -> int:
        """How many heads."""
        return len(self.values)

    @property
    def dim(self) -> int:
        """d, the hidden size."""
        return self.values.shape[2]


def find(weights: str | Path | None = None) -> Path:
    """Where the weights are: as given, else as the variable TOKENFLOCK_WEIGHTS says, else the folder weights/ here."""
    place = weights or os.environ.get(VARIABLE) or FOLDER
    path = Path(place)
    if path.exists():
        return path
    said = "as given" if weights else f"from {VARIABLE}" if os.environ.get(VARIABLE) else f"{VARIABLE} is not set"
    raise FileError(
        f"no weights of an ALBERT model at {str(place)!r} ({said}). Wanted: {LAYOUT}. Fetch one with `{EXAMPLE}`, "
        f"or set {VARIABLE} to where you have one."
    )


def read(path: str | Path, layer: int = 0) -> Albert:
    """The heads of a model on disk; layer: which block, for the rare models that hold several."""
    place = find(path)
    try:
        name, config, data, file = _open(place)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{str(place)!r} cannot be read: {error.strerror}. Change its rights, or copy it.") from error
    found = tensors.read(data, file)
    outputs, values = _split(found, _heads(config, file), layer, file)
    return Albert(name, outputs, values, hashlib.sha256(data).hexdigest())


def value_heads(path: str | Path, layer: int = 0) -> list[tuple[Reals, Reals]]:
    """(W_O,h, W_V,h), of shapes (d, k) and (k, d), for every head: V_h is their product."""
    model = read(path, layer)
    return list(zip(model.outputs, model.values, strict=True))


def initial(dim: int, n_heads: int, scale: float = 0.02, seed: int = 0) -> Albert:
    """Heads as ALBERT starts its training: independent N(0, scale^2) entries (initializer_range in config.json)."""
    if n_heads < 1 or dim % n_heads:
        raise bad("n_heads", n_heads, f"a divisor of dim = {dim}", "Every head gets an equal part of the hidden size.")
    generator = np.random.default_rng(seed)
    values, output = scale * generator.standard_normal((2, dim, dim))
    return Albert(f"Gaussian, seed {seed}", _columns(output, n_heads), _rows(values, n_heads), "")


def eigenvalues(output: Reals, value: Reals) -> Any:
    """The k eigenvalues of V = output @ value that its rank leaves, largest real part first."""
    found = np.linalg.eigvals(value @ output).astype(complex)
    # Of a complex pair the one above the axis first, so that the order does not hang on LAPACK.
    return found[np.lexsort((-found.imag, -found.real))]


def _rows(matrix: Reals, n_heads: int) -> Reals:
    return matrix.reshape(n_heads, -1, matrix.shape[1])


def _columns(matrix: Reals, n_heads: int) -> Reals:
    return matrix.reshape(len(matrix), n_heads, -1).transpose(1, 0, 2)


def _open(path: Path) -> tuple[str, Any, bytes, str]:
    """Name of the model, its configuration, its weights and the name of their file."""
    if path.is_file() and path.suffix in ARCHIVES:
        return _open_archive(path)
    folder = path.parent if path.is_file() else path
    if not (folder / "config.json").is_file():
        if path.is_file():
            raise FileError(f"{str(path)!r} is no wheel or zip and has no config.json beside it. Wanted: {LAYOUT}.")
        return _open(_only(path))
    names = (path.name,) if path.is_file() and path.name != "config.json" else FILES
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        raise FileError(f"{str(folder)!r} has a config.json but no weights. Wanted beside it: {' or '.join(FILES)}.")
    config = _config((folder / "config.json").read_bytes(), str(folder))
    return folder.resolve().name, config, file.read_bytes(), str(file)


def _only(folder: Path) -> Path:
    """The one model in a folder of models."""
    inside = [p for p in sorted(folder.iterdir()) if p.suffix in ARCHIVES or (p / "config.json").is_file()]
    if len(inside) == 1:
        return inside[0]
    names = ", ".join(p.name for p in inside) or "nothing of the kind"
    raise FileError(f"{str(folder)!r} should hold one model and holds: {names}. Wanted: {LAYOUT}.")


def _open_archive(path: Path) -> tuple[str, Any, bytes, str]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            folders = sorted(n.removesuffix("config.json") for n in names if n.rpartition("/")[2] == "config.json")
            found = [next((f + name for name in FILES if f + name in names), None) for f in folders]
            if len(models := [f for f in found if f]) != 1:
                said = ", ".join(models) or "none"
                raise FileError(f"{str(path)!r} should hold one model and holds: {said}. Wanted: {LAYOUT}.")
            file = models[0]
            folder = file[: -len(file.rpartition("/")[2])]
            config = _config(archive.read(f"{folder}config.json"), str(path))
            return path.name, config, archive.read(file), f"{path}/{file}"
    except (zipfile.BadZipFile, EOFError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a wheel or zip: {error}. Fetch it again.") from error


def _config(data: bytes, where: str) -> Any:
    try:
        config = json.loads(data)
        kind = config.get("model_type")
    except (ValueError, AttributeError) as error:
        raise FileError(f"the config.json of {where!r} is not JSON of a model: {error}. Fetch it again.") from error
    if kind != "albert":
        raise FileError(f"{where!r} holds a model of type {kind!r}. Known: 'albert'.")
    return config


def _heads(config: Any, where: str) -> int:
    heads = config.get("num_attention_heads")
    if type(heads) is not int or heads < 1:
        raise FileError(f"num_attention_heads = {heads!r} in the config.json of {where!r}. Allowed: an integer >= 1.")
    return heads


def _split(found: tensors.Tensors, n_heads: int, layer: int, file: str) -> tuple[Reals, Reals]:
    end = ".attention.value.weight"
    blocks = sorted(name.removesuffix(end) for name in found if name.endswith(end))
    if not blocks:
        raise FileError(f"{file!r} has no tensor *{end}: it is not an ALBERT model.")
    if not (isinstance(layer, int) and 0 <= layer < len(blocks)):
        raise bad("layer", layer, f"0 to {len(blocks) - 1}", "ALBERT shares one block among its layers: layer 0.")
    value = np.array(found[blocks[layer] + end], dtype=np.float64)
    output = found.get(f"{blocks[layer]}.attention.dense.weight")
    d = value.shape[-1]
    if output is None or value.shape != (d, d) or output.shape != (d, d) or d % n_heads:
        shape = None if output is None else output.shape
        raise FileError(f"{file!r}: value {value.shape} and dense {shape} should be square, for {n_heads} equal heads.")
    output = np.array(output, dtype=np.float64)
    if not (np.isfinite(value).all() and np.isfinite(output).all()):
        raise FileError(f"{file!r} holds weights that are nan or inf. Fetch it again.")
    return _columns(output, n_heads), _rows(value, n_heads)
