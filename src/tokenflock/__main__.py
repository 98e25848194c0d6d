"""The command `tokenflock`, or `python -m tokenflock`: what must be so before anything else is imported.

Ctrl-C in the first moments, while libraries are imported, ends the command as at any other time. What the terminal is
said to be is looked at before libraries trust it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

SIZES = ("COLUMNS", "LINES", "TERMINAL_WIDTH", "JUPYTER_COLUMNS", "JUPYTER_LINES")
WIDEST = 10_000  # of what a terminal can be


def _end(*_: object) -> NoReturn:
    os.write(2, b"Interrupted: nothing was written.\n")
    os._exit(130)


def _leave(code: int) -> NoReturn:
    """The end of a command that has ended already: nothing is left to interrupt."""
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(code)


def main() -> None:
    """The entry point of the command."""
    heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    ours = signal.signal(signal.SIGINT, _end) if heard else signal.SIG_IGN
    for name in SIZES:  # isdigit() takes "²", which int() in libraries does not
        said = os.environ.get(name, "")
        if said and not (said.isascii() and said.isdigit() and len(said) < 6 and 0 < int(said) <= WIDEST):
            del os.environ[name]
    from tokenflock import cli

    code: int | None = None
    pressed: list[bool] = []

    def press(*_: object) -> NoReturn:
        pressed.append(True)
        raise KeyboardInterrupt

    try:
        # Commands say themselves what they have written by then.
        signal.signal(signal.SIGINT, press if ours is signal.default_int_handler else ours)
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:
            if pressed:  # libraries in C make another error of it, when it comes while they import each other
                _end()
            raise
        if heard:  # Python takes handlers back before its libraries end, and Ctrl-C would then kill the process
            signal.signal(signal.SIGINT, lambda *_: _leave(code))
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # before a command has begun, or after its end
        _end() if code is None else _leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
