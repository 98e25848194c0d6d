"""Heads of a large network that are done, a line a layer in a file: who stops in the middle goes on there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tokenflock.arguments import path as a_path
from tokenflock.errors import FileError

Rows = list[dict[str, Any]]


class KeptHeads:
    """The layers in a file, all of them of the network and the tolerance that its first line names."""

    def __init__(self, path: str | Path, facts: Mapping[str, Any]) -> None:
        self.path = a_path("keep", path)
        self._done: dict[int, tuple[Rows, list[str]]] = {}
        head = json.dumps({"tokenflock heads": dict(facts)})
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n") if self.path.exists() else []
            if lines and lines[0] != head:
                raise FileError(
                    f"{str(self.path)!r} keeps the heads of another network, or is no such file. Give a new name."
                )
            if not lines:
                self.path.write_text(head + "\n", encoding="utf-8")
            elif lines[-1]:  # cut off in the middle of a line: what is added begins a new one
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write("\n")
        except OSError as error:
            if isinstance(error, FileError):
                raise
            why = error.strerror or error
            raise FileError(f"{str(self.path)!r} cannot be used: {why}. Give a file that can be written.") from error
        for line in lines[1:]:
            try:
                told = json.loads(line)
                rows = [{name: _back(value) for name, value in row.items()} for row in told["rows"]]
                self._done[int(told["layer"])] = rows, [str(words) for words in told["left_out"]]
            except (ValueError, KeyError, TypeError, AttributeError):  # a line that was cut: that layer is done again
                continue

    def rows(self, layer: int) -> tuple[Rows, list[str]] | None:
        """The heads of a layer and what is left out of them, if they are there."""
        return self._done.get(layer)

    def add(self, layer: int, rows: Rows, left_out: list[str]) -> None:
        """Keep a layer: its line is in the file before the next begins."""
        told = [{name: _plain(value) for name, value in row.items()} for row in rows]
        line = json.dumps({"layer": layer, "rows": told, "left_out": left_out})
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def _plain(value: Any) -> Any:
    """A number, a text or an array as JSON has it; complex ones as {"re": .., "im": ..}."""
    array = np.asarray(value)
    if np.iscomplexobj(array):
        return {"re": array.real.tolist(), "im": array.imag.tolist()}
    return array.tolist()


def _back(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = np.asarray(value["re"]) + 1j * np.asarray(value["im"])
    return found if found.ndim else complex(found)
