"""What all commands say alike: exit codes, the two formats, the error line, the console of stderr.

Nothing here knows any command.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

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
