"""Progress of a batch verification on stderr: the stage, tasks, events, rate, divergences so far.

One line that changes on a terminal, elsewhere a line at each stage and every ten seconds. Nothing
here is a result.
"""

from __future__ import annotations

import time
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from canvass.cli.output import complain, progress_console

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.status import Status

    from canvass.corpus.job import SoFar

_LOOK_S: Final = 1.0
_PLAIN_PERIOD_S: Final = 10.0


class BatchProgress:
    """Shows how far a job is, from entering to leaving the ``with`` block."""

    def __init__(self) -> None:
        self._began_s = self._stage_s = self._shown_s = time.monotonic()
        self._stage = "starting"
        self._so_far: Callable[[], SoFar] | None = None
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._status is not None:
            self._status.stop()

    def watch(self, so_far: Callable[[], SoFar]) -> None:
        """Say where to ask how far the job is."""
        self._so_far = so_far

    def stage(self, what: str) -> None:
        """Begin a stage."""
        self._stage = what
        self._stage_s = self._shown_s = time.monotonic()
        self._show(what)

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            now = time.monotonic()
            due = self._status is not None or now - self._shown_s >= _PLAIN_PERIOD_S
            if due and self._so_far is not None:
                self._shown_s = now
                self._show(f"{self._stage}: {told(self._so_far(), now - self._began_s)}")

    def _show(self, text: str) -> None:
        line = f"[{time.monotonic() - self._began_s:6.1f} s] {text}"
        if self._status is None:
            complain(line)
        else:
            from rich.markup import escape

            self._status.update(escape(line))


def told(so_far: SoFar, seconds: float) -> str:
    """Put the figures into words."""
    parts = [f"{so_far.done:,} of {so_far.tasks:,} tasks", f"{so_far.events:,} events"]
    parts.append(f"{so_far.events / max(seconds, 0.001):,.0f} events/s")
    runs = "run diverges" if so_far.diverging == 1 else "runs diverge"
    parts.append(f"{so_far.diverging:,} {runs} so far")
    return ", ".join(parts)
