"""The ASGI application of the explorer: the page, its gallery, and a websocket for each tab.

Importing this module takes what a browser need not wait for: server.py does it after the address was told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from tokenflock.engine.machine import threads
from tokenflock.explorer.assets import asset, opening, presets
from tokenflock.explorer.safety import Guard
from tokenflock.explorer.workers import Workers, give_back

if TYPE_CHECKING:
    from tokenflock.explorer.limits import Limits
    from tokenflock.explorer.tab import Tab

MOST_TABS = 200
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def _loaded() -> tuple[type[Tab], type[Limits]]:
    """What computes: a second of imports, so never in the loop that answers requests."""
    from tokenflock.explorer.limits import Limits
    from tokenflock.explorer.tab import Tab

    return Tab, Limits


class Tabs:
    """The tabs that are open, and the threads that compute for them."""

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits
        self._open: set[Tab] = set()
        self._places = 0  # taken: from the first moment of a tab, before anything is waited for
        self._pool = Workers(max(2, threads()))

    @property
    def computing(self) -> int:
        """How many of them compute now."""
        return sum(tab.computing for tab in self._open)

    async def connect(self, ws: WebSocket) -> None:
        """Serve one tab until it is closed."""
        if self._places >= MOST_TABS:
            return await ws.close(1013, f"{MOST_TABS} tabs are open: close one.")
        self._places += 1
        try:
            await self._serve(ws)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the tab went away while something was said to it
        finally:
            self._places -= 1
        return None

    async def _serve(self, ws: WebSocket) -> None:
        await ws.accept()
        tab_class, limits_class = await asyncio.get_running_loop().run_in_executor(self._pool, _loaded)

        async def send(message: str | bytes) -> None:
            await (ws.send_bytes(message) if isinstance(message, bytes) else ws.send_text(message))

        async def receive() -> str | bytes | None:
            message = await ws.receive()
            if message["type"] == "websocket.disconnect":
                return None
            text: str | None = message.get("text")
            return text if text is not None else message.get("bytes") or b""

        tab = tab_class(send, receive, self._pool.share(), self._limits or limits_class(), lambda: self.computing <= 1)
        self._open.add(tab)
        try:
            await tab.serve()
        finally:
            self._open.discard(tab)
            if ws.application_state is WebSocketState.CONNECTED and ws.client_state is WebSocketState.CONNECTED:
                await ws.close()
            self._pool.submit(give_back)

    async def gallery(self, request: Request) -> Response:
        """The presets, read in a thread."""
        return JSONResponse(await asyncio.get_running_loop().run_in_executor(self._pool, presets))

    async def health(self, request: Request) -> Response:
        """How many tabs there are, and how many compute."""
        return JSONResponse({"tabs": len(self._open), "computing": self.computing})

    def close(self) -> None:
        """End all runs, and the threads."""
        for tab in self._open:
            tab.session.interrupt()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _page(path: str) -> Route:
    """The route of a file of the page, which is read once."""
    name, kind = FILES[path]
    body = opening() if path == "/" else asset(name)

    async def answer(request: Request) -> Response:
        return Response(body, media_type=kind)

    return Route(path, answer)


def application(
    limits: Limits | None = None, token: str | None = None, ready: Callable[[], None] | None = None
) -> Guard:
    """The application, guarded. ready: called when it has started."""
    tabs = Tabs(limits)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        if ready:
            ready()
        yield
        tabs.close()

    routes = [*map(_page, FILES), Route("/presets.json", tabs.gallery), Route("/health", tabs.health)]
    return Guard(Starlette(routes=[*routes, WebSocketRoute("/socket", tabs.connect)], lifespan=life), token)
