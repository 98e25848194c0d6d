"""A sweep with workers and the explorer's server, on any system: what the workflow runs where tests of POSIX cannot."""

import os
import tempfile
import threading
import urllib.request
from pathlib import Path

import tokenflock as flock
from tokenflock.explorer.server import serve

FAST = {"t_end": 1.0, "times": [1.0], "engine": "reference", "scheme": "rk4", "dt": 0.5}


def look(address: str) -> None:
    """Open the page, and end the process: the server would wait for Ctrl-C."""

    def ask() -> None:
        assert b"<html" in urllib.request.urlopen(address, timeout=60).read().lower()
        print("the page is there", flush=True)
        os._exit(0)

    threading.Thread(target=ask).start()


if __name__ == "__main__":
    store = Path(tempfile.mkdtemp()) / "s.zarr"
    sweep = flock.sweep(
        flock.Model(dim=2), {"beta": [1.0, 4.0]}, n_tokens=3, replicates=4, workers=2, store=store, **FAST
    )
    assert (sweep["outcome"] == 0).all()
    assert flock.sweeps.open_store(store).verify() == []
    print("the sweep is there", flush=True)
    serve(port=0, browser=False, told=look)
    raise SystemExit(1)
