"""Texts as the token ids of a model: its own tokenizer where transformers can load one, else its vocab.txt.

A vocab.txt alone is read greedily, the longest piece first: WordPiece where pieces begin with ##, and otherwise
(SMILES and other notations) pieces that follow one another. It lowers the case only if no piece has an upper-case
letter: a tokenizer that guesses would turn the C of carbon into the c of an aromatic ring.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.arguments import count, instance, room, whole, whole_numbers
from tokenflock.arguments import path as a_path
from tokenflock.errors import FileError, SpecError, bad
from tokenflock.networks import hub

Ids = NDArray[np.int64]
#: Files without which transformers would make up a tokenizer of its own.
TOKENIZERS = ("tokenizer.json", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "merges.txt")
VOCABULARY = "vocab.txt"


def lines(path: Path) -> list[str]:
    """The texts of a file, one a line; empty lines are left out."""
    path = a_path("path", path)
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(f"{str(path)!r} is not a text in UTF-8: {error.reason}. Save it as UTF-8.") from error
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror}. Give a file with one text a line.") from error
    if not (found := [text.strip() for text in texts if text.strip()]):
        raise FileError(f"{str(path)!r} holds no text. Wanted: one text a line.")
    return found


def numbers(path: Path) -> list[list[int]]:
    """The token ids of a file, one text a line, separated by blanks or commas."""
    found = []
    for text in lines(path):
        try:
            found.append([int(word) for word in text.replace(",", " ").split()])
        except ValueError as error:
            raise FileError(f"{str(path)!r}: {text[:60]!r} is no line of token ids. Wanted: 101 7592 102.") from error
    return found


def check(ids: Any, vocabulary: int, longest: int | None, what: str = "ids") -> Ids:
    """Token ids that the model knows, and no more of them than it takes."""
    is_text = isinstance(ids, str) or getattr(getattr(ids, "dtype", None), "kind", "") == "U"
    advice = "Of a text: flock.transformer.wording.Encoder(network.folder)(text)." if is_text else ""
    array = whole_numbers(str(what), ids, "whole numbers (n,), at least one", advice)
    known = whole("vocabulary", vocabulary, 0)
    if array.ndim != 1 or not array.size:
        raise bad(what, f"shape {array.shape}", "whole numbers (n,), at least one")
    if array.min() < 0 or array.max() >= known:
        worst = int(array[(array < 0) | (array >= known)][0])
        raise bad(what, worst, f"0 to {known - 1}, the vocabulary of this model")
    if longest is not None and len(array) > whole("longest", longest, 1):
        raise bad(
            f"the length of {what}", len(array), f"at most {longest} tokens, what this model takes", "Cut the text."
        )
    return array.astype(np.int64)


def chosen(n_texts: int, n_tokens: int, vocabulary: int, seed: int, padding: int | None = None) -> list[Ids]:
    """Random token ids, uniform over the vocabulary but for the padding token, which some models leave out."""
    generator = np.random.default_rng([whole("seed", seed, 0), 7])
    n, size = whole("n_texts", n_texts, 0), whole("n_tokens", n_tokens, 1)
    room("n_texts * n_tokens", n * size)
    vocabulary = count("vocabulary", vocabulary)
    padding = None if padding is None else whole("padding", padding, -(2**62), most=2**62)
    known = np.delete(np.arange(vocabulary), [] if padding is None or not 0 <= padding < vocabulary else [padding])
    if not known.size:
        raise bad("vocabulary", vocabulary, "more ids than the one that is left out")
    return [generator.choice(known, size) for _ in range(n)]


class Encoder:
    """Texts to token ids, as the folder of a model says, or the vocabulary of a .gguf file: `network.words`."""

    def __init__(self, folder: Path) -> None:
        self.folder = a_path("folder", folder)
        self.kind, self._encode = self._choose()

    def __call__(self, text: str) -> list[int]:
        """The token ids of a text, with the marks that the model expects at its ends."""
        instance("text", text, str, "a text")
        ids: list[int] = self._encode(text)
        if not ids:
            raise bad("text", text[:60], "a text with at least one token")
        return ids

    def _choose(self) -> tuple[str, Any]:
        if self.folder.suffix == ".gguf" and self.folder.is_file():
            return self._loaded(self.folder.parent, gguf_file=self.folder.name)
        if any((self.folder / name).is_file() for name in TOKENIZERS):
            try:
                return self._loaded(self.folder)
            except (SpecError, ImportError):
                if not (self.folder / VOCABULARY).is_file():
                    raise
        if (self.folder / VOCABULARY).is_file():
            return VOCABULARY, Pieces(self.folder)
        raise SpecError(f"{self.folder.name!r} has no tokenizer ({', '.join([*TOKENIZERS, VOCABULARY])}). {ADVICE}")

    def _loaded(self, folder: Path, **which: str) -> tuple[str, Any]:
        """The tokenizer that transformers makes of the files of a folder, or of the vocabulary of a .gguf in it."""
        try:
            transformers = hub.quiet_transformers()
            loaded = transformers.AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=False, local_files_only=True, **which
            )
        except Exception as error:  # transformers raises many kinds; none of them is ours to explain
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise SpecError(f"the tokenizer of {self.folder.name!r} cannot be loaded: {said}. {ADVICE}") from error
        return f"{type(loaded).__name__} of transformers", lambda text: list(loaded(text)["input_ids"])


ADVICE = "Give token ids instead: --ids FILE, one text a line."


class Pieces:
    """A vocab.txt, read greedily: the longest piece first."""

    def __init__(self, folder: Path) -> None:
        folder = a_path("folder", folder)
        try:
            words = (folder / VOCABULARY).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{str(folder)!r} has no {VOCABULARY} that can be read. {ADVICE}") from error
        self.ids = {word: k for k, word in reversed(list(enumerate(words)))}
        self.inner = any(word.startswith("##") for word in self.ids)
        plain = [word for word in self.ids if not re.fullmatch(r"\[[A-Z]+\d*\]|\[unused\d+\]|<.*>", word)]
        self.lower = self._said(folder).get("do_lower_case", not any(re.search("[A-Z]", word) for word in plain))
        self.longest = max((len(word) for word in plain), default=1)

    @staticmethod
    def _said(folder: Path) -> dict[str, Any]:
        try:
            said = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def __call__(self, text: str) -> list[int]:
        text = text.lower() if self.lower else text
        split = r"\w+|[^\w\s]" if self.inner else r"\S+"
        found = [piece for word in re.findall(split, text) for piece in self._word(word)]
        ends = [[self.ids[mark]] if mark in self.ids else [] for mark in ("[CLS]", "[SEP]")]
        return [*ends[0], *found, *ends[1]] if found else []

    def _word(self, word: str) -> list[int]:
        found, begin = [], 0
        while begin < len(word):
            before = "##" if self.inner and begin else ""
            ends = range(min(len(word), begin + self.longest), begin, -1)
            end = next((end for end in ends if before + word[begin:end] in self.ids), None)
            if end is None:
                if "[UNK]" not in self.ids:
                    raise bad("text", word, "what the pieces of vocab.txt spell", ADVICE)
                if self.inner:  # WordPiece gives up the whole word
                    return [self.ids["[UNK]"]]
                found.append(self.ids["[UNK]"])
                begin += 1
                continue
            found.append(self.ids[before + word[begin:end]])
            begin = end
        return found
