"""How long tests wait: a test that would wait for ever says where, fails, and leaves no process behind."""

import faulthandler
import os
import signal
import uuid
from pathlib import Path

LONG_S = 600  # no wait inside of a test that is in order takes so long on any machine
FAST_S = 900  # nor does a fast test
SLOW_S = 4 * 3600  # nor a slow one
MARK = "TOKENFLOCK_TEST_RUN"  # every process that a run of the tests starts has this in its environment


def marked(mark, name=MARK):
    """The processes, but this one, that have name=mark in their environment. Linux tells; elsewhere none is found."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            there = f"{name}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        if there and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


class Guard:
    """A plugin: ends the process of a test that takes too long, and at last the processes that tests left behind.

    The end comes from a thread of faulthandler, which needs no Python: it says where every thread stands, also where
    compiled code waits. pytest-xdist then fails the test by its name, and goes on with another process.
    """

    def __init__(self):
        self.first = MARK not in os.environ  # not a worker of xdist, nor tests that a test runs
        self.mark = os.environ.setdefault(MARK, uuid.uuid4().hex)
        self.told = os.dup(2)  # as it is before output is captured

    def begin(self, slow, limit_s=None):
        """A test begins."""
        limit_s = limit_s or (SLOW_S if slow else FAST_S)
        faulthandler.dump_traceback_later(limit_s, exit=True, file=self.told)

    def end(self):
        """It has ended."""
        faulthandler.cancel_dump_traceback_later()

    def leave(self):
        """All tests have ended: what is left of their processes is ended too, or who reads their output would wait."""
        if self.first:
            for process in marked(self.mark):
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:  # it has just ended
                    continue
            del os.environ[MARK]
        os.close(self.told)
