"""The server of `tokenflock explore`: its address and its start. application.py answers the requests.

Sessions take turns in slices of some 30 ms, the one that had least of them first (workers.py), so that many tabs share
the cores fairly and none waits for another's run.

The page must be there at once. So the address is told before anything is loaded, what computes is loaded beside the
first request, and the page carries the first frame of the preset that it opens with (static/first.json).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tokenflock.errors import bad, missing
from tokenflock.explorer.safety import is_loopback, new_token

if TYPE_CHECKING:
    from uvicorn import Server

    from tokenflock.explorer.limits import Limits
    from tokenflock.explorer.safety import Guard

PORT = 8077
BACKLOG = 128
FRAME_BYTES = 1024 * 1024  # of one message of a browser; what is longer closes the connection


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


def server(app: Guard) -> Server:
    """The uvicorn server of an application, not yet running."""
    import uvicorn
    from uvicorn.config import WS_PROTOCOLS

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
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    from tokenflock.explorer.application import application

    warming = threading.Thread(target=warm, daemon=True, name="explorer-warm")
    try:
        server(application(limits, token, warming.start)).run(sockets=[sock])
    finally:
        sock.close()
