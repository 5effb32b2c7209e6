"""How a running cluster looks on the terminal: a table that is drawn again, or lines now and then.

Everything goes to stderr, as progress does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from canvass.cli.output import progress_console

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from canvass.runner.load import Load
    from canvass.runner.supervisor import Supervisor

_PLAIN_PERIOD_S: Final = 5.0
_SAID: Final = 6
"""How many of the last commands are shown."""
_COLUMNS: Final = (
    *("member", "process", "role", "election", "term", "leader", "recorded", "committed"),
    *("processed", "snapshot", "sessions", "steps", "longest cycle"),
)
_WIDE: Final = 140
"""Columns of a terminal on which the whole table has room."""
_NARROW_COLUMNS: Final = (0, 1, 2, 3, 4, 7, 11)
"""The columns of the table that a narrower one shows."""


class RunView:
    """Shows a cluster while it runs.

    Parameters
    ----------
    supervisor, load
        What is shown.
    began_s
        When it began, by the monotonic clock.
    quiet
        Whether to show nothing.
    """

    def __init__(
        self, supervisor: Supervisor, load: Load | None, began_s: float, *, quiet: bool
    ) -> None:
        self._supervisor, self._load, self._began_s = supervisor, load, began_s
        self._console = progress_console()
        self._quiet = quiet
        self._live: Live | None = None
        self._plain_due_s = 0.0
        self._said: list[str] = []

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._console.is_terminal and not self._quiet:
            from rich.live import Live

            self._live = Live(self._table(), console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave the last picture."""
        if self._live is not None:
            self._live.stop()

    def say(self, words: str) -> None:
        """Show a line."""
        if not self._quiet:
            self._console.print(f"canvass: {words}", markup=False)

    def refresh(self) -> None:
        """Show how it is now."""
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
        elif not self._quiet and time.monotonic() >= self._plain_due_s:
            self._plain_due_s = time.monotonic() + _PLAIN_PERIOD_S
            self._console.print(self._line(), markup=False, soft_wrap=True)

    def _line(self) -> str:
        count = len(self._supervisor.configs)
        members = [" ".join(self._row(i)[:5]) for i in range(count)]
        return f"canvass: {self._passed()}: {'; '.join(members)}{self._requests()}"

    def _passed(self) -> str:
        return f"{time.monotonic() - self._began_s:.0f} s"

    def _requests(self) -> str:
        if self._load is None:
            return ""
        book = self._load.book
        requests = f"{book.acknowledged:,} of {book.offered:,} requests acknowledged"
        latency = f"p50 {book.percentile_ms(0.5):.1f} ms, p99 {book.percentile_ms(0.99):.1f} ms"
        return f"; {requests}, {latency}"

    def _table(self) -> Table:
        from rich.table import Table

        done = ", ".join(self._supervisor.done[-_SAID:])
        caption = f"{self._passed()}{self._requests()}" + (f"\nlast: {done}" if done else "")
        table = Table(caption=caption, caption_justify="left")
        wide = self._console.width >= _WIDE
        places = range(len(_COLUMNS)) if wide else _NARROW_COLUMNS
        for place in places:
            right = place >= _COLUMNS.index("term")
            table.add_column(_COLUMNS[place], justify="right" if right else "left", no_wrap=True)
        for i in range(len(self._supervisor.configs)):
            row = self._row(i)
            table.add_row(*(row[place] for place in places), style=self._style(i))
        return table

    def _style(self, i: int) -> str:
        if not self._supervisor.is_up(i):
            return "dim"
        if self._supervisor.is_paused(i):
            return "yellow"
        return "bold" if self._supervisor.leader() == i else ""

    def _row(self, i: int) -> list[str]:
        supervisor = self._supervisor
        life = f"life {supervisor.lives(i)}"
        if not supervisor.is_up(i):
            return [str(i), f"down, {life}", *[""] * (len(_COLUMNS) - 2)]
        process = f"paused, {life}" if supervisor.is_paused(i) else life
        status = supervisor.status(i)
        if status is None:
            return [str(i), f"starting, {life}", *[""] * (len(_COLUMNS) - 2)]
        role = status.role
        if status.module_state != "ACTIVE":
            role += f" ({status.module_state.lower()})"
        return [
            str(i),
            process,
            role,
            status.election_state,
            str(status.leadership_term_id),
            str(status.leader_member_id),
            f"{status.recorded_position:,}",
            f"{status.commit_position:,}",
            f"{min(status.service_positions):,}",
            f"{status.snapshot_position:,}",
            str(status.sessions),
            f"{status.steps:,}",
            f"{status.max_cycle_ms:,.1f} ms",
        ]
