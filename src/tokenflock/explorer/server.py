"""The server of `tokenflock explore`: the page, and a websocket for each tab. Computing is done by a few workers.

Sessions take turns in slices of some 30 ms, so that many tabs share the cores fairly and none waits for another's run.

The page must be there at once. So the address is told before anything is loaded, what computes is loaded beside the
first request, and the page carries the first frame of the preset that it opens with (static/first.json).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenflock.errors import FileError, bad, missing
from tokenflock.explorer.safety import Guard, is_loopback, new_token

if TYPE_CHECKING:
    from tokenflock.explorer.messages import Limits
    from tokenflock.explorer.tab import Tab

PORT = 8077
MOST_TABS = 200
BACKLOG = 128
FRAME_BYTES = 1024 * 1024  # of one message of a browser; what is longer closes the connection
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def asset(name: str) -> bytes:
    """A file of the page."""
    try:
        return (Path(__file__).parent / "static" / name).read_bytes()
    except OSError as error:
        raise FileError(f"{name} of the explorer is missing: build it with `make web`, or install again.") from error


def opening() -> bytes:
    """The page, with the first frame of its first preset inside."""
    # Inside a script element nothing may look like its end.
    first = asset("first.json").replace(b"</", b"<\\/")
    return asset("index.html").replace(b"{}", first.strip())


def presets() -> dict[str, Any]:
    """What the gallery shows: the presets with their pictures."""
    import json

    from tokenflock.explorer.presets import PRESETS

    pictures = json.loads(asset("pictures.json"))
    return {"presets": [{**p.described(), "picture": pictures.get(p.name)} for p in PRESETS]}


def loaded() -> tuple[type[Tab], type[Limits]]:
    """What computes: a second of imports, so never in the loop that answers requests."""
    from tokenflock.explorer.messages import Limits
    from tokenflock.explorer.tab import Tab

    return Tab, Limits


def application(limits: Limits | None = None, token: str | None = None, ready: Callable[[], None] | None = None) -> Any:
    """The ASGI application. ready: called when it has started."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import asynccontextmanager

    from tokenflock.engine.machine import threads

    try:
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route, WebSocketRoute
        from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
    except ImportError as error:
        raise missing("starlette", "explore", "the explorer") from error

    tabs: set[Tab] = set()
    pool = ThreadPoolExecutor(max(2, threads()), thread_name_prefix="explorer")

    async def connected(ws: WebSocket) -> None:
        if len(tabs) >= MOST_TABS:
            return await ws.close(1013, f"{MOST_TABS} tabs are open: close one.")
        await ws.accept()
        Tab, Limits = await asyncio.get_running_loop().run_in_executor(pool, loaded)

        async def send(message: str | bytes) -> None:
            await (ws.send_bytes(message) if isinstance(message, bytes) else ws.send_text(message))

        async def receive() -> str | bytes | None:
            message = await ws.receive()
            if message["type"] == "websocket.disconnect":
                return None
            return message["text"] if message.get("text") is not None else message.get("bytes") or b""

        tab = Tab(send, receive, pool, limits or Limits(), lambda: sum(t.computing for t in tabs) <= 1)
        tabs.add(tab)
        try:
            await tab.serve()
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the tab went away while something was said to it
        finally:
            tabs.discard(tab)
            if ws.application_state is WebSocketState.CONNECTED and ws.client_state is WebSocketState.CONNECTED:
                await ws.close()

    @asynccontextmanager
    async def life(app: Any) -> Any:
        if ready:
            ready()
        yield
        for tab in list(tabs):
            tab.session.interrupt()
        pool.shutdown(wait=True, cancel_futures=True)

    held = {path: (asset(name) if path != "/" else opening(), kind) for path, (name, kind) in FILES.items()}

    def page(path: str) -> Any:
        body, kind = held[path]

        async def answer(request: Any) -> Response:
            return Response(body, media_type=kind)

        return Route(path, answer)

    async def gallery(request: Any) -> Response:
        return JSONResponse(await asyncio.get_running_loop().run_in_executor(pool, presets))

    async def health(request: Any) -> Response:
        return JSONResponse({"tabs": len(tabs), "computing": sum(t.computing for t in tabs)})

    routes = [*map(page, FILES), Route("/presets.json", gallery), Route("/health", health)]
    app = Starlette(routes=[*routes, WebSocketRoute("/socket", connected)], lifespan=life)
    return Guard(app, token)


def warm() -> None:
    """Load the compiled kernels before the first tab asks for a run."""
    from tokenflock.explorer.session import Session

    session = Session()
    session.begin({"model": {"dim": 2, "beta": 9.0}, "start": {"n_tokens": 8}, "simulate": {"t_end": 1.0, "times": 3}})
    while session.work():
        pass


def bind(host: str, port: int | None) -> socket.socket:
    """A listening socket: the port asked for, else the usual one, else any that is free."""
    if port is not None and not 0 <= port < 65536:
        raise bad("--port", port, "0 to 65535", "0 takes any that is free.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    for wanted in [PORT, 0] if port is None else [port]:
        sock = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, wanted))
            return sock
        except OSError as error:
            sock.close()
            problem = error
    raise bad("--port" if port else "--host", port or host, "an address and a port that are free", f"({problem})")


def server(app: Any) -> Any:
    """The uvicorn server of an application, not yet running."""
    try:
        import uvicorn
        import websockets  # noqa: F401
        from uvicorn.config import WS_PROTOCOLS
    except ImportError as error:
        raise missing("uvicorn and websockets", "explore", "the explorer") from error
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio" if "websockets-sansio" in WS_PROTOCOLS else "auto",
        ws_max_size=FRAME_BYTES,
        ws_per_message_deflate=False,  # positions do not deflate, and it would take the time of a frame
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def serve(
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    told: Callable[[str], None] = print,
    limits: Limits | None = None,
) -> None:
    """Run the server until Ctrl-C. told: gets the address when it can be opened, with the token where one is needed."""
    for name in ("starlette", "uvicorn", "websockets"):
        if find_spec(name) is None:
            raise missing(name, "explore", "the explorer")
    token = None if is_loopback(host) else new_token()
    sock = bind(host, port)
    sock.listen(BACKLOG)  # from here on a browser may ask: it waits a moment for the first answer
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{sock.getsockname()[1]}/" + (f"?token={token}" if token else "")
    told(address)
    if browser:
        threading.Thread(target=_browse, args=(address,), daemon=True).start()

    def ready() -> None:
        threading.Thread(target=warm, daemon=True, name="explorer-warm").start()

    try:
        server(application(limits, token, ready)).run(sockets=[sock])
    finally:
        sock.close()


def _browse(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
