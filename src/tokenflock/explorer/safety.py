"""Who may speak to the server: this machine only, or whoever has the token; and what the page may load: itself.

A page of another site can send requests to a loopback address. It cannot forge the headers Host and Origin: a request
whose Host is not ours (a name that points to 127.0.0.1) or whose Origin is not our own page is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "tokenflock_token"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
#: a name or an address, and its port: nothing else is compared with what a browser says, and nothing is repaired
HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
ALONE = {"host", "origin"}  # headers of which there may be one


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def policy(host: str) -> str:
    """The content-security policy: nothing but our own files and our own socket."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        f"connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Guard:
    """An ASGI layer around the application. token None: loopback, no token, and only the names of this machine."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it with the reason."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        told = [(key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in scope["headers"]]
        headers = dict(told)
        twice = len([key for key, _ in told if key in ALONE]) > len(headers.keys() & ALONE)
        if why := "a header is there twice" if twice else self._refused(scope, headers):
            return await _refuse(scope, send, why)
        host = headers["host"]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers(scope, host)]
            await send(message)

        return await self._app(scope, receive, guarded)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> str | None:
        host = HOST.fullmatch(headers.get("host", "").lower())
        if not host:
            return "the header Host is missing or strange"
        if self._token is None and host["name"] not in LOCAL:
            return f"Host {host['name']!r} is not this machine. Open http://localhost instead"
        if "origin" in headers and headers["origin"].lower() not in (f"http://{host[0]}", f"https://{host[0]}"):
            return "this request comes from the page of another site"
        if self._token is not None and not self._has_token(scope, headers):
            return "the token is missing or wrong. Open the address that `tokenflock explore` printed"
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        if COOKIE in cookies:
            given = [*given, cookies[COOKIE].value]
        assert self._token is not None
        return any(hmac.compare_digest(text.encode(), self._token.encode()) for text in given)

    def _headers(self, scope: Scope, host: str) -> list[tuple[bytes, bytes]]:
        found = [
            (b"content-security-policy", policy(host).encode("latin-1")),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-cache"),
        ]
        if self._token is not None and scope["path"] == "/":
            found.append((b"set-cookie", f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/".encode()))
        return found


async def _refuse(scope: Scope, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
    body = f"Refused: {why}.\n".encode()
    start = {"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain; charset=utf-8")]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
