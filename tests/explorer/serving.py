"""A server in a thread of the tests, and a page that is a few lines of Python."""

import contextlib
import json
import threading
import time
import urllib.request

import numpy as np

from tokenflock.explorer import frames, server
from tokenflock.explorer.application import application

MOST_S = 120.0  # the most that anything may take: how long it does take depends on the machine
SMALL = {
    "model": {"dim": 2, "beta": 16.0},
    "start": {"n_tokens": 40, "seed": 1},
    "simulate": {"t_end": 20.0, "times": 60},
}


@contextlib.contextmanager
def running(limits=None, token=None, host="127.0.0.1"):
    """The address of a server, as long as the block lasts."""
    sock = server.bind(host, 0)
    served = server.server(application(limits, token))
    thread = threading.Thread(target=served.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    until(lambda: served.started or not thread.is_alive(), "started")
    assert thread.is_alive()
    try:
        yield f"{host}:{sock.getsockname()[1]}"
    finally:
        served.should_exit = True
        thread.join(MOST_S)
        sock.close()
        assert not thread.is_alive()


def health(address):
    """How many tabs are open, and how many compute."""
    with urllib.request.urlopen(f"http://{address}/health") as answer:
        return json.load(answer)


def connect(address, **options):
    """A websocket that is patient with a busy machine."""
    from websockets.sync.client import connect

    return connect(address, open_timeout=MOST_S, ping_interval=None, **options)


def until(true, words):
    """Wait until something is true, however long a busy machine takes for it."""
    end = time.monotonic() + MOST_S
    while not true():
        assert time.monotonic() < end, f"never: {words}"
        time.sleep(0.01)


def unpack(data):
    """A packet as a dictionary: the other side of `packet` and `matrix`, as the page reads it."""
    magic, version, kind, run, frame, time, n, axes, measured = frames.HEADER.unpack_from(data)
    if magic != frames.MAGIC or version != frames.VERSION:
        raise ValueError(f"not a packet of version {frames.VERSION}")
    found = {"kind": kind, "run": run, "frame": frame, "time": time}
    at = frames.HEADER.size
    if kind == frames.MATRIX:
        head = "mean" if axes == frames.MEAN else axes
        return found | {"head": head, "weights": np.frombuffer(data, "<f4", n * n, at).reshape(n, n)}
    found["measures"] = np.frombuffer(data, "<f8", measured, at)
    found["x"] = np.frombuffer(data, "<f4", n * axes, at + 8 * measured).reshape(n, axes)
    found["labels"] = np.frombuffer(data, "<u2", n, at + 8 * measured + 4 * n * axes)
    return found


class Page:
    """What the page does, without a browser."""

    def __init__(self, socket):
        self.socket, self.frames, self.began, self.ended, self.errors = socket, {}, None, None, []
        self.last = None

    def ask(self, **message):
        self.socket.send(json.dumps(message))

    def hear(self):
        """One message, put where it belongs."""
        data = self.socket.recv(timeout=MOST_S)
        if isinstance(data, bytes):
            self.last = unpack(data)
            if "x" in self.last and self.last["run"] == self.began["run"]:
                self.frames[self.last["frame"]] = self.last
            return self.last
        self.last = message = json.loads(data)
        kind = message["type"]
        if kind == "began":
            self.began, self.ended = message, None
            self.frames = {k: f for k, f in self.frames.items() if k < message["kept"]}
        elif kind == "ended":
            self.ended = message
        elif kind == "error":
            self.errors.append(message["sentence"])
        return message

    def until_ended(self, seen=True):
        """Draw every frame until the run has ended."""
        end = time.monotonic() + MOST_S
        while self.ended is None or self.ended["run"] != self.began["run"]:
            assert time.monotonic() < end, "the run does not end"
            told = self.hear()
            if seen and "x" in told:
                self.ask(type="seen", run=told["run"], frame=told["frame"])

    def until(self, kind):
        """The next message of a kind; frames are acknowledged on the way."""
        while True:
            told = self.hear()
            if told.get("type") == kind:
                return told
            assert told.get("type") != "error", told
            if "x" in told:
                self.ask(type="seen", run=told["run"], frame=told["frame"])
