"""Forms in which lines of a log are delivered: what is put around the text that Aeron wrote.

A file has one framing. Its first line of an event log decides which, so a file without framing
costs nothing. A line that does not have the file's framing is read from its stamp on: it may be
damaged, but it is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from canvass.traces.aeron_log.line import STAMP, stamp_of
from canvass.traces.layout import MAX_LINE_BYTES

_Part: TypeAlias = tuple[str, bool]
"""The text in a line, and whether the next line continues it."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CRI: Final = re.compile(r"[0-9T:.Z+-]{20,40} (?:stdout|stderr) ([FP])(?::\S*)? (.*)", re.DOTALL)
_SYSLOG: Final = re.compile(
    r"(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}|[0-9T:.Z+-]{19,40}) \S+ [^\s:]+(?:\[[0-9]+\])?: (.*)",
    re.DOTALL,
)
_PREFIX: Final = re.compile(rf"(?:.{{0,400}}?[\s>|:-])?({STAMP.pattern}.*)", re.DOTALL)


class _Json(msgspec.Struct):
    log: str = ""
    MESSAGE: str = ""


def _json(line: str) -> _Part | None:
    if not line.startswith("{"):
        return None
    try:
        found = msgspec.json.decode(line, type=_Json)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return found.MESSAGE or found.log.rstrip("\r\n"), not (found.MESSAGE or found.log[-1:] == "\n")


def _cri(line: str) -> _Part | None:
    found = _CRI.fullmatch(line)
    return (found[2], found[1] == "P") if found else None


def _after(pattern: re.Pattern[str]) -> Callable[[str], _Part | None]:
    def rest(line: str) -> _Part | None:
        found = pattern.fullmatch(line)
        return (found[1], False) if found else None

    return rest


FRAMINGS: Final[dict[str, Callable[[str], _Part | None]]] = {
    "JSON (Docker's json-file, journald)": _json,
    "Kubernetes CRI": _cri,
    "syslog or journald": _after(_SYSLOG),
    "a prefix before the stamp": _after(_PREFIX),
}
"""The known framings, the most specific ones first."""

COLOURS: Final = "terminal colours"
"""A name for terminal colours as a framing. They can be inside any framing, or in plain lines."""


def without_colours(line: str) -> str:
    """A line without the terminal's control sequences."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


class Framing:
    """The framing of a file.

    Attributes
    ----------
    name
        Its name in `FRAMINGS`.
    part
        The beginning of a text that the next line continues.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.part = ""
        self._take = FRAMINGS[name]

    def text(self, line: str) -> str:
        """The whole text up to a line; empty if the next line continues it."""
        found = self._take(line)
        if found is None:
            stamp = STAMP.search(line)
            found = line[stamp.start() if stamp else 0 :], False
        text, is_part = self.part + found[0], found[1] and len(self.part) < MAX_LINE_BYTES
        self.part = text if is_part else ""
        return "" if is_part else text


def framing_of(line: str) -> Framing | None:
    """The framing in which a line is a line of an event log; None if there is no such framing."""
    for name, take in FRAMINGS.items():
        found = take(line)
        if found is not None and stamp_of(without_colours(found[0])) is not None:
            return Framing(name)
    return None
