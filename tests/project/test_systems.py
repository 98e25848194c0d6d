"""Systems without POSIX: the core runs where none of its names are, in this process and in the workers that it starts.

Windows has no fcntl, resource, os.sysconf, os.getuid, alarms or pass_fds, and select there takes sockets alone. All
of them are taken away by a sitecustomize.py, which every process of the test imports first.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tokenflock import lock, memory

TAKEN = """
import asyncio, os, selectors, signal, socket, subprocess, sys, tempfile, uuid
try:
    import multiprocessing.util, multiprocessing.resource_tracker, socketserver, shutil, zipfile, tarfile, ssl
except ImportError:
    pass
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
for name in '''
    sysconf sysconf_names getuid geteuid getgid getppid fork forkpty killpg setsid getpgid sched_getaffinity nice
    sched_setaffinity getloadavg fchmod chown set_blocking mkfifo posix_fallocate pread pwrite register_at_fork
'''.split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGALRM SIGKILL SIGHUP SIGUSR1 SIGCHLD SIGPIPE setitimer alarm ITIMER_REAL pause".split():
    if hasattr(signal, name):
        delattr(signal, name)
real = subprocess.Popen.__init__
def started(self, *words, pass_fds=(), preexec_fn=None, **more):
    if pass_fds or preexec_fn:
        raise ValueError("not supported on Windows")
    real(self, *words, **more)
subprocess.Popen.__init__ = started
subprocess.Popen.kill = lambda self: self.send_signal(9)  # Windows has another way for it
class Sockets(selectors.SelectSelector):
    def register(self, file, events, data=None):
        if not isinstance(file, (socket.socket, int)):
            raise OSError("not a socket")
        return super().register(file, events, data)
selectors.DefaultSelector = Sockets
"""

CORE = """
import json, os, signal, sys, threading, urllib.request
assert not hasattr(os, "sysconf") and not hasattr(signal, "setitimer") and sys.modules["fcntl"] is None
from pathlib import Path
import numpy as np
import tokenflock as flock

folder = Path(sys.argv[1])
model, x = flock.Model(dim=2, beta=4.0), flock.uniform(8, 2)
run = flock.simulate(model, x, 3.0)
for name in ("run.zarr", "run.nc"):
    assert np.array_equal(flock.load(flock.save(run, folder / name, overwrite=True))["x"], run["x"])
print("runs", flush=True)

from tokenflock import lock, memory
from tokenflock.engine import machine

assert memory.machine_bytes() == memory.UNKNOWN and machine.threads() >= 1  # not Windows: nobody tells the memory
with open(folder / "lock", "a") as file:
    assert not lock.take(file) and not lock.take(file, wait=False)  # there are no locks: all goes on without
os.environ["NUMBA_CACHE_DIR"] = str(folder / "kernels")
sys.path.insert(0, str(folder))
import twice

assert twice.twice(3.0) == 6.0 and list((folder / "kernels").rglob("twice*.nbi"))
print("kernels", flush=True)

fast = {"t_end": 1.0, "times": [1.0], "engine": "reference", "scheme": "rk4", "dt": 0.5}
for options in ({"workers": 2, "runs_a_shard": 1}, {"workers": 0, "timeout": 60.0}, {"workers": 0}):
    table = flock.sweep(flock.Model(dim=2), {"beta": [1.0, 4.0]}, n_tokens=3, replicates=2, **fast, **options)
    assert (table["outcome"] == 0).all()
kept = flock.sweep(flock.Model(dim=2), {"beta": [1.0, 4.0]}, n_tokens=3, replicates=2, **fast, store=folder / "s.zarr")
assert flock.sweeps.open_store(folder / "s.zarr").verify() == []
assert kept.load().identical(table.assign_attrs(kept.attrs).load())
print("sweeps", flush=True)

from tokenflock.explorer.server import serve
from websockets.sync.client import connect

def look(address):
    def ask():
        assert b"<html" in urllib.request.urlopen(address, timeout=300).read().lower()
        with connect(address.replace("http", "ws") + "socket", open_timeout=300, ping_interval=None) as socket:
            run = {"model": {"dim": 2}, "start": {"n_tokens": 5}, "simulate": {"t_end": 1.0, "times": 3}}
            socket.send(json.dumps({"type": "start", "spec": run}))
            told = [socket.recv(timeout=300) for _ in range(5)]  # that it began, three frames, that it ended
        assert [type(part) for part in told] == [str, bytes, bytes, bytes, str], told
        print("page", flush=True)
        os._exit(0)
    threading.Thread(target=ask).start()

serve(port=0, browser=False, told=look)
"""

KERNEL = "from tokenflock.engine.compiled.declare import kernel\n@kernel\ndef twice(x):\n    return 2 * x\n"


def test_the_core_runs_without_posix(tmp_path):
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "sitecustomize.py").write_text(TAKEN)
    (tmp_path / "twice.py").write_text(KERNEL)
    path = os.pathsep.join([str(tmp_path / "names"), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-c", CORE, str(tmp_path)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert found.stdout.split() == ["runs", "kernels", "sweeps", "page"], found.stderr
    assert found.returncode == 0


def test_the_memory_of_a_machine_with_windows(monkeypatch):
    def told(status):
        status._obj.bytes[0] = 7 << 30
        return 1

    monkeypatch.delattr(os, "sysconf")
    assert memory.machine_bytes() == memory.UNKNOWN
    monkeypatch.setattr(
        ctypes, "windll", SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=told)), raising=False
    )
    assert memory.machine_bytes() == 7 << 30
    assert ctypes.sizeof(memory._MemoryStatus) == 64  # of MEMORYSTATUSEX


def test_a_lock_is_held_until_its_file_is_closed(tmp_path):
    with (tmp_path / "lock").open("a") as mine:
        assert lock.take(mine)
        with (tmp_path / "lock").open("a") as other:
            assert not lock.take(other, wait=False)
    with (tmp_path / "lock").open("a") as other:
        assert lock.take(other, wait=False)


@pytest.mark.parametrize(("busy", "wait", "held"), [(0, False, True), (1, False, False), (2, True, True)])
def test_a_lock_of_windows_is_tried_until_it_is_free(tmp_path, monkeypatch, busy, wait, held):
    tries = []

    def locking(handle, mode, size):
        tries.append((mode, size))
        if len(tries) <= busy:
            raise PermissionError

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    with Path(tmp_path, "lock").open("a") as file:
        assert lock.take(file, wait) is held
    assert tries == [(2, 1)] * (busy + 1 if held else 1)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with Path(tmp_path, "lock").open("a") as file:
        assert not lock.take(file)
