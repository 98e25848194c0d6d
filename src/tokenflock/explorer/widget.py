"""The explorer in a notebook (Jupyter, VS Code, marimo): the same page as a widget, recorded or live."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tokenflock.arguments import whole
from tokenflock.errors import bad, missing
from tokenflock.explorer.assets import asset, presets
from tokenflock.explorer.limits import Limits
from tokenflock.explorer.recording import FRAMES, record

if TYPE_CHECKING:
    import xarray as xr

HEIGHT, MOST_HEIGHT = 760, 100_000
PATIENCE_S = 60.0  # with a thread of its own, on a busy machine


def view(
    run: xr.Dataset | Mapping[str, Any] | None = None,
    *,
    which: int | None = None,
    height: int = HEIGHT,
    frames: int = FRAMES,
) -> Any:
    """Show a trajectory in a notebook. Without one, or with a run as in run.toml, the widget computes while you steer.

    which: the run of an ensemble. height: in pixels. frames: a longer run is thinned.
    """
    import xarray as xr

    made, height = _class(), whole("height", height, 1, "In pixels.", most=MOST_HEIGHT)
    if isinstance(run, xr.Dataset):
        held = record(run, which, frames)
        data = held.pop("data")
        return made(live=False, meta={**held, "title": ""}, data=data, height=height)
    if run is None or isinstance(run, Mapping):
        gallery = presets()["presets"]
        spec, shown = (gallery[0]["spec"], gallery[0]["view"]) if run is None else (dict(run), {})
        return made(live=True, meta={"spec": spec, "view": shown, "presets": gallery}, height=height)
    raise bad("run", type(run).__name__, "a trajectory, a run as in run.toml, or None for a live view")


@lru_cache
def _class() -> Any:
    """The widget; its library is imported now."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise missing("anywidget", "notebook", "the view in a notebook") from error

    class ExplorerWidget(anywidget.AnyWidget):
        """See the head of this file. A live one has a session in this process, which ends when the view is closed."""

        _esm = asset("explorer.js").decode()
        live = traitlets.Bool(False).tag(sync=True)
        meta = traitlets.Dict().tag(sync=True)
        data = traitlets.Bytes(b"").tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self._connection = WidgetConnection(self) if self.live else None
            if self._connection:
                self.on_msg(self._connection.heard)

        def close(self) -> None:
            """Let the run go, then the widget."""
            if connection := getattr(self, "_connection", None):
                connection.end()
            super().close()

    return ExplorerWidget


class WidgetConnection:
    """Between a widget and its session: the tab of the server, in a thread of its own, over the widget's messages."""

    def __init__(self, widget: Any, limits: Limits | None = None) -> None:
        self._widget, self._limits = widget, limits or Limits()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._said: asyncio.Queue[str | None] | None = None
        self._ready = threading.Event()

    def heard(self, widget: Any, content: Any, buffers: Any) -> None:
        """A message of the page."""
        if isinstance(content, Mapping) and content.get("type") == "close":
            return self.end()
        if self._thread is None or not self._thread.is_alive():
            self._ready.clear()
            self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
            self._thread.start()
            self._ready.wait(PATIENCE_S)
        assert self._loop is not None
        assert self._said is not None
        self._loop.call_soon_threadsafe(self._said.put_nowait, json.dumps(content))
        return None

    async def _serve(self) -> None:
        self._loop, self._said = asyncio.get_running_loop(), asyncio.Queue()
        self._ready.set()  # what is said from now on waits in the queue
        from tokenflock.explorer.tab import Tab

        with ThreadPoolExecutor(1, thread_name_prefix="explorer") as pool:
            await Tab(self._send, self._said.get, pool, self._limits, lambda: True).serve()

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self._widget.send({"type": "packet"}, buffers=[message])
        else:
            self._widget.send(json.loads(message))

    def end(self) -> None:
        """The page is closed."""
        if self._thread is not None and self._thread.is_alive() and self._loop is not None and self._said is not None:
            self._loop.call_soon_threadsafe(self._said.put_nowait, None)
            self._thread.join(PATIENCE_S)
        self._thread = None
