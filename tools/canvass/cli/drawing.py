"""Swim lanes on a terminal or in a pipe: their width, their characters, their colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import islice
from typing import Final

from canvass.cli.output import result_console
from canvass.lanes.text import ASCII, UNICODE, Glyphs, Line

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
