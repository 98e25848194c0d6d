"""What the libraries of Hugging Face are asked for: models of the hub by name, and transformers without its noise."""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path
from typing import Any

from tokenflock.errors import FileError, missing
from tokenflock.networks.source import FILES

NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?")
BESIDE = ["config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "*.model"]


def is_name(place: str) -> bool:
    """Whether a place could be a name on the hub: name or owner/name, and @revision if one is wanted."""
    return NAME.fullmatch(place) is not None


def fetch(name: str) -> Path:
    """The folder that holds a model of the hub, fetched unless it is in the cache."""
    try:
        import huggingface_hub
        from huggingface_hub.errors import RepositoryNotFoundError
    except ImportError as error:
        raise missing("huggingface_hub", "hidden", f"{name!r} is no file or folder here, and to fetch it") from error
    model, _, revision = name.partition("@")
    if found := _cached(model, revision):
        return found
    try:
        there = huggingface_hub.list_repo_files(model, revision=revision or None)
        first = next((file for file in FILES if file in there), None)
        if "config.json" in there and first is not None:
            stem, _, suffix = first.removesuffix(".index.json").rpartition(".")
            wanted = [*BESIDE, first, f"{stem}-*.{suffix}"]  # the last: shards
            return Path(huggingface_hub.snapshot_download(model, revision=revision or None, allow_patterns=wanted))
    except RepositoryNotFoundError as error:
        raise FileError(f"{name!r} is no file or folder here and no model of the hub. Check its spelling.") from error
    except Exception as error:  # what its transport raises differs between versions
        raise FileError(
            f"{name!r} is no file or folder here, and the hub cannot be reached ({type(error).__name__}). "
            "Give a folder, or try again with a network."
        ) from error
    raise FileError(f"{name!r} on the hub has no config.json or no weights. Wanted: {' or '.join(FILES)}.")


def _cached(model: str, revision: str) -> Path | None:
    """What an earlier fetch left, if it is a whole model."""
    import huggingface_hub

    try:
        folder = Path(huggingface_hub.snapshot_download(model, revision=revision or None, local_files_only=True))
    except Exception:  # there is none
        return None
    whole = (folder / "config.json").is_file() and any((folder / file).is_file() for file in FILES)
    return folder if whole else None


def quiet_transformers() -> Any:
    """transformers, without its bars and reports; one sentence if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch  # noqa: F401
            import transformers
    except ImportError as error:
        raise missing("torch and transformers", "hidden", "running the model itself") from error
    log: Any = transformers.logging
    log.set_verbosity_error()
    log.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return transformers
