"""What all commands say alike: exit codes, formats, the error line, consoles, lanes on a terminal,
and progress on stderr: one line that changes on a terminal, plain lines elsewhere.

Nothing here knows any command.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console
    from rich.status import Status

    from canvass.lanes.text import Glyphs, Line
    from canvass.tlc import Event
    from canvass.tlc.events import Progress

EXIT_OK: Final = 0
EXIT_UNEXPECTED: Final = 1
"""The work was done, and its result is not what it should be."""
EXIT_ERROR: Final = 2
"""The work could not be done, or there was none."""
EXIT_INTERRUPTED: Final = 130
"""Ctrl-C: 128 + SIGINT."""
EXIT_CLOSED_PIPE: Final = 141
"""The reader of stdout has gone, as ``| head`` does: 128 + SIGPIPE."""


class Format(str, Enum):
    """How a result is written to stdout."""

    HUMAN = "human"
    JSON = "json"


class CommandError(Exception):
    """A command cannot do what it was asked to; the message is one line."""


def complain(message: str) -> None:
    """Write one error line to stderr, whatever line breaks the message has."""
    print(f"canvass: {' '.join(message.split())}", file=sys.stderr)


def text_of(path: Path) -> str:
    """Read a file of text that the user has written.

    Raises
    ------
    CommandError
        If it is not text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text: byte {error.start + 1} is not UTF-8") from None


def json_text(value: object) -> str:
    """Write a value as one indented JSON document, with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def write_json(value: object) -> None:
    """Write a value to stdout as one indented JSON document."""
    sys.stdout.write(json_text(value))


def emit(
    output: Enum, document: object, show: Callable[[], object], **others: Callable[[], str]
) -> None:
    """Write a result to stdout in the form that the user chose.

    Parameters
    ----------
    output
        The form: `Format`, or an enum of more forms.
    document
        The result as a typed value, or what makes it; it is the JSON document.
    show
        Writes the result for a person.
    others
        By the name of a form, such as ``junit``, what makes its text.
    """
    if output.value == Format.JSON.value:
        write_json(document() if callable(document) else document)
    elif output.value in others:
        sys.stdout.write(others[output.value]())
    else:
        show()


def progress_console() -> Console:
    """Return the console for progress: stderr, plain when that is no terminal."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def result_console() -> Console:
    """Return the console for results: stdout, plain and never wrapped when that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def say(text: str) -> None:
    """Write one line for a person; what is in it cannot steer the terminal."""
    from canvass.lanes.model import visible

    result_console().print(visible(text))


PIPE_WIDTH: Final = 120
"""Columns of lanes in a pipe or a file, unless ``COLUMNS`` gives another number."""
_STYLES: Final = {
    "": "",
    "dim": "dim",
    "title": "bold",
    "bad": "bold red",
    "fault": "yellow",
    "message": "cyan",
}


def lane_width() -> int:
    """Give the columns that lanes may take."""
    console = result_console()
    if console.is_terminal:
        return console.width
    columns = os.environ.get("COLUMNS", "")
    given = columns.isascii() and columns.isdigit() and int(columns) >= 20
    return int(columns) if given else PIPE_WIDTH


def glyphs() -> Glyphs:
    """Give the characters that stdout can encode."""
    from canvass.lanes.text import ASCII, UNICODE

    try:
        "│●▶→⋮✖".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def print_lines(lines: Iterable[Line]) -> None:
    """Write lines; in a pipe without any style, and one write for many: a run may have millions."""
    console = result_console()
    if console.is_terminal and not console.no_color:
        from rich.text import Text

        for line in lines:
            console.print(Text.assemble(*((text, _STYLES[style]) for text, style in line)))
        return
    source = iter(lines)
    while block := list(islice(source, 1_000)):
        sys.stdout.write("".join("".join(text for text, _ in line) + "\n" for line in block))


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
