"""The server with real sockets: frames and answers, slow tabs, many tabs, bad input, and who may speak to it."""

import asyncio
import gc
import json
import random
import socket
import threading
import time
import tracemalloc
import urllib.error
import urllib.request

import pytest
from crowds import crowd
from rubbish import rubbish
from serving import MOST_S, SMALL, Page, connect, health, running, until

from tokenflock.errors import SpecError
from tokenflock.explorer import application, server, tab
from tokenflock.explorer.messages import Limits
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


def test_free_memory_is_given_back_when_a_tab_is_closed(monkeypatch):
    given = threading.Event()
    monkeypatch.setattr(application, "give_back", given.set)
    with running() as address:
        with connect(f"ws://{address}/socket") as socket:
            page = Page(socket)
            page.ask(type="start", spec=SMALL)
            page.until_ended()
        assert given.wait(MOST_S)


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


def status_of(address, *headers):
    """The status of a request whose headers are these lines, as they are."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=MOST_S) as line:
        line.sendall("\r\n".join(["GET / HTTP/1.1", *headers, "Connection: close", "", ""]).encode("latin-1"))
        return int(line.recv(100).split()[1])


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "//", "", "http://a@{}", "ws://{}", "http://{}/", "http://{}]"]
)
def test_an_origin_that_is_none_of_ours_is_refused_whatever_it_is(address, origin):
    assert status_of(address, f"Host: {address}", f"Origin: {origin.format(address)}") == 403


def test_of_two_origins_neither_counts(address):
    ours, other = f"Origin: http://{address}", "Origin: http://evil.example"
    assert status_of(address, f"Host: {address}", ours) == 200
    assert status_of(address, f"Host: {address}", other, ours) == 403
    assert status_of(address, f"Host: {address}", ours, other) == 403


@pytest.mark.parametrize("host", ["[::1]]", "[::1", "[[::1]]", "localhost]", "localhost:", "localhost:x", "a@[::1]"])
def test_a_host_is_not_repaired(address, host):
    assert status_of(address, f"Host: {host}") in (400, 403)


def test_names_of_this_machine_are_taken(address):
    for host in ("localhost", "LocalHost:8077", "[::1]", "[::1]:8077", "127.0.0.1:1"):
        assert status_of(address, f"Host: {host}", f"Origin: http://{host}") == 200, host


def test_a_burst_of_tabs_does_not_pass_the_limit(monkeypatch):
    """All of them ask at once, and each waits while what computes is loaded."""
    from websockets.asyncio.client import connect as open_
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    def slowly():
        time.sleep(0.3)
        return tab.Tab, Limits

    monkeypatch.setattr(application, "MOST_TABS", 4)
    monkeypatch.setattr(application, "_loaded", slowly)

    async def one(address):
        try:
            async with open_(f"ws://{address}/socket", open_timeout=MOST_S, ping_interval=None) as socket:
                await socket.send(json.dumps({"type": "start", "spec": SMALL}))
                await asyncio.wait_for(socket.recv(), MOST_S)
                await asyncio.sleep(1.0)
                return health(address)["tabs"]
        except (ConnectionClosed, InvalidStatus):
            return 0

    async def burst(address):
        return await asyncio.gather(*(one(address) for _ in range(12)))

    with running() as address:
        let_in = asyncio.run(burst(address))
        assert sum(tabs > 0 for tabs in let_in) == 4
        assert max(let_in) <= 4
        emptied(address)
        assert sum(tabs > 0 for tabs in asyncio.run(burst(address))) == 4, "places are given back"


def test_the_server_ends_whatever_a_thread_is_in(monkeypatch):
    """What cannot be interrupted, such as the compilation of a kernel, does not keep Ctrl-C waiting."""
    begun, released = threading.Event(), threading.Event()

    def stuck(session, spec):
        begun.set()
        released.wait(60.0)

    monkeypatch.setattr(Session, "begin", stuck)
    with running() as address, connect(f"ws://{address}/socket") as socket:
        Page(socket).ask(type="start", spec=SMALL)
        assert begun.wait(MOST_S)
        ended = time.monotonic()
    assert time.monotonic() - ended < 20
    released.set()


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
