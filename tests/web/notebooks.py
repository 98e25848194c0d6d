"""Real notebook servers for the tests of the widget: JupyterLab and marimo, each with a notebook of two views."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from conftest import START_S
from waiting import LONG_S

#: The Python that has the notebook servers: this one, unless another is named.
PYTHON = os.environ.get("TOKENFLOCK_NOTEBOOK_PYTHON") or sys.executable
RECORDED = """\
import tokenflock as flock

run = flock.simulate(flock.Model(dim=3, beta=9.0), flock.uniform(60, 3, seed=4), t_end=20.0)
shown = flock.view(run, height=560)
"""
LIVE = """\
spec = {"model": {"dim": 2, "beta": 16.0}, "start": {"n_tokens": 80}, "simulate": {"t_end": 30.0, "times": 120}}
live = flock.view(spec, height=560)
"""
#: In JupyterLab: cells can be run.
READY = """Boolean(window.jupyterapp?.commands.isEnabled('notebook:run-all-cells')
  && jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle')"""
MARIMO = """\
import marimo

app = marimo.App(width="full")


@app.cell
def _():
{recorded}
    shown
    return flock, shown


@app.cell
def _(flock):
{live}
    live
    return


if __name__ == "__main__":
    app.run()
"""


def has(module):
    """Whether the Python of the notebooks can show a widget in such a server."""
    names = (module, "anywidget", "tokenflock")
    code = f"import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, {names})))"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, check=False, timeout=LONG_S).returncode == 0


def port():
    """One that is free."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextlib.contextmanager
def serving(command, address, folder):
    """A server, as long as the block lasts; it answers when the block begins."""
    settings = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(
            [PYTHON, "-m", *command],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, "IPYTHONDIR": str(folder / "ipython"), **settings},
        )
        try:
            end = time.monotonic() + START_S
            while not _answers(address):
                assert server.poll() is None, (folder / "server.log").read_text()
                assert time.monotonic() < end, "the notebook server does not answer"
                time.sleep(0.1)
            yield address
        finally:
            server.terminate()
            server.wait(START_S)


def _answers(address):
    try:
        with urllib.request.urlopen(address):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def jupyterlab(folder):
    """The address of a notebook in JupyterLab; its cells are not run yet."""
    cells = [
        {"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for name, source in (("recorded", RECORDED + "shown"), ("live", LIVE + "live"))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "view.ipynb").write_text(json.dumps(notebook))
    number = port()
    options = ["--no-browser", "--expose-app-in-browser", "--allow-root", "--ServerApp.token=", f"--port={number}"]
    options += ["--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1", "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip  # noqa: E501
    base = f"http://127.0.0.1:{number}"
    with serving(["jupyterlab", *options], f"{base}/lab", folder):
        yield f"{base}/doc/tree/view.ipynb"


@contextlib.contextmanager
def marimo(folder):
    """The address of a marimo app; it runs when it is opened."""
    recorded, live = ("\n".join("    " + line for line in text.splitlines()) for text in (RECORDED, LIVE))
    (folder / "view.py").write_text(MARIMO.format(recorded=recorded, live=live))
    number = port()
    options = ["run", "view.py", "--headless", "--host", "127.0.0.1", "--port", str(number), "--no-token"]
    with serving(["marimo", *options], f"http://127.0.0.1:{number}/", folder) as address:
        yield address
