"""Models inside of wheels, zips and npm packages: what they hold, and one of them unpacked into a temporary folder.

Only the files of the model are taken out, each under its own name without a folder: nothing can land elsewhere.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from tokenflock.errors import FileError
from tokenflock.networks.budget import CONFIG_BYTES, ENTRIES, Budget, OverBudget
from tokenflock.networks.source import FILES, LAYOUT, as_config

SUFFIXES = (".whl", ".zip", ".tgz", ".tar.gz")
#: of the files beside config.json, those that a model is read from: weights by name, tokenizers by how they end
ENDS = (".json", ".txt", ".model", ".safetensors")


class Inside(NamedTuple):
    """A model in an archive: where, its files, and the type its config.json gives."""

    name: str
    files: tuple[str, ...]
    model_type: str | None


def is_archive(path: Path) -> bool:
    """Whether a path names a file that can be opened here."""
    return path.name.endswith(SUFFIXES) and path.is_file()


class _Zip:
    """What is asked of a zip. What an entry says of its size is what comes out of it: zipfile sees to that."""

    def __init__(self, path: Path) -> None:
        self._budget = Budget.of_archive(path)
        self.file = zipfile.ZipFile(path)
        self.sizes = {info.filename: info.file_size for info in self.file.infolist() if not info.is_dir()}
        _check_entries(len(self.sizes))

    def open(self, name: str) -> IO[bytes]:
        self._budget.spend(self.sizes[name])
        return self.file.open(name)

    def close(self) -> None:
        self.file.close()


class _Tar:
    """What is asked of a .tar.gz."""

    def __init__(self, path: Path) -> None:
        self._stream = _Unpacked(path)
        self.file = tarfile.open(fileobj=self._stream, mode="r:")
        self.members: dict[str, tarfile.TarInfo] = {}
        for count, member in enumerate(self.file):
            _check_entries(count)
            if member.isfile():
                self.members[member.name] = member
        self.sizes = {name: member.size for name, member in self.members.items()}

    def open(self, name: str) -> IO[bytes]:
        found = self.file.extractfile(self.members[name])
        assert found is not None  # only of what is no file
        return found

    def close(self) -> None:
        self.file.close()
        self._stream.close()


class _Unpacked(gzip.GzipFile):
    """A .gz whose bytes are counted before they are unpacked; to go back is to unpack from the beginning again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._budget = Budget.of_archive(path)

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(min(size or 0, self._budget.left + 1) if (size or 0) >= 0 else self._budget.left + 1)
        self._budget.spend(len(found))
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        here = super().seek(0, io.SEEK_CUR)
        if whence == io.SEEK_SET:
            self._budget.spend(offset - here if offset >= here else offset)
        return super().seek(offset, whence)


def _check_entries(count: int) -> None:
    if count > ENTRIES:
        raise OverBudget(f"it holds more than {ENTRIES} files, which no model needs. Unpack it yourself.")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        archive = _Zip(path) if path.suffix in (".whl", ".zip") else _Tar(path)
        with closing(archive):
            yield archive
    except OverBudget as error:
        raise FileError(f"{str(path)!r} cannot be read: {error}") from error
    except FileError:
        raise
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a wheel, zip or .tgz: {error}. Fetch it again.") from error
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"{str(path)!r} cannot be read: {why}. Change its rights, or fetch it again.") from error


def models(path: Path) -> list[Inside]:
    """The models that an archive holds."""
    with _opened(path) as archive:
        return _models(archive, str(path))


def _models(archive: Any, where: str) -> list[Inside]:
    names, beside = archive.sizes, defaultdict(list)
    for name in names:
        beside[name[: name.rfind("/") + 1]].append(name)
    found = []
    for folder, inside in beside.items():  # in the order of the file: a .tgz is read forward
        if f"{folder}config.json" not in names or not any(folder + file in names for file in FILES):
            continue
        with archive.open(f"{folder}config.json") as stream:
            kind = as_config(stream.read(CONFIG_BYTES + 1), f"{where}/{folder}").get("model_type")
        wanted = (n for n in inside if n.endswith(ENDS) or n.rpartition("/")[2].startswith("pytorch_model"))
        found.append(Inside(folder.rstrip("/"), tuple(wanted), kind))
    found.sort(key=lambda inside: f"{inside.name}/")
    folders = {inside.name for inside in found}
    seen = set()  # a package may hold the same file twice
    for name in sorted(n for n in names if n.endswith(".gguf")):
        if not folders.isdisjoint(str(parent) for parent in PurePosixPath(name).parents):
            continue
        same = (name.rpartition("/")[2], archive.sizes[name])
        if same not in seen:
            found.append(Inside(name, (name,), None))
            seen.add(same)
    return found


def unpack(path: Path, inside: str = "") -> Path:
    """One model, in a new temporary folder or as a file in it; inside: which, by the end of its name there."""
    with _opened(path) as archive:
        found = _models(archive, str(path))
        chosen = [m for m in found if not inside or f"/{m.name}".endswith(f"/{inside.strip('/')}")]
        if len(chosen) != 1:
            raise FileError(_unclear(path, [m.name for m in found], inside))
        needed = sum(archive.sizes[name] for name in chosen[0].files)
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if needed > free:
            raise FileError(
                f"{str(path)!r} unpacks to {needed / 1e9:.1f} GB, and the folder for temporary files has "
                f"{free / 1e9:.1f} GB left. Set TMPDIR to a larger one, or unpack it yourself."
            )
        folder = Path(tempfile.mkdtemp(prefix="tokenflock-"))
        try:
            for name in chosen[0].files:
                with archive.open(name) as stream, open(folder / name.rpartition("/")[2], "wb") as out:
                    shutil.copyfileobj(stream, out, 1 << 20)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    alone = len(chosen[0].files) == 1
    return folder / chosen[0].files[0].rpartition("/")[2] if alone else folder


def _unclear(path: Path, names: list[str], inside: str) -> str:
    if not names:
        return f"{str(path)!r} should hold one model and holds: none. Wanted: {LAYOUT}."
    listed = ", ".join(name.rpartition("/")[2] for name in names)
    if inside:
        return f"{str(path)!r} holds no model {inside!r}. It holds: {listed}."
    example = f"{path.name}/{names[0].rpartition('/')[2]}"
    return f"{str(path)!r} should hold one model and holds: {listed}. Say which, for example {example}."
