"""A saved run in the browser: the page of `export`, served to this machine until Ctrl-C. It needs no extra."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tokenflock.explorer.export import page
from tokenflock.explorer.safety import is_loopback
from tokenflock.explorer.server import bind

if TYPE_CHECKING:
    import xarray as xr

HOST = "127.0.0.1"


def handler(body: bytes) -> type[BaseHTTPRequestHandler]:
    """What answers with this page at /, to browsers that ask for this machine by its name; with nothing else."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Host", "").rpartition(":")[0]
            code = 421 if not is_loopback(asked.strip("[]")) else 200 if self.path == "/" else 404
            answer = body if code == 200 else b""
            self.send_response(code)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nothing: the terminal is for the person."""

    return Page


def server_of(run: xr.Dataset, which: int | None = None, port: int | None = None) -> ThreadingHTTPServer:
    """What serves the page of a run, listening already."""
    body = page(run, which).encode()  # before anything listens: a run that cannot be shown is refused
    sock = bind(HOST, port)
    server = ThreadingHTTPServer(sock.getsockname()[:2], handler(body), bind_and_activate=False)
    server.socket.close()
    server.socket, server.server_port = sock, sock.getsockname()[1]
    sock.listen()
    return server


def show(
    run: xr.Dataset,
    which: int | None = None,
    port: int | None = None,
    browser: bool = True,
    told: Callable[[str], None] = print,
) -> None:
    """Serve the page of a run until Ctrl-C. which: of an ensemble. told: gets the address when it can be opened."""
    server = server_of(run, which, port)
    address = f"http://{HOST}:{server.server_port}/"
    told(address)
    if browser:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with server:
        server.serve_forever(poll_interval=0.2)
