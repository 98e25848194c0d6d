"""The server with real sockets: frames and answers, slow tabs, many tabs, bad input, and who may speak to it."""

import asyncio
import gc
import json
import random
import time
import tracemalloc
import urllib.error
import urllib.request

import pytest
from serving import MOST_S, SMALL, Page, connect, health, running, until

from tokenflock.errors import SpecError
from tokenflock.explorer import server, tab
from tokenflock.explorer.messages import FIELDS, Limits
from tokenflock.explorer.safety import is_loopback, policy
from tokenflock.explorer.session import Session
from tokenflock.explorer.tab import WINDOW

pytest.importorskip("websockets")


@pytest.fixture(scope="module")
def address():
    server.warm()
    with running() as found:
        yield found


@pytest.fixture
def page(address):
    with connect(f"ws://{address}/socket", max_size=2**24) as socket:
        yield Page(socket)


def get(address, path="/", **headers):
    request = urllib.request.Request(f"http://{address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_a_run_arrives_whole(page):
    page.ask(type="start", spec=SMALL)
    page.until_ended()
    assert sorted(page.frames) == list(range(60))
    assert page.ended["sentence"] == "Reached t_end."
    assert page.began["atlas"]["row"] == "first-token"
    assert "flock.simulate(model, start, **options)" in page.began["recipe"]["python"]


def test_steering_goes_on_from_the_frame_that_is_shown(page):
    page.ask(type="start", spec=SMALL)
    page.until_ended()
    before = page.frames[30]["x"].copy()
    page.ask(type="steer", spec={**SMALL, "model": {"dim": 2, "beta": 1.0}}, frame=30)
    assert page.until("began")["kept"] == 31
    page.until_ended()
    assert (page.frames[30]["x"] == before).all()
    assert len(page.frames) == 31 + 59


def test_questions_are_answered_while_a_run_computes(page):
    page.ask(type="start", spec={**SMALL, "start": {"n_tokens": 300}, "simulate": {"t_end": 500.0, "times": 400}})
    page.until("began")
    while not page.frames:
        page.hear()
    page.ask(type="row", frame=0, token=7, head=0)
    assert page.until("row")["token"] == 7
    page.ask(type="matrix", frame=0, head=0)
    while page.hear().get("kind") != 2:
        pass
    assert page.last["weights"].shape == (256, 256)
    page.ask(type="statement", name="causal/theorem-4.1")
    assert "x_1(0)" in page.until("statement")["statement"]
    page.ask(type="statement", name="causal/theorem-4")
    assert "Did you mean 'causal/theorem-4.1'" in page.until("error")["sentence"]


def test_another_projection_sends_all_frames_again(page):
    page.ask(type="start", spec={**SMALL, "model": {"dim": 6}})
    page.until_ended()
    old = page.frames[40]["x"].copy()
    page.ask(type="look", how="principal", frame=40)
    assert "principal components" in page.until("projected")["projection"]["words"]
    page.frames.clear()
    while len(page.frames) < 60:
        told = page.hear()
        page.ask(type="seen", run=told["run"], frame=told["frame"]) if "x" in told else None
    assert old.shape == page.frames[40]["x"].shape == (40, 3)
    assert not (old == page.frames[40]["x"]).all()


def test_a_tab_that_draws_nothing_gets_a_window_and_no_more(page, address):
    page.ask(type="start", spec=SMALL)
    page.until("began")
    until(lambda: not health(address)["computing"], "all frames computed")
    page.ask(type="row", frame=59, token=0, head=0)
    while page.hear().get("type") != "row":  # what was to be sent before the answer has been
        pass
    page.ask(type="row", frame=59, token=0, head=0)
    assert page.hear()["type"] == "row", "and nothing after it"
    assert len(page.frames) == WINDOW
    assert page.ended is None


class Watch:
    """A clock that goes on by so much whenever it is looked at."""

    def __init__(self, step):
        self.step, self.now = step, 0.0

    def monotonic(self):
        self.now += self.step
        return self.now


@pytest.mark.parametrize(("step", "least", "most"), [(0.06, 20, 300), (1e-6, 600, 600)])
def test_a_slow_tab_gets_fewer_frames_and_the_last(page, address, monkeypatch, step, least, most):
    monkeypatch.setattr(tab, "clock", Watch(step))  # how slow the tab seems to be, on any machine
    page.ask(type="start", spec={**SMALL, "simulate": {"t_end": 20.0, "times": 600}})
    page.until("began")
    until(lambda: not health(address)["computing"], "all frames computed")
    page.until_ended()
    assert 599 in page.frames
    assert least <= len(page.frames) <= most


def test_tabs_are_independent_and_closing_one_frees_it(address):
    gc.collect()
    with connect(f"ws://{address}/socket") as a, connect(f"ws://{address}/socket") as b:
        one, two = Page(a), Page(b)
        one.ask(type="start", spec=SMALL)
        two.ask(type="start", spec={**SMALL, "start": {"n_tokens": 7}})
        one.until_ended()
        two.until_ended()
        assert one.frames[5]["x"].shape == (40, 2)
        assert two.frames[5]["x"].shape == (7, 2)
        assert health(address)["tabs"] == 2
    emptied(address)
    gc.collect()
    assert not [s for s in gc.get_objects() if type(s) is Session and s._frames.size]


def emptied(address):
    until(lambda: not health(address)["tabs"], "no tab is open")


def test_closing_a_tab_ends_a_long_run(address):
    long = {**SMALL, "start": {"n_tokens": 3000}, "simulate": {"t_end": 1e4, "times": 200, "scheme": "tsit5"}}
    with connect(f"ws://{address}/socket") as socket:
        page = Page(socket)
        page.ask(type="start", spec=long)
        page.until("began")
        until(lambda: health(address)["computing"] == 1, "it computes")
    emptied(address)


def test_an_engine_that_fails_says_its_sentence(page, monkeypatch):
    def broken(*_):
        raise RuntimeError("no memory for a kernel")

    monkeypatch.setattr(Session, "_choose", broken)
    page.ask(type="start", spec=SMALL)
    page.until_ended()
    assert page.ended["failed"]
    assert "no memory for a kernel" in page.ended["sentence"]


def test_refusals_are_sentences_and_the_tab_lives_on(page):
    page.ask(type="start", spec={**SMALL, "start": {"n_tokens": 10**6}})
    assert "from 1 to 20000" in page.until("error")["sentence"]
    page.socket.send(b"\x00\x01")
    assert "JSON text" in page.until("error")["sentence"]
    page.ask(type="row", frame=0, token=0, head=0)
    assert "there is no run yet" in page.until("error")["sentence"]
    page.ask(type="start", spec=SMALL)
    page.until_ended()
    assert len(page.frames) == 60


# Load and faults


VALUES = [
    None,
    -1,
    1e308,
    0,
    3,
    True,
    "x",
    "\U0001f600" * 50,
    [],
    {},
    [[1, 2], [3]],
    {"model": 3},
    "inf",
    {"a": [0] * 50},
]
PARTS = {
    "model": ("dim", [0, 1, 2, 3, "2", 99], "beta value mask frozen noise feedforward query layer_norm bias".split()),
    "start": ("n_tokens", [0, 1, 5, -3, 1e9, None], "kind seed array angle n_clusters".split()),
    "simulate": ("t_end", [1.0, -1, 0, "x", 1e300], "times scheme dt rtol engine".split()),
}
CHANGES = [[{"at": 0}], [{"at": 3, "model": {"dim": 2}, "simulate": {"t_end": 1.0}}]]


def rubbish(draw):
    """A message that is wrong in one of many ways."""
    spec = {
        name: {key: draw.choice(values), draw.choice(others): draw.choice(VALUES)}
        for name, (key, values, others) in PARTS.items()
    }
    spec[draw.choice(["then", "extra"])] = draw.choice([*VALUES, *CHANGES])
    message = {"type": draw.choice([*FIELDS, "nothing", ""])}
    message[draw.choice(["frame", "run", "token", "name", "how", "on"])] = draw.choice(VALUES)
    if draw.random() < 0.6:
        message["spec"] = spec if draw.random() < 0.8 else draw.choice(VALUES)
    text, fate = json.dumps(message), draw.random()
    if fate < 0.15:
        return text[: draw.randrange(len(text))]
    if fate < 0.25:
        return draw.randbytes(draw.randrange(64))
    if fate < 0.3:
        return "".join(chr(draw.randrange(32, 0xD7FF)) for _ in range(40))
    return text


def throw(address, count, seed):
    draw = random.Random(seed)
    for _ in range(count // 100):
        with connect(f"ws://{address}/socket", max_size=2**24) as socket:
            for _ in range(100):
                socket.send(rubbish(draw))
            page = Page(socket)
            page.ask(type="pause", on=False)  # some of the rubbish is a valid wish to pause
            page.ask(type="start", spec={**SMALL, "simulate": {"t_end": 1.0, "times": 5}})
            deadline = time.monotonic() + MOST_S
            while not (page.ended and len(page.began["times"]) == 5 and page.ended["run"] == page.began["run"]):
                assert time.monotonic() < deadline
                told = page.hear()
                if "x" in told:
                    page.ask(type="seen", run=told["run"], frame=told["frame"])
    emptied(address)


def test_random_messages_never_stop_the_server(address):
    throw(address, 2_000, seed=0)


@pytest.mark.slow
def test_ten_thousand_random_messages_never_stop_the_server(address):
    throw(address, 10_000, seed=1)


async def crowd(address, clients, seconds, least):
    """Tabs that run, draw and steer for so many seconds, and until each got so many frames: none is left out."""
    from websockets.asyncio.client import connect as open_

    async def one(k):
        frames = steered = run = 0
        end = time.monotonic() + seconds
        spec = {**SMALL, "start": {"n_tokens": 50 + k, "seed": k}, "simulate": {"t_end": 20.0, "times": 100}}
        async with open_(f"ws://{address}/socket", max_size=2**24, open_timeout=MOST_S, ping_interval=None) as socket:
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

    await asyncio.gather(*(one(k) for k in range(clients)))


MOST_HELD = 0.6  # MB: what stays of a crowd is a tenth, the frames of ten tabs are more than one


def held_by(address, clients, seconds, least):
    """Megabytes that such a crowd allocated, and that are still held when all of its tabs are closed."""
    asyncio.run(crowd(address, clients, 0.0, 100))  # what is made once is made
    emptied(address)
    gc.collect()
    tracemalloc.start()
    try:
        asyncio.run(crowd(address, clients, seconds, least))
        emptied(address)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / 2**20
    finally:
        tracemalloc.stop()


def test_ten_clients_at_once(address):
    assert held_by(address, 10, 0.0, 150) < MOST_HELD, "memory is flat"


def test_frames_that_are_not_let_go_are_noticed(address, monkeypatch):
    """The twin of the test above: it must be able to fail."""
    kept = []
    monkeypatch.setattr(Session, "close", lambda session: kept.append(session._frames))
    assert held_by(address, 10, 0.0, 150) > MOST_HELD


@pytest.mark.slow
def test_fifty_clients_for_a_minute(address):
    assert held_by(address, 50, 60.0, 300) < MOST_HELD, "memory is flat"


# Safety


def test_the_page_and_its_headers(address):
    status, headers, body = get(address)
    assert status == 200
    assert b'id="tokenflock"' in body
    assert headers["content-security-policy"] == policy(address)
    assert "default-src 'none'" in policy(address)
    assert "unsafe" not in policy(address)
    assert headers["x-content-type-options"] == "nosniff"
    assert get(address, "/explorer.js")[0] == 200
    assert len(json.loads(get(address, "/presets.json")[2])["presets"]) > 30


def test_the_whole_page_is_small(address):
    paths = ["/", "/explorer.js", "/presets.json", "/icon.svg"]
    assert sum(len(get(address, path)[2]) for path in paths) < 1.5e6


@pytest.mark.parametrize("path", ["/../server.py", "/%2e%2e/server.py", "/static/explorer.js", "//etc/passwd"])
def test_no_other_file_is_served(address, path):
    assert get(address, path)[0] == 404


def test_names_of_other_sites_are_refused(address):
    port = address.rpartition(":")[2]
    assert get(address, Host=f"localhost:{port}")[0] == 200
    status, _, body = get(address, Host=f"evil.example:{port}")
    assert status == 403
    assert b"'evil.example' is not this machine" in body
    assert get(address, Origin="http://evil.example")[0] == 403
    assert get(address, Origin=f"http://{address}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_sockets_of_other_sites_are_refused(address, origin):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus, match="403"), connect(f"ws://{address}/socket", origin=origin):
        pass
    with connect(f"ws://{address}/socket", origin=f"http://{address}") as socket:
        Page(socket).ask(type="pause", on=False)


def test_a_token_opens_what_is_not_loopback():
    from websockets.exceptions import InvalidStatus

    with running(token="secret") as address:
        assert get(address)[0] == 403
        assert get(address, "/explorer.js?token=wrong")[0] == 403
        status, headers, _ = get(address, "/?token=secret")
        assert status == 200
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert get(address, "/explorer.js", Cookie=cookie.partition(";")[0])[0] == 200
        with pytest.raises(InvalidStatus, match="403"), connect(f"ws://{address}/socket"):
            pass
        with connect(f"ws://{address}/socket", additional_headers={"Cookie": cookie.partition(";")[0]}) as socket:
            page = Page(socket)
            page.ask(type="start", spec=SMALL)
            page.until("began")


def test_loopback_is_known():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.3.2.1", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.2", "example.org", "::", "")))


def test_a_message_that_is_too_long_closes_only_its_tab(address):
    from websockets.exceptions import ConnectionClosed

    def shout(socket):
        socket.send("x" * (2 * server.FRAME_BYTES))
        socket.recv(timeout=MOST_S)

    with connect(f"ws://{address}/socket") as socket, pytest.raises(ConnectionClosed, match=r"1009"):
        shout(socket)
    assert get(address)[0] == 200


def test_ports():
    with pytest.raises(SpecError, match="0 to 65535"):
        server.bind("127.0.0.1", 70_000)
    with server.bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(SpecError, match="an address and a port that are free"):
            server.bind("127.0.0.1", taken.getsockname()[1])


def test_limits_can_be_set():
    with running(Limits(tokens=10)) as address, connect(f"ws://{address}/socket") as socket:
        page = Page(socket)
        page.ask(type="start", spec=SMALL)
        assert "from 1 to 10" in page.until("error")["sentence"]
