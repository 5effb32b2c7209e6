"""What all commands say alike: exit codes, formats, the error line, consoles, lanes on a terminal.

Nothing here knows any command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from canvass.lanes.text import Glyphs, Line


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
