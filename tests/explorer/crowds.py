"""Many tabs at a time, and tabs that mean harm: the memory of a server of its own, and how soon it answers a good tab.

    python tests/explorer/crowds.py crowd --tabs 50 --minutes 10
    python tests/explorer/crowds.py hostile --seconds 120

Everything is on loopback and ends by itself. The numbers come out as JSON.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for those it runs
sys.path.insert(0, str(Path(__file__).parent))
from bombs import BOMBS
from rubbish import rubbish
from serving import MOST_S, SMALL

from waiting import LONG_S

LOOK_S = 5.0  # between two looks at the memory
HEAVY = {
    "model": {"dim": 3, "beta": 9.0, "mask": "full"},
    "start": {"n_tokens": 1_500},
    "simulate": {"t_end": 1e4, "times": 2_000, "scheme": "tsit5"},
}


@contextlib.contextmanager
def served():
    """A server in a process of its own: the process, and its address."""
    command = "from tokenflock.explorer.server import serve; serve(port=0, browser=False)"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}  # it warns of every request that is none
    with subprocess.Popen([sys.executable, "-uc", command], text=True, **pipes) as process:
        try:
            yield process, re.search(r"//([^/]+)/", process.stdout.readline()).group(1)
        finally:
            process.kill()


def tabs_of(address):
    """How many tabs are open."""
    with urllib.request.urlopen(f"http://{address}/health", timeout=MOST_S) as answer:
        return json.load(answer)["tabs"]


def wait_until_empty(address):
    """Until the last tab is closed, and a moment for what is done then."""
    until = time.monotonic() + MOST_S
    while tabs_of(address):
        assert time.monotonic() < until, "tabs stay open"
        time.sleep(0.1)
    time.sleep(2.0)


def megabytes(process):
    """The memory that a process has for itself, as the system counts it (Linux)."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text).group(1)) / 1024


def opened(address, **options):
    """A websocket that is patient with a busy machine."""
    from websockets.asyncio.client import connect

    return connect(f"ws://{address}/socket", max_size=2**24, open_timeout=MOST_S, ping_interval=None, **options)


async def crowd(address, clients, seconds, least, n_tokens=50):
    """Tabs that run, draw and steer for so many seconds, and until each got so many frames: none is left out."""

    async def one(k):
        frames = steered = run = 0
        end = time.monotonic() + seconds
        spec = {**SMALL, "start": {"n_tokens": n_tokens + k, "seed": k}, "simulate": {"t_end": 20.0, "times": 100}}
        async with opened(address) as socket:
            await socket.send(json.dumps({"type": "start", "spec": spec}))
            while time.monotonic() < end or frames < least:
                data = await asyncio.wait_for(socket.recv(), MOST_S)
                if isinstance(data, bytes):
                    frames += 1
                    told = {"type": "seen", "run": run, "frame": int.from_bytes(data[12:16], "little")}
                    await socket.send(json.dumps(told))
                    continue
                told = json.loads(data)
                assert told["type"] != "error", told
                if told["type"] == "began":
                    run = told["run"]
                elif told["type"] == "ended":
                    steered += 1
                    await asyncio.sleep(0.05)
                    model = {"dim": 2, "beta": 4.0 + steered % 8}
                    await socket.send(json.dumps({"type": "steer", "spec": {**spec, "model": model}, "frame": 50}))
        return frames

    return sum(await asyncio.gather(*(one(k) for k in range(clients))))


def held_by_a_crowd(tabs, seconds, n_tokens=300):
    """Megabytes of a server: after one closed tab, on the way, after a crowd, and after a second one."""

    async def watched(process, address):
        looks = []

        async def look():
            while True:
                looks.append(megabytes(process))
                await asyncio.sleep(LOOK_S)

        watch = asyncio.create_task(look())
        frames = await crowd(address, tabs, seconds, 1, n_tokens)
        watch.cancel()
        return looks, frames

    with served() as (process, address):
        asyncio.run(crowd(address, 1, 3.0, 100, n_tokens))
        wait_until_empty(address)
        found = {"tabs": tabs, "seconds": seconds, "after one tab": megabytes(process)}
        found["looks"], found["frames"] = asyncio.run(watched(process, address))
        wait_until_empty(address)
        found["after all are closed"] = megabytes(process)
        return found


def flat(found):
    """Megabytes that the mean of the last minute is over that of the third, and what is kept over one closed tab."""
    minute = round(60 / LOOK_S)
    looks = found["looks"][:-2]  # in the last, tabs begin to close
    growth = statistics.mean(looks[-minute:]) - statistics.mean(looks[2 * minute : 3 * minute])
    return {"growth": growth, "most": max(looks), "kept": found["after all are closed"] - found["after one tab"]}


# ---- those that mean harm


@contextlib.asynccontextmanager
async def attacking(address, **options):
    """A websocket that leaves nothing open in this process, wherever its attack is cancelled."""
    line = await opened(address, **options)
    try:
        async with line:
            yield line
    finally:
        line.transport.abort()


def reset(transport):
    """Close a connection as a process that is killed does, without a word."""
    sock = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def shouts(address, draw):
    """Rubbish, and away before the answers."""
    async with attacking(address) as line:
        for _ in range(50):
            await line.send(rubbish(draw))
        if draw.random() < 0.5:
            reset(line.transport)


async def bombs(address, draw):
    """Runs that would take gigabytes."""
    async with attacking(address) as line:
        for run in draw.sample([*BOMBS.values()], 5):
            await line.send(json.dumps({"type": "start", "spec": {k: v for k, v in run.items() if k != "look"}}))
            await asyncio.wait_for(line.recv(), MOST_S)


async def never_reads(address, draw):
    """A long run as heavy as is allowed, of which nothing is ever drawn."""
    async with attacking(address, max_queue=1) as line:
        await line.send(json.dumps({"type": "start", "spec": HEAVY}))
        await asyncio.sleep(draw.uniform(5.0, 20.0))


async def stutters(address, draw):
    """A request whose end does not come, or that is none."""
    host, _, port = address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(draw.choice([b"GET / HTTP/1.1\r\nHost: ", b"\x16\x03\x01\x02\x00", b"GET " + b"x" * 60_000]))
    try:
        with contextlib.suppress(OSError):
            await writer.drain()
            await asyncio.sleep(draw.uniform(0.5, 5.0))
    finally:  # in the end it is cancelled
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


HARM = {shouts: 6, bombs: 4, never_reads: 12, stutters: 20}  # and how many at a time


async def harmful(kind, address, seed, end, done):
    """One after the other until the end."""
    draw = random.Random(seed)
    while time.monotonic() < end:
        try:
            await kind(address, draw)
        except asyncio.CancelledError:
            raise
        except Exception:
            await asyncio.sleep(0.05)  # it was closed for what it did
        done[kind.__name__] = done.get(kind.__name__, 0) + 1


def processor_s(pid):
    """Seconds of the processors that a process has had (Linux)."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def good_tab(address, pid):
    """From opening a tab to the first frame of its run: seconds, and those of the processors that the server had.

    The second number hardly depends on what else this machine does.
    """
    began, spent = time.perf_counter(), processor_s(pid)
    async with opened(address) as line:
        await line.send(json.dumps({"type": "start", "spec": SMALL}))
        while not isinstance(await asyncio.wait_for(line.recv(), MOST_S), bytes):
            pass
        return time.perf_counter() - began, processor_s(pid) - spent


def good_tabs(address, pid, seconds, least):
    """Waits of tabs that are opened one after the other; in a process of its own when run as a program."""

    async def some():
        waits, end = [], time.monotonic() + seconds
        while time.monotonic() < end or len(waits) < least:
            waits.append(await good_tab(address, pid))
            await asyncio.sleep(0.2)
        return waits

    return asyncio.run(some())


def asked_apart(address, pid, seconds, least):
    """The same from a process of its own, which the harmful tabs do not slow down."""
    told = {"address": address, "pid": pid, "seconds": seconds, "least": least}
    words = [sys.executable, __file__, "good", *(f"--{name}={value}" for name, value in told.items())]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        return json.loads(process.communicate(timeout=LONG_S + seconds)[0])


def under_attack(seconds, least=5, only=None):
    """Waits of a good tab in peace and among harmful ones, and what was done to the server, which must live on."""

    async def attack(address, end, done):
        kinds = [kind for kind, count in HARM.items() for _ in range(count) if only in (None, kind.__name__)]
        tasks = [asyncio.create_task(harmful(kind, address, k, end, done)) for k, kind in enumerate(kinds)]
        await asyncio.sleep(2.0)
        waits = await asyncio.to_thread(asked_apart, address, process.pid, seconds, least)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.1)  # what was cut off is closed
        return waits

    with served() as (process, address):
        good_tabs(address, process.pid, 0.0, 2)  # kernels are loaded
        peace, done = asked_apart(address, process.pid, 0.0, 5), {}
        waits = asyncio.run(attack(address, time.monotonic() + seconds + MOST_S, done))
        wait_until_empty(address)
        assert process.poll() is None, "the server has ended"
        return {"peace": peace, "attacked": waits, "harm": done, "megabytes": megabytes(process)}


def main():
    """See the head of this file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("crowd", "hostile", "good"))
    parser.add_argument("--tabs", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--address")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--only", choices=[kind.__name__ for kind in HARM])
    parser.add_argument("--least", type=int, default=5)
    given = parser.parse_args()
    if given.what == "crowd":
        found = held_by_a_crowd(given.tabs, 60 * given.minutes)
        found |= flat(found)
    elif given.what == "hostile":
        found = under_attack(given.seconds, given.least, given.only)
        found |= {
            f"median, {name}": [*map(statistics.median, zip(*found[name], strict=True))]
            for name in ("peace", "attacked")
        }
    else:
        found = good_tabs(given.address, given.pid, given.seconds, given.least)
    print(json.dumps(found | {"load": os.getloadavg()[0]} if isinstance(found, dict) else found))


if __name__ == "__main__":
    main()
