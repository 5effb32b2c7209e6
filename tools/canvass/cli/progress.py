"""Live progress on stderr: one line that changes on a terminal, plain lines elsewhere.

Nothing here is a result. TLC itself says how far it is three seconds after its start and then once
a minute; between that only the clock moves.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from canvass.cli.output import complain, progress_console

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.status import Status

    from canvass.tlc import Event
    from canvass.tlc.events import Progress

_LOOK_S: Final = 1.0


class Stages:
    """Shows which stage a command is in, from entering to leaving the ``with`` block.

    Parameters
    ----------
    each
        Whether each stage has a line where there is no terminal. Without it, a command that is done
        within ten seconds writes nothing.
    """

    _plain_period_s = 10.0

    def __init__(self, *, each: bool = False) -> None:
        self._each = each
        self._began_s = self._shown_s = time.monotonic()
        self._stage = "starting"
        self._detail: str | Callable[[float], str] = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
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

    def detail(self, words: str | Callable[[float], str]) -> None:
        """Say how far the stage is: in words, or by what makes words of the seconds so far."""
        self._detail = words

    def stage(self, what: str) -> None:
        """Begin a stage, of which no detail is known yet."""
        self._detail = ""
        self._stage = what
        if self._each or self._status is not None:
            self._shown_s = time.monotonic()
            self._show(what)

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            now = time.monotonic()
            if self._status is not None or now - self._shown_s >= self._plain_period_s:
                self._shown_s = now
                detail = self._detail
                words = detail if isinstance(detail, str) else detail(now - self._began_s)
                self._show(f"{self._stage}: {words}" if words else self._stage)

    def _show(self, text: str) -> None:
        line = f"[{time.monotonic() - self._began_s:6.1f} s] {text}"
        if self._status is None:
            complain(line)
        else:
            from rich.markup import escape

            self._status.update(escape(line))


class CheckProgress(Stages):
    """Shows how far TLC is with one model, from entering to leaving the ``with`` block.

    Where there is no terminal, each figure that TLC gives is a line.

    Parameters
    ----------
    number, total
        Which model it is, from 1, of how many.
    model
        Its name.
    """

    _plain_period_s = math.inf

    def __init__(self, number: int, total: int, model: str) -> None:
        super().__init__()
        self.stage(f"[{number}/{total}] {model}")
        self._last: Progress | None = None

    def on_event(self, event: Event) -> None:
        """Show what TLC says about how far it is; pass over everything else."""
        from canvass.tlc.events import InitialStates, Progress

        if isinstance(event, Progress) and event != self._last:
            self._last = event  # TLC says the last one twice.
            self.detail(self._numbers(event))
            if self._status is None:
                complain(f"{self._stage}: {self._detail}")
        elif isinstance(event, InitialStates):
            self.detail(f"{event.distinct:,} initial states, searching")

    def _numbers(self, event: Progress) -> str:
        parts = [f"{event.generated:,} states"]
        if event.distinct is not None:
            parts.append(f"{event.distinct:,} distinct")
        if event.queue is not None:
            parts.append(f"queue {event.queue:,}")
        if event.depth is not None:
            parts.append(f"depth {event.depth}")
        if event.traces is not None:
            parts.append(f"{event.traces:,} behaviours")
        # TLC's own rate is that of its last minute, and wrong before the first has passed.
        per_s = event.generated / max(time.monotonic() - self._began_s, 0.001)
        return ", ".join([*parts, f"{per_s:,.0f}/s"])
