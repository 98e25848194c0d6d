"""What every bomb takes, each in a process of its own, as the tables of docs/trust.md.

python tests/bomb_table.py explorer      # runs that a page asks for in a few kilobytes
python tests/bomb_table.py models        # files that are read as models
"""

import importlib
import sys
import tempfile
from pathlib import Path


def row(name, found):
    """A row of the table; a number that is not there was not reached."""
    told = ["-" if found[key] is None else f"{found[key]:.{digits}f}" for key, digits in (("mb", 0), ("s", 2))]
    said = found["said"]
    end = said if said.startswith("RAW") else "computed" if said in ("computed", "read") else "refused"
    print(f"| {name} | {told[0]} | {told[1]} | {end} |", flush=True)


def main(what):
    """See the head of this file."""
    sys.path += [str(Path(__file__).parent / folder) for folder in ("explorer", "networks")]
    made = importlib.import_module("bombs" if what == "explorer" else "model_bombs")
    print("| bomb | MB | s | |\n|---|---|---|---|")
    if what == "explorer":
        for name, run in made.BOMBS.items():
            row(name, made.measured(run))
        return
    with tempfile.TemporaryDirectory() as place:
        for name, make in made.bombs(Path(place), mb=1_000, models=30_000).items():
            row(name, made.measured(make()))


if __name__ == "__main__":
    main(sys.argv[1])
