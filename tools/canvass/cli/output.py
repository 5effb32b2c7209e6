"""Output of all commands: exit codes, formats, error lines, consoles, lanes, and progress.

Progress goes to stderr: one changing line on a terminal, plain lines elsewhere. This module knows
no command.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from canvass.traces.errors import counted, file_named_in_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from markupsafe import Markup
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

    from canvass.lanes.diagram import Line
    from canvass.tlc.output import Event, Progress

EXIT_OK: Final = 0
EXIT_UNEXPECTED: Final = 1
"""The command did its work; the result is not the expected one."""
EXIT_ERROR: Final = 2
"""The command could not do its work, or had nothing to do."""
EXIT_INTERRUPTED: Final = 130
"""Ctrl-C: 128 + SIGINT."""
EXIT_CLOSED_PIPE: Final = 141
"""The reader of stdout has closed it, as ``| head`` does: 128 + SIGPIPE."""
EXIT_TERMINATED: Final = 143
"""A supervisor or a time limit has ended the command: 128 + SIGTERM."""


STDOUT_NAME: Final = "standard output"


class Format(str, Enum):
    """Form of a result on stdout."""

    HUMAN = "human"
    JSON = "json"


class CommandError(Exception):
    """A command cannot do its work; the message is one line."""


def complain(message: str) -> None:
    """Write a message to stderr as one line; its commands can be typed as they are."""
    line = " ".join(message.split())
    print(f"canvass: {line.replace('`canvass ', f'`{typed()} ')}", file=sys.stderr)


def typed() -> str:
    """Give the word by which the user's shell starts this command: a path outside ``PATH``."""
    folder, name = os.path.split(own := sys.argv[0])
    if name != "canvass" or folder in os.environ.get("PATH", "").split(os.pathsep):
        return "canvass"
    near = os.path.relpath(own)
    return own if near.startswith("..") else near


def text_of(path: Path) -> str:
    """Read a text file of the user.

    Raises
    ------
    CommandError
        If the file is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text: byte {error.start + 1} is not UTF-8") from None


def _escaped(value: Any) -> Any:
    """A tree of plain values whose texts have escapes, as the lines on stderr have."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escaped(key): _escaped(one) for key, one in value.items()}
    return [_escaped(one) for one in value] if isinstance(value, list | tuple) else value


def json_text(value: object) -> str:
    """Write a value as one indented JSON document, with a line break at its end.

    The bytes of a path that are not UTF-8 become escapes.
    """
    try:
        line = msgspec.json.encode(value)
    except UnicodeEncodeError:
        line = msgspec.json.encode(_escaped(msgspec.to_builtins(value)))
    return msgspec.json.format(line, indent=2).decode() + "\n"


def write_text(text: str) -> None:
    """Write text to stdout; an error names it."""
    with file_named_in_errors(STDOUT_NAME):
        sys.stdout.write(text)


def write_json(value: object) -> None:
    """Write a value to stdout as one indented JSON document."""
    write_text(json_text(value))


def emit(output: Enum, found: object, template: str, **values: Any) -> None:
    """Write a result to stdout in the form that the user chose.

    Parameters
    ----------
    output
        The form: JSON, or text for a person.
    found
        The result as a typed value. It is the JSON document, and ``found`` in the template.
    template, values
        As in `show`.
    """
    if output.value == Format.JSON.value:
        write_json(found)
    else:
        show(template, found=found, **values)


def show(template: str, console: Console | None = None, **values: Any) -> None:
    """Write a text for a person to stdout, or to a console.

    On a terminal, lines are broken between words.

    Parameters
    ----------
    template
        Name of a template beside this module, without its suffix. Its own text may have styles of
        rich, such as ``[bold]``. In values, styles have no effect, and control characters are
        escaped.
    values
        The values that the template uses.
    """
    from rich.text import Text

    text = Text.from_markup(rendered(template, **values), emoji=False)
    console = console or result_console()
    if console.is_terminal:
        lines = text.split("\n", allow_blank=True)
        text = Text("\n").join(row for line in lines for row in _rows(line, console))
    with file_named_in_errors(STDOUT_NAME):
        console.print(text, end="")


def _rows(line: Text, console: Console) -> Iterable[Text]:
    """Break a line between words; its further rows are indented by two columns more."""
    begins = len(line.plain) - len(line.plain.lstrip())
    if line.cell_len <= console.width or begins + 22 > console.width:
        return [line]
    first, *rest = line[begins:].wrap(console, console.width - begins - 2)
    return [line[:begins] + first, *(line[:begins] + "  " + row for row in rest)]


def rendered(template: str, **values: Any) -> str:
    """Give the text that `show` writes, with the marks of its styles."""
    return _templates().get_template(f"{template}.txt.jinja").render(**values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,  # So that the text of a macro is not escaped again.
        finalize=literal,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["f"] = format
    made.filters["counted"] = counted
    return made


def literal(*lines: object) -> Markup:
    """Give lines of text for a template, escaped so that no part of them is a style."""
    from markupsafe import Markup
    from rich.markup import escape

    from canvass.lanes.diagram import visible

    if len(lines) == 1 and isinstance(lines[0], Markup):
        return lines[0]
    return Markup("\n".join(escape(visible(str(line))) for line in lines))


def write_file(path: Path, text: str) -> None:
    """Write a text file of the user; an error names the file."""
    with file_named_in_errors(path):
        path.write_text(text, encoding="utf-8")


def progress_console() -> Console:
    """Return the console for progress: stderr, plain unless it is a terminal."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def result_console() -> Console:
    """Return the console for results: stdout, plain and never wrapped unless it is a terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


_NAMES: Final = 20
"""Most names of files in one sentence."""


def names_not_read(names: Sequence[str]) -> str:
    """Give a sentence about files that are not read because their names only resemble logs."""
    from canvass.lanes.diagram import visible

    shown = ", ".join(visible(name) for name in names[:_NAMES])
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"not read, as the name is not that of a log: {shown}{more}"


PIPE_WIDTH: Final = 120
"""Width of lanes in a pipe or a file, in columns, unless ``COLUMNS`` has another number."""
_STYLES: Final = {
    "": "",
    "dim": "dim",
    "title": "bold",
    "bad": "bold red",
    "fault": "yellow",
    "message": "cyan",
}


def lane_width() -> int:
    """Give the width for lanes, in columns."""
    console = result_console()
    if console.is_terminal:
        return console.width
    columns = os.environ.get("COLUMNS", "")
    given = columns.isascii() and columns.isdigit() and int(columns) >= 20
    return int(columns) if given else PIPE_WIDTH


def print_lines(lines: Iterable[Line]) -> None:
    """Write lines, styled on a terminal."""
    console = result_console()
    if console.is_terminal and not console.no_color:
        from rich.text import Text

        for line in lines:
            console.print(Text.assemble(*((text, _STYLES[style]) for text, style in line)))
        return
    sys.stdout.writelines("".join(text for text, _ in line) + "\n" for line in lines)


_LOOK_S: Final = 1.0


class Stages:
    """Shows the stage of a command, from entering to leaving the ``with`` block.

    Parameters
    ----------
    each
        Whether each stage gets a line if stderr is not a terminal. Otherwise a line is written
        every ten seconds.
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
        """Set the progress of the stage: words, or a function from the seconds so far to words."""
        self._detail = words

    def numbers(self, words: str) -> Callable[..., None]:
        """Give a function from numbers to the progress of the stage, which ``words`` formats."""
        return lambda *found: self.detail(words.format(*found))

    def stage(self, what: str) -> None:
        """Begin a stage, without a detail."""
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
    """Shows the progress of TLC on a model, from entering to leaving the ``with`` block.

    If stderr is not a terminal, each progress report of TLC becomes a line.

    Parameters
    ----------
    number, total
        The number of the model, from 1, and the number of models.
    model
        Name of the model.
    """

    _plain_period_s = math.inf

    def __init__(self, number: int, total: int, model: str) -> None:
        super().__init__()
        self.stage(f"[{number}/{total}] {model}")
        self._last: Progress | None = None

    def on_event(self, event: Event) -> None:
        """Show a progress report of TLC; ignore all other events."""
        from canvass.tlc.output import InitialStates, Progress

        if isinstance(event, Progress) and event != self._last:
            self._last = event  # TLC prints the last one twice.
            self.detail(self._numbers(event))
            if self._status is None:
                complain(f"{self._stage}: {self._detail}")
        elif isinstance(event, InitialStates):
            self.detail(f"{event.distinct:,} initial states, searching")

    def _numbers(self, event: Progress) -> str:
        every = {
            "{:,} states": event.generated,
            "{:,} distinct": event.distinct,
            "{:,} of them still to expand": event.queue,
            "paths of up to {} states": event.depth,
            "{:,} behaviours": event.traces,
        }
        parts = [text.format(number) for text, number in every.items() if number is not None]
        # TLC's own rate is that of the last minute, and wrong during the first one.
        per_s = event.generated / max(time.monotonic() - self._began_s, 0.001)
        return ", ".join([*parts, f"{per_s:,.0f}/s"])
