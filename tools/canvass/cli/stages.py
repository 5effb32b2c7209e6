"""Progress of a command that takes one stage after the other, on stderr.

On a terminal one line changes, with the clock. Elsewhere a line is written every ten seconds, and
at each stage if that is asked for. Nothing here is a result.
"""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Self

from canvass.cli.output import complain, progress_console

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.status import Status

_LOOK_S: Final = 1.0
_PLAIN_PERIOD_S: Final = 10.0


class Stages:
    """Shows which stage a command is in, from entering to leaving the ``with`` block.

    Parameters
    ----------
    each
        Whether each stage has a line where there is no terminal. Without it, a command that is done
        within ten seconds writes nothing.
    """

    def __init__(self, *, each: bool = False) -> None:
        self._each = each
        self._began_s = self._shown_s = time.monotonic()
        self._stage = "starting"
        self._detail: Callable[[float], str] | None = None
        self._ended = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._console = progress_console()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("starting", spinner="line")
            self._status.start()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._status is not None:
            self._status.stop()

    def detail(self, words: Callable[[float], str]) -> None:
        """Say who puts into words how far the stage is; it is given the seconds so far."""
        self._detail = words

    def stage(self, what: str) -> None:
        """Begin a stage."""
        self._stage = what
        if self._each or self._status is not None:
            self._shown_s = time.monotonic()
            self._show(what)

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            now = time.monotonic()
            if self._status is not None or now - self._shown_s >= _PLAIN_PERIOD_S:
                self._shown_s = now
                words = "" if self._detail is None else f": {self._detail(now - self._began_s)}"
                self._show(f"{self._stage}{words}")

    def _show(self, text: str) -> None:
        line = f"[{time.monotonic() - self._began_s:6.1f} s] {text}"
        if self._status is None:
            complain(line)
        else:
            from rich.markup import escape

            self._status.update(escape(line))
